/*
 * Lookups in a range directory: what is read for them, which is nothing or as little as there is,
 * and which range is the answer while others are split, merged and moved.
 */
#include "test/range_world.h"

#include "lib/bytes.h"
#include "test/run_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct range_world *range;

static void set_up(void)
{
  range = range_world_new();
}

static void tear_down(void)
{
  range_world_free(range);
}

/* The map as three ranges: r11 to c, r12 to m, r13. */
static void publish_three(void)
{
  range_publish(range, &(struct range){11, 5, "", "c", 3});
  range_publish(range, &(struct range){12, 6, "c", "m", 4});
  range_publish(range, &(struct range){13, 7, "m", "", 5});
}

static void set_up_three(void)
{
  set_up();
  publish_three();
}

/* A lookup to be. refresh  what is cached will not do. Cleared by the caller. */
static void prepare(struct ask *ask, const char *table, const char *key, bool refresh,
                    enum kr_position position)
{
  ask_init(ask, range->world, table, key);
  ask->lookup.refresh = refresh;
  ask->lookup.position = position;
}

static void run(struct ask *ask)
{
  ask_start(ask);
  fake_clock_pass_ms(0);
  for (int i = 0; i < 100 && ask->done == 0; i++) {
    fake_clock_pass_ms(100);
  }
}

/* The range that a lookup ends with. */
static void expect_range(const char *key, bool refresh, enum kr_position position, uint64_t id)
{
  struct ask ask;

  prepare(&ask, "map", key, refresh, position);
  run(&ask);
  ck_assert_int_eq(ask.done, 1);
  ck_assert_msg(ask.lookup.location != NULL, "%s: %s", key, ask.lookup.failure.message);
  ck_assert_msg(range_id(ask.lookup.location) == id, "%s: r%llu, not r%llu", key,
                (unsigned long long)range_id(ask.lookup.location), (unsigned long long)id);
  ask_clear(&ask);
}

static void expect_at(const char *key, uint64_t id)
{
  expect_range(key, false, KR_AT, id);
}

static void expect_fresh(const char *key, uint64_t id)
{
  expect_range(key, true, KR_AT, id);
}

/* What was read since the last call of this. */
static void expect_reads(int znode, unsigned meta1, unsigned meta2)
{
  ck_assert_int_eq(range->world->root_reads, znode);
  ck_assert_uint_eq(range->reads[1], meta1);
  ck_assert_uint_eq(range->reads[2], meta2);
  range->world->root_reads = 0;
  memset(range->reads, 0, sizeof(range->reads));
}

/* ---- What is read ---------------------------------------------------------------------------- */

START_TEST(test_range_lookup__knowing_nothing_takes_the_znode_and_two_reads)
{
  expect_at("k", 12);

  expect_reads(1, 1, 1);
}
END_TEST

START_TEST(test_range_lookup__what_is_cached_takes_no_read)
{
  expect_at("k", 12);
  expect_reads(1, 1, 1);

  expect_at("k", 12);
  expect_at("c", 12);
  expect_at("lzzz", 12);

  expect_reads(0, 0, 0);
}
END_TEST

START_TEST(test_range_lookup__new_range_takes_one_read_of_its_meta2_range)
{
  expect_at("a", 11);
  expect_reads(1, 1, 1);

  expect_at("x", 13);

  expect_reads(0, 0, 1);
}
END_TEST

START_TEST(test_range_lookup__stale_range_takes_one_read)
{
  expect_at("k", 12);
  expect_reads(1, 1, 1);
  range_make_table(range, 12, 9);
  range_write_row(range, &range_meta2, &(struct range){12, 8, "c", "m", 9});
  range_drop_table(range, 12, 4);

  expect_fresh("k", 12);

  expect_reads(0, 0, 1);
}
END_TEST

/* meta2 on another node, with what it held. */
static void move_meta2(void)
{
  struct range moved = {2, 2, "", "", 7};

  range_make_table(range, moved.id, moved.node);
  range_copy_rows(range, &range_meta2, &moved);
  range_write_row(range, &range_meta1, &moved);
  range_drop_table(range, range_meta2.id, range_meta2.node);
}

