/*
 * The cache: what a hit may give out, what leaves it and when, and who holds what.
 *
 * The random runs print their seed; KR_TEST_SEED=N repeats one.
 */
#include "test/cache_harness.h"

#include "test/run_suite.h"

#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Finding ---- */

START_TEST(test_cache__empty_end_key_covers_last_row)
{
  struct fixture fixture = fixture_new();

  store(&fixture, "m", "", 1);

  ck_assert_int_eq(find(&fixture, "m"), 1);
  ck_assert_int_eq(find(&fixture, "\xff\xff\xff"), 1);
  ck_assert_int_eq(find(&fixture, "l"), 0);
  ck_assert_int_eq(find(&fixture, ""), 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__end_key_is_exclusive_and_gaps_are_misses)
{
  struct fixture fixture = fixture_new();

  store(&fixture, "a", "c", 1);
  store(&fixture, "d", "f", 2);

  ck_assert_int_eq(find(&fixture, "bzz"), 1);
  ck_assert_int_eq(find(&fixture, "c"), 0);
  ck_assert_int_eq(find(&fixture, "czz"), 0);
  ck_assert_int_eq(find(&fixture, "d"), 2);
  ck_assert_int_eq(find(&fixture, "f"), 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s015_before_a_start_key_is_the_region_below)
{
  struct fixture fixture = fixture_new();

  store(&fixture, "", "G", 1);
  store(&fixture, "G", "M", 2);
  store(&fixture, "M", "", 3);

  ck_assert_int_eq(find(&fixture, "G"), 2);
  ck_assert_int_eq(find_at(&fixture, "G", KR_BEFORE), 1);
  ck_assert_int_eq(find_at(&fixture, "H", KR_BEFORE), 2);
  ck_assert_int_eq(find_at(&fixture, "", KR_BEFORE), 3);
  ck_assert_int_eq(find(&fixture, "\x01"), 1);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__many_rows_at_once_are_found_as_one_by_one)
{
  struct fixture fixture = fixture_new();
  enum { COUNT = 70 };
  struct keyroute_bytes rows[COUNT];
  const struct keyroute_location *found[COUNT];
  static const char *const keys[] = {"", "a", "c", "czz", "d", "x", "\xff"};

  store(&fixture, "a", "c", 1);
  store(&fixture, "d", "", 2);
  for (int i = 0; i < COUNT; i++) {
    rows[i] = keyroute_string(keys[i % 7]);
  }

  kr_rcu_read_begin();
  kr_table_find_many(fixture.table, found, rows, COUNT);
  for (int i = 0; i < COUNT; i++) {
    ck_assert_ptr_eq(found[i], kr_table_find(fixture.table, rows[i], KR_AT));
  }
  kr_rcu_read_end();

  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__floor_sees_retired_regions_too)
{
  struct fixture fixture = fixture_new();
  struct kr_cache_filter all = {0};

  store(&fixture, "a", "c", 1);
  kr_cache_retire(fixture.cache, &all);

  kr_rcu_read_begin();
  ck_assert_ptr_nonnull(kr_table_floor(fixture.table, keyroute_string("b")));
  ck_assert_ptr_null(kr_table_floor(fixture.table, keyroute_string("")));
  kr_rcu_read_end();
  ck_assert_int_eq(find(&fixture, "b"), 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__hit_marks_the_region_as_touched)
{
  struct fixture fixture = fixture_new();

  store(&fixture, "a", "c", 1);
  kr_rcu_read_begin();
  struct keyroute_location *location =
      keyroute_location_ref(kr_table_floor(fixture.table, keyroute_string("b")));

  kr_rcu_read_end();
  ck_assert(location->touched); /* a new one begins so */
  location->touched = false;
  find(&fixture, "x");
  ck_assert(!location->touched);
  find(&fixture, "b");

  ck_assert(location->touched);
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

/* ---- Storing without memory ---- */

START_TEST(test_cache__store_without_memory_changes_nothing)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *fresh = made(&fixture, "b", "z", 9, 1, 2);
  struct keyroute_location *kept = NULL;

  store(&fixture, "a", "m", 1);
  store(&fixture, "m", "z", 2);
  mem_fail(1);

  ck_assert_int_eq(
      kr_cache_store(fixture.cache, fixture.table, fresh, kr_cache_tick(fixture.cache), &kept),
      KEYROUTE_E_NO_MEMORY);

  mem_fail(0);
  ck_assert_ptr_null(kept);
  ck_assert_int_eq(find(&fixture, "b"), 1);
  ck_assert_int_eq(find(&fixture, "n"), 2);
  ck_assert_uint_eq(region_count(&fixture), 2);
  keyroute_location_release(fresh);
  fixture_free(&fixture);
}
END_TEST

/* ---- Taking out ---- */

START_TEST(test_s010_removing_by_a_start_key_removes)
{
  struct fixture fixture = fixture_new();

  store(&fixture, "b", "d", 1);
  kr_cache_remove_row(fixture.cache, fixture.table, keyroute_string("b"), KR_AT);

  ck_assert_int_eq(find(&fixture, "b"), 0);
  ck_assert_uint_eq(region_count(&fixture), 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s011_removing_by_a_row_inside_removes)
{
  struct fixture fixture = fixture_new();

  store(&fixture, "b", "d", 1);
  kr_cache_remove_row(fixture.cache, fixture.table, keyroute_string("d"), KR_AT);
  ck_assert_int_eq(find(&fixture, "c"), 1);
  kr_cache_remove_row(fixture.cache, fixture.table, keyroute_string("c"), KR_AT);

  ck_assert_int_eq(find(&fixture, "c"), 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__removing_before_a_row_removes_the_region_below)
{
  struct fixture fixture = fixture_new();

  store(&fixture, "", "d", 1);
  store(&fixture, "d", "", 2);
  kr_cache_remove_row(fixture.cache, fixture.table, keyroute_string("d"), KR_BEFORE);

  ck_assert_int_eq(find(&fixture, "c"), 0);
  ck_assert_int_eq(find(&fixture, "d"), 2);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s041_second_removal_of_one_location_is_a_no_op)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *location = made(&fixture, "b", "d", 1, 1, 2);

  store_sent(&fixture, keyroute_location_ref(location), kr_cache_tick(fixture.cache));
  kr_cache_remove(fixture.cache, fixture.table, location);
  kr_cache_remove(fixture.cache, fixture.table, location);
  store(&fixture, "b", "d", 2);
  kr_cache_remove(fixture.cache, fixture.table, location);

  ck_assert_uint_eq(kr_stats_read(fixture.stats, KR_COUNT_EVICTIONS), 1);
  ck_assert_int_eq(find(&fixture, "b"), 2);
  ck_assert(kr_location_retired(location));
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s003_clearing_one_table_leaves_those_whose_names_begin_alike)
{
  struct fixture fixture = fixture_new();
  static const char *const names[] = {"t1", "tt"};
  struct keyroute_table *others[2];

  store(&fixture, "", "", 1);
  for (int i = 0; i < 2; i++) {
    struct made parts = {names[i], "", "", 2 + i, "h", 1, 1, 2};
    struct keyroute_location *location = make_location(fixture.mem, fixture.servers, &parts);
    struct keyroute_location *kept;

    others[i] = kr_cache_table(fixture.cache, keyroute_string(names[i]));
    kr_cache_store(fixture.cache, others[i], location, 1, &kept);
    keyroute_location_release(kept);
    keyroute_location_release(location);
  }
  kr_cache_remove_row(fixture.cache, fixture.table, keyroute_string("zzz"), KR_AT);

  ck_assert_int_eq(find(&fixture, "zzz"), 0);
  for (int i = 0; i < 2; i++) {
    kr_rcu_read_begin();
    ck_assert_ptr_nonnull(kr_table_find(others[i], keyroute_string("zzz"), KR_AT));
    kr_rcu_read_end();
    kr_table_release(others[i]);
  }
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s035_cleared_table_is_filled_anew)
{
  struct fixture fixture = fixture_new();
  struct kr_cache_filter only = {.table = keyroute_string("t")};

  store(&fixture, "", "", 1);
  kr_cache_retire(fixture.cache, &only);
  ck_assert_int_eq(find(&fixture, "a"), 0);
  sweep(&fixture);
  store(&fixture, "", "", 1);

  ck_assert_int_eq(find(&fixture, "a"), 1);
  ck_assert_int_eq(find(&fixture, "b"), 1);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s042_all_regions_of_a_dead_server_go_in_one_call)
{
  struct fixture fixture = fixture_new();
  struct kr_cache_filter dead = {.host = "h", .port = 1, .start_code = 1};

  for (int i = 0; i < 500; i++) {
    char start[16], end[16];

    snprintf(start, sizeof(start), "%03d", i);
    snprintf(end, sizeof(end), "%03d", i + 1);
    store_sent(&fixture, made(&fixture, start, end, 1, i < 490 ? 1 : 2, 2),
               kr_cache_tick(fixture.cache));
  }
  kr_cache_retire(fixture.cache, &dead);
  ck_assert_int_eq(find(&fixture, "0005"), 0);
  sweep(&fixture);

  ck_assert_uint_eq(region_count(&fixture), 10);
  ck_assert_int_eq(find(&fixture, "4955"), 1);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s042_dropping_a_server_is_one_step_for_all_that_is_on_it)
{
  struct fixture fixture = fixture_new();

  for (int i = 0; i < 500; i++) {
    char start[16], end[16];

    snprintf(start, sizeof(start), "%03d", i);
    snprintf(end, sizeof(end), "%03d", i + 1);
    store_sent(&fixture, made(&fixture, start, end, 1, i < 490 ? 1 : 2, 2),
               kr_cache_tick(fixture.cache));
  }
  struct kr_server *dead = kr_servers_get(fixture.servers, keyroute_string("h"), 1, 1);

  kr_server_drop(dead);
  kr_server_release(dead);
  ck_assert_int_eq(find(&fixture, "0005"), 0);
  ck_assert_int_eq(find(&fixture, "4955"), 1);
  sweep(&fixture);
  ck_assert_uint_eq(region_count(&fixture), 10);
  store_sent(&fixture, made(&fixture, "000", "001", 1, 1, 2), 0);

  ck_assert_int_eq(find(&fixture, "0005"), 1);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__replacing_needs_the_very_entry)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *entry = made(&fixture, "a", "m", 1, 1, 2);
  struct keyroute_location *fresh = made(&fixture, "a", "m", 1, 7, 3);

  keyroute_location_ref(entry);
  store_sent(&fixture, entry, kr_cache_tick(fixture.cache));
  ck_assert(!kr_cache_replace(fixture.cache, fixture.table, fresh, fresh));
  ck_assert(!kr_cache_replace(fixture.cache, fixture.table, NULL, fresh));
  ck_assert_ptr_eq(kr_table_entry(fixture.table, keyroute_string("a")), entry);
  ck_assert_ptr_null(kr_table_entry(fixture.table, keyroute_string("b")));

  ck_assert(kr_cache_replace(fixture.cache, fixture.table, entry, fresh));
  ck_assert(kr_location_retired(entry));
  ck_assert_ptr_eq(kr_table_entry(fixture.table, keyroute_string("a")), fresh);
  ck_assert_uint_eq(region_count(&fixture), 1);
  keyroute_location_release(entry);
  keyroute_location_release(fresh);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__nothing_is_replaced_only_where_nothing_live_stands)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *right = made(&fixture, "m", "z", 1, 1, 2);
  struct keyroute_location *fresh = made(&fixture, "a", "p", 2, 1, 3);

  keyroute_location_ref(right);
  store_sent(&fixture, right, kr_cache_tick(fixture.cache));
  ck_assert(!kr_cache_replace(fixture.cache, fixture.table, NULL, fresh));
  kr_location_retire(right, KR_EVICTED_REPORTED);

  ck_assert(kr_cache_replace(fixture.cache, fixture.table, NULL, fresh));
  ck_assert_int_eq(find(&fixture, "b"), 2);
  ck_assert_uint_eq(region_count(&fixture), 1);
  keyroute_location_release(right);
  keyroute_location_release(fresh);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__replacing_without_memory_changes_nothing)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *entry = made(&fixture, "a", "m", 1, 1, 2);
  struct keyroute_location *fresh = made(&fixture, "a", "m", 1, 7, 3);

  keyroute_location_ref(entry);
  store_sent(&fixture, entry, kr_cache_tick(fixture.cache));
  mem_fail_from(1);
  bool replaced = kr_cache_replace(fixture.cache, fixture.table, entry, fresh);
  mem_fail(0);

  ck_assert_ptr_eq(kr_table_entry(fixture.table, keyroute_string("a")), replaced ? fresh : entry);
  ck_assert_int_eq(kr_location_retired(entry), replaced);
  keyroute_location_release(entry);
  keyroute_location_release(fresh);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__new_epoch_is_counted_as_retiring_is)
{
  struct fixture fixture = fixture_new();
  struct kr_cache_filter all = {0};
  uint64_t before = kr_cache_epoch(fixture.cache);

  kr_cache_new_epoch(fixture.cache);
  ck_assert_uint_eq(kr_cache_epoch(fixture.cache), before + 1);
  kr_cache_retire(fixture.cache, &all);

  ck_assert_uint_eq(kr_cache_epoch(fixture.cache), before + 2);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s101_new_process_on_the_same_port_is_another_server)
{
  struct fixture fixture = fixture_new();
  struct kr_cache_filter old = {.host = "h", .port = 1, .start_code = 100};
  struct kr_cache_filter any = {.host = "h", .port = 1};

  store_sent(&fixture, made(&fixture, "", "", 1, 100, 2), kr_cache_tick(fixture.cache));
  store_sent(&fixture, made(&fixture, "", "", 1, 200, 3), kr_cache_tick(fixture.cache));
  kr_cache_retire(fixture.cache, &old);
  ck_assert_int_eq(start_code_of(&fixture, "a"), 200);
  kr_cache_retire(fixture.cache, &any);

  ck_assert_int_eq(find(&fixture, "a"), 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__filters_tell_hosts_ports_and_tables_apart)
{
  struct fixture fixture = fixture_new();
  struct kr_cache_filter others[] = {
      {.table = {"u", 1}},
      {.host = "hh", .port = 1},
      {.host = "h", .port = 2},
      {.table = {"u", 1}, .host = "h", .port = 1},
  };

  store(&fixture, "", "", 1);
  for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
    kr_cache_retire(fixture.cache, &others[i]);
    sweep(&fixture);
  }

  ck_assert_int_eq(find(&fixture, "a"), 1);
  fixture_free(&fixture);
}
END_TEST

/* ---- Tables ---- */

START_TEST(test_cache__table_is_one_object_while_somebody_counts_it)
{
  struct fixture fixture = fixture_new();
  struct keyroute_table *again = kr_cache_table(fixture.cache, keyroute_string("t"));

  ck_assert_ptr_eq(again, fixture.table);
  kr_rcu_read_begin();
  ck_assert_ptr_eq(kr_cache_find_table(fixture.cache, keyroute_string("t")), again);
  ck_assert_ptr_null(kr_cache_find_table(fixture.cache, keyroute_string("tt")));
  kr_rcu_read_end();
  ck_assert(kr_bytes_equal(kr_table_name(again), keyroute_string("t")));

  kr_table_release(again);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__unused_table_leaves)
{
  struct fixture fixture = fixture_new();

  kr_table_release(fixture.table);
  fixture.table = NULL;

  ck_assert_uint_eq(kr_cache_size(fixture.cache).tables, 0);
  kr_rcu_read_begin();
  ck_assert_ptr_null(kr_cache_find_table(fixture.cache, keyroute_string("t")));
  kr_rcu_read_end();
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__table_with_regions_stays_until_they_are_swept)
{
  struct fixture fixture = fixture_new();
  struct kr_cache_filter all = {0};

  store(&fixture, "", "", 1);
  kr_table_release(fixture.table);
  fixture.table = NULL;
  ck_assert_uint_eq(kr_cache_size(fixture.cache).tables, 1);
  kr_cache_retire(fixture.cache, &all);
  sweep(&fixture);

  ck_assert_uint_eq(kr_cache_size(fixture.cache).tables, 0);
  ck_assert_uint_eq(region_count(&fixture), 0);
  ck_assert_uint_eq(kr_cache_size(fixture.cache).bytes, 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__handle_stays_right_while_its_table_is_emptied_and_filled)
{
  struct fixture fixture = fixture_new();

  store(&fixture, "", "", 1);
  kr_cache_clear_table(fixture.cache, fixture.table);
  sweep(&fixture);
  ck_assert_int_eq(find(&fixture, "a"), 0);
  store(&fixture, "", "", 2);

  ck_assert_int_eq(find(&fixture, "a"), 2);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s028_a_thousand_tables_come_and_go)
{
  enum { COUNT = 1000 };
  struct fixture fixture = fixture_new();
  struct keyroute_table **tables = calloc(COUNT, sizeof(struct keyroute_table *));
  struct kr_cache_filter all = {0};

  for (int i = 0; i < COUNT; i++) {
    char name[16];

    snprintf(name, sizeof(name), "ns:%d", i);
    tables[i] = kr_cache_table(fixture.cache, keyroute_string(name));
    struct made parts = {name, "", "", i + 1, "h", 1, 1, 2};
    struct keyroute_location *location = make_location(fixture.mem, fixture.servers, &parts);
    struct keyroute_location *kept;

    kr_cache_store(fixture.cache, tables[i], location, 1, &kept);
    keyroute_location_release(kept);
    keyroute_location_release(location);
  }
  for (int i = 0; i < COUNT; i++) {
    char name[16];

    snprintf(name, sizeof(name), "ns:%d", i);
    kr_rcu_read_begin();
    ck_assert_ptr_eq(kr_cache_find_table(fixture.cache, keyroute_string(name)), tables[i]);
    ck_assert_int_eq(
        keyroute_location_region_id(kr_table_find(tables[i], keyroute_string("r"), KR_AT)), i + 1);
    kr_rcu_read_end();
    kr_table_release(tables[i]);
  }
  ck_assert_uint_eq(kr_cache_size(fixture.cache).tables, COUNT + 1);
  kr_cache_retire(fixture.cache, &all);
  sweep(&fixture);

  ck_assert_uint_eq(kr_cache_size(fixture.cache).tables, 1);
  free(tables);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__table_that_finds_no_memory_is_not_there)
{
  struct fixture fixture = fixture_new();
  int failures = 0;

  for (long n = 1;; n++) {
    mem_fail(n);
    struct keyroute_table *table = kr_cache_table(fixture.cache, keyroute_string("u"));
    bool failed = mem_has_failed();

    mem_fail(0);
    if (table != NULL) {
      kr_table_release(table);
    }
    if (!failed) {
      break;
    }
    failures++;
    ck_assert_uint_eq(kr_cache_size(fixture.cache).tables, 1);
  }

  ck_assert_int_ge(failures, 3);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__table_that_could_not_leave_for_want_of_memory_is_swept_later)
{
  enum { COUNT = 300 }; /* more than there are shards: some must share one */
  struct fixture fixture = fixture_new();
  struct keyroute_table *tables[COUNT];

  for (int i = 0; i < COUNT; i++) {
    char name[16];

    snprintf(name, sizeof(name), "u%d", i);
    tables[i] = kr_cache_table(fixture.cache, keyroute_string(name));
  }
  mem_fail_from(1);
  for (int i = 0; i < COUNT; i++) {
    kr_table_release(tables[i]);
  }
  size_t stayed = kr_cache_size(fixture.cache).tables;
  mem_fail(0);
  ck_assert_uint_gt(stayed, 1 + COUNT - 256);
  sweep(&fixture);

  ck_assert_uint_eq(kr_cache_size(fixture.cache).tables, 1);
  fixture_free(&fixture);
}
END_TEST

/* ---- Bounds ---- */

static struct fixture bounded(size_t regions, size_t bytes)
{
  struct fixture fixture = fixture_new();
  struct kr_cache_limits limits = {.regions = regions, .bytes = bytes};

  kr_cache_set_limits(fixture.cache, &limits);
  return fixture;
}

/* Store the region of one number, whose row is "NNNN", into the fixture's table. */
static void store_number(struct fixture *fixture, int number)
{
  char start[16], end[16];

  snprintf(start, sizeof(start), "%04d", number);
  snprintf(end, sizeof(end), "%04d", number + 1);
  store(fixture, start, end, number + 1);
}

static bool hit_number(const struct fixture *fixture, int number)
{
  char row[16];

  snprintf(row, sizeof(row), "%04d", number);
  return find(fixture, row) == number + 1;
}

static uint64_t counted(const struct fixture *fixture, enum kr_counter counter)
{
  return kr_stats_read(fixture->stats, counter);
}

/* The region, live or not, that starts at a row, its mark left alone; or NULL. */
static const struct keyroute_location *peek_start(const struct fixture *fixture, const char *row)
{
  kr_rcu_read_begin();
  const struct keyroute_location *floor = kr_table_floor(fixture->table, keyroute_string(row));

  kr_rcu_read_end();
  return floor != NULL && kr_bytes_equal(keyroute_location_start_key(floor), keyroute_string(row))
             ? floor
             : NULL;
}

START_TEST(test_cache__merged_region_takes_the_place_of_all_that_it_covers)
{
  struct fixture fixture = fixture_new();
  for (int number = 0; number < 1000; number++) {
    store_number(&fixture, number);
  }

  store(&fixture, "0100", "0900", 5000);

  ck_assert_uint_eq(region_count(&fixture), 201);
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_REPLACED), 800);
  for (int number = 0; number < 1000; number++) {
    bool covered = number >= 100 && number < 900;
    char row[16];

    snprintf(row, sizeof(row), "%04d", number);
    ck_assert_int_eq(find(&fixture, row), covered ? 5000 : number + 1);
  }
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__bound_of_regions_lets_the_oldest_unused_go)
{
  struct fixture fixture = bounded(10, 0);

  for (int i = 0; i < 15; i++) {
    store_number(&fixture, i);
    ck_assert_uint_le(region_count(&fixture), 10);
  }

  for (int i = 0; i < 15; i++) {
    ck_assert(hit_number(&fixture, i) == (i >= 5));
  }
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_FULL), 5);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__what_was_hit_is_spared_once)
{
  struct fixture fixture = bounded(4, 0);

  for (int i = 0; i < 5; i++) {
    store_number(&fixture, i); /* 0 goes, once all have been spared for being new */
  }
  hit_number(&fixture, 2);
  store_number(&fixture, 5); /* 1 goes */
  store_number(&fixture, 6); /* 2 is spared, 3 goes */
  ck_assert_ptr_nonnull(peek_start(&fixture, "0002"));
  ck_assert_ptr_null(peek_start(&fixture, "0003"));
  store_number(&fixture, 7); /* 4 to 6 are spared for being new, 2 has had its chance */

  ck_assert_ptr_null(peek_start(&fixture, "0002"));
  ck_assert_ptr_nonnull(peek_start(&fixture, "0004"));
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__new_region_is_not_the_next_to_go_for_its_key_coming_next)
{
  struct fixture fixture = bounded(4, 0);

  for (int i = 10; i <= 50; i += 10) {
    store_number(&fixture, i); /* 10 goes */
  }
  store_number(&fixture, 35); /* 20 goes; 30 comes next, then 35 */
  store_number(&fixture, 60); /* 30 goes */
  store_number(&fixture, 70); /* 35 is spared, 40 goes */

  ck_assert_ptr_null(peek_start(&fixture, "0040"));
  ck_assert(hit_number(&fixture, 35));
  ck_assert_uint_eq(region_count(&fixture), 4);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__tables_without_regions_are_not_gone_through_for_room)
{
  enum { TABLES = 10000, STORES = 9000 };
  static struct keyroute_table *tables[TABLES];
  struct fixture fixture = bounded(2, 0);

  for (int i = 0; i < TABLES; i++) {
    char name[16];

    snprintf(name, sizeof(name), "u%d", i);
    tables[i] = kr_cache_table(fixture.cache, keyroute_string(name));
  }
  for (int i = 0; i < STORES; i++) {
    store_number(&fixture, i); /* with a walk over all tables each: 10^8 steps */
    ck_assert_uint_le(region_count(&fixture), 2);
  }

  ck_assert(hit_number(&fixture, STORES - 1));
  for (int i = 0; i < TABLES; i++) {
    kr_table_release(tables[i]);
  }
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__where_all_are_in_use_a_store_does_not_look_at_all)
{
  enum { COUNT = 1000 };
  struct fixture fixture = bounded(COUNT, 0);
  int marks = 0, left = 0;

  for (int i = 0; i < COUNT; i++) {
    store_number(&fixture, i);
    hit_number(&fixture, i);
  }
  store_number(&fixture, COUNT);
  for (int i = 0; i < COUNT; i++) {
    char row[16];

    snprintf(row, sizeof(row), "%04d", i);
    const struct keyroute_location *location = peek_start(&fixture, row);

    left += location != NULL;
    marks += location != NULL && location->touched;
  }

  ck_assert_int_eq(left, COUNT - 1);
  ck_assert_int_ge(marks, COUNT - 100);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__region_just_stored_does_not_make_room_for_itself)
{
  struct fixture few = bounded(1, 0);

  for (int i = 0; i < 5; i++) {
    store_number(&few, i);
    ck_assert(hit_number(&few, i));
    ck_assert_uint_eq(region_count(&few), 1);
  }
  fixture_free(&few);
}
END_TEST

