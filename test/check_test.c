/*
 * Judging catalog rows made by hand.
 */
#include "lib/check.h"

#include "test/failing_mem.h"
#include "test/made_location.h"
#include "test/run_suite.h"

#include <stdlib.h>

/* Rows, nearest first, and the question asked of them. */
struct fixture {
  struct kr_mem *mem;
  struct kr_servers *servers;
  struct kr_catalog_row rows[8];
  size_t count;
  struct kr_checked checked;
};

static struct fixture fixture_new(void)
{
  struct fixture fixture = {.mem = failing_mem_new()};

  fixture.servers = kr_servers_new(fixture.mem);
  return fixture;
}

static void fixture_free(struct fixture *fixture)
{
  for (size_t i = 0; i < fixture->count; i++) {
    keyroute_location_release(fixture->rows[i].location);
  }
  kr_servers_free(fixture->servers);
  failing_mem_done(fixture->mem);
}

static struct kr_catalog_row *add(struct fixture *fixture, const char *start, const char *end,
                                  int64_t id)
{
  struct made made = {"t", start, end, id, "h", 16020, 5, 2};
  struct kr_catalog_row *row = &fixture->rows[fixture->count++];

  row->location = make_location(fixture->mem, fixture->servers, &made);
  return row;
}

static void add_split(struct fixture *fixture, const char *start, const char *end, int64_t id)
{
  struct kr_catalog_row *row = add(fixture, start, end, id);

  row->split = true;
  row->offline = true;
}

static void add_offline(struct fixture *fixture, const char *start, const char *end, int64_t id)
{
  add(fixture, start, end, id)->offline = true;
}

static void add_corrupt(struct fixture *fixture, const char *key)
{
  struct kr_catalog_row *row = &fixture->rows[fixture->count++];

  row->key = keyroute_string(key);
  kr_fail(&row->failure, KEYROUTE_E_CORRUPT, "catalog row %s: it has no regioninfo", key);
}

static void judge_at(struct fixture *fixture, const char *row, enum kr_position position,
                     bool complete)
{
  struct kr_question question = {keyroute_string("t"), keyroute_string(row), position};

  kr_check_rows(&fixture->checked, &question, fixture->rows, fixture->count, complete);
}

static void judge(struct fixture *fixture, const char *row)
{
  judge_at(fixture, row, KR_AT, true);
}

static void expect_found(const struct fixture *fixture, int64_t id)
{
  ck_assert_int_eq(fixture->checked.verdict, KR_VERDICT_FOUND);
  ck_assert_int_eq(keyroute_location_region_id(fixture->checked.location), id);
}

static void expect_failed(const struct fixture *fixture, int code, const char *text)
{
  ck_assert_int_eq(fixture->checked.verdict, KR_VERDICT_FAILED);
  ck_assert_str_eq(keyroute_errname(fixture->checked.failure.code), keyroute_errname(code));
  ck_assert_msg(strstr(fixture->checked.failure.message, text) != NULL, "%s",
                fixture->checked.failure.message);
}