START_TEST(test_range_lookup__stale_meta2_takes_two_reads_more)
{
  expect_at("k", 12);
  expect_reads(1, 1, 1);
  move_meta2();

  expect_at("x", 13);

  expect_reads(0, 1, 2);
  ck_assert_uint_eq(range->not_found, 1);
}
END_TEST

START_TEST(test_range_lookup__stale_meta1_takes_the_znode_more)
{
  struct range moved = {1, 2, "", "", 8};

  expect_at("k", 12);
  expect_reads(1, 1, 1);
  move_meta2();
  range_make_table(range, moved.id, moved.node);
  range_copy_rows(range, &range_meta1, &moved);
  range_write_znode(range, &moved);
  range_drop_table(range, range_meta1.id, range_meta1.node);

  expect_at("x", 13);

  expect_reads(1, 2, 2);
  ck_assert_uint_eq(range->not_found, 2);
}
END_TEST

START_TEST(test_range_lookup__misses_close_together_read_neighbours_too)
{
  char start[16], end[16];

  for (int i = 0; i < 40; i++) {
    snprintf(start, sizeof(start), i > 0 ? "k%02d" : "", i);
    snprintf(end, sizeof(end), i < 39 ? "k%02d" : "", i + 1);
    range_publish(range, &(struct range){(uint64_t)(100 + i), 9, start, end, 3});
  }
  for (int i = 39; i >= 0; i--) {
    snprintf(start, sizeof(start), "k%02d", i);
    expect_at(start, (uint64_t)(100 + i));
  }

  ck_assert_uint_eq(range->world->last_limit, 10);
  ck_assert_uint_le(range->reads[2], 6);
  ck_assert_uint_eq(range->reads[1], 1);
}
END_TEST

START_TEST(test_range_lookup__many_who_want_one_key_share_one_read)
{
  enum { MANY = 64 };
  static struct ask asks[MANY];

  for (int i = 0; i < MANY; i++) {
    ask(&asks[i], range->world, "map", i % 2 == 0 ? "k" : "l");
  }
  fake_clock_pass_ms(1);

  for (int i = 0; i < MANY; i++) {
    ck_assert_int_eq(asks[i].done, 1);
    ck_assert_uint_eq(range_id(asks[i].lookup.location), 12);
    ask_clear(&asks[i]);
  }
  expect_reads(1, 1, 1);
}
END_TEST

START_TEST(test_range_lookup__index_itself_is_looked_up_alike)
{
  struct ask in_meta2, in_meta1;

  prepare(&in_meta2, "meta2", "\2k", false, KR_AT);
  prepare(&in_meta1, "meta1", "\1\2k", false, KR_AT);

  run(&in_meta2);
  run(&in_meta1);

  ck_assert_uint_eq(range_id(in_meta2.lookup.location), 2);
  ck_assert_uint_eq(range_node(in_meta2.lookup.location), 2);
  ck_assert_uint_eq(range_id(in_meta1.lookup.location), 1);
  expect_reads(1, 1, 0);
  ask_clear(&in_meta1);
  ask_clear(&in_meta2);
}
END_TEST

/* ---- meta2 in several ranges ----------------------------------------------------------------- */

/* Cut meta2 at these keys of the map; the parts are r21 and on, on node 6. What was published so
 * far is copied. */
static void cut_meta2(const char *const *keys, unsigned count)
{
  char bounds[8][16];

  bounds[0][0] = bounds[count + 1][0] = '\0';
  for (unsigned i = 0; i < count; i++) {
    snprintf(bounds[i + 1], sizeof(bounds[0]), "\2%s", keys[i]);
  }
  for (unsigned i = count + 1; i-- > 0;) {
    struct range part = {21 + i, 2, bounds[i], bounds[i + 1], 6};

    range_make_table(range, part.id, part.node);
    range_copy_rows(range, &range_meta2, &part);
    range_write_row(range, &range_meta1, &part);
  }
  range_drop_table(range, range_meta2.id, range_meta2.node);
}