START_TEST(test_cache__bound_of_bytes_smaller_than_anything_keeps_the_last)
{
  struct fixture small = bounded(0, 1);

  for (int i = 0; i < 5; i++) {
    store_number(&small, i);
    ck_assert(hit_number(&small, i));
    ck_assert_uint_eq(region_count(&small), 1);
  }
  fixture_free(&small);
}
END_TEST

START_TEST(test_cache__bound_of_bytes_is_kept)
{
  enum { BOUND = 65536 };
  struct fixture fixture = bounded(0, BOUND);

  for (int i = 0; i < 2000; i++) {
    store_number(&fixture, i);
    ck_assert_uint_le(kr_cache_size(fixture.cache).bytes, BOUND);
  }

  ck_assert_uint_gt(kr_cache_size(fixture.cache).bytes, BOUND - 1024);
  ck_assert_uint_gt(region_count(&fixture), 100);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__catalogs_own_regions_go_last)
{
  struct fixture fixture = bounded(3, 0);
  struct keyroute_table *user = kr_cache_table(fixture.cache, keyroute_string("u"));
  struct keyroute_table *catalog = fixture.table;

  store_number(&fixture, 0); /* before its table is known to be the catalog's */
  kr_table_pin(catalog);
  kr_table_pin(catalog);
  store_number(&fixture, 1);
  fixture.table = user;
  for (int i = 0; i < 10; i++) {
    store_number(&fixture, i);
    ck_assert(hit_number(&fixture, i));
  }
  fixture.table = catalog;
  ck_assert(hit_number(&fixture, 0));
  ck_assert(hit_number(&fixture, 1));
  store_number(&fixture, 2); /* the last user region goes */
  ck_assert(hit_number(&fixture, 0));
  store_number(&fixture, 3); /* now one of its own has to */

  ck_assert_uint_eq(region_count(&fixture), 3);
  ck_assert(hit_number(&fixture, 3));
  kr_table_release(user);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__unused_table_leaves_with_its_last_region)
{
  struct fixture fixture = bounded(2, 0);

  for (int i = 0; i < 10; i++) {
    char name[16];
    struct keyroute_table *own = fixture.table;

    snprintf(name, sizeof(name), "u%d", i);
    fixture.table = kr_cache_table(fixture.cache, keyroute_string(name));
    store_number(&fixture, i);
    kr_table_release(fixture.table);
    fixture.table = own;
  }

  ck_assert_uint_eq(kr_cache_size(fixture.cache).tables, 2 + 1);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__retired_region_goes_before_its_time_for_its_own_reason)
{
  struct fixture fixture = bounded(3, 0);
  struct kr_cache_filter all = {0};

  store_number(&fixture, 0);
  store_number(&fixture, 1);
  kr_cache_retire(fixture.cache, &all);
  store_number(&fixture, 2);
  store_number(&fixture, 3);

  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_CLEARED), 1);
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_FULL), 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__evictions_are_counted_by_reason)
{
  struct fixture fixture = bounded(0, 0);
  struct kr_cache_filter all = {0};
  struct kr_server *server;

  store(&fixture, "a", "c", 1);
  store(&fixture, "b", "d", 2);
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_REPLACED), 1);
  kr_rcu_read_begin();
  struct keyroute_location *location = kr_table_find(fixture.table, keyroute_string("b"), KR_AT);
  kr_rcu_read_end();
  kr_cache_remove(fixture.cache, fixture.table, location);
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_REPORTED), 1);
  store(&fixture, "a", "c", 1);
  server = kr_servers_get(fixture.servers, keyroute_string("h"), 1, 1);
  kr_server_drop(server);
  kr_server_release(server);
  store(&fixture, "a", "c", 1); /* the one on the dropped server makes way, for that reason */
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_SERVER), 1);
  kr_cache_retire(fixture.cache, &all);
  sweep(&fixture);
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_CLEARED), 1);
  store(&fixture, "a", "c", 1);
  kr_cache_clear_table(fixture.cache, fixture.table);

  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_CLEARED), 2);
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTIONS), 5);
  fixture_free(&fixture);
}
END_TEST

