/*
 * Lookups through -ROOT- and .META. on scripted servers of HBase 0.94: what they ask, what they
 * find, and what they do where something has moved. The registry is the test's own, and counts its
 * reads.
 */
#include "lib/connection.h"

#include "test/blocking.h"
#include "test/fake_registry.h"
#include "test/fake_server.h"
#include "test/fake_server094.h"
#include "test/run_suite.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { SERVERS = 5, CALLERS = 64 };

/* Server 0 has -ROOT-, 1 to 3 a region of .META. each, 4 the users' regions. */
enum { ROOT = 0, META = 1, USERS = 4 };

static struct fake094 *servers;
static struct keyroute_options *options;
static struct keyroute_connection *conn;

/* ---- The registry ---------------------------------------------------------------------------- */

static atomic_uint registry_reads;
/* What it says; NULL = the znode is not there. Changed while nobody reads. */
static const char *root_text;
static unsigned root_tiers;

static bool answer(const struct kr_root_read *read)
{
  struct kr_root_value value = {.replica = 0};
  struct kr_root root = {.values = &value,
                         .count = 1,
                         .place = "znode /hbase/root-region-server",
                         .tiers = root_tiers};

  atomic_fetch_add(&registry_reads, 1);
  if (root_text == NULL) {
    kr_fail(&root.failure, KEYROUTE_E_BOOTSTRAP, "no such znode");
  } else {
    value.text = root_tiers == 2;
    value.data = keyroute_string(root_text);
  }
  if (read->cb != NULL) {
    read->cb(read->arg, &root);
  }
  return true;
}

static struct fake_registry registry = {.answer = answer};

/* ---- The cluster ----------------------------------------------------------------------------- */

static void put(const char *table, const char *start, const char *end, int64_t id, int server)
{
  fake094_put_between(servers, table, start, end, id, server);
}

static void set_up(void)
{
  servers = fake094_start(SERVERS);
  fake094_host_root(servers, ROOT);
  root_text = fake094_root(servers);
  root_tiers = 3;
  ck_assert_int_eq(keyroute_options_new(&options, NULL), 0);
  keyroute_options_set(options, "hbase.client.pause", "1", NULL);
}

/* .META. in three regions, and tables on both sides of their borders. */
static void set_up_three(void)
{
  set_up();
  put(".META.", "", "t,g,5", 1, META);
  put(".META.", "t,g,5", "t,p,5", 1, META + 1);
  put(".META.", "t,p,5", "", 1, META + 2);
  put("t", "", "g", 5, USERS);
  put("t", "g", "m", 5, USERS);
  put("t", "m", "p", 5, USERS);
  put("t", "p", "", 5, USERS);
  put("Table2", "", "", 5, USERS);
  put("z", "", "", 5, USERS);
}

static void set_up_one(void)
{
  set_up();
  put(".META.", "", "", 1, META);
  put("t", "", "m", 5, USERS);
  put("t", "m", "", 5, USERS);
  put("t1", "", "", 5, USERS);
}

static void open_as(const char *layout)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

  ck_assert_int_eq(keyroute_options_set_layout(options, layout), 0);
  int error = kr_connection_open(&conn, options, &detail, fake_registry_make, &registry);

  ck_assert_msg(error == 0, "%s", detail.message);
}

static void tear_down(void)
{
  ck_assert_int_eq(keyroute_close(conn), 0);
  keyroute_options_free(options);
  fake094_free(servers);
}

/* ---- Asking ---------------------------------------------------------------------------------- */

static struct keyroute_detail found(const char *table, const char *key, const char *start)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_location *location = NULL;
  int error = keyroute_locate(&location, conn, table, keyroute_string(key), NULL, &detail);

  ck_assert_msg(error == 0, "%s", detail.message);
  struct keyroute_bytes begins = keyroute_location_start_key(location);

  ck_assert(begins.len == strlen(start) && memcmp(begins.data, start, begins.len) == 0);
  ck_assert_int_eq(keyroute_location_port(location, 0), fake094_port(servers, USERS));
  keyroute_location_release(location);
  return detail;
}

static struct keyroute_detail fails(const char *table, const char *key, int code)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

  int error = locate(conn, table, key, 0, &detail);

  ck_assert_msg(error == code, "%s", detail.message);
  return detail;
}

static struct fake094_counts counts(int server)
{
  return fake094_counts(servers, server);
}