START_TEST(test_range_lookup__each_part_of_meta2_is_found_once)
{
  static const char *const keys[] = {"c", "m"};

  cut_meta2(keys, 2);
  expect_at("z", 13);
  expect_reads(1, 1, 1);

  expect_at("a", 11);
  expect_reads(0, 0, 1); /* it was met beside the other one */
  expect_at("k", 12);
  expect_reads(0, 0, 1);
  expect_at("z", 13);
  expect_reads(0, 0, 0);
}
END_TEST

START_TEST(test_range_lookup__covering_row_may_stand_in_the_part_before)
{
  static const char *const keys[] = {"e"};

  cut_meta2(keys, 1);

  expect_at("k", 12); /* it begins at c */

  ck_assert_uint_eq(range->reads[2], 2);
  ck_assert_uint_eq(range->reads[1], 1);
  expect_at("m", 13);
  expect_reads(1, 1, 3);
}
END_TEST

/* A merge of ranges of the map may leave them. */
START_TEST(test_range_lookup__parts_without_a_row_are_gone_through)
{
  static const char *const keys[] = {"n", "o", "p", "q", "r", "s"};

  cut_meta2(keys, 6);

  expect_at("x", 13);

  ck_assert_uint_eq(range->reads[2], 7);
}
END_TEST

START_TEST(test_range_lookup__parts_without_end_are_not)
{
  struct ask ask;

  for (unsigned i = 0; i < 100; i++) {
    char start[16], end[16];
    struct range part = {300 + i, 2, start, end, 6};

    snprintf(start, sizeof(start), i > 0 ? "\2n%02u" : "", i);
    snprintf(end, sizeof(end), i < 99 ? "\2n%02u" : "", i + 1);
    range_make_table(range, part.id, part.node);
    range_copy_rows(range, &range_meta2, &part);
    range_write_row(range, &range_meta1, &part);
  }
  prepare(&ask, "map", "x", false, KR_AT);
  ask.lookup.single_try = true;
  run(&ask);

  expect_failed(&ask, KEYROUTE_E_TIMEOUT);
  expect_message(&ask, "table map, row x: 64 regions of meta2 one below the other say nothing");
  ck_assert_uint_eq(range->reads[2], 65);
  ask_clear(&ask);
}
END_TEST

START_TEST(test_range_lookup__any_want_of_memory_is_told_and_leaks_nothing)
{
  static const char *const keys[] = {"e"};
  bool found = false;
  long n = 0;

  cut_meta2(keys, 1);
  while (!found) {
    struct ask ask;

    prepare(&ask, "map", "k", false, KR_AT);
    ask.lookup.single_try = true;
    mem_fail(++n);
    run(&ask);
    mem_fail(0);
    found = ask.lookup.location != NULL;
    ck_assert_int_eq(ask.done, 1);
    ck_assert_int_eq(ask.lookup.failure.code, found ? 0 : KEYROUTE_E_NO_MEMORY);
    ask_clear(&ask);
    ck_assert_int_lt(n, 1000);
  }
  ck_assert_int_gt(n, 20);
}
END_TEST

/* ---- Before and behind ----------------------------------------------------------------------- */

START_TEST(test_range_lookup__before_is_the_range_below)
{
  expect_range("m", false, KR_BEFORE, 12);
  expect_range("mm", false, KR_BEFORE, 13);
  expect_range("c", true, KR_BEFORE, 11);
  expect_range("", true, KR_BEFORE, 13);
  expect_reads(1, 1, 4);
}
END_TEST

START_TEST(test_range_lookup__before_the_first_row_of_a_part_of_meta2_is_in_the_part_before)
{
  static const char *const keys[] = {"c", "m"};

  cut_meta2(keys, 2);

  expect_range("m", false, KR_BEFORE, 12);
  expect_range("c", false, KR_BEFORE, 11);
  expect_range("", false, KR_BEFORE, 13);
}
END_TEST

