/*
 * Requests of the application's own, against scripted servers: what of them is sent, and when they
 * are sent again.
 */
#include "test/hop_world.h"
#include "test/run_suite.h"

#include <pthread.h>
#include <string.h>

static struct hop_world world;
static struct keyroute_reply *reply;
static struct keyroute_detail detail;

static const struct keyroute_bytes body = {"the body", 8};
static const struct keyroute_bytes cells = {"and cells", 9};

/* Field 2, of three bytes. */
static const struct keyroute_bytes param = {"\x12\x03"
                                            "abc",
                                            5};

static void setup(void)
{
  hop_world_start(&world, NULL);
  for (int i = 0; i < HOP_SERVERS; i++) {
    fake_server_answer_method(world.servers[i], "Mutate", body, cells);
  }
  hop_world_open(&world);
  reply = NULL;
  detail = (struct keyroute_detail)KEYROUTE_DETAIL_INIT;
}

static void teardown(void)
{
  keyroute_reply_free(reply);
  keyroute_detail_clear(&detail);
  hop_world_stop(&world);
}

static struct keyroute_method method_of(bool idempotent)
{
  struct keyroute_method method = KEYROUTE_METHOD_INIT;

  method.name = "Mutate";
  method.param = param;
  method.idempotent = idempotent;
  return method;
}

static int call_for(bool idempotent, int64_t deadline_ms)
{
  struct keyroute_call call = {sizeof(call), deadline_ms, 0, 0};
  struct keyroute_method method = method_of(idempotent);

  return keyroute_call(&reply, world.cluster.conn, "t", row("apple"), &method, &call, &detail);
}

static int once(void)
{
  return call_for(false, PATIENCE_MS);
}

static void fault(const struct fake_fault *given)
{
  struct fake_fault with_method = *given;

  with_method.method = "Mutate";
  fake_server_fault(world.servers[0], &with_method);
}

static void exception(const char *class_name)
{
  fault(&(struct fake_fault){.what = FAKE_EXCEPTION, .class_name = class_name});
}

static unsigned executed(void)
{
  return fake_server_executed(world.servers[0], "Mutate");
}

static unsigned seen(void)
{
  return fake_server_seen(world.servers[0], "Mutate");
}

/* ---- What is sent and brought --------------------------------------------------------------- */

START_TEST(test_method__answer_comes_as_it_was_sent)
{
  ck_assert_int_eq(once(), 0);

  struct keyroute_bytes message = keyroute_reply_message(reply);
  struct keyroute_bytes block = keyroute_reply_cells(reply);

  ck_assert_uint_eq(message.len, body.len);
  ck_assert_mem_eq(message.data, body.data, body.len);
  ck_assert_uint_eq(block.len, cells.len);
  ck_assert_mem_eq(block.data, cells.data, cells.len);
  ck_assert_int_eq(keyroute_location_port(keyroute_reply_location(reply), 0),
                   fake_server_port(world.servers[0]));
}
END_TEST

START_TEST(test_method__region_stands_in_front_of_what_was_given)
{
  struct keyroute_method method = method_of(false);
  struct keyroute_bytes name = fake_region_name(&world.low);

  method.cells = cells;
  ck_assert_int_eq(
      keyroute_call(&reply, world.cluster.conn, "t", row("apple"), &method, NULL, &detail), 0);

  struct fake_seen_call last = fake_server_last_call(world.servers[0]);

  ck_assert_str_eq(last.method, "Mutate");
  ck_assert_mem_eq(last.region, name.data, name.len);
  ck_assert_mem_eq(last.param + last.param_len - param.len, param.data, param.len);
  ck_assert_int_eq(last.param[0], 0x0a);
  ck_assert_uint_eq(last.cells_len, cells.len);
  ck_assert_mem_eq(last.cells, cells.data, cells.len);
  free((void *)(uintptr_t)name.data);
}
END_TEST

/* ---- Sent once ------------------------------------------------------------------------------ */

START_TEST(test_method__broken_connection_leaves_it_open_whether_it_was_applied)
{
  fault(&(struct fake_fault){.what = FAKE_APPLY_CLOSE});

  ck_assert_int_eq(once(), KEYROUTE_E_UNREACHABLE);
  ck_assert(detail.maybe_applied);
  ck_assert_uint_eq(executed(), 1);
  ck_assert_uint_eq(seen(), 1);
  ck_assert_ptr_null(reply);
}
END_TEST

START_TEST(test_method__silence_leaves_it_open_whether_it_was_applied)
{
  fault(&(struct fake_fault){.what = FAKE_NEVER, .times = -1});

  ck_assert_int_eq(call_for(false, 600), KEYROUTE_E_UNREACHABLE);
  ck_assert(detail.maybe_applied);
  ck_assert_uint_eq(seen(), 1);
}
END_TEST

START_TEST(test_method__request_that_is_sent_once_has_all_the_time)
{
  fault(&(struct fake_fault){.what = FAKE_ANSWER, .delay_ms = 3000});

  ck_assert_int_eq(call_for(false, 8000), 0);
  ck_assert_uint_eq(seen(), 1);
}
END_TEST

