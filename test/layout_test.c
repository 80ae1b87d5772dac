/* Of what kind a cluster is: forced, found out, and found out to be another one. */
#include "lib/layout.h"

#include "lib/bytes.h"
#include "test/failing_mem.h"
#include "test/fake_loop.h"
#include "test/fuzz/fake_socket.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct kr_mem *mem;
static struct kr_loop *loop;
static struct kr_stats *stats;
static struct kr_settings settings;
static struct kr_layout *layout;
static char greeting[5]; /* what the last connection began with */
static unsigned answers;
static struct kr_failure last;

/* ---- The peer: it listens and says nothing --------------------------------------------------- */

static void peer_connects(struct kr_socket *socket, const char *host, int port)
{
  (void)host;
  (void)port;
  fake_socket_open_later(socket, 0);
}

static void peer_receives(struct kr_socket *socket, struct keyroute_bytes bytes)
{
  if ((*fake_socket_number(socket))++ == 0) {
    memcpy(greeting, bytes.data, 4);
  }
}

static void peer_forgets(struct kr_socket *socket)
{
  (void)socket;
}

static const struct fake_peer peer = {peer_connects, peer_receives, peer_forgets};

/* ---- The client ------------------------------------------------------------------------------ */

static void set_up(void)
{
  mem = failing_mem_new();
  ck_assert_int_eq(kr_loop_new(&loop, mem), 0);
  stats = kr_stats_new(mem);
  settings.user = (char *)"tester";
  settings.connect_timeout_ms = 5000;
  settings.connection_idle_ms = 60000;
  settings.max_frame_len = 4000;
  settings.max_queue_len = 4000;
  fake_socket_set_peer(&peer);
}

static void make(const char *name)
{
  settings.layout = (char *)(uintptr_t)name;
  ck_assert_int_eq(kr_layout_new(&layout, mem, loop, NULL, &settings, stats, NULL), 0);
}

static void tear_down(void)
{
  struct kr_transport *transport = kr_layout_transport(layout);

  transport->ops->shutdown(transport);
  kr_layout_free(layout);
  kr_stats_free(stats);
  kr_loop_free(loop);
  ck_assert_uint_eq(fake_socket_count(), 0);
  failing_mem_done(mem);
}

static void learn(unsigned tiers)
{
  kr_layout_learn(layout, &(struct kr_root){.tiers = tiers, .place = "znode /hbase/x"});
}

static void answered(void *arg, const struct kr_failure *failure, const struct kr_rows *rows)
{
  (void)arg;
  (void)rows;
  answers++;
  last = *failure;
}

static struct kr_request *start_scan(void)
{
  struct kr_transport *transport = kr_layout_transport(layout);
  struct kr_scan scan = {.region = keyroute_string("r"),
                         .start_row = keyroute_string("t,a,9"),
                         .stop_row = keyroute_string("t,,"),
                         .include_start = true,
                         .reversed = true,
                         .limit = 1,
                         .family = "info"};
  struct kr_request *request =
      transport->ops->scan(transport, "rs", 1, &scan, 1000, answered, NULL);

  ck_assert_ptr_nonnull(request);
  fake_clock_pass_ms(0);
  return request;
}

/* Which catalog, and what a server hears. */
static void expect(const char *root, const char *opening)
{
  struct kr_transport *transport = kr_layout_transport(layout);

  ck_assert(!kr_layout_catalog(layout)->unsettled);
  ck_assert_str_eq(kr_layout_catalog(layout)->root, root);
  transport->ops->cancel(transport, start_scan());
  ck_assert_str_eq(greeting, opening);
}

static void expect_unsettled(void)
{
  const struct kr_catalog *catalog = kr_layout_catalog(layout);
  struct keyroute_bytes root = keyroute_string(catalog->root);

  ck_assert(catalog->unsettled);
  ck_assert(kr_bytes_equal(catalog->parent(keyroute_string("t")), root));
  ck_assert(kr_bytes_equal(catalog->parent(keyroute_string("hbase:meta")), root));
  ck_assert_uint_eq(catalog->parent(root).len, 0);
}