/* ---- What is wrong with an index ------------------------------------------------------------- */

static void expect_trouble(const char *key, int code, const char *message)
{
  struct ask ask;

  prepare(&ask, "map", key, true, KR_AT);
  ask.lookup.single_try = true;
  run(&ask);
  expect_failed(&ask, code);
  expect_message(&ask, message);
  ask_clear(&ask);
}

START_TEST(test_range_lookup__s052_hole_is_told_with_its_bounds)
{
  range_delete_row(range, &range_meta2, "c");

  expect_trouble("k", KEYROUTE_E_HOLE, "hole from c to m");
  expect_at("a", 11);
  expect_at("m", 13);
}
END_TEST

START_TEST(test_range_lookup__s052_hole_may_be_at_either_end)
{
  range_delete_row(range, &range_meta2, "");
  range_delete_row(range, &range_meta2, "m");

  expect_trouble("a", KEYROUTE_E_HOLE, "hole from the table's first row to c");
  expect_trouble("x", KEYROUTE_E_HOLE, "hole from m to the table's end");
  expect_at("k", 12);
}
END_TEST

START_TEST(test_range_lookup__index_without_rows_has_no_map)
{
  range_delete_row(range, &range_meta2, "");
  range_delete_row(range, &range_meta2, "c");
  range_delete_row(range, &range_meta2, "m");

  expect_trouble("k", KEYROUTE_E_TABLE_NOT_FOUND, "map");
}
END_TEST

START_TEST(test_range_lookup__row_that_cannot_be_believed_is_told)
{
  fake_catalog_put_cell(range->tables[1].rows, kr_bytes("\2c", 2), "r", "d", kr_bytes("KRD\2", 4));

  expect_trouble("k", KEYROUTE_E_CORRUPT, "its descriptor is of a newer version");
  expect_at("x", 13);
}
END_TEST

/* Nothing says that it would be the host that was asked. */
START_TEST(test_range_lookup__s108_empty_host_is_not_believed)
{
  static const char value[] = "KRD\1\x08\x0c\x1a\x01"
                              "c\x22\x01m\x2a\x06\x08\x03\x12\x00\x18\x01";

  fake_catalog_put_cell(range->tables[1].rows, kr_bytes("\2c", 2), "r", "d",
                        kr_bytes(value, sizeof(value) - 1));

  expect_trouble("k", KEYROUTE_E_CORRUPT, "a replica of its descriptor has no host");
}
END_TEST

START_TEST(test_range_lookup__s037_range_made_again_under_its_reader_is_found_with_one_read)
{
  expect_at("k", 12);
  expect_reads(1, 1, 1);
  range_drop_table(range, 12, 4);
  range_publish(range, &(struct range){15, 8, "c", "m", 4});

  expect_fresh("k", 15);

  expect_reads(0, 0, 1);
}
END_TEST

START_TEST(test_range_lookup__s039_range_made_after_it_was_missed_is_found)
{
  range_delete_row(range, &range_meta2, "c");
  expect_trouble("k", KEYROUTE_E_HOLE, "hole from c to m");
  range_write_row(range, &range_meta2, &(struct range){12, 6, "c", "m", 4});

  expect_at("k", 12);
}
END_TEST

START_TEST(test_range_lookup__s016_overlap_of_one_generation_is_told)
{
  range_publish(range, &(struct range){14, 6, "e", "m", 3});

  expect_trouble("k", KEYROUTE_E_OVERLAP, "map,e,6.r14. and map,c,6.r12.");
}
END_TEST

START_TEST(test_range_lookup__s015_bounds_belong_to_the_range_that_begins_there)
{
  expect_at("", 11);
  expect_at("bzz", 11);
  expect_at("c", 12);
  expect_at("m", 13);
  expect_at("\xff\xff", 13);
}
END_TEST