START_TEST(test_method__exception_from_anywhere_leaves_it_open_whether_it_was_applied)
{
  exception("java.io.IOException");

  ck_assert_int_eq(once(), KEYROUTE_E_REMOTE);
  ck_assert(detail.maybe_applied);
  ck_assert_uint_eq(seen(), 1);
}
END_TEST

static const char *const before_anything[] = {
    "org.apache.hadoop.hbase.NotServingRegionException",
    "org.apache.hadoop.hbase.exceptions.RegionOpeningException",
    "org.apache.hadoop.hbase.CallQueueTooBigException",
    "org.apache.hadoop.hbase.RegionTooBusyException",
    "org.apache.hadoop.hbase.quotas.RpcThrottlingException",
    "org.apache.hadoop.hbase.ipc.ServerNotRunningYetException",
};

START_TEST(test_method__exception_before_anything_was_done_is_no_reason_to_give_up)
{
  exception(before_anything[_i]);

  ck_assert_int_eq(once(), 0);
  ck_assert_uint_eq(executed(), 1);
  ck_assert_uint_eq(seen(), 2);
  ck_assert(!detail.maybe_applied);
}
END_TEST

START_TEST(test_method__server_that_is_stopping_leaves_it_to_the_next)
{
  hop_world_warm(&world, "apple");
  exception("org.apache.hadoop.hbase.regionserver.RegionServerStoppedException");
  fake_server_place_region(world.cluster.server, world.servers[2], &world.low);

  ck_assert_int_eq(once(), 0);
  ck_assert_uint_eq(executed(), 0);
  ck_assert_uint_eq(fake_server_executed(world.servers[2], "Mutate"), 1);
}
END_TEST

START_TEST(test_method__region_that_moved_gets_it_at_its_new_place)
{
  hop_world_warm(&world, "apple");
  fake_server_hand_over_region(world.cluster.server, world.servers[0], world.servers[2],
                               &world.low);

  ck_assert_int_eq(once(), 0);
  ck_assert_uint_eq(fake_server_executed(world.servers[2], "Mutate"), 1);
  ck_assert_uint_eq(hop_world_since(&world).scans, 0);
}
END_TEST

START_TEST(test_method__what_was_never_sent_may_be_sent_again)
{
  hop_world_warm(&world, "apple");
  fake_server_stop(world.servers[0]);
  fake_server_place_region(world.cluster.server, world.servers[2], &world.low);

  ck_assert_int_eq(once(), 0);
  ck_assert_uint_eq(fake_server_executed(world.servers[2], "Mutate"), 1);
}
END_TEST

START_TEST(test_method__what_the_server_refuses_for_good_was_not_applied)
{
  exception("org.apache.hadoop.hbase.security.AccessDeniedException");

  ck_assert_int_eq(once(), KEYROUTE_E_AUTH);
  ck_assert(!detail.maybe_applied);
}
END_TEST

/* ---- Sent as often as it takes -------------------------------------------------------------- */

START_TEST(test_method__idempotent_request_is_sent_again_when_the_connection_broke)
{
  fault(&(struct fake_fault){.what = FAKE_APPLY_CLOSE});

  ck_assert_int_eq(call_for(true, PATIENCE_MS), 0);
  ck_assert_uint_eq(executed(), 2);
  ck_assert(!detail.maybe_applied);
}
END_TEST

START_TEST(test_method__idempotent_request_is_sent_again_after_silence)
{
  fault(&(struct fake_fault){.what = FAKE_NEVER});

  ck_assert_int_eq(call_for(true, 3000), 0);
  ck_assert_uint_eq(seen(), 2);
}
END_TEST

START_TEST(test_method__idempotent_request_is_sent_again_after_any_exception)
{
  exception("java.io.IOException");

  ck_assert_int_eq(call_for(true, PATIENCE_MS), 0);
  ck_assert_uint_eq(seen(), 2);
}
END_TEST

/* ---- What makes no sense -------------------------------------------------------------------- */

static const struct {
  struct keyroute_bytes param;
  const char *reason;
} bad_params[] = {
    {{"\x0a\x01x", 3}, "field 1"},
    {{"\x12\x03"
      "abc\x0a\x00",
      7},
     "field 1"},
    {{"\x12\x04"
      "abc",
      5},
     "no encoded message"},
    {{"\x12", 1}, "no encoded message"},
    {{"\x13\x14", 2}, "no encoded message"},
    {{"\x00\x00", 2}, "no encoded message"},
    {{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11}, "no encoded message"},
    {{NULL, 3}, "no data"},
};