START_TEST(test_layout__one_that_is_asked_for_is_settled_from_the_start)
{
  static const char *const roots[] = {"hbase:meta", "-ROOT-"};
  static const char *const openings[] = {"HBas", "hrpc"};

  make(_i == 0 ? "meta" : "root");
  expect(roots[_i], openings[_i]);
  learn(_i == 0 ? 3 : 2);
  expect(roots[_i], openings[_i]);
}
END_TEST

static const struct {
  unsigned tiers;
  const char *root, *opening;
} found[] = {{2, "hbase:meta", "HBas"}, {3, "-ROOT-", "hrpc"}, {0, "hbase:meta", "HBas"}};

START_TEST(test_layout__auto_is_what_the_registry_says_first)
{
  make("auto");
  expect_unsettled();
  learn(found[_i].tiers);

  expect(found[_i].root, found[_i].opening);
}
END_TEST

START_TEST(test_layout__two_tiers_are_believed_for_good)
{
  make("auto");
  learn(2);
  learn(3);

  expect("hbase:meta", "HBas");
}
END_TEST

START_TEST(test_layout__three_tiers_may_turn_out_to_be_two)
{
  struct kr_transport *transport;

  make("auto");
  transport = kr_layout_transport(layout);
  learn(3);
  struct kr_request *early = start_scan();
  ck_assert_str_eq(greeting, "hrpc");
  learn(2);
  struct kr_request *late = start_scan();

  ck_assert_str_eq(greeting, "HBas");
  transport->ops->cancel(transport, early);
  transport->ops->cancel(transport, late);
  ck_assert_uint_eq(answers, 0);
}
END_TEST

START_TEST(test_layout__shutdown_ends_requests_of_both_kinds)
{
  struct kr_transport *transport;

  make("auto");
  transport = kr_layout_transport(layout);
  learn(3);
  start_scan();
  learn(2);
  start_scan();
  transport->ops->shutdown(transport);

  ck_assert_uint_eq(answers, 2);
  ck_assert_int_eq(last.code, KEYROUTE_E_CLOSED);
}
END_TEST

START_TEST(test_layout__names_of_tables_are_the_kinds_own)
{
  struct keyroute_bytes name;
  const char *reason = NULL;

  make("auto");
  kr_table_name_checker checker = kr_layout_checker(layout);

  ck_assert_int_eq(checker(&name, "default:t", &reason), 0);
  ck_assert(kr_bytes_equal(name, keyroute_string("t")));
  learn(3);
  ck_assert_ptr_eq(kr_layout_checker(layout), checker);
}
END_TEST

START_TEST(test_layout__nothing_to_find_out_is_accepted)
{
  make("meta");
  kr_layout_learn(NULL, &(struct kr_root){.tiers = 3});
  kr_layout_free(NULL);
}
END_TEST

START_TEST(test_layout__each_allocation_of_a_new_one_may_fail)
{
  int error = KEYROUTE_E_NO_MEMORY;

  settings.layout = (char *)"auto";
  for (long n = 1; error != 0; n++) {
    mem_fail(n);
    error = kr_layout_new(&layout, mem, loop, NULL, &settings, stats, NULL);
    ck_assert(error == 0 || error == KEYROUTE_E_NO_MEMORY);
    ck_assert_int_lt(n, 100);
  }
  mem_fail(0);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("layout");
  TCase *tests = tcase_create("all");

  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_loop_test(tests, test_layout__one_that_is_asked_for_is_settled_from_the_start, 0, 2);
  tcase_add_loop_test(tests, test_layout__auto_is_what_the_registry_says_first, 0, 3);
  tcase_add_test(tests, test_layout__two_tiers_are_believed_for_good);
  tcase_add_test(tests, test_layout__three_tiers_may_turn_out_to_be_two);
  tcase_add_test(tests, test_layout__shutdown_ends_requests_of_both_kinds);
  tcase_add_test(tests, test_layout__names_of_tables_are_the_kinds_own);
  tcase_add_test(tests, test_layout__nothing_to_find_out_is_accepted);
  tcase_add_test(tests, test_layout__each_allocation_of_a_new_one_may_fail);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
