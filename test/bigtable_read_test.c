/* What is asked of Bigtable nodes, byte by byte where that is short, else taken apart again. */
#include "lib/bigtable_read.h"

#include "lib/bytes.h"
#include "lib/proto/bigtable.pb-c.h"
#include "lib/proto_alloc.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <stdio.h>
#include <string.h>

typedef Kr__Bigtable__RowFilter row_filter;

static struct kr_mem *mem;
static struct kr_buf out;
static struct kr_scan scan;
static struct kr_read read_of;
static struct kr_get_region region;
static struct keyroute_bytes rows[3];
static struct kr_gets gets;
static struct keyroute_bytes scan_table, get_table;

static void setup(void)
{
  mem = failing_mem_new();
  kr_buf_init(&out, mem);
  scan_table = keyroute_string("i/tables/r2");
  get_table = keyroute_string("i/tables/r12");
  scan = (struct kr_scan){.region = keyroute_string("meta2,,3.r2."), .limit = 3, .family = "r"};
  read_of = (struct kr_read){.max_versions = 1, .max_result_len = 1000};
  region = (struct kr_get_region){keyroute_string("map,k5,7.r12."), 1, 2};
  rows[1] = keyroute_string("k7");
  rows[2] = keyroute_string("k6");
  gets = (struct kr_gets){
      .read = &read_of, .regions = &region, .region_count = 1, .rows = rows, .row_count = 3};
}

static void teardown(void)
{
  kr_buf_clear(&out);
  failing_mem_done(mem);
}

static Kr__Bigtable__ReadRowsRequest *unpack(void)
{
  ck_assert(!out.failed);
  Kr__Bigtable__ReadRowsRequest *request =
      kr__bigtable__read_rows_request__unpack(NULL, out.len, out.data);

  ck_assert_ptr_nonnull(request);
  return request;
}

static void forget(Kr__Bigtable__ReadRowsRequest *request)
{
  kr__bigtable__read_rows_request__free_unpacked(request, NULL);
}

/* ---- Names ----------------------------------------------------------------------------------- */

static const struct {
  const char *region, *table;
} names[] = {
    {"map,k5,7.r12.", "i/tables/r12"},
    {"map,a.b.c,7.r12.", "i/tables/r12"},
    {"map,.,7.r1.", "i/tables/r1"},
    {"..", "i/tables/"},
    {"meta1", "i/tables/meta1"},
    {"meta1.", "i/tables/meta1."},
    {"", "i/tables/"},
};

START_TEST(test_bigtable_read__table_is_between_the_last_two_dots)
{
  kr_bigtable_table_write(&out, "i", keyroute_string(names[_i].region));

  ck_assert(kr_bytes_equal(kr_buf_view(&out), keyroute_string(names[_i].table)));
}
END_TEST

/* ---- Scans ----------------------------------------------------------------------------------- */

START_TEST(test_bigtable_read__scan_backwards_is_these_bytes)
{
  static const char want[] = "\x0a\x0bi/tables/r2" /* the table */
                             "\x12\x0b"            /* rows: */
                             "\x12\x09"            /*   a range, */
                             "\x0a\x01\x02"        /*   from here, included, */
                             "\x22\x04\x02key"     /*   to there, included */
                             "\x1a\x0d"            /* filter: */
                             "\x0a\x0b"            /*   a chain: */
                             "\x0a\x05"            /*     first */
                             "\x3a\x03\x0a\x01r"   /*     the family, */
                             "\x0a\x02\x60\x01"    /*     then one version */
                             "\x20\x03"            /* rows at most */
                             "\x38\x01";           /* backwards */

  scan.start_row = keyroute_string("\x02key");
  scan.stop_row = keyroute_string("\x02");
  scan.include_start = scan.include_stop = scan.reversed = true;
  kr_bigtable_scan_write(&out, scan_table, &scan);

  ck_assert_uint_eq(out.len, sizeof(want) - 1);
  ck_assert_mem_eq(out.data, want, out.len);
}
END_TEST