START_TEST(test_method__param_that_is_no_message_is_refused_with_the_reason)
{
  struct keyroute_method method = method_of(false);

  method.param = bad_params[_i].param;

  ck_assert_int_eq(
      keyroute_call(&reply, world.cluster.conn, "t", row("apple"), &method, NULL, &detail),
      KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_ptr_nonnull(strstr(detail.message, bad_params[_i].reason));
  ck_assert_uint_eq(fake_cluster_stats(&world.cluster).rpcs, 0);
}
END_TEST

START_TEST(test_method__every_kind_of_field_is_stepped_over)
{
  struct keyroute_method method = method_of(false);

  method.param = (struct keyroute_bytes){"\x10\x96\x01\x19"
                                         "12345678\x25"
                                         "1234\x32\x01x",
                                         20};

  ck_assert_int_eq(
      keyroute_call(&reply, world.cluster.conn, "t", row("apple"), &method, NULL, &detail), 0);
}
END_TEST

START_TEST(test_method__call_without_a_method_is_refused)
{
  struct keyroute_method nameless = KEYROUTE_METHOD_INIT, no_size = method_of(false);
  struct keyroute_connection *conn = world.cluster.conn;
  const int invalid = KEYROUTE_E_INVALID_ARGUMENT;

  no_size.size = 0;
  ck_assert_int_eq(keyroute_call(&reply, conn, "t", row("a"), NULL, NULL, &detail), invalid);
  ck_assert_int_eq(keyroute_call(&reply, conn, "t", row("a"), &nameless, NULL, &detail), invalid);
  ck_assert_int_eq(keyroute_call(&reply, conn, "t", row("a"), &no_size, NULL, &detail), invalid);
  ck_assert_int_eq(keyroute_call_async(NULL, conn, "t", row("a"), &nameless, NULL, NULL, NULL),
                   invalid);
}
END_TEST

/* ---- Without waiting ------------------------------------------------------------------------ */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int told, told_error;
static bool told_maybe;

static void tell(void *payload, int error, struct keyroute_reply *got,
                 const struct keyroute_detail *about)
{
  (void)payload;
  pthread_mutex_lock(&lock);
  told++;
  told_error = error;
  told_maybe = about->maybe_applied;
  reply = got;
  pthread_cond_signal(&changed);
  pthread_mutex_unlock(&lock);
}

static uint64_t start(void)
{
  struct keyroute_method method = method_of(false);
  uint64_t number = 0;

  ck_assert_int_eq(keyroute_call_async(&number, world.cluster.conn, "t", row("apple"), &method,
                                       NULL, tell, NULL),
                   0);
  return number;
}

static void await_told(void)
{
  pthread_mutex_lock(&lock);
  while (told == 0) {
    pthread_cond_wait(&changed, &lock);
  }
  pthread_mutex_unlock(&lock);
}

START_TEST(test_method__callback_owns_the_reply)
{
  start();
  await_told();

  ck_assert_int_eq(told_error, 0);
  ck_assert_uint_eq(keyroute_reply_message(reply).len, body.len);
}
END_TEST

START_TEST(test_method__call_cancelled_once_sent_may_have_been_applied)
{
  fault(&(struct fake_fault){.what = FAKE_NEVER, .times = -1});
  uint64_t number = start();

  ck_assert(fake_server_wait_calls(world.servers[0], 1, PATIENCE_MS));
  keyroute_cancel(world.cluster.conn, number);
  await_told();

  ck_assert_int_eq(told_error, KEYROUTE_E_CANCELLED);
  ck_assert(told_maybe);
}
END_TEST

/* ---- The suite ------------------------------------------------------------------------------ */

static Suite *suite(void)
{
  Suite *made = suite_create("method");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, test_method__answer_comes_as_it_was_sent);
  tcase_add_test(tests, test_method__region_stands_in_front_of_what_was_given);
  tcase_add_test(tests, test_method__broken_connection_leaves_it_open_whether_it_was_applied);
  tcase_add_test(tests, test_method__silence_leaves_it_open_whether_it_was_applied);
  tcase_add_test(tests, test_method__request_that_is_sent_once_has_all_the_time);
  tcase_add_test(tests, test_method__exception_from_anywhere_leaves_it_open_whether_it_was_applied);
  tcase_add_loop_test(tests,
                      test_method__exception_before_anything_was_done_is_no_reason_to_give_up, 0,
                      (int)(sizeof(before_anything) / sizeof(before_anything[0])));
  tcase_add_test(tests, test_method__server_that_is_stopping_leaves_it_to_the_next);
  tcase_add_test(tests, test_method__region_that_moved_gets_it_at_its_new_place);
  tcase_add_test(tests, test_method__what_was_never_sent_may_be_sent_again);
  tcase_add_test(tests, test_method__what_the_server_refuses_for_good_was_not_applied);
  tcase_add_test(tests, test_method__idempotent_request_is_sent_again_when_the_connection_broke);
  tcase_add_test(tests, test_method__idempotent_request_is_sent_again_after_silence);
  tcase_add_test(tests, test_method__idempotent_request_is_sent_again_after_any_exception);
  tcase_add_loop_test(tests, test_method__param_that_is_no_message_is_refused_with_the_reason, 0,
                      (int)(sizeof(bad_params) / sizeof(bad_params[0])));
  tcase_add_test(tests, test_method__every_kind_of_field_is_stepped_over);
  tcase_add_test(tests, test_method__call_without_a_method_is_refused);
  tcase_add_test(tests, test_method__callback_owns_the_reply);
  tcase_add_test(tests, test_method__call_cancelled_once_sent_may_have_been_applied);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