START_TEST(test_range_lookup__s046_refresh_of_one_range_leaves_the_others)
{
  expect_at("a", 11);
  expect_at("x", 13);
  expect_fresh("k", 12);
  range->reads[2] = 0;

  expect_at("a", 11);
  expect_at("x", 13);

  ck_assert_uint_eq(range->reads[2], 0);
}
END_TEST

START_TEST(test_range_lookup__meta1_that_nobody_wrote_down_is_awaited)
{
  struct ask ask;

  prepare(&ask, "map", "k", false, KR_AT);
  kr_fail(&range->world->root_failure, KEYROUTE_E_BOOTSTRAP, "no such znode /keyroute/meta1");
  ask_start(&ask);
  fake_clock_pass_ms(50);
  ck_assert_int_eq(ask.done, 0);
  range->world->root_failure.code = 0;
  fake_clock_pass_ms(10000);

  ck_assert_int_eq(ask.done, 1);
  ck_assert_uint_eq(range_id(ask.lookup.location), 12);
  ask_clear(&ask);
}
END_TEST

/* ---- The suite ------------------------------------------------------------------------------- */

static Suite *suite(void)
{
  Suite *made = suite_create("range_lookup");
  TCase *three = tcase_create("three ranges");
  TCase *none = tcase_create("none");

  tcase_add_checked_fixture(three, set_up_three, tear_down);
  tcase_add_test(three, test_range_lookup__knowing_nothing_takes_the_znode_and_two_reads);
  tcase_add_test(three, test_range_lookup__what_is_cached_takes_no_read);
  tcase_add_test(three, test_range_lookup__new_range_takes_one_read_of_its_meta2_range);
  tcase_add_test(three, test_range_lookup__stale_range_takes_one_read);
  tcase_add_test(three, test_range_lookup__stale_meta2_takes_two_reads_more);
  tcase_add_test(three, test_range_lookup__stale_meta1_takes_the_znode_more);
  tcase_add_test(three, test_range_lookup__many_who_want_one_key_share_one_read);
  tcase_add_test(three, test_range_lookup__index_itself_is_looked_up_alike);
  tcase_add_test(three, test_range_lookup__each_part_of_meta2_is_found_once);
  tcase_add_test(three, test_range_lookup__covering_row_may_stand_in_the_part_before);
  tcase_add_test(three, test_range_lookup__parts_without_a_row_are_gone_through);
  tcase_add_test(three, test_range_lookup__parts_without_end_are_not);
  tcase_add_test(three, test_range_lookup__any_want_of_memory_is_told_and_leaks_nothing);
  tcase_add_test(three, test_range_lookup__before_is_the_range_below);
  tcase_add_test(three,
                 test_range_lookup__before_the_first_row_of_a_part_of_meta2_is_in_the_part_before);
  tcase_add_test(three, test_range_lookup__s052_hole_is_told_with_its_bounds);
  tcase_add_test(three, test_range_lookup__s052_hole_may_be_at_either_end);
  tcase_add_test(three, test_range_lookup__index_without_rows_has_no_map);
  tcase_add_test(three, test_range_lookup__row_that_cannot_be_believed_is_told);
  tcase_add_test(three, test_range_lookup__s108_empty_host_is_not_believed);
  tcase_add_test(three,
                 test_range_lookup__s037_range_made_again_under_its_reader_is_found_with_one_read);
  tcase_add_test(three, test_range_lookup__s039_range_made_after_it_was_missed_is_found);
  tcase_add_test(three, test_range_lookup__s016_overlap_of_one_generation_is_told);
  tcase_add_test(three, test_range_lookup__s015_bounds_belong_to_the_range_that_begins_there);
  tcase_add_test(three, test_range_lookup__s046_refresh_of_one_range_leaves_the_others);
  tcase_add_test(three, test_range_lookup__meta1_that_nobody_wrote_down_is_awaited);
  suite_add_tcase(made, three);
  tcase_add_checked_fixture(none, set_up, tear_down);
  tcase_add_test(none, test_range_lookup__misses_close_together_read_neighbours_too);
  suite_add_tcase(made, none);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