/* Bounds as "[a, c)"; "(" and ")" = exclusive, nothing = there is none. */
static void print_range(char *text, size_t size, const Kr__Bigtable__RowRange *range)
{
  struct keyroute_bytes low =
      kr_proto_bytes(range->has_start_key_closed ? range->start_key_closed : range->start_key_open);
  struct keyroute_bytes high =
      kr_proto_bytes(range->has_end_key_closed ? range->end_key_closed : range->end_key_open);

  ck_assert(!range->has_start_key_closed || !range->has_start_key_open);
  ck_assert(!range->has_end_key_closed || !range->has_end_key_open);
  snprintf(text, size, "%s%.*s, %.*s%s",
           range->has_start_key_closed ? "["
           : range->has_start_key_open ? "("
                                       : "",
           (int)low.len, (const char *)low.data, (int)high.len, (const char *)high.data,
           range->has_end_key_closed ? "]"
           : range->has_end_key_open ? ")"
                                     : "");
}

static const struct {
  const char *start, *stop;
  bool include_start, include_stop, reversed;
  const char *want;
} bounds[] = {
    {"a", "c", true, false, false, "[a, c)"}, {"a", "c", false, true, false, "(a, c]"},
    {"c", "a", true, false, true, "(a, c]"},  {"c", "a", false, true, true, "[a, c)"},
    {"", "", true, true, false, ", "},        {"", "", true, true, true, ", "},
    {"a", "", true, true, false, "[a, "},     {"a", "", true, true, true, ", a]"},
    {"", "a", false, false, true, "(a, "},    {"", "a", false, false, false, ", a)"},
};

START_TEST(test_bigtable_read__lower_bound_comes_first_either_way)
{
  char text[100];

  scan.start_row = keyroute_string(bounds[_i].start);
  scan.stop_row = keyroute_string(bounds[_i].stop);
  scan.include_start = bounds[_i].include_start;
  scan.include_stop = bounds[_i].include_stop;
  scan.reversed = bounds[_i].reversed;
  kr_bigtable_scan_write(&out, scan_table, &scan);
  Kr__Bigtable__ReadRowsRequest *request = unpack();

  ck_assert_uint_eq(request->rows->n_row_ranges, 1);
  print_range(text, sizeof(text), request->rows->row_ranges[0]);
  ck_assert_str_eq(text, bounds[_i].want);
  ck_assert(request->reversed == bounds[_i].reversed);
  forget(request);
}
END_TEST

static const struct {
  const char *start, *stop;
  bool include_start, include_stop, reversed, empty;
} spans[] = {
    {"a", "c", true, false, false, false}, {"c", "a", true, true, false, true},
    {"c", "a", true, true, true, false},   {"a", "c", true, true, true, true},
    {"a", "a", true, true, true, false},   {"a", "a", true, false, true, true},
    {"a", "a", false, true, false, true},  {"a", "a", false, false, false, true},
    {"", "", false, false, false, false},  {"a", "", false, false, false, false},
    {"", "a", false, false, false, false}, {"", "a", false, false, true, false},
    {"a", "", false, false, true, false},
};

START_TEST(test_bigtable_read__span_without_a_row_is_known)
{
  scan.start_row = keyroute_string(spans[_i].start);
  scan.stop_row = keyroute_string(spans[_i].stop);
  scan.include_start = spans[_i].include_start;
  scan.include_stop = spans[_i].include_stop;
  scan.reversed = spans[_i].reversed;

  ck_assert(kr_bigtable_scan_is_empty(&scan) == spans[_i].empty);
}
END_TEST

/* ---- Gets ------------------------------------------------------------------------------------ */

/* A filter as text: "chain(any(f:p g) [5000,9000) 3)". */
static void print_filter(struct kr_buf *to, const row_filter *filter);