START_TEST(test_check__no_row_is_empty)
{
  struct fixture fixture = fixture_new();

  judge(&fixture, "a");

  ck_assert_int_eq(fixture.checked.verdict, KR_VERDICT_EMPTY);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_check__nearest_live_region_that_covers_answers)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "m", "", 2);
  add(&fixture, "", "m", 1);
  judge(&fixture, "x");

  expect_found(&fixture, 2);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_check__before_is_answered_by_the_region_below)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "", "m", 1);
  judge_at(&fixture, "m", KR_BEFORE, true);

  expect_found(&fixture, 1);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s008_before_the_empty_row_is_the_last_region)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "\x0a", "", 1);
  judge_at(&fixture, "", KR_BEFORE, true);

  expect_found(&fixture, 1);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_check__before_the_empty_row_needs_an_unbounded_region)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "", "m", 1);
  judge_at(&fixture, "", KR_BEFORE, true);

  ck_assert_int_eq(fixture.checked.verdict, KR_VERDICT_BEHIND);
  ck_assert(kr_bytes_equal(fixture.checked.hole_start, keyroute_string("m")));
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s048_corrupt_row_nearest_to_the_row_hides_the_answer)
{
  struct fixture fixture = fixture_new();

  add_corrupt(&fixture, "t,m,5");
  add(&fixture, "", "", 1);
  judge(&fixture, "x");

  expect_failed(&fixture, KEYROUTE_E_CORRUPT, "catalog row t,m,5: it has no regioninfo");
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_check__corrupt_row_behind_dead_ones_hides_the_answer_too)
{
  struct fixture fixture = fixture_new();

  add_split(&fixture, "m", "", 3);
  add_corrupt(&fixture, "t,m,2");
  add(&fixture, "", "", 1);
  judge(&fixture, "x");

  expect_failed(&fixture, KEYROUTE_E_CORRUPT, "t,m,2");
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_check__corrupt_row_below_a_live_one_matters_to_nobody)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "m", "", 2);
  add_corrupt(&fixture, "t,a,1");
  judge(&fixture, "x");

  expect_found(&fixture, 2);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_check__split_parent_gives_way_to_a_live_region)
{
  struct fixture fixture = fixture_new();

  add_split(&fixture, "m", "", 5);
  add(&fixture, "", "", 9);
  judge(&fixture, "x");

  expect_found(&fixture, 9);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s050_split_parent_alone_is_offline)
{
  struct fixture fixture = fixture_new();

  add_split(&fixture, "a", "z", 1);
  judge(&fixture, "m");

  expect_failed(&fixture, KEYROUTE_E_OFFLINE, "daughters are not in the catalog");
  ck_assert_int_eq(fixture.checked.failure.kind, KEYROUTE_KIND_KEEP);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s054_offline_region_alone_is_offline)
{
  struct fixture fixture = fixture_new();

  add_offline(&fixture, "a", "z", 1);
  judge(&fixture, "m");

  expect_failed(&fixture, KEYROUTE_E_OFFLINE, "which covers row m, is offline");
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_check__offline_region_beside_a_live_one_is_offline)
{
  struct fixture fixture = fixture_new();

  add_offline(&fixture, "m", "", 2);
  add(&fixture, "", "m", 1);
  judge(&fixture, "x");

  expect_failed(&fixture, KEYROUTE_E_OFFLINE, "t,m,2");
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_check__offline_region_elsewhere_is_no_reason)
{
  struct fixture fixture = fixture_new();

  add_offline(&fixture, "m", "n", 2);
  add(&fixture, "", "m", 1);
  judge(&fixture, "x");

  ck_assert_int_eq(fixture.checked.verdict, KR_VERDICT_BEHIND);
  ck_assert(kr_bytes_equal(fixture.checked.hole_start, keyroute_string("m")));
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_check__only_dead_rows_send_one_below)
{
  struct fixture fixture = fixture_new();

  add_split(&fixture, "m", "", 3);
  add_split(&fixture, "m", "", 2);
  judge_at(&fixture, "x", KR_AT, false);

  ck_assert_int_eq(fixture.checked.verdict, KR_VERDICT_BELOW);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_check__few_rows_that_were_cut_short_are_no_hole_yet)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "", "c", 6);
  judge_at(&fixture, "x", KR_AT, false);
  ck_assert_int_eq(fixture.checked.verdict, KR_VERDICT_BELOW);
  add_split(&fixture, "", "", 5);
  judge_at(&fixture, "x", KR_AT, false);

  expect_failed(&fixture, KEYROUTE_E_OFFLINE, "split");
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_check__dead_rows_that_cover_nothing_are_a_hole)
{
  struct fixture fixture = fixture_new();

  add_split(&fixture, "m", "n", 3);
  judge(&fixture, "x");

  ck_assert_int_eq(fixture.checked.verdict, KR_VERDICT_BEHIND);
  ck_assert_uint_eq(fixture.checked.hole_start.len, 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s052_hole_begins_where_the_live_region_below_ends)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "", "b", 1);
  judge(&fixture, "b5");

  ck_assert_int_eq(fixture.checked.verdict, KR_VERDICT_BEHIND);
  ck_assert(kr_bytes_equal(fixture.checked.hole_start, keyroute_string("b")));
  fixture_free(&fixture);
}
END_TEST

/* ---- Overlaps ---- */

