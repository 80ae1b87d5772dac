/*
 * The catalog of HBase 0.90 to 0.94: what is looked for, and which rows are believed.
 */
#include "lib/catalog.h"

#include "lib/bytes.h"
#include "test/catalog_harness.h"
#include "test/failing_mem.h"
#include "test/made094.h"
#include "test/named.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The same where a constant is needed. */
#define CONSTANT(literal)                                                                          \
  {                                                                                                \
    literal, sizeof(literal) - 1                                                                   \
  }
#define NINES "99999999999999"

static const struct kr_catalog *const catalog = &kr_catalog_root;

static void set_up(void)
{
  catalog_set_up(&kr_catalog_root);
}

/* ---- Keys ---- */

START_TEST(test_catalog_root__each_tier_has_its_parent)
{
  ck_assert_str_eq(catalog->root, "-ROOT-");
  ck_assert_str_eq(catalog->family, "info");
  ck_assert_uint_eq(catalog->parent(keyroute_string("-ROOT-")).len, 0);
  ck_assert(kr_bytes_equal(catalog->parent(keyroute_string(".META.")), BYTES("-ROOT-")));
  ck_assert(kr_bytes_equal(catalog->parent(keyroute_string("Table2")), BYTES(".META.")));
  ck_assert(kr_bytes_equal(catalog->parent(keyroute_string(".META")), BYTES(".META.")));
}
END_TEST

START_TEST(test_catalog_root__search_keys_are_those_hbase_uses)
{
  expect_catalog_key("Table2", BYTES("RK10000"), KR_AT, BYTES("Table2,RK10000," NINES));
  expect_catalog_key(".META.", BYTES("Table2,RK10000," NINES), KR_AT,
                     BYTES(".META.,Table2,RK10000," NINES "," NINES));
  expect_catalog_key("t", BYTES(""), KR_AT, BYTES("t,," NINES));
  expect_catalog_key("t", BYTES("a,\0\xff"), KR_AT, BYTES("t,a,\0\xff," NINES));
  expect_catalog_key("t", BYTES("m"), KR_BEFORE, BYTES("t,m,00000000000000"));
  expect_catalog_key(".META.", BYTES("t,m,5"), KR_BEFORE, BYTES(".META.,t,m,5,00000000000000"));
}
END_TEST

START_TEST(test_catalog_root__before_the_empty_row_is_behind_all_of_the_table)
{
  struct kr_buf key = catalog_key("t", BYTES(""), KR_BEFORE);

  ck_assert_int_gt(made094_compare_meta(kr_buf_view(&key), BYTES("t,zzz,1.x.")), 0);
  ck_assert_int_gt(made094_compare_meta(kr_buf_view(&key), BYTES("t,\xff\xff\xff\xff,1.x.")), 0);
  ck_assert_int_lt(made094_compare_meta(kr_buf_view(&key), BYTES("t1,,1.x.")), 0);
  struct kr_buf above = catalog_key(".META.", kr_buf_view(&key), KR_AT);

  ck_assert_int_gt(made094_compare_root(kr_buf_view(&above), BYTES(".META.,t,zzz,1.x.,1")), 0);
  ck_assert_int_lt(made094_compare_root(kr_buf_view(&above), BYTES(".META.,t1,,1.x.,1")), 0);
  kr_buf_clear(&above);
  kr_buf_clear(&key);
  key = catalog_key(".META.", BYTES(""), KR_BEFORE);
  ck_assert_int_gt(made094_compare_root(kr_buf_view(&key), BYTES(".META.,zzz,\xff,1.x.,1")), 0);
  ck_assert_int_gt(made094_compare_root(kr_buf_view(&key), BYTES(".META.,,1")), 0);
  kr_buf_clear(&key);
}
END_TEST