static void print_all(struct kr_buf *to, const char *name, row_filter *const *filters, size_t count)
{
  ck_assert_uint_ge(count, 2);
  kr_buf_text(to, name);
  for (size_t i = 0; i < count; i++) {
    kr_buf_text(to, i > 0 ? " " : "(");
    print_filter(to, filters[i]);
  }
  kr_buf_text(to, ")");
}

static void print_column(struct kr_buf *to, const Kr__Bigtable__ColumnRange *range)
{
  ck_assert(range->has_start_qualifier_closed == range->has_end_qualifier_closed);
  kr_buf_bytes(to, kr_proto_bytes(range->family_name));
  if (range->has_start_qualifier_closed) {
    ck_assert(kr_bytes_equal(kr_proto_bytes(range->start_qualifier_closed),
                             kr_proto_bytes(range->end_qualifier_closed)));
    kr_buf_text(to, ":");
    kr_buf_bytes(to, kr_proto_bytes(range->start_qualifier_closed));
  }
}

static void print_filter(struct kr_buf *to, const row_filter *filter)
{
  char text[100] = "";

  if (filter->chain != NULL) {
    print_all(to, "chain", filter->chain->filters, filter->chain->n_filters);
  } else if (filter->interleave != NULL) {
    print_all(to, "any", filter->interleave->filters, filter->interleave->n_filters);
  } else if (filter->column_range_filter != NULL) {
    print_column(to, filter->column_range_filter);
  } else if (filter->timestamp_range_filter != NULL) {
    const Kr__Bigtable__TimestampRange *range = filter->timestamp_range_filter;

    snprintf(text, sizeof(text), "[%lld,%lld)", (long long)range->start_timestamp_micros,
             (long long)range->end_timestamp_micros);
  } else {
    snprintf(text, sizeof(text), "%d", filter->cells_per_column_limit_filter);
  }
  kr_buf_text(to, text);
}

static void expect_filter(const char *want)
{
  struct kr_buf text;

  out.len = 0;
  kr_bigtable_get_write(&out, get_table, &gets, &region);
  Kr__Bigtable__ReadRowsRequest *request = unpack();

  kr_buf_init(&text, mem);
  print_filter(&text, request->filter);
  kr_buf_u8(&text, '\0');
  ck_assert_str_eq((const char *)text.data, want);
  kr_buf_clear(&text);
  forget(request);
}

static struct keyroute_column column(const char *family, const char *qualifier)
{
  struct keyroute_bytes none = {NULL, 0};

  return (struct keyroute_column){keyroute_string(family),
                                  qualifier != NULL ? keyroute_string(qualifier) : none};
}

START_TEST(test_bigtable_read__get_of_two_rows_is_these_bytes)
{
  static const char want[] = "\x0a\x0ci/tables/r12" /* the table */
                             "\x12\x08"             /* rows: */
                             "\x0a\x02k7"           /*   these */
                             "\x0a\x02k6"           /*   two */
                             "\x1a\x02\x60\x01";    /* filter: one version */

  kr_bigtable_get_write(&out, get_table, &gets, &region);

  ck_assert_uint_eq(out.len, sizeof(want) - 1);
  ck_assert_mem_eq(out.data, want, out.len);
}
END_TEST

START_TEST(test_bigtable_read__versions_are_as_many_as_there_can_be)
{
  read_of.max_versions = UINT32_MAX;
  expect_filter("2147483647");
  read_of.max_versions = 3;
  expect_filter("3");
}
END_TEST

START_TEST(test_bigtable_read__columns_are_sent_once_each)
{
  const struct keyroute_column columns[] = {column("f", "p"), column("g", "x"), column("f", "p"),
                                            column("f", "")};

  read_of.columns = columns;
  read_of.column_count = 4;

  expect_filter("chain(any(f: f:p g:x) 1)");
}
END_TEST