START_TEST(test_check__of_two_covering_regions_the_larger_id_answers)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "m", "", 2);
  add(&fixture, "", "", 9);
  judge(&fixture, "x");
  expect_found(&fixture, 9);

  keyroute_location_release(fixture.rows[1].location);
  fixture.count--;
  add(&fixture, "", "", 1);
  judge(&fixture, "x");
  expect_found(&fixture, 2);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_check__two_covering_regions_of_one_id_are_an_overlap)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "m", "", 7);
  add(&fixture, "", "", 7);
  judge(&fixture, "x");

  expect_failed(&fixture, KEYROUTE_E_OVERLAP, "t,m,7.");
  expect_failed(&fixture, KEYROUTE_E_OVERLAP, "t,,7.");
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_check__dead_rows_between_do_not_hide_an_overlap)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "m", "", 7);
  add_split(&fixture, "c", "", 5);
  add(&fixture, "", "", 7);
  judge(&fixture, "x");

  expect_failed(&fixture, KEYROUTE_E_OVERLAP, "have one id");
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_check__overlap_that_does_not_touch_the_row_is_no_ones_business)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "m", "", 7);
  add(&fixture, "", "n", 7);
  judge(&fixture, "x");

  expect_found(&fixture, 7);
  ck_assert_uint_eq(keyroute_location_start_key(fixture.checked.location).len, 1);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_check__covering_region_below_one_that_does_not_answers)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "m", "n", 2);
  add(&fixture, "", "", 1);
  judge(&fixture, "x");

  expect_found(&fixture, 1);
  fixture_free(&fixture);
}
END_TEST

/* ---- Wordings ---- */

START_TEST(test_check__holes_name_bounds_and_what_is_unbounded)
{
  struct fixture fixture = fixture_new();
  struct kr_question question = {keyroute_string("t"), kr_bytes("b\x01", 2), KR_AT};
  struct kr_failure failure;

  add(&fixture, "c\x02", "", 2);
  kr_check_hole(&failure, &question, keyroute_string("b"), fixture.rows[0].location, true);
  ck_assert_int_eq(failure.code, KEYROUTE_E_HOLE);
  ck_assert_str_eq(failure.message,
                   "no region of table t covers row b\\x01: hole from b to c\\x02");
  kr_check_hole(&failure, &question, kr_bytes(NULL, 0), NULL, true);
  ck_assert_str_eq(failure.message, "no region of table t covers row b\\x01: hole from the "
                                    "table's first row to the table's end");
  kr_check_hole(&failure, &question, keyroute_string("b"), NULL, false);
  ck_assert_str_eq(failure.message,
                   "no region of table t covers row b\\x01: hole from b to where was not looked");

  kr_check_no_table(&failure, &question);
  ck_assert_int_eq(failure.code, KEYROUTE_E_TABLE_NOT_FOUND);
  ck_assert_str_eq(failure.message, "table t is not in the catalog");
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_check__messages_fit_however_long_the_keys)
{
  struct fixture fixture = fixture_new();
  char key[201];
  struct kr_failure failure;

  memset(key, 1, 200);
  key[200] = '\0';
  struct kr_question question = {kr_bytes(key, 200), kr_bytes(key, 200), KR_AT};

  kr_check_hole(&failure, &question, kr_bytes(key, 200), NULL, true);

  ck_assert_uint_lt(strlen(failure.message), sizeof(failure.message) - 1);
  ck_assert_ptr_nonnull(strstr(failure.message, "..."));
  ck_assert_ptr_nonnull(strstr(failure.message, "hole from"));
  fixture_free(&fixture);
}
END_TEST

/* ---- Replicas ---- */

static struct keyroute_location *with_replicas(struct fixture *fixture, const char *const *hosts,
                                               int count)
{
  struct kr_replica replicas[4] = {{NULL, 0}};
  struct kr_location_parts parts = {
      .name = keyroute_string("t,,1.7b520268c67d8870e20f6d880327ab7e."),
      .table_len = 1,
      .region_id = 1,
      .replicas = replicas,
      .replica_count = count,
  };

  for (int i = 0; i < count; i++) {
    replicas[i].server = hosts[i] != NULL
                             ? kr_servers_get(fixture->servers, keyroute_string(hosts[i]), 16020, 5)
                             : NULL;
  }
  struct keyroute_location *location = kr_location_new(fixture->mem, &parts);

  for (int i = 0; i < count; i++) {
    kr_server_release(replicas[i].server);
  }
  return location;
}