START_TEST(test_catalog_root__keys_of_both_tiers_are_as_long_as_a_server_takes)
{
  static char row[40000];
  size_t lens[2];

  memset(row, 'r', sizeof(row));
  for (int i = 0; i < 2; i++) {
    struct kr_buf key =
        catalog_key("t", kr_bytes(row, i == 0 ? 40000 : 32767), (enum kr_position)i);
    struct kr_buf above = catalog_key(".META.", kr_buf_view(&key), KR_AT);

    lens[i] = key.len;
    ck_assert_uint_eq(above.len, 32767);
    ck_assert_int_eq(memcmp(above.data, ".META.,t,rrr", 12), 0);
    ck_assert_int_eq(memcmp(above.data + above.len - 30, "," NINES "," NINES, 30), 0);
    kr_buf_clear(&above);
    kr_buf_clear(&key);
  }
  ck_assert_uint_eq(lens[0], lens[1]);
}
END_TEST

START_TEST(test_catalog_root__bounds_hold_one_table_only)
{
  expect_catalog_bounds("t", BYTES("t,,"), BYTES("t ,,"));
  expect_catalog_bounds(".META.", BYTES(".META.,,"), BYTES(""));

  ck_assert_int_lt(made094_compare_meta(BYTES("t,,"), BYTES("t,,1")), 0);
  ck_assert_int_gt(made094_compare_meta(BYTES("t ,,"), BYTES("t,\xff,1")), 0);
  ck_assert_int_lt(made094_compare_meta(BYTES("t ,,"), BYTES("t1,,1")), 0);
  ck_assert_int_lt(made094_compare_root(BYTES(".META.,,"), BYTES(".META.,,1")), 0);
}
END_TEST

START_TEST(test_catalog_root__search_key_meets_the_right_region_of_meta)
{
  static const char *const rows[] = {".META.,,1", ".META.,Table2,RK1,123,1",
                                     ".META.,Table2,RK1,9,123,1", ".META.,Table20,,5,1"};
  static const struct {
    const char *table, *row;
    int region;
  } cases[] = {{"Table1", "z", 0},     {"Table2", "", 0},     {"Table2", "RK0", 0},
               {"Table2", "RK1", 1},   {"Table2", "RK1,", 1}, {"Table2", "RK1,8", 1},
               {"Table2", "RK1,9", 2}, {"Table2", "z", 2},    {"Table20", "", 3}};

  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    struct kr_buf in_meta = catalog_key(cases[i].table, keyroute_string(cases[i].row), KR_AT);
    struct kr_buf in_root = catalog_key(".META.", kr_buf_view(&in_meta), KR_AT);
    int met = -1;

    for (int at = 0; at < 4; at++) {
      met += made094_compare_root(keyroute_string(rows[at]), kr_buf_view(&in_root)) <= 0;
    }
    ck_assert_int_eq(met, cases[i].region);
    kr_buf_clear(&in_root);
    kr_buf_clear(&in_meta);
  }
}
END_TEST

START_TEST(test_catalog_root__rows_have_the_order_of_their_servers)
{
  static const struct keyroute_bytes in_meta[] = {
      CONSTANT("t,,"),     CONSTANT("t,,1"),    CONSTANT("t,a,1"),
      CONSTANT("t,a,2"),   CONSTANT("t,a\0,1"), CONSTANT("t,a!,,0,1"),
      CONSTANT("t,a,b,1"), CONSTANT("t ,,"),    CONSTANT("t1,,1"),
  };
  static const struct keyroute_bytes in_root[] = {
      CONSTANT(".META.,,"),         CONSTANT(".META.,,1"),        CONSTANT(".META.,,2"),
      CONSTANT(".META.,t,a,1,1"),   CONSTANT(".META.,t,a,1,2"),   CONSTANT(".META.,t,a,2,1"),
      CONSTANT(".META.,t,a\0,1,1"), CONSTANT(".META.,t,a,b,1,1"), CONSTANT(".META.,t1,,1,1"),
  };

  for (size_t i = 0; i < 9; i++) {
    for (size_t k = 0; k < 9; k++) {
      int meta = made094_compare_meta(in_meta[i], in_meta[k]);
      int root = made094_compare_root(in_root[i], in_root[k]);

      ck_assert_int_eq(catalog->compare_keys(in_meta[i], in_meta[k]) < 0, meta < 0);
      ck_assert_int_eq(catalog->compare_keys(in_meta[i], in_meta[k]) == 0, meta == 0);
      ck_assert_int_eq(catalog->compare_keys(in_root[i], in_root[k]) < 0, root < 0);
      ck_assert_int_eq(catalog->compare_keys(in_root[i], in_root[k]) == 0, root == 0);
    }
  }
}
END_TEST