/* They are closed without waiting for the answer. */
static void expect_no_scanners(void)
{
  for (int i = 0; i < 10000 && fake094_scanners(servers) > 0; i++) {
    pause_ms(1);
  }
  ck_assert_uint_eq(fake094_scanners(servers), 0);
}

/* ---- What a lookup asks ---------------------------------------------------------------------- */

START_TEST(test_three_tiers__cold_lookup_is_three_reads_and_a_warm_one_is_one)
{
  open_as(_i == 0 ? "root" : "auto");
  struct keyroute_detail cold = found("t", "k", "g");

  ck_assert_int_eq(cold.rpcs, 2);
  ck_assert_uint_eq(registry_reads, 1);
  ck_assert_uint_eq(counts(ROOT).root_reads, 1);
  ck_assert_uint_eq(counts(META + 1).meta_reads, 1);
  struct keyroute_detail warm = found("t", "n", "m");

  ck_assert_int_eq(warm.rpcs, 1);
  ck_assert_uint_eq(registry_reads, 1);
  ck_assert_uint_eq(counts(ROOT).root_reads, 1);
  ck_assert_uint_eq(counts(META + 1).meta_reads, 2);
  ck_assert_int_eq(found("t", "h", "g").rpcs, 0);
}
END_TEST

/* Hits do not check names that were found good before; these are in the cache, and never were. */
START_TEST(test_three_tiers__tables_of_the_catalog_cannot_be_asked_for_once_they_are_known)
{
  static const char *const names[] = {"-ROOT-", ".META."};
  struct keyroute_location *location = NULL;

  open_as("root");
  found("t", "k", "g");
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    int error = keyroute_locate(&location, conn, names[i], keyroute_string(""), NULL, NULL);

    ck_assert_int_eq(error, KEYROUTE_E_INVALID_ARGUMENT);
  }
  ck_assert_ptr_null(location);
}
END_TEST

START_TEST(test_three_tiers__each_region_of_meta_is_found_and_kept)
{
  open_as("auto");
  found("t", "a", "");
  found("t", "g", "g");
  found("t", "x", "p");
  found("Table2", "RK10000", "");
  found("z", "a", "");

  ck_assert_uint_eq(registry_reads, 1);
  ck_assert_uint_eq(counts(ROOT).root_reads, 3);
  ck_assert_uint_eq(counts(META).meta_reads, 2);
  ck_assert_uint_eq(counts(META + 1).meta_reads, 1);
  ck_assert_uint_eq(counts(META + 2).meta_reads, 2);
}
END_TEST

struct caller {
  pthread_t thread;
  pthread_barrier_t *together;
  int number;
};

static void *run_caller(void *arg)
{
  struct caller *caller = arg;

  pthread_barrier_wait(caller->together);
  found("t", caller->number % 2 == 0 ? "a" : "x", caller->number % 2 == 0 ? "" : "m");
  return NULL;
}

static const int caller_counts[] = {2, CALLERS};

START_TEST(test_three_tiers__many_who_want_the_root_at_once_read_it_once)
{
  struct caller callers[CALLERS];
  pthread_barrier_t together;
  int count = caller_counts[_i / 2];

  open_as(_i % 2 == 0 ? "root" : "auto");
  pthread_barrier_init(&together, NULL, (unsigned)count);
  for (int i = 0; i < count; i++) {
    callers[i] = (struct caller){.together = &together, .number = i};
    ck_assert_int_eq(pthread_create(&callers[i].thread, NULL, run_caller, &callers[i]), 0);
  }
  for (int i = 0; i < count; i++) {
    pthread_join(callers[i].thread, NULL);
  }
  pthread_barrier_destroy(&together);

  ck_assert_uint_eq(registry_reads, 1);
  ck_assert_uint_eq(counts(ROOT).root_reads, 1);
}
END_TEST

/* ---- Across the borders of .META. ------------------------------------------------------------ */

START_TEST(test_three_tiers__region_that_begins_in_the_region_of_meta_before_is_found)
{
  struct made094 gone[] = {made094_region("t", "g", "m", 5), made094_region("t", "m", "p", 5)};

  put("t", "c", "p", 6, USERS); /* merged; its row stands before t,g,5 */
  put("t", "", "c", 6, USERS);
  fake094_delete(servers, &gone[0]);
  fake094_delete(servers, &gone[1]);
  open_as("auto");

  ck_assert_int_eq(found("t", "n", "c").rpcs, 4); /* .META. twice, each found in -ROOT- */
  ck_assert_int_eq(found("t", "h", "c").rpcs, 0);
}
END_TEST

