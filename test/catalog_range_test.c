/*
 * The catalog of a range directory: what is looked for, and which rows are believed.
 */
#include "lib/catalog.h"

#include "lib/bytes.h"
#include "lib/descriptor.h"
#include "test/catalog_harness.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const struct kr_catalog *const catalog = &kr_catalog_range;

static void set_up(void)
{
  catalog_set_up(&kr_catalog_range);
}

/* ---- Tables ---- */

START_TEST(test_catalog_range__three_tables_have_names)
{
  static const char *const names[] = {"map", "meta2", "meta1"};
  static const char *const others[] = {"", "maps", "ma", "default:map", "meta", "Map", NULL};
  struct keyroute_bytes name = {NULL, 0};
  const char *reason = NULL;

  for (size_t i = 0; i < 3; i++) {
    ck_assert_int_eq(catalog->check_table(&name, names[i], &reason), 0);
    ck_assert(kr_bytes_equal(name, keyroute_string(names[i])));
  }
  for (size_t i = 0; i < 7; i++) {
    ck_assert_int_eq(catalog->check_table(&name, others[i], &reason), KEYROUTE_E_INVALID_ARGUMENT);
    ck_assert_str_eq(reason, "a range directory has the tables map, meta2 and meta1; a table of "
                             "the store's own is a prefix of the keys of map");
  }
}
END_TEST

/* ---- Keys ---- */

START_TEST(test_catalog_range__each_level_has_its_parent)
{
  ck_assert_str_eq(catalog->root, "meta1");
  ck_assert_str_eq(catalog->family, "r");
  ck_assert_uint_eq(catalog->parent(BYTES("meta1")).len, 0);
  ck_assert(kr_bytes_equal(catalog->parent(BYTES("meta2")), BYTES("meta1")));
  ck_assert(kr_bytes_equal(catalog->parent(BYTES("map")), BYTES("meta2")));
}
END_TEST

START_TEST(test_catalog_range__search_keys_are_the_levels_byte_and_the_key)
{
  expect_catalog_key("map", BYTES("k5"), KR_AT, BYTES("\2k5"));
  expect_catalog_key("map", BYTES(""), KR_AT, BYTES("\2"));
  expect_catalog_key("map", BYTES("\0,\xff"), KR_AT, BYTES("\2\0,\xff"));
  expect_catalog_key("meta2", BYTES("\2k5"), KR_AT, BYTES("\1\2k5"));
  expect_catalog_key("map", BYTES("k5"), KR_BEFORE, BYTES("\2k5"));
  expect_catalog_key("map", BYTES(""), KR_BEFORE, BYTES("\3"));
  expect_catalog_key("meta2", BYTES(""), KR_BEFORE, BYTES("\2"));
}
END_TEST

START_TEST(test_catalog_range__bounds_hold_one_level_only)
{
  expect_catalog_bounds("map", BYTES("\2"), BYTES("\3"));
  expect_catalog_bounds("meta2", BYTES("\1"), BYTES("\2"));
}
END_TEST

START_TEST(test_catalog_range__keys_have_the_order_of_their_bytes)
{
  ck_assert_int_lt(catalog->compare_keys(BYTES("\2"), BYTES("\2\0")), 0);
  ck_assert_int_lt(catalog->compare_keys(BYTES("\2a"), BYTES("\2a,")), 0);
  ck_assert_int_lt(catalog->compare_keys(BYTES("\1\xff"), BYTES("\2")), 0);
  ck_assert_int_gt(catalog->compare_keys(BYTES("\2\xff"), BYTES("\2\x7f")), 0);
  ck_assert_int_eq(catalog->compare_keys(BYTES("\2a\0"), BYTES("\2a\0")), 0);
}
END_TEST

/* No start key that there may be lies between a row and what is left of it. */
START_TEST(test_catalog_range__long_rows_are_cut_behind_the_longest_start_key)
{
  static char row[6000], start[KR_DESCRIPTOR_KEY_MAX];

  memset(row, 'r', sizeof(row));
  memset(start, 'r', sizeof(start));
  for (size_t len = KR_DESCRIPTOR_KEY_MAX - 1; len < KR_DESCRIPTOR_KEY_MAX + 4; len++) {
    struct kr_buf key = catalog_key("map", kr_bytes(row, len), (enum kr_position)_i);
    struct kr_buf above = catalog_key("meta2", kr_buf_view(&key), KR_AT);
    struct keyroute_bytes left = kr_bytes(key.data + 1, key.len - 1);
    int order = kr_bytes_compare(kr_bytes(start, sizeof(start)), kr_bytes(row, len));

    ck_assert_uint_le(key.len, 4096);
    ck_assert_uint_le(above.len, 4096);
    ck_assert_int_eq(kr_bytes_compare(kr_bytes(start, sizeof(start)), left) < 0, order < 0);
    ck_assert_int_eq(kr_bytes_compare(kr_bytes(start, sizeof(start)), left) == 0, order == 0);
    kr_buf_clear(&above);
    kr_buf_clear(&key);
  }
}
END_TEST