/* ---- The figure of bytes ---- */

/* An allocator that knows what it holds, as glibc has it. */
static atomic_size_t bytes_held;

/* What glibc takes for an allocation: what may be used of it, and the header before it. */
static size_t taken(void *made)
{
  return made != NULL ? malloc_usable_size(made) + 8 : 0;
}

static void *count_allocate(void *user, size_t size)
{
  void *made = malloc(size);

  (void)user;
  atomic_fetch_add(&bytes_held, taken(made));
  return made;
}

static void *count_reallocate(void *user, void *old, size_t size)
{
  (void)user;
  atomic_fetch_sub(&bytes_held, taken(old));
  void *made = realloc(old, size);

  atomic_fetch_add(&bytes_held, taken(made));
  return made;
}

static void count_release(void *user, void *old)
{
  (void)user;
  atomic_fetch_sub(&bytes_held, taken(old));
  free(old);
}

static const struct {
  int tables, regions, key_len; /* regions of each table */
} figures[] = {
    {1, 1, 16},    {1, 100, 16},    {1, 10000, 16}, {1, 1, 200},
    {1, 100, 200}, {1, 10000, 200}, {3000, 1, 16},  {300, 10, 200},
};

/* A region whose start key is so long; its end is unbounded if it is the last. */
static struct keyroute_location *made_wide(struct fixture *fixture, const char *table, int number,
                                           bool last, int key_len)
{
  char start[300], end[300]; /* key_len is 200 at most */

  snprintf(start, sizeof(start), "%0*d", key_len, number);
  snprintf(end, sizeof(end), "%0*d", key_len, number + 1);
  struct made parts = {table,
                       start,
                       last ? "" : end,
                       1700000000000 + number,
                       "server.example",
                       16020,
                       1700000000000 + number % 5,
                       2};

  return make_location(fixture->mem, fixture->servers, &parts);
}