START_TEST(test_three_tiers__dead_row_at_a_border_is_passed_over)
{
  struct made094 parent = made094_region("t", "g", "m", 5), other = made094_region("t", "", "g", 5);

  fake094_delete(servers, &other);
  parent.offline = parent.split = true;
  fake094_put(servers, &parent, USERS);
  put("t", "", "m", 4, USERS);
  open_as("auto");

  found("t", "h", "");
}
END_TEST

/* Take regions of table t away, by the letters that they begin with; "-" is the first one. */
static void take_away(const char *starts)
{
  static const char *const bounds[] = {"", "g", "m", "p", ""};

  for (int i = 0; i < 4; i++) {
    if (strchr(starts, i > 0 ? bounds[i][0] : '-') != NULL) {
      struct made094 gone = made094_region("t", bounds[i], bounds[i + 1], 5);

      fake094_delete(servers, &gone);
    }
  }
}

static void expect_hole(const char *row, const char *bounds)
{
  struct keyroute_detail detail = fails("t", row, KEYROUTE_E_HOLE);
  const char *hole = strstr(detail.message, "hole ");

  ck_assert_msg(hole != NULL && strstr(hole, bounds) == hole, "%s", detail.message);
}

START_TEST(test_three_tiers__table_across_a_border_without_rows_here_is_no_missing_table)
{
  take_away("-gm");
  open_as("auto");

  expect_hole("a", "hole from the table's first row to p");
  expect_hole("n", "hole from the table's first row to p");
  found("t", "x", "p");
}
END_TEST

START_TEST(test_three_tiers__table_without_rows_on_either_side_of_a_border_is_missing)
{
  take_away("-gmp");
  open_as("auto");

  fails("t", "a", KEYROUTE_E_TABLE_NOT_FOUND);
  fails("t", "n", KEYROUTE_E_TABLE_NOT_FOUND);
  fails("t", "x", KEYROUTE_E_TABLE_NOT_FOUND);
}
END_TEST

START_TEST(test_three_tiers__hole_that_ends_behind_a_border_is_told_to_its_end)
{
  take_away("m");
  open_as("auto");

  expect_hole("n", "hole from m to p");
}
END_TEST

START_TEST(test_three_tiers__hole_from_before_a_border_to_behind_the_next_is_told_whole)
{
  take_away("gm");
  open_as("auto");

  expect_hole("n", "hole from g to p");
  expect_hole("h", "hole from g to p");
}
END_TEST

START_TEST(test_three_tiers__hole_behind_the_last_border_ends_with_the_table)
{
  take_away("p");
  open_as("auto");

  expect_hole("x", "hole from p to the table's end");
}
END_TEST

START_TEST(test_three_tiers__hole_across_one_border_takes_two_reads_more_of_meta)
{
  take_away("m");
  keyroute_options_set(options, "hbase.client.retries.number", "0", NULL);
  open_as("auto");
  found("t", "x", "p");
  struct keyroute_detail detail = fails("t", "n", KEYROUTE_E_HOLE);

  /* -ROOT- and .META. for the row, three rows down in two regions of .META., each found, and up:
   * here a scanner, in the next one another. */
  ck_assert_int_le(detail.rpcs, 12);
  ck_assert_uint_eq(counts(META).opens, 0);
  ck_assert_uint_eq(counts(META + 1).opens, 1);
  ck_assert_uint_eq(counts(META + 2).opens, 1);
}
END_TEST

/* .META. in many regions, of which only the first and the last have rows of the table. */
START_TEST(test_three_tiers__end_of_a_hole_is_not_looked_for_without_bound)
{
  enum { BORDERS = 24 };
  char border[2][32];

  take_away("gmp");
  for (int i = 0; i < 3; i++) {
    struct made094 gone = made094_region(".META.",
                                         i == 0   ? ""
                                         : i == 1 ? "t,g,5"
                                                  : "t,p,5",
                                         i == 0   ? "t,g,5"
                                         : i == 1 ? "t,p,5"
                                                  : "",
                                         1);

    fake094_delete(servers, &gone);
  }
  put(".META.", "", "t,h00,5", 1, META);
  for (int i = 0; i < BORDERS; i++) {
    snprintf(border[0], sizeof(border[0]), "t,h%02d,5", i);
    snprintf(border[1], sizeof(border[1]), "t,h%02d,5", i + 1);
    put(".META.", border[0], border[1], 1, META + 1);
  }
  put(".META.", border[1], "", 1, META + 2);
  put("t", "", "g", 5, USERS);
  put("t", "x", "", 5, USERS);
  keyroute_options_set(options, "hbase.client.retries.number", "0", NULL);
  open_as("auto");

  expect_hole("h", "hole from g to where was not looked");
  ck_assert_uint_le(counts(META + 1).opens, 16);
  ck_assert_uint_eq(counts(META + 2).opens, 0);
  expect_hole("k", "hole from g to x");
}
END_TEST

