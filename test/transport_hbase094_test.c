/* The transport for HBase 0.94 against the scripted servers, without threads or a network. */
#include "lib/transport_hbase094.h"

#include "lib/bytes.h"
#include "test/failing_mem.h"
#include "test/fake_loop.h"
#include "test/fake_server094.h"
#include "test/fuzz/fake_socket.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES(literal) kr_bytes(literal, sizeof(literal) - 1)
#define NINES "99999999999999"

enum { TIMEOUT_MS = 1000, CONNS_MAX = 64, ROWS_MAX = 64, SERVER = 0, OTHER = 1 };

static const struct made094 meta = {.table = ".META.", .id = 1};
static const struct made094 t_low = {.table = "t", .end = {"m", 1}, .id = 5};
static const struct made094 t_high = {.table = "t", .start = {"m", 1}, .id = 5};

static struct kr_mem *mem, *other_mem;
static struct kr_loop *loop;
static struct kr_stats *stats;
static struct kr_settings settings;
static struct kr_transport *transport;
static struct fake094 *servers;

/* ---- The servers ----------------------------------------------------------------------------- */

struct conn {
  int server;
  bool opened;
  struct kr_buf in;
};

static struct conn conns[CONNS_MAX];
static unsigned conn_count;

static void peer_connects(struct kr_socket *socket, const char *host, int port)
{
  struct conn *conn = &conns[conn_count++];

  ck_assert_uint_lt(conn_count, CONNS_MAX);
  ck_assert_str_eq(host, "rs");
  conn->server = port - fake094_port(servers, 0);
  kr_buf_init(&conn->in, other_mem);
  *fake_socket_number(socket) = conn_count;
  fake_socket_open_later(socket, 0);
}

static void peer_receives(struct kr_socket *socket, struct keyroute_bytes bytes)
{
  struct conn *conn = &conns[*fake_socket_number(socket) - 1];
  struct kr_buf out;

  kr_buf_init(&out, other_mem);
  kr_buf_bytes(&conn->in, bytes);
  bool stays = fake094_serve(servers, conn->server, &conn->opened, &conn->in, &out);

  if (out.len > 0) {
    fake_socket_send_later(socket, 0, kr_buf_view(&out));
  }
  if (!stays) {
    fake_socket_end_later(socket, 0);
  }
  kr_buf_clear(&out);
}

static void peer_forgets(struct kr_socket *socket)
{
  kr_buf_clear(&conns[*fake_socket_number(socket) - 1].in);
}

static const struct fake_peer peer = {peer_connects, peer_receives, peer_forgets};

static void set_up(void)
{
  mem = failing_mem_new();
  other_mem = kr_mem_new(NULL);
  ck_assert_int_eq(kr_loop_new(&loop, other_mem), 0);
  stats = kr_stats_new(other_mem);
  settings.user = (char *)"tester";
  settings.connect_timeout_ms = 5000;
  settings.connection_idle_ms = 60000;
  settings.max_frame_len = 4000;
  settings.max_queue_len = 1000;
  servers = fake094_new(2);
  fake094_host_root(servers, SERVER);
  fake094_put(servers, &meta, SERVER);
  fake094_put(servers, &t_low, SERVER);
  fake094_put(servers, &t_high, SERVER);
  fake_socket_set_peer(&peer);
  ck_assert_int_eq(kr_transport_hbase094_new(&transport, mem, loop, NULL, &settings, stats), 0);
}

static void tear_down(void)
{
  transport->ops->shutdown(transport);
  transport->ops->free(transport);
  kr_loop_free(loop);
  kr_stats_free(stats);
  fake094_free(servers);
  kr_mem_release(other_mem);
  ck_assert_uint_eq(fake_socket_count(), 0);
  failing_mem_done(mem);
}

/* ---- Scans ----------------------------------------------------------------------------------- */