/* ---- Rows ---- */

/* A row as a server would send it, read. */
static struct kr_catalog_row parse(const char *table, const struct made094 *region, const char *key)
{
  struct kr_buf name, info;
  struct kr_catalog_row out;
  char address[80];
  static const uint8_t start_code[] = {0, 0, 0, 0, 0, 0, 1, 2}; /* 258 */

  kr_buf_init(&name, catalog_mem);
  kr_buf_init(&info, catalog_mem);
  made094_name(&name, region);
  made094_info(&info, region);
  snprintf(address, sizeof(address), "%s:%d", region->host, region->port);
  struct kr_cell cells[] = {
      {.qualifier = BYTES("regioninfo"), .value = kr_buf_view(&info)},
      {.qualifier = BYTES("server"), .value = keyroute_string(address)},
      {.qualifier = BYTES("serverstartcode"), .value = kr_bytes(start_code, 8)},
      {.qualifier = BYTES("splitA"), .value = BYTES("whatever")},
      {.qualifier = BYTES("v"), .value = BYTES("\0\0")},
  };

  for (size_t i = 0; i < 5; i++) {
    cells[i].family = BYTES("info");
  }
  struct kr_row row = {key != NULL ? keyroute_string(key) : kr_buf_view(&name), cells,
                       region->host != NULL ? 5 : 1};

  ck_assert_int_eq(
      catalog->parse_row(&out, catalog_mem, catalog_servers, keyroute_string(table), &row), 0);
  ck_assert((out.location == NULL) == (out.failure.code == KEYROUTE_E_CORRUPT));
  kr_buf_clear(&info);
  kr_buf_clear(&name);
  return out;
}

START_TEST(test_catalog_root__rows_of_both_versions_are_believed)
{
  struct made094 region = {.table = "t",
                           .start = BYTES("a"),
                           .end = BYTES("c"),
                           .id = 5,
                           .host = "h.example",
                           .port = 60020,
                           .old = _i == 1};
  struct kr_catalog_row row = parse("t", &region, NULL);
  char encoded[40] = "";

  ck_assert_ptr_nonnull(row.location);
  ck_assert(!row.offline && !row.split);
  ck_assert(kr_bytes_equal(keyroute_location_start_key(row.location), BYTES("a")));
  ck_assert(kr_bytes_equal(keyroute_location_end_key(row.location), BYTES("c")));
  ck_assert_int_eq(keyroute_location_region_id(row.location), 5);
  ck_assert_str_eq(keyroute_location_host(row.location, 0), "h.example");
  ck_assert_int_eq(keyroute_location_port(row.location, 0), 60020);
  ck_assert_int_eq(keyroute_location_start_code(row.location, 0), 258);
  ck_assert_int_eq(keyroute_location_seqnum(row.location, 0), -1);
  ck_assert_int_eq(keyroute_location_replica_count(row.location), 1);
  keyroute_location_encoded_name(row.location, 0, encoded, sizeof(encoded));
  ck_assert_str_eq(encoded, _i == 1 ? "" : "af5f192357ac3e6164ed2f5e3374c548");
  keyroute_location_release(row.location);
}
END_TEST