static void fill_tables(struct fixture *fixture, int tables, int regions, int key_len)
{
  for (int i = 0; i < tables; i++) {
    char name[32];

    snprintf(name, sizeof(name), "table%d", i);
    struct keyroute_table *table = kr_cache_table(fixture->cache, keyroute_string(name));

    for (int j = 0; j < regions; j++) {
      struct keyroute_location *location = made_wide(fixture, name, j, j + 1 == regions, key_len);
      struct keyroute_location *kept;

      kr_cache_store(fixture->cache, table, location, kr_cache_tick(fixture->cache), &kept);
      keyroute_location_release(kept);
      keyroute_location_release(location);
    }
    kr_table_release(table);
  }
}

START_TEST(test_cache__figure_of_bytes_is_what_the_allocator_holds)
{
  static const struct keyroute_allocator counting = {NULL, count_allocate, count_reallocate,
                                                     count_release};
  struct fixture fixture = {.mem = kr_mem_new(&counting)};
  struct kr_cache_filter all = {0};

  fixture.stats = kr_stats_new(fixture.mem);
  fixture.cache = kr_cache_new(fixture.mem, fixture.stats);
  fixture.servers = kr_servers_new(fixture.mem);
  size_t empty = atomic_load(&bytes_held);

  fill_tables(&fixture, figures[_i].tables, figures[_i].regions, figures[_i].key_len);
  kr_rcu_barrier();
  size_t really = atomic_load(&bytes_held) - empty;
  size_t figure = kr_cache_size(fixture.cache).bytes + kr_servers_size(fixture.servers);
  printf("%d x %d regions, keys of %d: %zu held, %zu told\n", figures[_i].tables,
         figures[_i].regions, figures[_i].key_len, really, figure);
  ck_assert_uint_gt(figure, really - really / 10);
  ck_assert_uint_lt(figure, really + really / 10);
  kr_cache_retire(fixture.cache, &all);
  sweep(&fixture);
  kr_rcu_barrier();
  kr_servers_purge(fixture.servers, 0);

  ck_assert_uint_eq(kr_cache_size(fixture.cache).bytes, 0);
  ck_assert_uint_eq(kr_servers_size(fixture.servers), 0);
  ck_assert_uint_eq(atomic_load(&bytes_held), empty);
  kr_cache_free(fixture.cache);
  kr_servers_free(fixture.servers);
  kr_stats_free(fixture.stats);
  kr_mem_release(fixture.mem);
  ck_assert_uint_eq(atomic_load(&bytes_held), 0);
}
END_TEST