/* One scan and what came of it. */
struct scanned {
  struct kr_request *request; /* NULL = it has ended */
  unsigned answers;
  struct kr_failure failure;
  size_t count;
  bool more;
  char keys[4][80];
};

static void scan_answered(void *arg, const struct kr_failure *failure, const struct kr_rows *rows)
{
  struct scanned *scanned = arg;

  scanned->request = NULL;
  scanned->answers++;
  scanned->failure = *failure;
  scanned->count = rows->count;
  scanned->more = rows->more;
  for (size_t i = 0; i < rows->count && i < 4; i++) {
    kr_bytes_print(scanned->keys[i], sizeof(scanned->keys[i]), rows->rows[i].key);
    ck_assert_ptr_nonnull(kr_row_find(&rows->rows[i], "info", "regioninfo"));
  }
}

/* NULL = out of memory. */
static struct kr_request *start_scan(struct scanned *scanned, const struct kr_scan *scan)
{
  memset(scanned, 0, sizeof(*scanned));
  scanned->request = transport->ops->scan(transport, "rs", fake094_port(servers, SERVER), scan,
                                          TIMEOUT_MS, scan_answered, scanned);
  ck_assert_uint_eq(scanned->answers, 0);
  return scanned->request;
}

static struct kr_scan down_from(const char *start)
{
  return (struct kr_scan){.region = BYTES(".META.,,1"),
                          .start_row = keyroute_string(start),
                          .stop_row = BYTES("t,,"),
                          .include_start = true,
                          .include_stop = true,
                          .reversed = true,
                          .limit = 3,
                          .family = "info"};
}

static struct kr_scan up_from(const char *start)
{
  return (struct kr_scan){.region = BYTES(".META.,,1"),
                          .start_row = keyroute_string(start),
                          .stop_row = BYTES("t ,,"),
                          .include_start = true,
                          .limit = 3,
                          .family = "info"};
}

static struct scanned scan(struct kr_scan scan)
{
  struct scanned scanned;

  ck_assert_ptr_nonnull(start_scan(&scanned, &scan));
  fake_clock_pass_ms(0);
  ck_assert_uint_eq(scanned.answers, 1);
  return scanned;
}

static void expect_rows(const struct scanned *scanned, size_t count, bool more)
{
  ck_assert_msg(scanned->failure.code == 0, "%s", scanned->failure.message);
  ck_assert_uint_eq(scanned->count, count);
  ck_assert_int_eq(scanned->more, more);
}

static void expect_failed(const struct scanned *scanned, int code, const char *says)
{
  ck_assert_int_eq(scanned->failure.code, code);
  ck_assert_uint_eq(scanned->count, 0);
  ck_assert_str_eq(scanned->failure.server, "rs:60020");
  ck_assert_msg(strstr(scanned->failure.message, says) != NULL, "%s", scanned->failure.message);
}

START_TEST(test_transport_hbase094__scan_down_is_one_request_for_one_row)
{
  struct scanned found = scan(down_from("t,z," NINES));

  expect_rows(&found, 1, true);
  ck_assert_int_eq(strncmp(found.keys[0], "t,m,5.", 6), 0);
  ck_assert_uint_eq(fake094_counts(servers, SERVER).requests, 1);
  ck_assert_uint_eq(fake094_counts(servers, SERVER).meta_reads, 1);
}
END_TEST

START_TEST(test_transport_hbase094__scan_goes_on_below_the_last_row)
{
  struct scanned first = scan(down_from("t,z," NINES));
  struct kr_scan on = down_from(first.keys[0]);

  on.include_start = false;
  struct scanned second = scan(on);

  expect_rows(&second, 1, true);
  ck_assert_int_eq(strncmp(second.keys[0], "t,,5.", 5), 0);
  on.start_row = keyroute_string(second.keys[0]);
  struct scanned third = scan(on);

  expect_rows(&third, 0, false);
}
END_TEST