START_TEST(test_catalog_root__rows_of_root_are_taken_apart_from_the_right_end)
{
  struct made094 first = {
      .table = ".META.", .end = BYTES("Table2,a,b,123"), .id = 1, .host = "h", .port = 1};
  struct made094 second = {
      .table = ".META.", .start = BYTES("Table2,a,b,123"), .id = 1, .host = "h", .port = 1};
  struct kr_catalog_row row = parse(".META.", &second, ".META.,Table2,a,b,123,1");

  ck_assert_ptr_nonnull(row.location);
  ck_assert(kr_bytes_equal(keyroute_location_table(row.location), BYTES(".META.")));
  ck_assert(kr_bytes_equal(keyroute_location_start_key(row.location), BYTES("Table2,a,b,123")));
  ck_assert_ptr_nonnull(row.start_key.data);
  ck_assert_uint_eq(keyroute_location_end_key(row.location).len, 0);
  keyroute_location_release(row.location);
  row = parse(".META.", &first, ".META.,,1");
  ck_assert_ptr_nonnull(row.location);
  ck_assert(kr_location_covers(row.location, BYTES("Table2,a," NINES), KR_AT));
  ck_assert(!kr_location_covers(row.location, BYTES("Table2,b," NINES), KR_AT));
  keyroute_location_release(row.location);
}
END_TEST

START_TEST(test_catalog_root__split_parent_is_told_and_its_daughters_are_left_alone)
{
  struct made094 region = {
      .table = "t", .id = 5, .offline = true, .split = true, .host = "h", .port = 1};
  struct kr_catalog_row row = parse("t", &region, NULL);

  ck_assert_ptr_nonnull(row.location);
  ck_assert(row.offline && row.split);
  keyroute_location_release(row.location);
}
END_TEST

START_TEST(test_catalog_root__region_without_a_server_is_on_none)
{
  struct made094 region = {.table = "t", .id = 5};
  struct kr_catalog_row row = parse("t", &region, NULL);

  ck_assert_ptr_nonnull(row.location);
  ck_assert(!kr_location_placed(row.location));
  keyroute_location_release(row.location);
}
END_TEST

START_TEST(test_catalog_root__row_unlike_its_key_is_corrupt)
{
  static const char *const keys[] = {"t,b,5", "t,a,6", "t1,a,5", "t", "t,a", "t,a,x"};
  struct made094 region = {.table = "t", .start = BYTES("a"), .id = 5, .host = "h", .port = 1};

  ck_assert_ptr_null(parse("t", &region, keys[_i]).location);
}
END_TEST

START_TEST(test_catalog_root__key_that_no_location_has_room_for_is_corrupt)
{
  static char key[KR_LOCATION_KEY_MAX + 1];
  static const char *const reasons[] = {"too long a start key", "too long an end key"};
  struct made094 region = {.table = "t", .id = 5};
  struct keyroute_bytes *which = _i == 0 ? &region.start : &region.end;

  *which = kr_bytes(memset(key, 'r', sizeof(key)), sizeof(key) - 1);
  struct kr_catalog_row row = parse("t", &region, NULL);

  ck_assert_ptr_nonnull(row.location);
  keyroute_location_release(row.location);
  which->len++;
  row = parse("t", &region, NULL);
  ck_assert_ptr_null(row.location);
  ck_assert_msg(strstr(row.failure.message, reasons[_i]) != NULL, "%s", row.failure.message);
}
END_TEST

START_TEST(test_catalog_root__disabled_tables_are_not_told_here)
{
  ck_assert_ptr_null(catalog->state_family);
}
END_TEST

/* ---- The root ---- */

static const struct {
  const char *name;
  struct keyroute_bytes data;
  bool text;
  int64_t start_code; /* -1 = it is refused */
} places[] = {
    {"with header", CONSTANT("\xff\0\0\0\x0dregionserver1h.example,60020,77"), false, 77},
    {"without", CONSTANT("h.example,60020,77"), false, 77},
    {"of 0.90", CONSTANT("h.example:60020"), false, 0},
    {"of 0.90 with header", CONSTANT("\xff\0\0\0\1xh.example:60020"), false, 0},
    {"written down", CONSTANT("h.example:60020"), true, 0},
    {"written down in full", CONSTANT("h.example:60020:77"), true, 77},
    {"written with commas", CONSTANT("h.example,60020,77"), true, -1},
    {"without a port", CONSTANT("h.example"), false, -1},
    {"empty", CONSTANT(""), false, -1},
    {"cut header", CONSTANT("\xff\0\0\0\x0dregion"), false, -1},
    {"only a header", CONSTANT("\xff\0\0\0\1x"), false, -1},
    {"message", CONSTANT("PBUF\x0a\x0b"), false, -1},
    {"port 0", CONSTANT("h.example,0,77"), false, -1},
    {"more", CONSTANT("h.example,60020,77,"), false, -1},
    {"blank in host", CONSTANT("h example,60020,77"), false, -1},
    {"no host", CONSTANT(",60020,77"), false, -1},
};