/* ---- Clearing many ---- */

enum { MANY = 1000 };

static void store_many(struct fixture *fixture, int from, int to)
{
  for (int i = from; i < to; i++) {
    store_number(fixture, i);
  }
}

START_TEST(test_cache__no_hit_gives_out_what_was_cleared_while_figures_still_count_it)
{
  struct fixture fixture = fixture_new();
  size_t empty = kr_cache_size(fixture.cache).bytes;

  store_many(&fixture, 0, MANY);
  size_t full = kr_cache_size(fixture.cache).bytes;
  kr_cache_clear_table(fixture.cache, fixture.table);

  ck_assert(!hit_number(&fixture, 0) && !hit_number(&fixture, MANY - 1));
  ck_assert_uint_eq(region_count(&fixture), MANY);
  ck_assert_uint_ge(kr_cache_size(fixture.cache).bytes, full);
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_CLEARED), 0);
  ck_assert_uint_eq(kr_cache_drain(fixture.cache, 100), 100);
  ck_assert_uint_eq(region_count(&fixture), MANY - 100);
  ck_assert_uint_lt(kr_cache_size(fixture.cache).bytes, full);
  ck_assert_uint_eq(kr_cache_drain(fixture.cache, MANY), MANY - 100);
  ck_assert_uint_eq(kr_cache_drain(fixture.cache, MANY), 0);
  ck_assert_uint_eq(kr_cache_size(fixture.cache).bytes, empty);
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_CLEARED), MANY);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__cleared_tables_are_filled_again_while_the_old_waits)
{
  struct fixture fixture = fixture_new();

  for (int turn = 0; turn < 3; turn++) {
    store_many(&fixture, 0, MANY);
    kr_cache_clear_table(fixture.cache, fixture.table);
  }
  store_many(&fixture, 0, 10);
  ck_assert_uint_eq(region_count(&fixture), 3 * MANY + 10);
  sweep(&fixture); /* looks at what is in the table */
  ck_assert_uint_eq(kr_cache_drain(fixture.cache, SIZE_MAX), 3 * MANY);

  for (int i = 0; i < 20; i++) {
    ck_assert(hit_number(&fixture, i) == (i < 10));
  }
  ck_assert_uint_eq(region_count(&fixture), 10);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__what_was_cleared_makes_room_first)
{
  struct fixture fixture = bounded(MANY, 0);

  kr_table_pin(fixture.table);
  store_many(&fixture, 0, MANY);
  kr_cache_clear_table(fixture.cache, fixture.table);
  for (int i = 0; i < MANY; i++) {
    store_number(&fixture, i);
    ck_assert_uint_eq(region_count(&fixture), MANY);
  }

  for (int i = 0; i < MANY; i++) {
    ck_assert(hit_number(&fixture, i));
  }
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_CLEARED), MANY);
  store_number(&fixture, MANY);
  ck_assert_uint_eq(counted(&fixture, KR_COUNT_EVICTED_FULL), 1);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_cache__without_memory_what_is_cleared_is_evicted_at_once)
{
  for (int fail = 1; fail <= 2; fail++) {
    struct fixture fixture = fixture_new();
    size_t empty = kr_cache_size(fixture.cache).bytes;

    store_many(&fixture, 0, MANY);
    mem_fail(fail);
    kr_cache_clear_table(fixture.cache, fixture.table);
    ck_assert(mem_has_failed());
    mem_fail(0);

    ck_assert_uint_eq(region_count(&fixture), 0);
    ck_assert_uint_eq(kr_cache_size(fixture.cache).bytes, empty);
    ck_assert_uint_eq(kr_cache_drain(fixture.cache, 1), 0);
    fixture_free(&fixture);
  }
}
END_TEST