/* ---- Rows ---- */

static const struct kr_descriptor_replica replicas[] = {
    {.node_id = 3, .host = {"node3.example", 13}, .port = 8967},
    {.node_id = 1, .host = {"2001:db8::1", 11}, .port = 8968},
};

/* [b,m) as the third of its line, on two nodes. */
static const struct kr_descriptor made = {
    .id = 17,
    .generation = 300,
    .start_key = {"b", 1},
    .end_key = {"m", 1},
    .replicas = replicas,
    .replica_count = 2,
};

/* A row with a cell, read. */
static int parse_value(struct kr_catalog_row *out, const char *table, struct keyroute_bytes key,
                       struct keyroute_bytes value)
{
  struct kr_cell cells[] = {
      {.family = BYTES("r"), .qualifier = BYTES("x"), .value = BYTES("whatever")},
      {.family = BYTES("r"), .qualifier = BYTES("d"), .value = value},
  };
  struct kr_row row = {key, cells, value.data != NULL ? 2 : 1};

  return catalog->parse_row(out, catalog_mem, catalog_servers, keyroute_string(table), &row);
}

/* A row with a descriptor, read; one that must not fail for memory. */
static struct kr_catalog_row parse(const char *table, struct keyroute_bytes key,
                                   const struct kr_descriptor *descriptor)
{
  struct kr_catalog_row out;
  struct kr_buf value;

  kr_buf_init(&value, catalog_mem);
  kr_descriptor_write(&value, descriptor);
  ck_assert(!value.failed);
  ck_assert_int_eq(parse_value(&out, table, key, kr_buf_view(&value)), 0);
  ck_assert((out.location == NULL) == (out.failure.code == KEYROUTE_E_CORRUPT));
  kr_buf_clear(&value);
  return out;
}

static void expect_corrupt(const char *table, struct keyroute_bytes key,
                           const struct kr_descriptor *descriptor, const char *want)
{
  struct kr_catalog_row row = parse(table, key, descriptor);

  ck_assert_ptr_null(row.location);
  ck_assert_str_eq(row.failure.message, want);
}

static void expect_text(size_t (*get)(const struct keyroute_location *location, int replica,
                                      void *out, size_t size),
                        const struct keyroute_location *location, int replica, const char *want)
{
  char text[100] = "";

  ck_assert_uint_lt(get(location, replica, text, sizeof(text)), sizeof(text));
  ck_assert_str_eq(text, want);
}

START_TEST(test_catalog_range__location_says_what_the_descriptor_says)
{
  struct kr_catalog_row row = parse("map", BYTES("\2b"), &made);

  ck_assert_ptr_nonnull(row.location);
  ck_assert(kr_bytes_equal(row.start_key, BYTES("b")));
  ck_assert(!row.offline && !row.split);
  ck_assert(kr_bytes_equal(keyroute_location_table(row.location), BYTES("map")));
  ck_assert(kr_bytes_equal(keyroute_location_start_key(row.location), BYTES("b")));
  ck_assert(kr_bytes_equal(keyroute_location_end_key(row.location), BYTES("m")));
  ck_assert_int_eq(keyroute_location_region_id(row.location), 300);
  ck_assert_ptr_null(keyroute_location_state(row.location));
  ck_assert_int_eq(keyroute_location_replica_count(row.location), 2);
  ck_assert_str_eq(keyroute_location_host(row.location, 0), "node3.example");
  ck_assert_int_eq(keyroute_location_port(row.location, 0), 8967);
  ck_assert_str_eq(keyroute_location_host(row.location, 1), "2001:db8::1");
  for (int replica = 0; replica < 2; replica++) {
    ck_assert_int_eq(keyroute_location_seqnum(row.location, replica), 300);
    ck_assert_int_eq(keyroute_location_start_code(row.location, replica), 0);
  }
  keyroute_location_release(row.location);
}
END_TEST

