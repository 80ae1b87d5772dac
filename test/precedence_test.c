/*
 * What a store may replace: which of two things that the catalog said is believed.
 */
#include "test/cache_harness.h"

#include "test/run_suite.h"

#include <stdio.h>

START_TEST(test_precedence__equal_region_stays_the_object_it_was)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *first = made(&fixture, "", "", 1, 1, 2);
  struct keyroute_location *second = made(&fixture, "", "", 1, 1, 2);
  struct keyroute_location *kept_first, *kept_second;

  kr_cache_store(fixture.cache, fixture.table, first, kr_cache_tick(fixture.cache), &kept_first);
  uint64_t stored = kr_location_stored(first);

  kr_cache_store(fixture.cache, fixture.table, second, kr_cache_tick(fixture.cache), &kept_second);

  ck_assert_ptr_eq(kept_first, first);
  ck_assert_ptr_eq(kept_second, first);
  ck_assert_uint_gt(kr_location_stored(first), stored);
  ck_assert_uint_eq(kr_stats_read(fixture.stats, KR_COUNT_EVICTIONS), 0);
  keyroute_location_release(kept_first);
  keyroute_location_release(kept_second);
  keyroute_location_release(first);
  keyroute_location_release(second);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_precedence__retired_equal_region_is_replaced_by_a_new_object)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *second = made(&fixture, "", "", 1, 1, 2);
  struct kr_cache_filter all = {0};

  store(&fixture, "", "", 1);
  kr_cache_retire(fixture.cache, &all);
  ck_assert_int_eq(find(&fixture, "a"), 0);

  ck_assert(store_sent(&fixture, second, 0));

  ck_assert_int_eq(find(&fixture, "a"), 1);
  ck_assert_uint_eq(region_count(&fixture), 1);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s022_lower_sequence_number_does_not_replace_the_same_region)
{
  struct fixture fixture = fixture_new();
  uint64_t early = kr_cache_tick(fixture.cache);

  store_sent(&fixture, made(&fixture, "", "", 1, 100, 10), early);
  store_sent(&fixture, made(&fixture, "", "", 1, 50, 5), kr_cache_tick(fixture.cache));
  ck_assert_int_eq(start_code_of(&fixture, "a"), 100);
  store_sent(&fixture, made(&fixture, "", "", 1, 200, 11), early);

  ck_assert_int_eq(start_code_of(&fixture, "a"), 200);
  ck_assert_uint_eq(region_count(&fixture), 1);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_precedence__equal_sequence_number_lets_the_new_server_in)
{
  struct fixture fixture = fixture_new();

  store_sent(&fixture, made(&fixture, "", "", 1, 100, 10), kr_cache_tick(fixture.cache));
  store_sent(&fixture, made(&fixture, "", "", 1, 200, 10), kr_cache_tick(fixture.cache));

  ck_assert_int_eq(start_code_of(&fixture, "a"), 200);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_precedence__slow_answer_does_not_put_the_older_server_back)
{
  struct fixture fixture = fixture_new();
  uint64_t slow = kr_cache_tick(fixture.cache);
  uint64_t quick = kr_cache_tick(fixture.cache);

  store_sent(&fixture, made(&fixture, "", "", 1, 200, 10), quick);
  store_sent(&fixture, made(&fixture, "", "", 1, 100, 10), slow);
  int64_t after_slow = start_code_of(&fixture, "a");
  store_sent(&fixture, made(&fixture, "", "", 1, 300, 10), kr_cache_tick(fixture.cache));

  ck_assert_int_eq(after_slow, 200);
  ck_assert_int_eq(start_code_of(&fixture, "a"), 300);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_precedence__confirmed_region_is_as_new_as_the_read_that_confirmed_it)
{
  struct fixture fixture = fixture_new();
  uint64_t first = kr_cache_tick(fixture.cache);
  uint64_t slow = kr_cache_tick(fixture.cache);
  uint64_t quick = kr_cache_tick(fixture.cache);

  store_sent(&fixture, made(&fixture, "", "", 1, 200, 10), first);
  store_sent(&fixture, made(&fixture, "", "", 1, 200, 10), quick);
  store_sent(&fixture, made(&fixture, "", "", 1, 100, 10), slow);

  ck_assert_int_eq(start_code_of(&fixture, "a"), 200);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_precedence__each_replica_keeps_its_own_higher_sequence_number)
{
  struct fixture fixture = fixture_new();

  store_sent(&fixture, made_two(&fixture, 10, 5, 20, 9), kr_cache_tick(fixture.cache));
  store_sent(&fixture, made_two(&fixture, 11, 6, 21, 8), kr_cache_tick(fixture.cache));

  ck_assert_int_eq(replica_code(&fixture, 0), 11);
  ck_assert_int_eq(replica_code(&fixture, 1), 20);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_precedence__later_read_without_a_replica_takes_it_away)
{
  struct fixture fixture = fixture_new();
  uint64_t early = kr_cache_tick(fixture.cache);

  store_sent(&fixture, made_two(&fixture, 10, 5, 20, 9), kr_cache_tick(fixture.cache));
  store_sent(&fixture, made_two(&fixture, 10, 5, 0, -1), early);
  ck_assert_int_eq(replica_code(&fixture, 1), 20);
  store_sent(&fixture, made_two(&fixture, 10, 5, 0, -1), kr_cache_tick(fixture.cache));

  ck_assert_int_eq(replica_code(&fixture, 1), 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s057_fewer_replicas_are_believed)
{
  struct fixture fixture = fixture_new();

  store_sent(&fixture, made_two(&fixture, 10, 5, 20, 9), kr_cache_tick(fixture.cache));
  store_sent(&fixture, made(&fixture, "", "", 1, 10, 5), kr_cache_tick(fixture.cache));

  ck_assert_int_eq(replica_code(&fixture, 1), 0);
  ck_assert_int_eq(replica_code(&fixture, 0), 10);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s026_table_made_again_keeps_no_replica_of_the_old_one)
{
  struct fixture fixture = fixture_new();

  store_sent(&fixture, made_two(&fixture, 10, 5, 20, 9), kr_cache_tick(fixture.cache));
  store_sent(&fixture, made(&fixture, "", "", 200, 30, 2), kr_cache_tick(fixture.cache));

  ck_assert_int_eq(find(&fixture, "a"), 200);
  ck_assert_int_eq(replica_code(&fixture, 0), 30);
  ck_assert_int_eq(replica_code(&fixture, 1), 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s016_merge_hides_no_old_inner_region)
{
  struct fixture fixture = fixture_new();

  store(&fixture, "", "2", 100);
  store(&fixture, "2", "5", 101);
  store(&fixture, "5", "", 102);
  store(&fixture, "", "", 200);

  ck_assert_int_eq(find(&fixture, "6"), 200);
  ck_assert_int_eq(find(&fixture, "3"), 200);
  ck_assert_uint_eq(region_count(&fixture), 1);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s017_ten_thousand_merged_regions_leave_nothing)
{
  struct fixture fixture = fixture_new();

  for (int i = 0; i < 10000; i++) {
    char start[16], end[16];

    snprintf(start, sizeof(start), "%04d", i);
    snprintf(end, sizeof(end), "%04d", i + 1);
    store(&fixture, i == 0 ? "" : start, i == 9999 ? "" : end, 100 + i);
  }
  ck_assert_uint_eq(region_count(&fixture), 10000);
  store(&fixture, "", "", 50000);

  ck_assert_uint_eq(region_count(&fixture), 1);
  ck_assert_int_eq(find(&fixture, "9999x"), 50000);
  ck_assert_uint_eq(kr_stats_read(fixture.stats, KR_COUNT_EVICTIONS), 10000);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s018_merged_region_replaces_both)
{
  struct fixture fixture = fixture_new();

  store(&fixture, "a", "m", 1);
  store(&fixture, "m", "z", 2);
  store(&fixture, "a", "z", 3);

  ck_assert_int_eq(find(&fixture, "b"), 3);
  ck_assert_int_eq(find(&fixture, "y"), 3);
  ck_assert_uint_eq(region_count(&fixture), 1);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s019_unbounded_region_overlaps_what_starts_inside_it)
{
  struct fixture fixture = fixture_new();

  store(&fixture, "m", "", 100);
  store(&fixture, "p", "", 200);

  ck_assert_int_eq(find(&fixture, "q"), 200);
  ck_assert_int_eq(find(&fixture, "n"), 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s020_slow_answer_does_not_put_the_older_region_over_the_younger)
{
  struct fixture fixture = fixture_new();
  uint64_t slow = kr_cache_tick(fixture.cache);
  uint64_t quick = kr_cache_tick(fixture.cache);

  ck_assert(store_sent(&fixture, made(&fixture, "a", "m", 200, 1, 2), quick));
  ck_assert(!store_sent(&fixture, made(&fixture, "a", "z", 100, 1, 2), slow));

  ck_assert_int_eq(find(&fixture, "b"), 200);
  ck_assert_int_eq(find(&fixture, "n"), 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_precedence__later_read_wins_with_a_smaller_id)
{
  struct fixture fixture = fixture_new();

  store(&fixture, "a", "m", 200);
  store(&fixture, "a", "z", 100);

  ck_assert_int_eq(find(&fixture, "b"), 100);
  ck_assert_uint_eq(region_count(&fixture), 1);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_precedence__reads_that_overlap_in_time_prefer_the_larger_id)
{
  struct fixture fixture = fixture_new();
  uint64_t sent = kr_cache_tick(fixture.cache);

  store_sent(&fixture, made(&fixture, "a", "z", 100, 1, 2), sent);
  ck_assert(store_sent(&fixture, made(&fixture, "a", "m", 200, 1, 2), sent));

  ck_assert_int_eq(find(&fixture, "b"), 200);
  ck_assert_int_eq(find(&fixture, "n"), 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_precedence__newer_region_anywhere_inside_stands_in_the_way)
{
  struct fixture fixture = fixture_new();
  uint64_t sent = kr_cache_tick(fixture.cache);

  store_sent(&fixture, made(&fixture, "b", "c", 50, 1, 2), sent);
  store_sent(&fixture, made(&fixture, "x", "", 200, 1, 2), sent);
  ck_assert(!store_sent(&fixture, made(&fixture, "", "", 100, 1, 2), sent));

  ck_assert_int_eq(find(&fixture, "b"), 50);
  ck_assert_int_eq(find(&fixture, "x"), 200);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_precedence__retired_region_stands_in_nobodys_way)
{
  struct fixture fixture = fixture_new();
  uint64_t sent = kr_cache_tick(fixture.cache);
  struct kr_cache_filter all = {0};

  store_sent(&fixture, made(&fixture, "a", "m", 200, 1, 2), sent);
  kr_cache_retire(fixture.cache, &all);
  ck_assert(store_sent(&fixture, made(&fixture, "a", "z", 100, 1, 2), sent));

  ck_assert_int_eq(find(&fixture, "b"), 100);
  ck_assert_uint_eq(region_count(&fixture), 1);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s027_table_made_again_replaces_all_old_regions_it_meets)
{
  struct fixture fixture = fixture_new();

  store(&fixture, "", "b", 100);
  store(&fixture, "b", "c", 101);
  store(&fixture, "c", "", 102);
  store(&fixture, "", "bb", 200);

  ck_assert_int_eq(find(&fixture, "a"), 200);
  ck_assert_int_eq(find(&fixture, "b"), 200);
  ck_assert_int_eq(find(&fixture, "bc"), 0);
  ck_assert_int_eq(find(&fixture, "d"), 102);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s046_refresh_of_one_range_leaves_the_others)
{
  struct fixture fixture = fixture_new();

  store(&fixture, "a", "c", 1);
  store(&fixture, "x", "z", 2);
  store(&fixture, "a", "c", 3);

  ck_assert_int_eq(find(&fixture, "b"), 3);
  ck_assert_int_eq(find(&fixture, "y"), 2);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_precedence__replica_on_a_dropped_server_is_not_taken_over)
{
  struct fixture fixture = fixture_new();

  store_sent(&fixture, made_two(&fixture, 10, 5, 20, 9), kr_cache_tick(fixture.cache));
  struct kr_server *dead = kr_servers_get(fixture.servers, keyroute_string("h"), 1, 20);

  kr_server_drop(dead);
  kr_server_release(dead);
  ck_assert_int_eq(replica_code(&fixture, 0), 10);
  store_sent(&fixture, made_two(&fixture, 10, 5, 21, 8), kr_cache_tick(fixture.cache));

  ck_assert_int_eq(replica_code(&fixture, 0), 10);
  ck_assert_int_eq(replica_code(&fixture, 1), 21);
  fixture_free(&fixture);
}
END_TEST

static Suite *suite(void)
{
  Suite *made_suite = suite_create("precedence");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_precedence__equal_region_stays_the_object_it_was);
  tcase_add_test(tests, test_precedence__retired_equal_region_is_replaced_by_a_new_object);
  tcase_add_test(tests, test_s022_lower_sequence_number_does_not_replace_the_same_region);
  tcase_add_test(tests, test_precedence__equal_sequence_number_lets_the_new_server_in);
  tcase_add_test(tests, test_precedence__slow_answer_does_not_put_the_older_server_back);
  tcase_add_test(tests, test_precedence__confirmed_region_is_as_new_as_the_read_that_confirmed_it);
  tcase_add_test(tests, test_precedence__each_replica_keeps_its_own_higher_sequence_number);
  tcase_add_test(tests, test_precedence__later_read_without_a_replica_takes_it_away);
  tcase_add_test(tests, test_s057_fewer_replicas_are_believed);
  tcase_add_test(tests, test_s026_table_made_again_keeps_no_replica_of_the_old_one);
  tcase_add_test(tests, test_s016_merge_hides_no_old_inner_region);
  tcase_add_test(tests, test_s017_ten_thousand_merged_regions_leave_nothing);
  tcase_add_test(tests, test_s018_merged_region_replaces_both);
  tcase_add_test(tests, test_s019_unbounded_region_overlaps_what_starts_inside_it);
  tcase_add_test(tests, test_s020_slow_answer_does_not_put_the_older_region_over_the_younger);
  tcase_add_test(tests, test_precedence__later_read_wins_with_a_smaller_id);
  tcase_add_test(tests, test_precedence__reads_that_overlap_in_time_prefer_the_larger_id);
  tcase_add_test(tests, test_precedence__newer_region_anywhere_inside_stands_in_the_way);
  tcase_add_test(tests, test_precedence__retired_region_stands_in_nobodys_way);
  tcase_add_test(tests, test_s027_table_made_again_replaces_all_old_regions_it_meets);
  tcase_add_test(tests, test_s046_refresh_of_one_range_leaves_the_others);
  tcase_add_test(tests, test_precedence__replica_on_a_dropped_server_is_not_taken_over);
  suite_add_tcase(made_suite, tests);
  return made_suite;
}

int main(void)
{
  return run_suite(suite());
}