START_TEST(test_cache__table_and_cache_may_go_while_what_was_cleared_waits)
{
  struct fixture fixture = fixture_new();

  store_many(&fixture, 0, MANY);
  kr_cache_clear_table(fixture.cache, fixture.table);
  kr_table_release(fixture.table);
  fixture.table = NULL;
  kr_rcu_barrier();

  ck_assert_uint_eq(kr_cache_size(fixture.cache).tables, 0);
  ck_assert_uint_eq(kr_cache_drain(fixture.cache, 10), 10);
  ck_assert_uint_eq(region_count(&fixture), MANY - 10);
  fixture_free(&fixture);
}
END_TEST

/* ---- Against an oracle ---- */

static uint64_t random_state;

static unsigned draw(unsigned limit)
{
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (unsigned)(random_state >> 33) % limit;
}

static void seed_from_environment(void)
{
  const char *given = getenv("KR_TEST_SEED");

  random_state = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
  printf("KR_TEST_SEED=%llu\n", (unsigned long long)random_state);
  fflush(stdout);
}

/* Keys of the random run: "" and two letters; number KEYS stands for "no bound above". */
enum { KEYS = 60 };

static void key_text(char out[4], unsigned number)
{
  out[0] = '\0';
  if (number > 0 && number < KEYS) {
    out[0] = (char)('a' + number / 8);
    out[1] = (char)('a' + number % 8);
    out[2] = '\0';
  }
}

/* The oracle: an unsorted list of spans over key numbers. */
struct span {
  unsigned start, end; /* end exclusive */
  int64_t id;
  uint64_t stored;
};

struct oracle {
  struct span spans[KEYS];
  size_t count;
};

static bool oracle_store(struct oracle *oracle, struct span span, uint64_t sent)
{
  size_t left = 0;

  for (size_t i = 0; i < oracle->count; i++) {
    const struct span *known = &oracle->spans[i];
    bool overlaps = known->start < span.end && span.start < known->end;
    bool same = known->start == span.start && known->id == span.id;

    if (overlaps && !same && sent <= known->stored && known->id > span.id) {
      return false;
    }
  }
  for (size_t i = 0; i < oracle->count; i++) {
    if (oracle->spans[i].end <= span.start || span.end <= oracle->spans[i].start) {
      oracle->spans[left++] = oracle->spans[i];
    }
  }
  oracle->spans[left++] = span;
  oracle->count = left;
  return true;
}

static void oracle_drop(struct oracle *oracle, unsigned key)
{
  for (size_t i = 0; i < oracle->count; i++) {
    if (oracle->spans[i].start <= key && key < oracle->spans[i].end) {
      oracle->spans[i] = oracle->spans[--oracle->count];
      return;
    }
  }
}

static int64_t oracle_find(const struct oracle *oracle, unsigned key)
{
  for (size_t i = 0; i < oracle->count; i++) {
    if (oracle->spans[i].start <= key && key < oracle->spans[i].end) {
      return oracle->spans[i].id;
    }
  }
  return 0;
}

/* No two regions overlap, the counts are right, and every key gives what the oracle says. */
static void compare(const struct fixture *fixture, const struct oracle *oracle)
{
  const struct keyroute_location *below = NULL;
  size_t count = 0;

  kr_rcu_read_begin();
  for (unsigned key = 0; key < KEYS; key++) {
    char text[4];

    key_text(text, key);
    const struct keyroute_location *floor = kr_table_floor(fixture->table, keyroute_string(text));

    if (floor != NULL && floor != below) {
      ck_assert(below == NULL || !kr_location_overlaps(below, floor));
      below = floor;
      count++;
    }
    ck_assert_int_eq(find(fixture, text), oracle_find(oracle, key));
  }
  kr_rcu_read_end();
  ck_assert_uint_eq(count, oracle->count);
  ck_assert_uint_eq(region_count(fixture), oracle->count);
}

static void random_store(struct fixture *fixture, struct oracle *oracle, int64_t *next_id)
{
  unsigned start = draw(KEYS), width = 1 + draw(draw(4) == 0 ? KEYS : 6);
  unsigned end = start + width < KEYS ? start + width : KEYS;
  char start_text[4], end_text[4];
  uint64_t now = kr_cache_tick(fixture->cache);
  uint64_t sent = draw(3) == 0 && now > 400 ? now - draw(400) : now;
  int64_t id = draw(4) == 0 ? 1 + draw((unsigned)*next_id) : ++*next_id;

  key_text(start_text, start);
  key_text(end_text, end);
  struct keyroute_location *location = made(fixture, start_text, end_text, id, 1, 2);

  keyroute_location_ref(location);
  bool kept = store_sent(fixture, location, sent);
  struct span span = {start, end, id, kr_location_stored(location)};

  keyroute_location_release(location);
  if (!oracle_store(oracle, span, sent)) {
    ck_assert(!kept);
    return;
  }
  for (size_t i = 0; i < oracle->count; i++) {
    if (oracle->spans[i].start == start) {
      kr_rcu_read_begin();
      oracle->spans[i].stored =
          kr_location_stored(kr_table_floor(fixture->table, keyroute_string(start_text)));
      kr_rcu_read_end();
    }
  }
}