START_TEST(test_three_tiers__last_region_is_found_behind_all_borders)
{
  struct keyroute_call call = {.size = sizeof(call), .flags = KEYROUTE_BEFORE};
  struct keyroute_location *location = NULL;

  open_as("auto");
  ck_assert_int_eq(keyroute_locate(&location, conn, "t", keyroute_string(""), &call, NULL), 0);
  struct keyroute_bytes start = keyroute_location_start_key(location);

  ck_assert(start.len == 1 && memcmp(start.data, "p", 1) == 0);
  keyroute_location_release(location);
}
END_TEST

START_TEST(test_three_tiers__regions_across_borders_are_listed)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_page *page = NULL;

  open_as("auto");
  int error = keyroute_regions(&page, conn, "t", keyroute_string(""), keyroute_string(""), 10, NULL,
                               &detail);

  ck_assert_msg(error == 0, "%s", detail.message);
  ck_assert_uint_eq(keyroute_page_count(page), 4);
  keyroute_page_free(page);
}
END_TEST

static unsigned all_requests(void)
{
  unsigned sum = 0;

  expect_no_scanners();
  for (int i = 0; i < SERVERS; i++) {
    sum += counts(i).requests;
  }
  return sum;
}

START_TEST(test_three_tiers__detail_counts_each_request_of_a_scan)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_page *page = NULL;

  open_as("root");
  unsigned missing = fails("nosuch", "a", KEYROUTE_E_TABLE_NOT_FOUND).rpcs;

  ck_assert_uint_eq(missing, all_requests());
  int error = keyroute_regions(&page, conn, "t", keyroute_string(""), keyroute_string(""), 10, NULL,
                               &detail);

  ck_assert_msg(error == 0, "%s", detail.message);
  ck_assert_uint_eq(missing + detail.rpcs, all_requests());
  keyroute_page_free(page);
}
END_TEST

/* ---- What has moved -------------------------------------------------------------------------- */

START_TEST(test_three_tiers__stale_meta_costs_one_read_of_the_root_and_none_of_the_registry)
{
  open_as("auto");
  found("t", "h", "g");
  put(".META.", "t,g,5", "t,p,5", 1, ROOT);
  struct keyroute_detail moved = found("t", "n", "m");

  ck_assert_int_eq(moved.rpcs, 3); /* the stale one, -ROOT-, the new one */
  ck_assert_uint_eq(registry_reads, 1);
  ck_assert_uint_eq(counts(ROOT).root_reads, 2);
  ck_assert_uint_eq(counts(ROOT).meta_reads, 1);
}
END_TEST

START_TEST(test_three_tiers__stale_root_costs_a_read_of_the_registry)
{
  open_as("auto");
  found("t", "h", "g");
  fake094_host_root(servers, USERS);
  root_text = fake094_root(servers);
  struct keyroute_detail moved = found("t", "x", "p");

  ck_assert_int_eq(moved.rpcs, 3); /* the stale -ROOT-, the new one, .META. */
  ck_assert_uint_eq(registry_reads, 2);
  ck_assert_uint_eq(counts(USERS).root_reads, 1);
}
END_TEST

START_TEST(test_three_tiers__root_that_is_away_for_a_moment_is_waited_for)
{
  open_as("auto");
  root_text = NULL;
  fails("t", "h", KEYROUTE_E_BOOTSTRAP);
  root_text = fake094_root(servers);

  found("t", "h", "g");
}
END_TEST

START_TEST(test_three_tiers__dead_server_of_meta_is_found_out)
{
  open_as("auto");
  found("t", "h", "g");
  fake094_stop(servers, META + 1);
  put(".META.", "t,g,5", "t,p,5", 1, META);
  found("t", "n", "m");

  ck_assert_uint_eq(registry_reads, 1);
}
END_TEST