START_TEST(test_s049_region_on_no_server_is_no_server)
{
  struct fixture fixture = fixture_new();
  static const char *const hosts[] = {NULL, NULL};
  struct keyroute_location *location = with_replicas(&fixture, hosts, 2);
  struct kr_failure failure;

  for (int replica = KEYROUTE_REPLICA_ANY; replica < 3; replica++) {
    ck_assert(!kr_check_replica(&failure, location, replica, 0));
    ck_assert_int_eq(failure.code, KEYROUTE_E_NO_SERVER);
    ck_assert_int_eq(failure.kind, KEYROUTE_KIND_KEEP);
    ck_assert_ptr_nonnull(strstr(failure.message, "is on no server"));
  }
  ck_assert_ptr_nonnull(strstr(failure.message, "replica 2 of region t,,1."));
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_check__failed_server_is_dead_until_its_time_is_over)
{
  struct fixture fixture = fixture_new();
  static const char *const hosts[] = {"h"};
  struct keyroute_location *location = with_replicas(&fixture, hosts, 1);
  struct kr_failure failure;

  kr_location_server(location, 0)->failed_until_us = 1000;

  ck_assert(!kr_check_replica(&failure, location, 0, 999));
  ck_assert_int_eq(failure.code, KEYROUTE_E_DEAD_SERVER);
  ck_assert_str_eq(failure.server, "h:16020");
  ck_assert(!kr_check_replica(&failure, location, KEYROUTE_REPLICA_ANY, 999));
  ck_assert_int_eq(failure.code, KEYROUTE_E_DEAD_SERVER);
  ck_assert(kr_check_replica(&failure, location, 0, 1000));
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_check__any_replica_passes_over_the_dead_and_the_absent)
{
  struct fixture fixture = fixture_new();
  static const char *const hosts[] = {"dead", NULL, "alive"};
  struct keyroute_location *location = with_replicas(&fixture, hosts, 3);
  struct kr_failure failure;

  kr_location_server(location, 0)->failed_until_us = 1000;

  ck_assert(kr_check_replica(&failure, location, KEYROUTE_REPLICA_ANY, 0));
  ck_assert(!kr_check_replica(&failure, location, 0, 0));
  ck_assert(!kr_check_replica(&failure, location, 1, 0));
  ck_assert(kr_check_replica(&failure, location, 2, 0));
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_check__dropped_server_is_not_one_to_ask)
{
  struct fixture fixture = fixture_new();
  static const char *const hosts[] = {"h", "dropped"};
  struct keyroute_location *location = with_replicas(&fixture, hosts, 2);
  struct kr_failure failure;

  kr_server_drop(kr_location_server(location, 1));

  ck_assert(!kr_check_replica(&failure, location, 1, 0));
  ck_assert_int_eq(failure.code, KEYROUTE_E_DEAD_SERVER);
  ck_assert_str_eq(failure.server, "dropped:16020");
  ck_assert(kr_check_replica(&failure, location, 0, 0));
  ck_assert(kr_check_replica(&failure, location, KEYROUTE_REPLICA_ANY, 0));
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

/* ---- The suite ---- */

/* ---- How far down a judgement holds ---- */

/* A catalog at random: regions of one table, in the order of its rows. */
struct catalog {
  struct kr_catalog_row rows[6];
  size_t count;
};

static unsigned draw(unsigned *seed, unsigned bound)
{
  *seed = *seed * 1103515245u + 12345u;
  return (*seed >> 16) % bound;
}

static void add_at_random(struct catalog *catalog, struct fixture *fixture, unsigned *seed)
{
  struct kr_catalog_row *row = &catalog->rows[catalog->count++];
  unsigned from = draw(seed, 6), to = from + 1 + draw(seed, 3);
  const char start[2] = {from == 0 ? '\0' : (char)('a' + from), '\0'};
  const char end[2] = {to > 7 ? '\0' : (char)('a' + to), '\0'};
  struct made made = {"t", start, end, 1 + (int64_t)draw(seed, 3), "h", 16020, 5, 2};

  row->location = make_location(fixture->mem, fixture->servers, &made);
  row->start_key = keyroute_location_start_key(row->location);
  row->split = draw(seed, 5) == 0;
  row->offline = row->split || draw(seed, 5) == 0;
}

static int64_t id_of(const struct kr_catalog_row *row)
{
  return keyroute_location_region_id(row->location);
}

static int compare_rows(const void *a, const void *b)
{
  const struct kr_catalog_row *first = a, *second = b;
  int order = kr_bytes_compare(first->start_key, second->start_key);

  return order != 0 ? order : (id_of(first) > id_of(second)) - (id_of(first) < id_of(second));
}

/* Judge a row of the catalog as a scan would have met its rows. */
static struct kr_checked judge_in(const struct catalog *catalog, const bool *corrupt,
                                  const char *row)
{
  struct kr_question question = {keyroute_string("t"), keyroute_string(row), KR_AT};
  struct kr_catalog_row rows[6];
  struct kr_checked checked;
  size_t count = 0;

  for (size_t i = catalog->count; i-- > 0;) {
    if (kr_bytes_compare(catalog->rows[i].start_key, question.row) <= 0) {
      rows[count] = catalog->rows[i];
      if (corrupt[i]) {
        rows[count].location = NULL;
        kr_fail(&rows[count].failure, KEYROUTE_E_CORRUPT, "row %zu", i);
      }
      count++;
    }
  }
  kr_check_rows(&checked, &question, rows, count, true);
  if (checked.reach.data == row) {
    checked.reach = keyroute_string(row);
  }
  return checked;
}

START_TEST(test_check__all_rows_down_to_the_reach_are_judged_alike)
{
  unsigned seed = (unsigned)_i;

  for (int round = 0; round < 200; round++) {
    struct fixture fixture = fixture_new();
    struct catalog catalog = {.count = 0};
    bool corrupt[6];
    size_t count = 1 + draw(&seed, 6);

    for (size_t i = 0; i < count; i++) {
      add_at_random(&catalog, &fixture, &seed);
      corrupt[i] = draw(&seed, 8) == 0;
    }
    qsort(catalog.rows, count, sizeof(catalog.rows[0]), compare_rows);
    for (char letter = 'a'; letter <= 'i'; letter++) {
      const char row[3] = {letter, '5', '\0'};
      struct kr_checked checked = judge_in(&catalog, corrupt, row);

      for (char below = 'a'; below <= letter; below++) {
        const char other[3] = {below, '5', '\0'};
        struct kr_checked same = judge_in(&catalog, corrupt, other);

        if (kr_bytes_compare(keyroute_string(other), checked.reach) >= 0) {
          ck_assert_msg(same.verdict == checked.verdict && same.location == checked.location &&
                            same.failure.code == checked.failure.code,
                        "seed %d, round %d: %s is not judged as %s", _i, round, other, row);
        }
      }
    }
    for (size_t i = 0; i < count; i++) {
      keyroute_location_release(catalog.rows[i].location);
    }
    fixture_free(&fixture);
  }
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("check");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_check__no_row_is_empty);
  tcase_add_test(tests, test_check__nearest_live_region_that_covers_answers);
  tcase_add_test(tests, test_check__before_is_answered_by_the_region_below);
  tcase_add_test(tests, test_s008_before_the_empty_row_is_the_last_region);
  tcase_add_test(tests, test_check__before_the_empty_row_needs_an_unbounded_region);
  tcase_add_test(tests, test_s048_corrupt_row_nearest_to_the_row_hides_the_answer);
  tcase_add_test(tests, test_check__corrupt_row_behind_dead_ones_hides_the_answer_too);
  tcase_add_test(tests, test_check__corrupt_row_below_a_live_one_matters_to_nobody);
  tcase_add_test(tests, test_check__split_parent_gives_way_to_a_live_region);
  tcase_add_test(tests, test_s050_split_parent_alone_is_offline);
  tcase_add_test(tests, test_s054_offline_region_alone_is_offline);
  tcase_add_test(tests, test_check__offline_region_beside_a_live_one_is_offline);
  tcase_add_test(tests, test_check__offline_region_elsewhere_is_no_reason);
  tcase_add_test(tests, test_check__only_dead_rows_send_one_below);
  tcase_add_test(tests, test_check__few_rows_that_were_cut_short_are_no_hole_yet);
  tcase_add_test(tests, test_check__dead_rows_that_cover_nothing_are_a_hole);
  tcase_add_test(tests, test_s052_hole_begins_where_the_live_region_below_ends);
  tcase_add_test(tests, test_check__of_two_covering_regions_the_larger_id_answers);
  tcase_add_test(tests, test_check__two_covering_regions_of_one_id_are_an_overlap);
  tcase_add_test(tests, test_check__dead_rows_between_do_not_hide_an_overlap);
  tcase_add_test(tests, test_check__overlap_that_does_not_touch_the_row_is_no_ones_business);
  tcase_add_test(tests, test_check__covering_region_below_one_that_does_not_answers);
  tcase_add_test(tests, test_check__holes_name_bounds_and_what_is_unbounded);
  tcase_add_test(tests, test_check__messages_fit_however_long_the_keys);
  tcase_add_test(tests, test_s049_region_on_no_server_is_no_server);
  tcase_add_test(tests, test_check__failed_server_is_dead_until_its_time_is_over);
  tcase_add_test(tests, test_check__any_replica_passes_over_the_dead_and_the_absent);
  tcase_add_test(tests, test_check__dropped_server_is_not_one_to_ask);
  tcase_add_loop_test(tests, test_check__all_rows_down_to_the_reach_are_judged_alike, 0, 20);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