START_TEST(test_s044_churn_leaves_what_an_oracle_says_and_nothing_overlaps)
{
  struct fixture fixture = fixture_new();
  struct oracle oracle = {.count = 0};
  size_t empty = kr_cache_size(fixture.cache).bytes;
  int64_t next_id = 1;

  seed_from_environment();
  for (int step = 0; step < 4000; step++) {
    unsigned what = draw(100);

    if (what < 85) {
      random_store(&fixture, &oracle, &next_id);
    } else if (what < 99) {
      unsigned key = draw(KEYS);
      char text[4];

      key_text(text, key);
      kr_cache_remove_row(fixture.cache, fixture.table, keyroute_string(text), KR_AT);
      oracle_drop(&oracle, key);
    } else {
      kr_cache_clear_table(fixture.cache, fixture.table);
      oracle.count = 0;
    }
    compare(&fixture, &oracle);
  }

  kr_cache_clear_table(fixture.cache, fixture.table);
  ck_assert_uint_eq(kr_cache_size(fixture.cache).bytes, empty);
  fixture_free(&fixture);
}
END_TEST

/* Within bounds a row is found as the oracle has it, or not at all. */
START_TEST(test_cache__bounded_one_answers_rightly_or_not_at_all)
{
  enum { BOUND = 12 };
  struct fixture fixture = bounded(BOUND, 0);
  struct oracle oracle = {.count = 0};
  size_t missing = 0;

  seed_from_environment();
  for (int64_t id = 1; id <= 4000; id++) {
    unsigned start = draw(KEYS), end = start + 1 + draw(4);
    char start_text[4], end_text[4];

    end = end < KEYS ? end : KEYS;
    key_text(start_text, start);
    key_text(end_text, end);
    store(&fixture, start_text, end_text, id);
    oracle_store(&oracle, (struct span){start, end, id, 0}, 1);
    ck_assert_uint_le(region_count(&fixture), BOUND);
    ck_assert_int_eq(find(&fixture, start_text), id);
    for (unsigned key = 0; key < KEYS; key++) {
      char text[4];

      key_text(text, key);
      int64_t found = draw(3) == 0 ? find(&fixture, text) : 0;

      missing += found == 0;
      ck_assert(found == 0 || found == oracle_find(&oracle, key));
    }
    if (draw(10) == 0) {
      kr_cache_visit(fixture.cache, draw(BOUND));
    }
  }

  ck_assert_uint_gt(missing, 0);
  ck_assert_uint_gt(counted(&fixture, KR_COUNT_EVICTED_FULL), 0);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s044_churn_on_many_keys_stays_within_the_bounds)
{
  enum { ROWS = 100000, BOUND = 2000, BYTES = 1000000 };
  struct fixture fixture = bounded(BOUND, BYTES);

  seed_from_environment();
  for (int64_t id = 1; id <= ROWS; id++) {
    unsigned start = draw(ROWS), end = start + 1 + draw(50); /* splits and merges what it meets */
    char start_text[16], end_text[16];

    snprintf(start_text, sizeof(start_text), "%06u", start);
    snprintf(end_text, sizeof(end_text), "%06u", end);
    store(&fixture, start_text, end_text, id);
    struct kr_cache_size size = kr_cache_size(fixture.cache);

    ck_assert_uint_le(size.regions, BOUND);
    ck_assert_uint_le(size.bytes, BYTES);
  }

  ck_assert_uint_gt(counted(&fixture, KR_COUNT_EVICTED_FULL), 0);
  ck_assert_uint_gt(counted(&fixture, KR_COUNT_EVICTED_REPLACED), 0);
  fixture_free(&fixture);
}
END_TEST

/* ---- With readers ---- */

static atomic_bool readers_stop;

/* Look rows up by name and by handle, and use what is found after the section. */
static void *read_on(void *arg)
{
  struct fixture *fixture = arg;
  size_t turn = 0;

  while (!atomic_load(&readers_stop)) {
    char row[2] = {(char)('a' + turn++ % 26), 0};
    struct keyroute_location *held = NULL;

    kr_rcu_read_begin();
    struct keyroute_table *table = kr_cache_find_table(fixture->cache, keyroute_string("u"));
    struct keyroute_location *location = kr_table_find(
        turn % 2 == 0 && table != NULL ? table : fixture->table, keyroute_string(row), KR_AT);

    if (location != NULL) {
      held = keyroute_location_ref(location);
    }
    kr_rcu_read_end();
    if (held != NULL) {
      ck_assert(kr_location_covers(held, keyroute_string(row), KR_AT));
      ck_assert_str_eq(keyroute_location_host(held, 0), "h");
      keyroute_location_release(held);
    }
  }
  return NULL;
}

/* Drop the server of whatever is found, as a report from any thread does. */
static void drop_server_of(struct fixture *fixture)
{
  kr_rcu_read_begin();
  struct keyroute_location *location = kr_table_find(fixture->table, keyroute_string("z"), KR_AT);

  if (location != NULL) {
    kr_cache_new_epoch(fixture->cache);
    kr_server_drop(kr_location_server(location, 0));
  }
  kr_rcu_read_end();
}

/* Clears from a thread that is neither loop nor reader, as keyroute_clear_all does. */
static void *retire_on(void *arg)
{
  struct fixture *fixture = arg;
  struct kr_cache_filter all = {0};
  struct kr_cache_filter server = {.host = "h", .port = 1};

  for (int i = 0; !atomic_load(&readers_stop); i++) {
    if (i % 3 == 0) {
      drop_server_of(fixture);
    } else {
      kr_cache_retire(fixture->cache, i % 3 == 1 ? &all : &server);
    }
  }
  return NULL;
}

static void store_elsewhere(struct fixture *fixture, const char *start, const char *end, int64_t id)
{
  struct keyroute_table *own = fixture->table;

  fixture->table = kr_cache_table(fixture->cache, keyroute_string("u"));
  store(fixture, start, end, id);
  kr_table_release(fixture->table);
  fixture->table = own;
}

START_TEST(test_s040_readers_hold_locations_while_the_cache_is_cleared)
{
  struct fixture fixture = bounded(10, 0);
  struct fixture shared = fixture; /* the readers': the writer's table pointer changes */
  pthread_t readers[8], clearer;
  time_t end = time(NULL) + 2;

  for (int i = 0; i < 8; i++) {
    ck_assert_int_eq(pthread_create(&readers[i], NULL, read_on, &shared), 0);
  }
  ck_assert_int_eq(pthread_create(&clearer, NULL, retire_on, &shared), 0);
  for (int64_t id = 1; time(NULL) < end; id++) {
    char start[2] = {(char)('a' + id % 26), 0};

    store(&fixture, start, id % 7 == 0 ? "" : "zz", id);
    store_elsewhere(&fixture, start, "", id);
    if (id % 16 == 0) {
      sweep(&fixture);
    }
  }
  atomic_store(&readers_stop, true);
  for (int i = 0; i < 8; i++) {
    pthread_join(readers[i], NULL);
  }
  pthread_join(clearer, NULL);

  fixture_free(&fixture);
}
END_TEST