START_TEST(test_three_tiers__dead_server_of_the_root_is_found_out)
{
  open_as("auto");
  found("t", "h", "g");
  fake094_stop(servers, ROOT);
  fake094_host_root(servers, USERS);
  root_text = fake094_root(servers);

  found("t", "x", "p");
}
END_TEST

START_TEST(test_three_tiers__region_that_has_moved_is_read_again)
{
  open_as("auto");
  found("t", "h", "g");
  put("t", "g", "m", 5, META);
  struct keyroute_result *result = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  int error = keyroute_get(&result, conn, "t", keyroute_string("h"), NULL, NULL, &detail);

  ck_assert_msg(error == 0, "%s", detail.message);
  ck_assert_uint_eq(counts(META).gets, 1);
  ck_assert_uint_eq(counts(ROOT).root_reads, 1);
  keyroute_result_free(result);
}
END_TEST

/* ---- What is found --------------------------------------------------------------------------- */

START_TEST(test_three_tiers__table_that_is_not_there_is_told)
{
  open_as("auto");
  fails("s", "a", KEYROUTE_E_TABLE_NOT_FOUND);
  fails("t2", "a", KEYROUTE_E_TABLE_NOT_FOUND);
  fails("t0", "a", KEYROUTE_E_TABLE_NOT_FOUND);
  fails("T", "a", KEYROUTE_E_TABLE_NOT_FOUND);
  found("t1", "a", "");

  expect_no_scanners();
}
END_TEST

START_TEST(test_three_tiers__neighbours_of_a_row_are_found)
{
  static const struct {
    const char *key, *start;
  } before[] = {{"x", "m"}, {"m", ""}, {"n", "m"}, {"", "m"}};

  open_as("auto");
  for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
    struct keyroute_call call = {.size = sizeof(call), .flags = KEYROUTE_BEFORE};
    struct keyroute_location *location = NULL;

    ck_assert_int_eq(
        keyroute_locate(&location, conn, "t", keyroute_string(before[i].key), &call, NULL), 0);
    struct keyroute_bytes start = keyroute_location_start_key(location);

    ck_assert(start.len == strlen(before[i].start) &&
              memcmp(start.data, before[i].start, start.len) == 0);
    keyroute_location_release(location);
  }
}
END_TEST

START_TEST(test_three_tiers__keys_of_any_bytes_find_their_regions)
{
  static const char *const starts[] = {"", "\x01", "a", "a\x01", "a!", "a,", "a,,1", "b", "\xff"};
  enum { STARTS = sizeof(starts) / sizeof(starts[0]) };

  for (int i = 0; i < STARTS; i++) {
    put("any", starts[i], i + 1 < STARTS ? starts[i + 1] : "", 5, USERS);
  }
  open_as("auto");
  for (int i = STARTS - 1; i >= 0; i--) {
    char inside[16];

    snprintf(inside, sizeof(inside), "%s\x01\x01", starts[i]);
    found("any", starts[i], starts[i]);
    if (strcmp(starts[i], "") != 0 && strcmp(starts[i], "a") != 0) {
      found("any", inside, starts[i]);
    }
  }
}
END_TEST

START_TEST(test_three_tiers__split_parent_is_passed_over_once_its_daughters_are_there)
{
  struct made094 parent = made094_region("s", "", "", 5);
  struct made094 low = made094_region("s", "", "k", 6), high = made094_region("s", "k", "", 6);

  parent.offline = parent.split = true;
  fake094_put(servers, &parent, USERS);
  open_as("auto");
  fails("s", "a", KEYROUTE_E_OFFLINE);
  fake094_put(servers, &low, USERS);
  fake094_put(servers, &high, USERS);

  ck_assert_int_eq(found("s", "a", "").rpcs, 1);
  ck_assert_int_eq(found("s", "x", "k").rpcs, 1);
}
END_TEST

START_TEST(test_three_tiers__second_daughter_that_is_not_there_yet_is_no_hole)
{
  struct made094 parent = made094_region("s", "", "", 5);
  struct made094 low = made094_region("s", "", "k", 6);

  parent.offline = parent.split = true;
  fake094_put(servers, &parent, USERS);
  fake094_put(servers, &low, USERS);
  open_as("auto");

  fails("s", "x", KEYROUTE_E_OFFLINE);
}
END_TEST