START_TEST(test_transport_hbase094__table_without_rows_is_a_good_answer)
{
  struct scanned below = scan(down_from("s,," NINES));
  struct scanned above = scan(down_from("u,," NINES));

  expect_rows(&below, 0, false);
  expect_rows(&above, 0, false);
}
END_TEST

START_TEST(test_transport_hbase094__scan_up_opens_reads_and_closes)
{
  struct scanned found = scan(up_from("t,,"));

  expect_rows(&found, 2, false);
  ck_assert_int_eq(strncmp(found.keys[0], "t,,5.", 5), 0);
  ck_assert_int_eq(strncmp(found.keys[1], "t,m,5.", 6), 0);
  ck_assert_uint_eq(fake094_counts(servers, SERVER).requests, 3);
  ck_assert_uint_eq(fake094_counts(servers, SERVER).closes, 1);
  ck_assert_uint_eq(fake094_scanners(servers), 0);
  ck_assert_uint_eq(fake094_counts(servers, SERVER).connects, 1);
}
END_TEST

START_TEST(test_transport_hbase094__scan_up_keeps_its_bounds)
{
  struct kr_scan none = up_from("s,,");
  struct kr_scan one = up_from("t,,");

  none.stop_row = BYTES("s ,,");
  struct scanned found = scan(none);

  expect_rows(&found, 0, false);
  one.limit = 1;
  found = scan(one);
  expect_rows(&found, 1, false);
  ck_assert_uint_eq(fake094_scanners(servers), 0);
}
END_TEST

START_TEST(test_transport_hbase094__root_is_scanned_alike)
{
  struct kr_scan up = up_from(".META.,,");
  struct kr_scan down = down_from(".META.,t,z," NINES "," NINES);

  up.region = down.region = BYTES("-ROOT-,,0");
  up.stop_row = BYTES("");
  struct scanned above = scan(up);
  struct scanned below = scan(down);

  expect_rows(&above, 1, false);
  expect_rows(&below, 1, true);
  ck_assert_str_eq(below.keys[0], ".META.,,1");
  ck_assert_uint_eq(fake094_counts(servers, SERVER).root_reads, 1);
}
END_TEST

START_TEST(test_transport_hbase094__wrong_server_says_so)
{
  fake094_move_silently(servers, &meta, OTHER);
  struct scanned down = scan(down_from("t,z," NINES));
  struct scanned up = scan(up_from("t,,"));

  expect_failed(&down, KEYROUTE_E_REMOTE, "NotServingRegionException");
  ck_assert_int_eq(down.failure.kind, KEYROUTE_KIND_REFRESH);
  expect_failed(&up, KEYROUTE_E_REMOTE, "NotServingRegionException");
  ck_assert_uint_eq(fake094_counts(servers, SERVER).connects, 1);
}
END_TEST

static const struct {
  enum fake094_what what;
  const char *method;
  int code;
  unsigned connects; /* the next scan included */
} spoilt[] = {
    {FAKE094_EXCEPTION, "next", KEYROUTE_E_REMOTE, 1},
    {FAKE094_FATAL, "getClosestRowBefore", KEYROUTE_E_REMOTE, 2},
    {FAKE094_FATAL, "next", KEYROUTE_E_REMOTE, 2},
    {FAKE094_CLOSE, "getClosestRowBefore", KEYROUTE_E_UNREACHABLE, 2},
    {FAKE094_CLOSE, "openScanner", KEYROUTE_E_UNREACHABLE, 2},
    {FAKE094_CLOSE, "next", KEYROUTE_E_UNREACHABLE, 2},
    {FAKE094_HALF, "getClosestRowBefore", KEYROUTE_E_UNREACHABLE, 2},
    {FAKE094_GARBAGE, "getClosestRowBefore", KEYROUTE_E_PROTOCOL, 2},
    {FAKE094_GARBAGE, "openScanner", KEYROUTE_E_PROTOCOL, 2},
    {FAKE094_GARBAGE, "next", KEYROUTE_E_PROTOCOL, 2},
    {FAKE094_HUGE, "getClosestRowBefore", KEYROUTE_E_PROTOCOL, 2},
    {FAKE094_HUGE, "next", KEYROUTE_E_PROTOCOL, 2},
    {FAKE094_OLD, "getClosestRowBefore", KEYROUTE_E_PROTOCOL, 2},
};