/* Take and give back handles of the tables that the writer fills and empties. */
static void *handle_on(void *arg)
{
  struct fixture *fixture = arg;

  for (int i = 0; !atomic_load(&readers_stop); i++) {
    char name[2] = {(char)('a' + i % 4), 0};
    struct keyroute_table *table = kr_cache_table(fixture->cache, keyroute_string(name));

    ck_assert_ptr_nonnull(table);
    kr_table_release(table);
  }
  return NULL;
}

START_TEST(test_cache__handles_come_and_go_while_tables_are_emptied)
{
  struct fixture fixture = bounded(3, 0);
  struct keyroute_table *own = fixture.table;
  struct kr_cache_filter all = {0};
  pthread_t threads[2];
  time_t end = time(NULL) + 2;

  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(pthread_create(&threads[i], NULL, handle_on, &fixture), 0);
  }
  for (int i = 0; time(NULL) < end; i++) {
    char name[2] = {(char)('a' + i % 4), 0};

    fixture.table = kr_cache_table(fixture.cache, keyroute_string(name));
    store(&fixture, "a", "b", i + 1);
    kr_table_release(fixture.table);
    if (i % 5 == 0) {
      kr_cache_retire(fixture.cache, &all);
      sweep(&fixture);
    }
  }
  atomic_store(&readers_stop, true);
  for (int i = 0; i < 2; i++) {
    pthread_join(threads[i], NULL);
  }
  kr_cache_retire(fixture.cache, &all);
  sweep(&fixture);
  fixture.table = own;

  ck_assert_uint_eq(kr_cache_size(fixture.cache).tables, 1);
  fixture_free(&fixture);
}
END_TEST

/* ---- The suite ---- */

static void add_table_tests(TCase *tests)
{
  tcase_add_test(tests, test_cache__table_is_one_object_while_somebody_counts_it);
  tcase_add_test(tests, test_cache__unused_table_leaves);
  tcase_add_test(tests, test_cache__table_with_regions_stays_until_they_are_swept);
  tcase_add_test(tests, test_cache__handle_stays_right_while_its_table_is_emptied_and_filled);
  tcase_add_test(tests, test_s028_a_thousand_tables_come_and_go);
  tcase_add_test(tests, test_cache__table_that_finds_no_memory_is_not_there);
  tcase_add_test(tests, test_cache__table_that_could_not_leave_for_want_of_memory_is_swept_later);
}

static void add_bound_tests(TCase *tests)
{
  tcase_add_test(tests, test_cache__merged_region_takes_the_place_of_all_that_it_covers);
  tcase_add_test(tests, test_cache__bound_of_regions_lets_the_oldest_unused_go);
  tcase_add_test(tests, test_cache__no_hit_gives_out_what_was_cleared_while_figures_still_count_it);
  tcase_add_test(tests, test_cache__cleared_tables_are_filled_again_while_the_old_waits);
  tcase_add_test(tests, test_cache__what_was_cleared_makes_room_first);
  tcase_add_test(tests, test_cache__without_memory_what_is_cleared_is_evicted_at_once);
  tcase_add_test(tests, test_cache__table_and_cache_may_go_while_what_was_cleared_waits);
  tcase_add_test(tests, test_cache__what_was_hit_is_spared_once);
  tcase_add_test(tests, test_cache__new_region_is_not_the_next_to_go_for_its_key_coming_next);
  tcase_add_test(tests, test_cache__tables_without_regions_are_not_gone_through_for_room);
  tcase_add_test(tests, test_cache__where_all_are_in_use_a_store_does_not_look_at_all);
  tcase_add_test(tests, test_cache__region_just_stored_does_not_make_room_for_itself);
  tcase_add_test(tests, test_cache__bound_of_bytes_smaller_than_anything_keeps_the_last);
  tcase_add_test(tests, test_cache__bound_of_bytes_is_kept);
  tcase_add_test(tests, test_cache__catalogs_own_regions_go_last);
  tcase_add_test(tests, test_cache__unused_table_leaves_with_its_last_region);
  tcase_add_test(tests, test_cache__retired_region_goes_before_its_time_for_its_own_reason);
  tcase_add_test(tests, test_cache__evictions_are_counted_by_reason);
  tcase_add_loop_test(tests, test_cache__figure_of_bytes_is_what_the_allocator_holds, 0,
                      (int)(sizeof(figures) / sizeof(figures[0])));
  tcase_add_test(tests, test_cache__bounded_one_answers_rightly_or_not_at_all);
  tcase_add_test(tests, test_s044_churn_on_many_keys_stays_within_the_bounds);
}

static Suite *suite(void)
{
  Suite *made_suite = suite_create("cache");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_cache__empty_end_key_covers_last_row);
  tcase_add_test(tests, test_cache__end_key_is_exclusive_and_gaps_are_misses);
  tcase_add_test(tests, test_s015_before_a_start_key_is_the_region_below);
  tcase_add_test(tests, test_cache__many_rows_at_once_are_found_as_one_by_one);
  tcase_add_test(tests, test_cache__floor_sees_retired_regions_too);
  tcase_add_test(tests, test_cache__hit_marks_the_region_as_touched);
  tcase_add_test(tests, test_cache__store_without_memory_changes_nothing);
  add_bound_tests(tests);
  tcase_add_test(tests, test_s010_removing_by_a_start_key_removes);
  tcase_add_test(tests, test_s011_removing_by_a_row_inside_removes);
  tcase_add_test(tests, test_cache__removing_before_a_row_removes_the_region_below);
  tcase_add_test(tests, test_s041_second_removal_of_one_location_is_a_no_op);
  tcase_add_test(tests, test_s003_clearing_one_table_leaves_those_whose_names_begin_alike);
  tcase_add_test(tests, test_s035_cleared_table_is_filled_anew);
  tcase_add_test(tests, test_s042_all_regions_of_a_dead_server_go_in_one_call);
  tcase_add_test(tests, test_s042_dropping_a_server_is_one_step_for_all_that_is_on_it);
  tcase_add_test(tests, test_cache__replacing_needs_the_very_entry);
  tcase_add_test(tests, test_cache__nothing_is_replaced_only_where_nothing_live_stands);
  tcase_add_test(tests, test_cache__replacing_without_memory_changes_nothing);
  tcase_add_test(tests, test_cache__new_epoch_is_counted_as_retiring_is);
  tcase_add_test(tests, test_s101_new_process_on_the_same_port_is_another_server);
  tcase_add_test(tests, test_cache__filters_tell_hosts_ports_and_tables_apart);
  add_table_tests(tests);
  tcase_add_test(tests, test_s044_churn_leaves_what_an_oracle_says_and_nothing_overlaps);
  tcase_add_test(tests, test_s040_readers_hold_locations_while_the_cache_is_cleared);
  tcase_add_test(tests, test_cache__handles_come_and_go_while_tables_are_emptied);
  suite_add_tcase(made_suite, tests);
  return made_suite;
}

int main(void)
{
  return run_suite(suite());
}