START_TEST(test_three_tiers__holes_are_told_with_their_bounds)
{
  put("h", "", "c", 5, USERS);
  put("h", "g", "", 5, USERS);
  put("h2", "c", "", 5, USERS);
  open_as("auto");
  struct keyroute_detail inside = fails("h", "d", KEYROUTE_E_HOLE);
  struct keyroute_detail at_front = fails("h2", "a", KEYROUTE_E_HOLE);

  ck_assert_ptr_nonnull(strstr(inside.message, "hole from c to g"));
  ck_assert_ptr_nonnull(strstr(at_front.message, "hole from the table's first row to c"));
  expect_no_scanners();
}
END_TEST

START_TEST(test_three_tiers__region_on_no_server_is_told)
{
  put("n", "", "", 5, -1);
  open_as("auto");

  fails("n", "a", KEYROUTE_E_NO_SERVER);
}
END_TEST

/* ---- The last hop ---------------------------------------------------------------------------- */

START_TEST(test_three_tiers__rows_are_read_one_and_many)
{
  const struct keyroute_bytes keys[] = {keyroute_string("a"), keyroute_string("x"),
                                        keyroute_string("none")};
  struct keyroute_result *one = NULL, *many = NULL;
  size_t count;

  fake094_put_cell(servers, "t", "a", "f", "q", 1, "one");
  fake094_put_cell(servers, "t", "x", "f", "q", 1, "two");
  open_as("auto");
  ck_assert_int_eq(keyroute_get(&one, conn, "t", keys[0], NULL, NULL, NULL), 0);
  const struct keyroute_cell *cells = keyroute_result_cells(one, 0, &count);

  ck_assert_uint_eq(count, 1);
  ck_assert_mem_eq(cells[0].value.data, "one", 3);
  struct keyroute_key wanted[3];

  for (int i = 0; i < 3; i++) {
    wanted[i] = (struct keyroute_key){.table = "t", .row = keys[i]};
  }
  ck_assert_int_eq(keyroute_get_many(&many, conn, wanted, 3, NULL, NULL, NULL), 0);
  cells = keyroute_result_cells(many, 1, &count);
  ck_assert_uint_eq(count, 1);
  ck_assert_mem_eq(cells[0].value.data, "two", 3);
  keyroute_result_cells(many, 2, &count);
  ck_assert_uint_eq(count, 0);
  keyroute_result_free(one);
  keyroute_result_free(many);
}
END_TEST

START_TEST(test_three_tiers__other_requests_are_refused)
{
  struct keyroute_method method = KEYROUTE_METHOD_INIT;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_reply *reply = NULL;

  open_as("auto");
  method.name = "Mutate";
  ck_assert_int_eq(keyroute_call(&reply, conn, "t", keyroute_string("a"), &method, NULL, &detail),
                   KEYROUTE_E_INVALID_ARGUMENT);

  ck_assert_ptr_null(reply);
  ck_assert(!detail.maybe_applied);
  ck_assert_ptr_nonnull(strstr(detail.message, "before 0.96"));
  ck_assert_uint_eq(counts(USERS).requests, 0);
}
END_TEST

START_TEST(test_three_tiers__regions_are_listed)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_page *page = NULL;

  open_as(_i == 0 ? "root" : "auto");
  int error = keyroute_regions(&page, conn, "t", keyroute_string(""), keyroute_string(""), 10, NULL,
                               &detail);

  ck_assert_msg(error == 0, "%s", detail.message);
  ck_assert_uint_eq(keyroute_page_count(page), 2);
  keyroute_page_free(page);
  error = keyroute_regions(&page, conn, "none", keyroute_string(""), keyroute_string(""), 10, NULL,
                           &detail);
  ck_assert_int_eq(error, KEYROUTE_E_TABLE_NOT_FOUND);
  expect_no_scanners();
}
END_TEST

/* ---- What turns out to be another kind ------------------------------------------------------- */

