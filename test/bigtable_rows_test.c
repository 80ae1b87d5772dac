/* Rows of ReadRows as scans and gets want them: which is which, copies, failures. */
#include "lib/bigtable_rows.h"

#include "test/failing_mem.h"
#include "test/made_chunks.h"
#include "test/run_suite.h"

#include <stdio.h>
#include <string.h>

enum { REGIONS = 2, ROWS = 5 };

static struct kr_mem *mem;
static struct kr_buf made;
static struct kr_bigtable_chunks chunks[REGIONS];
static struct kr_bigtable_answer answers[REGIONS];
static struct kr_bigtable_got got;
static struct kr_read read_of;
static struct keyroute_bytes rows[ROWS];
static struct kr_get_region regions[REGIONS];
static struct kr_gets gets;

static const char *const keys[ROWS] = {"c", "a", "c", "n", "m"};

static void setup(void)
{
  const struct kr_bigtable_limits limits = {.max_row_len = 50, .max_len = 1 << 20};

  mem = failing_mem_new();
  kr_buf_init(&made, mem);
  for (size_t i = 0; i < REGIONS; i++) {
    kr_bigtable_chunks_init(&chunks[i], mem, &limits);
    answers[i] = (struct kr_bigtable_answer){.chunks = &chunks[i]};
  }
  for (size_t i = 0; i < ROWS; i++) {
    rows[i] = keyroute_string(keys[i]);
  }
  read_of = (struct kr_read){.max_versions = 1, .max_result_len = 50};
  regions[0] = (struct kr_get_region){keyroute_string("map,,1.r1."), 0, 3};
  regions[1] = (struct kr_get_region){keyroute_string("map,m,1.r2."), 3, 2};
  gets = (struct kr_gets){.read = &read_of,
                          .regions = regions,
                          .region_count = REGIONS,
                          .rows = rows,
                          .row_count = ROWS};
}

static void teardown(void)
{
  for (size_t i = 0; i < REGIONS; i++) {
    kr_bigtable_chunks_clear(&chunks[i]);
  }
  kr_buf_clear(&made);
  failing_mem_done(mem);
}

/* What was made has come of a region. */
static void come(size_t region)
{
  ck_assert_int_eq(kr_bigtable_chunks_take(&chunks[region], kr_buf_view(&made)), 0);
  ck_assert_int_eq(kr_bigtable_chunks_end(&chunks[region]), 0);
  made.len = 0;
}

static int make(void)
{
  return kr_bigtable_got_make(&got, mem, &gets, answers, "n1:7000");
}

static void release(void)
{
  kr_free(mem, got.got.block);
  kr_bigtable_got_clear(&got);
}

/* What came of a row as "key/f:q@ts=v ...", "-" = no such row, "!" = a failure. */
static void expect_row(size_t index, const char *want)
{
  const struct kr_got_row *row = &got.got.rows[index];
  char text[300] = "";

  for (size_t i = 0; i < row->cell_count; i++) {
    const struct keyroute_cell *cell = &row->cells[i];

    ck_assert(cell->type == 4 && cell->tags.len == 0);
    snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%.*s/%.*s:%.*s@%lld=%.*s",
             i > 0 ? " " : "", (int)cell->row.len, (const char *)cell->row.data,
             (int)cell->family.len, (const char *)cell->family.data, (int)cell->qualifier.len,
             (const char *)cell->qualifier.data, (long long)cell->timestamp, (int)cell->value.len,
             (const char *)cell->value.data);
  }
  strcat(text, row->failure != NULL ? "!" : row->cell_count == 0 ? "-" : "");
  ck_assert_str_eq(text, want);
}

START_TEST(test_bigtable_rows__rows_are_those_asked_for_in_any_order)
{
  made_row(&made, "a", "f", "q", 1000, "1");
  made_row(&made, "c", "f", "q", 2000, "2");
  come(0);
  made_row(&made, "n", "g", "", 3000, "");
  come(1);

  ck_assert_int_eq(make(), 0);
  expect_row(0, "c/f:q@2=2");
  expect_row(1, "a/f:q@1=1");
  expect_row(2, "c/f:q@2=2");
  expect_row(3, "n/g:@3=");
  expect_row(4, "-");
  ck_assert_ptr_eq(got.got.rows[0].cells, got.got.rows[2].cells);
  ck_assert_uint_eq(got.got.len, chunks[0].wire_len + chunks[1].wire_len);
  release();
}
END_TEST

START_TEST(test_bigtable_rows__cells_outlive_the_answer_and_share_keys_and_families)
{
  made_chunk(&made, &(struct made_chunk){
                        .key = "a", .family = "f", .qualifier = "q", .micros = 9000, .value = "1"});
  made_chunk(&made, &(struct made_chunk){.qualifier = "r", .micros = 8000, .value = "2"});
  made_chunk(&made,
             &(struct made_chunk){.family = "g", .qualifier = "q", .micros = 7000, .commit = true});
  come(0);
  ck_assert_int_eq(make(), 0);
  kr_bigtable_chunks_clear(&chunks[0]);

  expect_row(1, "a/f:q@9=1 a/f:r@8=2 a/g:q@7=");
  const struct keyroute_cell *cells = got.got.rows[1].cells;

  ck_assert_ptr_eq(cells[0].row.data, cells[2].row.data);
  ck_assert_ptr_eq(cells[0].family.data, cells[1].family.data);
  release();
}
END_TEST

START_TEST(test_bigtable_rows__nothing_came_and_nothing_is_kept)
{
  ck_assert_int_eq(make(), 0);
  for (size_t i = 0; i < ROWS; i++) {
    expect_row(i, "-");
  }
  ck_assert_ptr_null(got.got.block);
  release();
}
END_TEST