START_TEST(test_transport_hbase094__spoilt_answer_fails_and_the_next_scan_is_good)
{
  bool down = strcmp(spoilt[_i].method, "getClosestRowBefore") == 0;

  fake094_fault(servers, SERVER,
                &(struct fake094_fault){.what = spoilt[_i].what,
                                        .method = spoilt[_i].method,
                                        .class_name = "java.io.IOException",
                                        .text = "x"});
  struct scanned first = scan(down ? down_from("t,z," NINES) : up_from("t,,"));
  struct scanned second = scan(down_from("t,z," NINES));

  expect_failed(&first, spoilt[_i].code, "server rs:60020: ");
  expect_rows(&second, 1, true);
  ck_assert_uint_eq(fake094_counts(servers, SERVER).connects, spoilt[_i].connects);
}
END_TEST

START_TEST(test_transport_hbase094__close_that_fails_hurts_nobody)
{
  fake094_fault(servers, SERVER,
                &(struct fake094_fault){.what = FAKE094_GARBAGE, .method = "close"});
  struct scanned first = scan(up_from("t,,"));
  struct scanned second = scan(up_from("t,,"));

  expect_rows(&first, 2, false);
  expect_rows(&second, 2, false);
}
END_TEST

START_TEST(test_transport_hbase094__one_scan_has_one_time)
{
  struct scanned late;
  struct kr_scan up = up_from("t,,");

  fake094_fault(servers, SERVER, &(struct fake094_fault){.what = FAKE094_NEVER, .method = "next"});
  start_scan(&late, &up);
  fake_clock_pass_ms(TIMEOUT_MS - 1);
  ck_assert_uint_eq(late.answers, 0);
  fake_clock_pass_ms(1);

  ck_assert_uint_eq(late.answers, 1);
  expect_failed(&late, KEYROUTE_E_TIMEOUT, "no answer to next");
}
END_TEST

START_TEST(test_transport_hbase094__cancelled_scan_leaves_no_scanner_that_is_known)
{
  struct scanned given_up;
  struct kr_scan up = up_from("t,,");

  fake094_fault(servers, SERVER, &(struct fake094_fault){.what = FAKE094_NEVER, .method = "next"});
  start_scan(&given_up, &up);
  fake_clock_pass_ms(0);
  ck_assert_uint_eq(fake094_scanners(servers), 1);
  transport->ops->cancel(transport, given_up.request);
  fake_clock_pass_ms(0);

  ck_assert_uint_eq(given_up.answers, 0);
  ck_assert_uint_eq(fake094_scanners(servers), 0);
}
END_TEST

START_TEST(test_transport_hbase094__shutdown_ends_scans_in_every_state)
{
  struct scanned connecting, reading;
  struct kr_scan up = up_from("t,,"), down = down_from("t,z," NINES);

  fake094_fault(servers, SERVER, &(struct fake094_fault){.what = FAKE094_NEVER, .method = "next"});
  start_scan(&reading, &up);
  fake_clock_pass_ms(0);
  start_scan(&connecting, &down);
  transport->ops->shutdown(transport);

  expect_failed(&reading, KEYROUTE_E_CLOSED, "being closed");
  expect_failed(&connecting, KEYROUTE_E_CLOSED, "being closed");
  ck_assert_ptr_null(start_scan(&connecting, &down));
}
END_TEST