START_TEST(test_catalog_range__all_replicas_have_one_name)
{
  struct kr_catalog_row row = parse("map", BYTES("\2b"), &made);
  struct keyroute_location *copy = kr_location_copy(row.location);
  struct kr_buf room;

  kr_buf_init(&room, catalog_mem);
  for (int replica = 0; replica < 2; replica++) {
    expect_text(keyroute_location_encoded_name, row.location, replica, "r17");
    expect_text(keyroute_location_region_name, row.location, replica, "map,b,300.r17.");
    expect_text(keyroute_location_region_name, copy, replica, "map,b,300.r17.");
    ck_assert(kr_bytes_equal(kr_location_replica_name(row.location, replica, &room),
                             BYTES("map,b,300.r17.")));
  }
  kr_buf_clear(&room);
  keyroute_location_release(copy);
  keyroute_location_release(row.location);
}
END_TEST

START_TEST(test_catalog_range__names_have_room_for_the_largest_numbers)
{
  struct kr_descriptor large = made;

  large.id = UINT64_MAX;
  large.generation = INT64_MAX;
  struct kr_catalog_row row = parse("map", BYTES("\2b"), &large);

  expect_text(keyroute_location_encoded_name, row.location, 0, "r18446744073709551615");
  expect_text(keyroute_location_region_name, row.location, 0,
              "map,b,9223372036854775807.r18446744073709551615.");
  keyroute_location_release(row.location);
}
END_TEST

START_TEST(test_catalog_range__start_keys_may_hold_what_names_are_made_of)
{
  struct kr_descriptor odd = made;

  odd.start_key = BYTES("a,r5.\0\xff");
  odd.end_key = BYTES("");
  struct kr_catalog_row row = parse("map", BYTES("\2a,r5.\0\xff"), &odd);

  ck_assert(kr_bytes_equal(keyroute_location_start_key(row.location), odd.start_key));
  ck_assert(kr_bytes_equal(keyroute_location_table(row.location), BYTES("map")));
  expect_text(keyroute_location_encoded_name, row.location, 0, "r17");
  keyroute_location_release(row.location);
}
END_TEST

START_TEST(test_catalog_range__rows_of_meta1_are_ranges_of_meta2)
{
  struct kr_descriptor index = made;

  index.start_key = BYTES("\2k5");
  index.end_key = BYTES("");
  struct kr_catalog_row row = parse("meta2", BYTES("\1\2k5"), &index);

  ck_assert(kr_bytes_equal(keyroute_location_table(row.location), BYTES("meta2")));
  ck_assert(kr_location_covers(row.location, BYTES("\2k5"), KR_AT));
  ck_assert(kr_location_covers(row.location, BYTES("\3"), KR_AT));
  ck_assert(!kr_location_covers(row.location, BYTES("\2k4"), KR_AT));
  keyroute_location_release(row.location);
}
END_TEST

START_TEST(test_catalog_range__row_unlike_its_descriptor_is_corrupt)
{
  expect_corrupt("map", BYTES("\2a"), &made,
                 "index row \\x02a: its descriptor names another start key");
  expect_corrupt("map", BYTES("\2"), &made,
                 "index row \\x02: its descriptor names another start key");
  expect_corrupt("map", BYTES("\2b\0"), &made,
                 "index row \\x02b\\x00: its descriptor names another start key");
}
END_TEST

START_TEST(test_catalog_range__row_of_another_level_is_corrupt)
{
  static const struct {
    const char *table;
    struct keyroute_bytes key;
  } rows[] = {{"map", {"\1b", 2}}, {"map", {"", 0}}, {"meta2", {"\2b", 2}}, {"map", {"\3b", 2}}};
  struct kr_catalog_row row = parse(rows[_i].table, rows[_i].key, &made);

  ck_assert_ptr_null(row.location);
  ck_assert_ptr_null(row.start_key.data);
  ck_assert_ptr_nonnull(strstr(row.failure.message, ": it is of another level"));
}
END_TEST