START_TEST(test_three_tiers__upgraded_cluster_turns_out_to_have_two)
{
  struct fake_server *newer = fake_server_start(0);
  char place[64];
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_location *location = NULL;

  snprintf(place, sizeof(place), "127.0.0.1:%d:77", fake_server_port(newer));
  fake_server_put_region(newer, &(struct fake_region){.table = "t",
                                                      .id = 9,
                                                      .host = "127.0.0.1",
                                                      .port = fake_server_port(newer),
                                                      .start_code = 77});
  fake094_stop(servers, ROOT); /* the znode of before names nobody */
  open_as("auto");
  fails("t", "a", KEYROUTE_E_UNREACHABLE);
  root_text = place;
  root_tiers = 2;
  int error = keyroute_locate(&location, conn, "t", keyroute_string("a"), NULL, &detail);

  ck_assert_msg(error == 0, "%s", detail.message);
  ck_assert_int_eq(keyroute_location_region_id(location), 9);
  keyroute_location_release(location);
  fake_server_free(newer);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("three_tiers");
  TCase *three = tcase_create("three regions of .META.");
  TCase *one = tcase_create("one region of .META.");

  suite_add_tcase(made, three);
  tcase_set_timeout(three, 60);
  tcase_add_checked_fixture(three, set_up_three, tear_down);
  tcase_add_loop_test(three, test_three_tiers__cold_lookup_is_three_reads_and_a_warm_one_is_one, 0,
                      2);
  tcase_add_test(three,
                 test_three_tiers__tables_of_the_catalog_cannot_be_asked_for_once_they_are_known);
  tcase_add_test(three, test_three_tiers__each_region_of_meta_is_found_and_kept);
  tcase_add_test(three, test_three_tiers__region_that_begins_in_the_region_of_meta_before_is_found);
  tcase_add_test(three, test_three_tiers__dead_row_at_a_border_is_passed_over);
  tcase_add_test(three,
                 test_three_tiers__table_across_a_border_without_rows_here_is_no_missing_table);
  tcase_add_test(three, test_three_tiers__table_without_rows_on_either_side_of_a_border_is_missing);
  tcase_add_test(three, test_three_tiers__hole_that_ends_behind_a_border_is_told_to_its_end);
  tcase_add_test(three,
                 test_three_tiers__hole_from_before_a_border_to_behind_the_next_is_told_whole);
  tcase_add_test(three, test_three_tiers__hole_behind_the_last_border_ends_with_the_table);
  tcase_add_test(three, test_three_tiers__hole_across_one_border_takes_two_reads_more_of_meta);
  tcase_add_test(three, test_three_tiers__end_of_a_hole_is_not_looked_for_without_bound);
  tcase_add_test(three, test_three_tiers__last_region_is_found_behind_all_borders);
  tcase_add_test(three, test_three_tiers__regions_across_borders_are_listed);
  tcase_add_test(three, test_three_tiers__detail_counts_each_request_of_a_scan);
  tcase_add_test(three,
                 test_three_tiers__stale_meta_costs_one_read_of_the_root_and_none_of_the_registry);
  tcase_add_test(three, test_three_tiers__stale_root_costs_a_read_of_the_registry);
  tcase_add_test(three, test_three_tiers__root_that_is_away_for_a_moment_is_waited_for);
  tcase_add_test(three, test_three_tiers__dead_server_of_meta_is_found_out);
  tcase_add_test(three, test_three_tiers__dead_server_of_the_root_is_found_out);
  tcase_add_test(three, test_three_tiers__region_that_has_moved_is_read_again);
  suite_add_tcase(made, one);
  tcase_set_timeout(one, 60);
  tcase_add_checked_fixture(one, set_up_one, tear_down);
  tcase_add_loop_test(one, test_three_tiers__many_who_want_the_root_at_once_read_it_once, 0, 4);
  tcase_add_test(one, test_three_tiers__table_that_is_not_there_is_told);
  tcase_add_test(one, test_three_tiers__neighbours_of_a_row_are_found);
  tcase_add_test(one, test_three_tiers__keys_of_any_bytes_find_their_regions);
  tcase_add_test(one, test_three_tiers__split_parent_is_passed_over_once_its_daughters_are_there);
  tcase_add_test(one, test_three_tiers__second_daughter_that_is_not_there_yet_is_no_hole);
  tcase_add_test(one, test_three_tiers__holes_are_told_with_their_bounds);
  tcase_add_test(one, test_three_tiers__region_on_no_server_is_told);
  tcase_add_test(one, test_three_tiers__rows_are_read_one_and_many);
  tcase_add_test(one, test_three_tiers__other_requests_are_refused);
  tcase_add_loop_test(one, test_three_tiers__regions_are_listed, 0, 2);
  tcase_add_test(one, test_three_tiers__upgraded_cluster_turns_out_to_have_two);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