START_TEST(test_transport_hbase094__each_failed_allocation_of_a_scan_is_survived)
{
  struct kr_scan up = up_from("t,,"), down = down_from("t,z," NINES);
  bool good = false;

  for (long n = 1; !good; n++) {
    struct scanned found;

    mem_fail(n);
    if (start_scan(&found, _i == 0 ? &up : &down) != NULL) {
      fake_clock_pass_ms(TIMEOUT_MS);
      ck_assert_uint_eq(found.answers, 1);
      good = !mem_has_failed();
      ck_assert(found.failure.code == 0 || found.failure.code == KEYROUTE_E_NO_MEMORY);
    }
    mem_fail(0);
    ck_assert_int_lt(n, 1000);
  }
}
END_TEST

/* ---- Rows ------------------------------------------------------------------------------------ */

/* One read and what came of it. */
struct got {
  struct kr_request *request;
  unsigned answers;
  struct kr_failure failure;
  size_t count;
  int errors[ROWS_MAX];
  size_t cells[ROWS_MAX];
  char values[ROWS_MAX][16]; /* of the first cell */
};

static struct kr_read read_of;
static struct keyroute_bytes names[2];
static char room[2][100];

static void get_answered(void *arg, const struct kr_failure *failure, struct kr_got *answer)
{
  struct got *got = arg;

  got->request = NULL;
  got->answers++;
  got->failure = *failure;
  ck_assert((answer == NULL) == (failure->code != 0));
  got->count = answer != NULL ? answer->row_count : 0;
  for (size_t i = 0; i < got->count; i++) {
    const struct kr_got_row *row = &answer->rows[i];

    got->errors[i] = row->failure != NULL ? row->failure->code : 0;
    got->cells[i] = row->cell_count;
    if (row->cell_count > 0) {
      kr_bytes_print(got->values[i], sizeof(got->values[i]), row->cells[0].value);
    }
  }
  if (answer != NULL) {
    kr_free(mem, answer->block);
  }
}

static void set_names(void)
{
  const struct made094 *const regions[] = {&t_low, &t_high};
  struct kr_buf name;

  kr_buf_init(&name, other_mem);
  for (int i = 0; i < 2; i++) {
    name.len = 0;
    made094_name(&name, regions[i]);
    memcpy(room[i], name.data, name.len);
    names[i] = kr_bytes(room[i], name.len);
  }
  kr_buf_clear(&name);
}

/* Rows of t: the first `low` in the first region. NULL = out of memory. */
static struct kr_request *start_get(struct got *got, const struct keyroute_bytes *rows, size_t low,
                                    size_t high)
{
  struct kr_get_region regions[2] = {{names[0], 0, low}, {names[1], low, high}};
  struct kr_gets gets = {.read = &read_of,
                         .regions = low > 0 ? regions : regions + 1,
                         .region_count = (size_t)(low > 0) + (size_t)(high > 0),
                         .rows = rows,
                         .row_count = low + high};

  memset(got, 0, sizeof(*got));
  got->request = transport->ops->get(transport, "rs", fake094_port(servers, SERVER), &gets,
                                     TIMEOUT_MS, get_answered, got);
  ck_assert_uint_eq(got->answers, 0);
  return got->request;
}

static struct got get(const struct keyroute_bytes *rows, size_t low, size_t high)
{
  struct got got;

  ck_assert_ptr_nonnull(start_get(&got, rows, low, high));
  fake_clock_pass_ms(0);
  ck_assert_uint_eq(got.answers, 1);
  return got;
}

static void set_up_rows(void)
{
  set_up();
  set_names();
  read_of = (struct kr_read){.max_versions = 1, .max_result_len = 1000};
  fake094_put_cell(servers, "t", "a", "f", "p", 1, "one");
  fake094_put_cell(servers, "t", "a", "f", "q", 1, "two");
  fake094_put_cell(servers, "t", "x", "f", "q", 1, "three");
}

static const struct keyroute_bytes some[] = {{"a", 1}, {"b", 1}, {"x", 1}};