START_TEST(test_catalog_range__row_without_a_proper_descriptor_is_corrupt_with_the_reason)
{
  struct kr_catalog_row row;

  ck_assert_int_eq(parse_value(&row, "map", BYTES("\2b"), kr_bytes(NULL, 0)), 0);
  ck_assert_str_eq(row.failure.message, "index row \\x02b: it has no descriptor");
  ck_assert(kr_bytes_equal(row.start_key, BYTES("b")));
  ck_assert_int_eq(parse_value(&row, "map", BYTES("\2b"), BYTES("")), 0);
  ck_assert_str_eq(row.failure.message, "index row \\x02b: it is empty");
  ck_assert_int_eq(parse_value(&row, "map", BYTES("\2b"), BYTES("PBUF\1")), 0);
  ck_assert_str_eq(row.failure.message, "index row \\x02b: it holds no descriptor");
  ck_assert_int_eq(parse_value(&row, "map", BYTES("\2b"), BYTES("KRD\2")), 0);
  ck_assert_str_eq(row.failure.message, "index row \\x02b: its descriptor is of a newer version");
}
END_TEST

START_TEST(test_catalog_range__row_without_memory_says_so)
{
  struct kr_catalog_row row = {.location = NULL};
  struct kr_buf value;
  long n = 0;

  kr_buf_init(&value, catalog_mem);
  kr_descriptor_write(&value, &made);
  while (row.location == NULL) {
    mem_fail(++n);
    int error = parse_value(&row, "map", BYTES("\2b"), kr_buf_view(&value));

    mem_fail(0);
    ck_assert_int_eq(error, row.location != NULL ? 0 : KEYROUTE_E_NO_MEMORY);
    ck_assert_int_lt(n, 100);
  }
  ck_assert_int_gt(n, 5);
  keyroute_location_release(row.location);
  kr_buf_clear(&value);
}
END_TEST

START_TEST(test_catalog_range__no_state_of_a_table_is_told_here)
{
  ck_assert_ptr_null(catalog->state_family);
}
END_TEST

/* ---- The root ---- */

static struct keyroute_location *parse_root(struct kr_failure *failure, bool text,
                                            struct keyroute_bytes data)
{
  struct kr_root_value value = {.text = text, .data = data};
  struct kr_root root = {.values = &value, .count = 1, .place = "znode /keyroute/meta1"};

  failure->code = 0;
  return catalog->parse_root(failure, catalog_mem, catalog_servers, &root);
}

static struct keyroute_location *parse_root_descriptor(struct kr_failure *failure,
                                                       const struct kr_descriptor *descriptor)
{
  struct kr_buf value;

  kr_buf_init(&value, catalog_mem);
  kr_descriptor_write(&value, descriptor);
  struct keyroute_location *location = parse_root(failure, false, kr_buf_view(&value));

  kr_buf_clear(&value);
  return location;
}

static void expect_no_root(bool text, struct keyroute_bytes data, const char *want)
{
  struct kr_failure failure;

  ck_assert_ptr_null(parse_root(&failure, text, data));
  ck_assert_int_eq(failure.code, KEYROUTE_E_BOOTSTRAP);
  ck_assert_str_eq(failure.message, want);
}

START_TEST(test_catalog_range__znode_says_where_meta1_is)
{
  struct kr_failure failure;
  struct kr_descriptor root = {.id = 9, .generation = 7, .replicas = replicas, .replica_count = 2};
  struct keyroute_location *location = parse_root_descriptor(&failure, &root);

  ck_assert_ptr_nonnull(location);
  expect_text(keyroute_location_region_name, location, 0, "meta1,,7.r9.");
  expect_text(keyroute_location_encoded_name, location, 1, "r9");
  ck_assert(kr_bytes_equal(keyroute_location_table(location), BYTES("meta1")));
  ck_assert(kr_location_covers(location, BYTES("\1\2x"), KR_AT));
  ck_assert_str_eq(keyroute_location_host(location, 0), "node3.example");
  ck_assert_int_eq(keyroute_location_replica_count(location), 2);
  keyroute_location_release(location);
}
END_TEST

START_TEST(test_catalog_range__place_of_meta1_may_be_written_down)
{
  struct kr_failure failure;
  struct keyroute_location *location = parse_root(&failure, true, BYTES("[::1]:8086"));

  ck_assert_ptr_nonnull(location);
  expect_text(keyroute_location_region_name, location, 0, "meta1,,0.r1.");
  ck_assert_str_eq(keyroute_location_host(location, 0), "::1");
  ck_assert_int_eq(keyroute_location_port(location, 0), 8086);
  keyroute_location_release(location);
}
END_TEST