START_TEST(test_bigtable_read__whole_family_beats_its_columns)
{
  const struct keyroute_column columns[] = {column("f", "p"), column("f", NULL), column("f", ""),
                                            column("f", NULL)};

  read_of.columns = columns;
  read_of.column_count = 4;

  expect_filter("chain(f 1)");
}
END_TEST

START_TEST(test_bigtable_read__column_of_any_bytes_is_that_column)
{
  const struct keyroute_column odd = {kr_bytes("f", 1), kr_bytes("\0.*\xff", 4)};

  read_of.columns = &odd;
  read_of.column_count = 1;
  kr_bigtable_get_write(&out, get_table, &gets, &region);
  Kr__Bigtable__ReadRowsRequest *request = unpack();
  const Kr__Bigtable__ColumnRange *range = request->filter->chain->filters[0]->column_range_filter;

  ck_assert(kr_bytes_equal(kr_proto_bytes(range->start_qualifier_closed), odd.qualifier));
  ck_assert(kr_bytes_equal(kr_proto_bytes(range->end_qualifier_closed), odd.qualifier));
  forget(request);
}
END_TEST

START_TEST(test_bigtable_read__times_are_in_microseconds_and_come_before_versions)
{
  static const struct {
    int64_t from_ms, to_ms;
    const char *want;
  } times[] = {
      {5, 9, "chain([5000,9000) 1)"},
      {5, 0, "chain([5000,0) 1)"},
      {0, 9, "chain([0,9000) 1)"},
      {INT64_MAX - 1, INT64_MAX, "chain([9223372036854775000,9223372036854775000) 1)"},
      {INT64_MAX / 1000 - 1, INT64_MAX / 1000,
       "chain([9223372036854774000,9223372036854775000) "
       "1)"},
  };

  for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
    read_of.from_ms = times[i].from_ms;
    read_of.to_ms = times[i].to_ms;
    expect_filter(times[i].want);
  }
}
END_TEST

/* ---- Memory ---------------------------------------------------------------------------------- */

static void write_scan(struct kr_buf *to)
{
  kr_bigtable_scan_write(to, scan_table, &scan);
}

static void write_get(struct kr_buf *to)
{
  kr_bigtable_get_write(to, get_table, &gets, &region);
}

START_TEST(test_bigtable_read__each_failed_allocation_is_told)
{
  const struct keyroute_column columns[] = {column("f", "p"), column("g", NULL)};

  read_of.columns = columns;
  read_of.column_count = 2;
  ck_assert_int_gt(mem_fail_each_write(mem, _i == 0 ? write_scan : write_get), 0);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("bigtable_read");
  TCase *tcase = tcase_create("all");

  suite_add_tcase(suite, tcase);
  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_add_loop_test(tcase, test_bigtable_read__table_is_between_the_last_two_dots, 0,
                      sizeof(names) / sizeof(names[0]));
  tcase_add_test(tcase, test_bigtable_read__scan_backwards_is_these_bytes);
  tcase_add_loop_test(tcase, test_bigtable_read__lower_bound_comes_first_either_way, 0,
                      sizeof(bounds) / sizeof(bounds[0]));
  tcase_add_loop_test(tcase, test_bigtable_read__span_without_a_row_is_known, 0,
                      sizeof(spans) / sizeof(spans[0]));
  tcase_add_test(tcase, test_bigtable_read__get_of_two_rows_is_these_bytes);
  tcase_add_test(tcase, test_bigtable_read__versions_are_as_many_as_there_can_be);
  tcase_add_test(tcase, test_bigtable_read__columns_are_sent_once_each);
  tcase_add_test(tcase, test_bigtable_read__whole_family_beats_its_columns);
  tcase_add_test(tcase, test_bigtable_read__column_of_any_bytes_is_that_column);
  tcase_add_test(tcase, test_bigtable_read__times_are_in_microseconds_and_come_before_versions);
  tcase_add_loop_test(tcase, test_bigtable_read__each_failed_allocation_is_told, 0, 2);

  return run_suite(suite);
}