START_TEST(test_transport_hbase094__row_is_read_by_one_request)
{
  struct got one = get(some, 1, 0);
  struct got none = get(some + 1, 1, 0);

  ck_assert_int_eq(one.failure.code, 0);
  ck_assert_uint_eq(one.cells[0], 2);
  ck_assert_str_eq(one.values[0], "one");
  ck_assert_int_eq(none.failure.code, 0);
  ck_assert_uint_eq(none.count, 1);
  ck_assert_uint_eq(none.cells[0], 0);
  ck_assert_uint_eq(fake094_counts(servers, SERVER).requests, 2);
}
END_TEST

START_TEST(test_transport_hbase094__rows_are_read_at_once_and_stay_in_order)
{
  struct got many = get(some, 2, 1);

  ck_assert_int_eq(many.failure.code, 0);
  ck_assert_uint_eq(many.count, 3);
  ck_assert_uint_eq(many.cells[0], 2);
  ck_assert_uint_eq(many.cells[1], 0);
  ck_assert_str_eq(many.values[2], "three");
  ck_assert_uint_eq(fake094_counts(servers, SERVER).gets, 3);
  ck_assert_uint_eq(fake094_counts(servers, SERVER).connects, 1);
}
END_TEST

START_TEST(test_transport_hbase094__region_that_is_elsewhere_fails_its_rows_alone)
{
  fake094_move_silently(servers, &t_high, OTHER);
  struct got many = get(some, 2, 1);

  ck_assert_int_eq(many.failure.code, 0);
  ck_assert_int_eq(many.errors[0], 0);
  ck_assert_str_eq(many.values[0], "one");
  ck_assert_int_eq(many.errors[2], KEYROUTE_E_REMOTE);
}
END_TEST

START_TEST(test_transport_hbase094__one_row_has_no_failure_of_its_own)
{
  fake094_move_silently(servers, &t_low, OTHER);
  struct got one = get(some, 1, 0);

  ck_assert_int_eq(one.failure.code, KEYROUTE_E_REMOTE);
}
END_TEST

START_TEST(test_transport_hbase094__all_rows_may_fail_on_their_own)
{
  fake094_move_silently(servers, &t_low, OTHER);
  fake094_move_silently(servers, &t_high, OTHER);
  struct got many = get(some, 2, 1);

  ck_assert_int_eq(many.failure.code, 0);
  for (int i = 0; i < 3; i++) {
    ck_assert_int_eq(many.errors[i], KEYROUTE_E_REMOTE);
  }
}
END_TEST

START_TEST(test_transport_hbase094__row_that_is_too_large_fails_alone)
{
  read_of.max_result_len = 8;
  struct got many = get(some, 2, 1);

  ck_assert_int_eq(many.failure.code, 0);
  ck_assert_int_eq(many.errors[0], KEYROUTE_E_TOO_LARGE);
  ck_assert_int_eq(many.errors[1], 0);
  ck_assert_int_eq(many.errors[2], 0);
  ck_assert_str_eq(many.values[2], "three");
}
END_TEST

START_TEST(test_transport_hbase094__answers_together_are_no_longer_than_one_may_be)
{
  struct keyroute_bytes rows[ROWS_MAX];
  static char value[200];

  memset(value, 'v', sizeof(value) - 1);
  fake094_put_cell(servers, "t", "c", "f", "q", 1, value);
  for (int i = 0; i < ROWS_MAX; i++) {
    rows[i] = BYTES("c");
  }
  settings.max_queue_len = 100000;
  struct got few = get(rows, 10, 0);
  struct got many = get(rows, 30, 0);

  ck_assert_int_eq(few.failure.code, 0);
  ck_assert_int_eq(many.failure.code, KEYROUTE_E_TOO_LARGE);
}
END_TEST