START_TEST(test_bigtable_rows__row_not_asked_for_condemns_the_answer)
{
  static const char *const others[] = {"", "b", "d", "\xff"};

  for (size_t i = 1; i < 4; i++) {
    kr_bigtable_chunks_clear(&chunks[0]);
    kr_bigtable_chunks_init(&chunks[0], mem, &chunks[1].limits);
    made_row(&made, others[i], "f", "q", 0, "");
    come(0);
    ck_assert_int_eq(make(), KEYROUTE_E_PROTOCOL);
  }
}
END_TEST

START_TEST(test_bigtable_rows__failure_of_a_region_is_its_rows_alone)
{
  struct kr_failure failure;

  kr_fail(&failure, KEYROUTE_E_REMOTE, "gone");
  answers[0].failure = &failure;
  made_row(&made, "m", "f", "q", 1000, "5");
  come(1);

  ck_assert_int_eq(make(), 0);
  expect_row(0, "!");
  ck_assert_ptr_eq(got.got.rows[1].failure, &failure);
  ck_assert_ptr_eq(got.got.rows[2].failure, &failure);
  expect_row(3, "-");
  expect_row(4, "m/f:q@1=5");
  release();
}
END_TEST

START_TEST(test_bigtable_rows__row_over_the_limit_fails_alone)
{
  made_row(&made, "a", "f", "q", 0, "1");
  made_row(&made, "c", "f", "q", 0, "a value of more than fifty bytes, which is what a row may be");
  come(0);

  ck_assert_int_eq(make(), 0);
  expect_row(0, "!");
  expect_row(1, "a/f:q@0=1");
  expect_row(2, "!");
  ck_assert_int_eq(got.got.rows[0].failure->code, KEYROUTE_E_TOO_LARGE);
  ck_assert_str_eq(got.got.rows[0].failure->message,
                   "server n1:7000: a row of 63 bytes, over the limit of 50 for one row");
  release();
}
END_TEST

START_TEST(test_bigtable_rows__row_of_a_replica_may_be_stale)
{
  gets.timeline = true;
  ck_assert_int_eq(make(), 0);
  ck_assert(got.got.rows[0].stale);
  release();
  gets.timeline = false;
  ck_assert_int_eq(make(), 0);
  ck_assert(!got.got.rows[0].stale);
  release();
}
END_TEST

START_TEST(test_bigtable_rows__times_are_whole_milliseconds)
{
  static const struct {
    int64_t micros;
    const char *want;
  } times[] = {{1999, "a/f:q@1="},
               {-1, "a/f:q@-1="},
               {-1000, "a/f:q@-1="},
               {-1001, "a/f:q@-2="},
               {INT64_MAX, "a/f:q@9223372036854775="},
               {INT64_MIN, "a/f:q@-9223372036854776="}};

  for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
    kr_bigtable_chunks_clear(&chunks[0]);
    kr_bigtable_chunks_init(&chunks[0], mem, &chunks[1].limits);
    made_row(&made, "a", "f", "q", times[i].micros, "");
    come(0);
    ck_assert_int_eq(make(), 0);
    expect_row(1, times[i].want);
    release();
  }
}
END_TEST

START_TEST(test_bigtable_rows__rows_of_a_scan_are_views)
{
  struct kr_rows out;
  void *memory;

  made_row(&made, "a", "f", "q", 1000, "1");
  made_row(&made, "b", "f", "q", 1000, "2");
  come(0);

  ck_assert_int_eq(kr_bigtable_rows_make(&out, &memory, mem, &chunks[0], 1), 0);
  ck_assert_uint_eq(out.count, 1);
  ck_assert(!out.more);
  ck_assert(kr_bytes_equal(out.rows[0].key, keyroute_string("a")));
  ck_assert(kr_bytes_equal(kr_row_find(&out.rows[0], "f", "q")->value, keyroute_string("1")));
  ck_assert_int_eq(out.rows[0].cells[0].timestamp, 1);
  kr_free(mem, memory);
}
END_TEST

START_TEST(test_bigtable_rows__each_failed_allocation_is_told)
{
  bool failed = true;

  made_row(&made, "a", "f", "q", 0, "1");
  made_row(&made, "c", "f", "q", 0, "a value of more than fifty bytes, which is what a row may be");
  come(0);
  for (long n = 1; failed; n++) {
    mem_fail(n);
    int error = make();

    failed = mem_has_failed();
    mem_fail(0);
    ck_assert_int_eq(error, failed ? KEYROUTE_E_NO_MEMORY : 0);
  }
  release();
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("bigtable_rows");
  TCase *tcase = tcase_create("all");

  suite_add_tcase(suite, tcase);
  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_add_test(tcase, test_bigtable_rows__rows_are_those_asked_for_in_any_order);
  tcase_add_test(tcase, test_bigtable_rows__cells_outlive_the_answer_and_share_keys_and_families);
  tcase_add_test(tcase, test_bigtable_rows__nothing_came_and_nothing_is_kept);
  tcase_add_test(tcase, test_bigtable_rows__row_not_asked_for_condemns_the_answer);
  tcase_add_test(tcase, test_bigtable_rows__failure_of_a_region_is_its_rows_alone);
  tcase_add_test(tcase, test_bigtable_rows__row_over_the_limit_fails_alone);
  tcase_add_test(tcase, test_bigtable_rows__row_of_a_replica_may_be_stale);
  tcase_add_test(tcase, test_bigtable_rows__times_are_whole_milliseconds);
  tcase_add_test(tcase, test_bigtable_rows__rows_of_a_scan_are_views);
  tcase_add_test(tcase, test_bigtable_rows__each_failed_allocation_is_told);

  return run_suite(suite);
}