START_TEST(test_catalog_root__root_is_read_in_each_spelling)
{
  struct kr_root_value value = {.text = places[_i].text, .data = places[_i].data};
  struct kr_root root = {.values = &value, .count = 1, .place = "znode /hbase/root-region-server"};
  struct kr_failure failure = {.code = 0};
  struct keyroute_location *location =
      catalog->parse_root(&failure, catalog_mem, catalog_servers, &root);

  ck_assert_msg((location != NULL) == (places[_i].start_code >= 0), "%s", places[_i].name);
  if (location == NULL) {
    ck_assert_int_eq(failure.code, KEYROUTE_E_BOOTSTRAP);
    ck_assert_ptr_nonnull(strstr(failure.message, "znode /hbase/root-region-server: \""));
    return;
  }
  ck_assert(is_named(location, BYTES("-ROOT-,,0")));
  ck_assert(kr_bytes_equal(keyroute_location_table(location), BYTES("-ROOT-")));
  ck_assert_str_eq(keyroute_location_host(location, 0), "h.example");
  ck_assert_int_eq(keyroute_location_port(location, 0), 60020);
  ck_assert_int_eq(keyroute_location_start_code(location, 0), places[_i].start_code);
  ck_assert(kr_location_covers(location, BYTES(".META.,x"), KR_AT));
  keyroute_location_release(location);
}
END_TEST

START_TEST(test_catalog_root__root_without_memory_says_so)
{
  struct kr_root_value value = {.data = BYTES("h,1,2")};
  struct kr_root root = {.values = &value, .count = 1, .place = "p"};

  expect_catalog_root_needs_memory(&root);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("catalog_root");
  TCase *tests = tcase_create("all");

  tcase_add_checked_fixture(tests, set_up, catalog_tear_down);
  tcase_add_test(tests, test_catalog_root__each_tier_has_its_parent);
  tcase_add_test(tests, test_catalog_root__search_keys_are_those_hbase_uses);
  tcase_add_test(tests, test_catalog_root__before_the_empty_row_is_behind_all_of_the_table);
  tcase_add_test(tests, test_catalog_root__keys_of_both_tiers_are_as_long_as_a_server_takes);
  tcase_add_test(tests, test_catalog_root__bounds_hold_one_table_only);
  tcase_add_test(tests, test_catalog_root__search_key_meets_the_right_region_of_meta);
  tcase_add_test(tests, test_catalog_root__rows_have_the_order_of_their_servers);
  tcase_add_loop_test(tests, test_catalog_root__rows_of_both_versions_are_believed, 0, 2);
  tcase_add_test(tests, test_catalog_root__rows_of_root_are_taken_apart_from_the_right_end);
  tcase_add_test(tests, test_catalog_root__split_parent_is_told_and_its_daughters_are_left_alone);
  tcase_add_test(tests, test_catalog_root__region_without_a_server_is_on_none);
  tcase_add_loop_test(tests, test_catalog_root__row_unlike_its_key_is_corrupt, 0, 6);
  tcase_add_loop_test(tests, test_catalog_root__key_that_no_location_has_room_for_is_corrupt, 0, 2);
  tcase_add_test(tests, test_catalog_root__disabled_tables_are_not_told_here);
  tcase_add_loop_test(tests, test_catalog_root__root_is_read_in_each_spelling, 0,
                      (int)(sizeof(places) / sizeof(places[0])));
  tcase_add_test(tests, test_catalog_root__root_without_memory_says_so);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