START_TEST(test_transport_hbase094__rows_beyond_what_may_wait_are_overloaded_alone)
{
  struct keyroute_bytes rows[ROWS_MAX];
  struct got many;
  size_t good = 0, refused = 0;

  for (int i = 0; i < ROWS_MAX; i++) {
    rows[i] = BYTES("a");
  }
  many = get(rows, ROWS_MAX, 0);
  for (int i = 0; i < ROWS_MAX; i++) {
    good += many.errors[i] == 0;
    refused += many.errors[i] == KEYROUTE_E_OVERLOADED;
  }

  ck_assert_int_eq(many.failure.code, 0);
  ck_assert_uint_gt(good, 2);
  ck_assert_uint_gt(refused, 2);
  ck_assert_uint_eq(good + refused, ROWS_MAX);
}
END_TEST

static const struct {
  enum fake094_what what;
  int code;
} lost[] = {{FAKE094_CLOSE, KEYROUTE_E_UNREACHABLE},
            {FAKE094_GARBAGE, KEYROUTE_E_PROTOCOL},
            {FAKE094_OLD, KEYROUTE_E_PROTOCOL},
            {FAKE094_NEVER, KEYROUTE_E_TIMEOUT}};

START_TEST(test_transport_hbase094__what_is_about_all_rows_fails_them_all)
{
  struct got many;

  fake094_fault(
      servers, SERVER,
      &(struct fake094_fault){.what = FAKE094_EXCEPTION, .class_name = "java.io.IOException"});
  fake094_fault(servers, SERVER, &(struct fake094_fault){.what = lost[_i].what});
  start_get(&many, some, 2, 1);
  fake_clock_pass_ms(TIMEOUT_MS);

  ck_assert_uint_eq(many.answers, 1);
  ck_assert_int_eq(many.failure.code, lost[_i].code);
  ck_assert(many.failure.sent);
}
END_TEST

START_TEST(test_transport_hbase094__cancelled_read_gets_no_answer)
{
  struct got early, late;

  start_get(&early, some, 2, 1);
  transport->ops->cancel(transport, early.request);
  fake094_fault(servers, SERVER, &(struct fake094_fault){.what = FAKE094_NEVER});
  start_get(&late, some, 2, 1);
  fake_clock_pass_ms(0);
  transport->ops->cancel(transport, late.request);
  fake_clock_pass_ms(TIMEOUT_MS);

  ck_assert_uint_eq(early.answers + late.answers, 0);
}
END_TEST

START_TEST(test_transport_hbase094__shutdown_ends_a_read_once)
{
  struct got many;

  start_get(&many, some, 2, 1);
  transport->ops->shutdown(transport);

  ck_assert_uint_eq(many.answers, 1);
  ck_assert_int_eq(many.failure.code, KEYROUTE_E_CLOSED);
}
END_TEST

START_TEST(test_transport_hbase094__each_failed_allocation_of_a_read_is_survived)
{
  bool good = false;

  fake094_move_silently(servers, &t_high, OTHER);
  for (long n = 1; !good; n++) {
    struct got many;

    mem_fail(n);
    if (start_get(&many, some, 2, 1) != NULL) {
      fake_clock_pass_ms(TIMEOUT_MS);
      ck_assert_uint_eq(many.answers, 1);
      good = !mem_has_failed();
      ck_assert(many.failure.code == 0 || many.failure.code == KEYROUTE_E_NO_MEMORY);
    }
    mem_fail(0);
    ck_assert_int_lt(n, 1000);
  }
}
END_TEST

/* ---- Other methods --------------------------------------------------------------------------- */

static struct kr_failure refusal;
static unsigned refusals;

static void call_answered(void *arg, const struct kr_failure *failure,
                          struct keyroute_bytes message, struct keyroute_bytes cells)
{
  (void)arg;
  ck_assert_uint_eq(message.len + cells.len, 0);
  refusal = *failure;
  refusals++;
}

static struct kr_request *start_call(void)
{
  struct kr_method method = {.name = "Mutate", .region = BYTES("t,,5")};

  return transport->ops->call(transport, "rs", fake094_port(servers, SERVER), &method, TIMEOUT_MS,
                              call_answered, NULL);
}