START_TEST(test_catalog_range__unreadable_roots_are_told_with_their_reason)
{
  expect_no_root(true, BYTES("localhost"), "znode /keyroute/meta1: \"localhost\" is not host:port");
  expect_no_root(true, BYTES("h:8086:5"), "znode /keyroute/meta1: \"h:8086:5\" is not host:port");
  expect_no_root(false, BYTES(""), "znode /keyroute/meta1: it is empty");
  expect_no_root(false, BYTES("h:8086"), "znode /keyroute/meta1: it holds no descriptor");
}
END_TEST

START_TEST(test_catalog_range__descriptor_of_another_range_is_no_root)
{
  struct kr_failure failure;
  struct kr_descriptor other = {
      .id = 2, .generation = 7, .end_key = BYTES("m"), .replicas = replicas, .replica_count = 2};

  ck_assert_ptr_null(parse_root_descriptor(&failure, &other));
  ck_assert_int_eq(failure.code, KEYROUTE_E_BOOTSTRAP);
  ck_assert_str_eq(failure.message, "znode /keyroute/meta1: its descriptor is not that of meta1");
  other.start_key = BYTES("a");
  other.end_key = BYTES("");
  ck_assert_ptr_null(parse_root_descriptor(&failure, &other));
  ck_assert_int_eq(failure.code, KEYROUTE_E_BOOTSTRAP);
}
END_TEST

START_TEST(test_catalog_range__root_without_memory_says_so)
{
  struct kr_descriptor descriptor = {
      .id = 1, .generation = 7, .replicas = replicas, .replica_count = 2};
  struct kr_buf value;

  kr_buf_init(&value, catalog_mem);
  kr_descriptor_write(&value, &descriptor);
  struct kr_root_value values[] = {{.data = kr_buf_view(&value)},
                                   {.text = true, .data = BYTES("h:1")}};
  struct kr_root root = {.values = &values[_i], .count = 1, .place = "p"};

  expect_catalog_root_needs_memory(&root);
  kr_buf_clear(&value);
}
END_TEST

/* ---- The suite ---- */

static Suite *suite(void)
{
  Suite *suite = suite_create("catalog_range");
  TCase *tests = tcase_create("all");

  tcase_add_checked_fixture(tests, set_up, catalog_tear_down);
  tcase_add_test(tests, test_catalog_range__three_tables_have_names);
  tcase_add_test(tests, test_catalog_range__each_level_has_its_parent);
  tcase_add_test(tests, test_catalog_range__search_keys_are_the_levels_byte_and_the_key);
  tcase_add_test(tests, test_catalog_range__bounds_hold_one_level_only);
  tcase_add_test(tests, test_catalog_range__keys_have_the_order_of_their_bytes);
  tcase_add_loop_test(tests, test_catalog_range__long_rows_are_cut_behind_the_longest_start_key, 0,
                      2);
  tcase_add_test(tests, test_catalog_range__location_says_what_the_descriptor_says);
  tcase_add_test(tests, test_catalog_range__all_replicas_have_one_name);
  tcase_add_test(tests, test_catalog_range__names_have_room_for_the_largest_numbers);
  tcase_add_test(tests, test_catalog_range__start_keys_may_hold_what_names_are_made_of);
  tcase_add_test(tests, test_catalog_range__rows_of_meta1_are_ranges_of_meta2);
  tcase_add_test(tests, test_catalog_range__row_unlike_its_descriptor_is_corrupt);
  tcase_add_loop_test(tests, test_catalog_range__row_of_another_level_is_corrupt, 0, 4);
  tcase_add_test(tests,
                 test_catalog_range__row_without_a_proper_descriptor_is_corrupt_with_the_reason);
  tcase_add_test(tests, test_catalog_range__row_without_memory_says_so);
  tcase_add_test(tests, test_catalog_range__no_state_of_a_table_is_told_here);
  tcase_add_test(tests, test_catalog_range__znode_says_where_meta1_is);
  tcase_add_test(tests, test_catalog_range__place_of_meta1_may_be_written_down);
  tcase_add_test(tests, test_catalog_range__unreadable_roots_are_told_with_their_reason);
  tcase_add_test(tests, test_catalog_range__descriptor_of_another_range_is_no_root);
  tcase_add_loop_test(tests, test_catalog_range__root_without_memory_says_so, 0, 2);
  suite_add_tcase(suite, tests);
  return suite;
}

int main(void)
{
  return run_suite(suite());
}