START_TEST(test_transport_hbase094__other_methods_are_refused_in_words)
{
  ck_assert_ptr_nonnull(start_call());
  ck_assert_uint_eq(refusals, 0);
  fake_clock_pass_ms(0);

  ck_assert_uint_eq(refusals, 1);
  ck_assert_int_eq(refusal.code, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert(refusal.final && !refusal.sent);
  ck_assert_uint_eq(fake094_counts(servers, SERVER).requests, 0);
}
END_TEST

START_TEST(test_transport_hbase094__refused_method_may_be_cancelled)
{
  ck_assert(!transport->ops->cancel(transport, start_call()));
  fake_clock_pass_ms(0);

  ck_assert_uint_eq(refusals, 0);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("transport_hbase094");
  TCase *scans = tcase_create("scans");
  TCase *rows = tcase_create("rows");

  suite_add_tcase(made, scans);
  tcase_add_checked_fixture(scans, set_up, tear_down);
  tcase_add_test(scans, test_transport_hbase094__scan_down_is_one_request_for_one_row);
  tcase_add_test(scans, test_transport_hbase094__scan_goes_on_below_the_last_row);
  tcase_add_test(scans, test_transport_hbase094__table_without_rows_is_a_good_answer);
  tcase_add_test(scans, test_transport_hbase094__scan_up_opens_reads_and_closes);
  tcase_add_test(scans, test_transport_hbase094__scan_up_keeps_its_bounds);
  tcase_add_test(scans, test_transport_hbase094__root_is_scanned_alike);
  tcase_add_test(scans, test_transport_hbase094__wrong_server_says_so);
  tcase_add_loop_test(scans, test_transport_hbase094__spoilt_answer_fails_and_the_next_scan_is_good,
                      0, (int)(sizeof(spoilt) / sizeof(spoilt[0])));
  tcase_add_test(scans, test_transport_hbase094__close_that_fails_hurts_nobody);
  tcase_add_test(scans, test_transport_hbase094__one_scan_has_one_time);
  tcase_add_test(scans, test_transport_hbase094__cancelled_scan_leaves_no_scanner_that_is_known);
  tcase_add_test(scans, test_transport_hbase094__shutdown_ends_scans_in_every_state);
  tcase_add_loop_test(scans, test_transport_hbase094__each_failed_allocation_of_a_scan_is_survived,
                      0, 2);
  tcase_add_test(scans, test_transport_hbase094__other_methods_are_refused_in_words);
  tcase_add_test(scans, test_transport_hbase094__refused_method_may_be_cancelled);
  suite_add_tcase(made, rows);
  tcase_add_checked_fixture(rows, set_up_rows, tear_down);
  tcase_add_test(rows, test_transport_hbase094__row_is_read_by_one_request);
  tcase_add_test(rows, test_transport_hbase094__rows_are_read_at_once_and_stay_in_order);
  tcase_add_test(rows, test_transport_hbase094__region_that_is_elsewhere_fails_its_rows_alone);
  tcase_add_test(rows, test_transport_hbase094__one_row_has_no_failure_of_its_own);
  tcase_add_test(rows, test_transport_hbase094__all_rows_may_fail_on_their_own);
  tcase_add_test(rows, test_transport_hbase094__row_that_is_too_large_fails_alone);
  tcase_add_test(rows, test_transport_hbase094__answers_together_are_no_longer_than_one_may_be);
  tcase_add_test(rows, test_transport_hbase094__rows_beyond_what_may_wait_are_overloaded_alone);
  tcase_add_loop_test(rows, test_transport_hbase094__what_is_about_all_rows_fails_them_all, 0,
                      (int)(sizeof(lost) / sizeof(lost[0])));
  tcase_add_test(rows, test_transport_hbase094__cancelled_read_gets_no_answer);
  tcase_add_test(rows, test_transport_hbase094__shutdown_ends_a_read_once);
  tcase_add_test(rows, test_transport_hbase094__each_failed_allocation_of_a_read_is_survived);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
