/*
 * Pages made of listings.
 */
#include "lib/page.h"

#include "test/failing_mem.h"
#include "test/made_location.h"
#include "test/run_suite.h"

#include <stddef.h>

/* A page of a region, a hole, a row that cannot be believed, an overlap of two regions; there is
 * more behind it. */
struct fixture {
  struct kr_mem *mem;
  struct kr_servers *servers;
  struct kr_listing listing;
};

static void add(struct fixture *fixture, const char *start, const char *end, int64_t id)
{
  struct made made = {"t", start, end, id, "h", 16020, 5, 2};
  struct kr_catalog_row row = {.location = make_location(fixture->mem, fixture->servers, &made)};

  row.start_key = keyroute_location_start_key(row.location);
  ck_assert_int_eq(kr_listing_add(&fixture->listing, &row), 0);
  keyroute_location_release(row.location);
}

static void add_corrupt(struct fixture *fixture, const char *start)
{
  struct kr_catalog_row row = {.start_key = keyroute_string(start)};

  kr_fail(&row.failure, KEYROUTE_E_CORRUPT, "no good");
  ck_assert_int_eq(kr_listing_add(&fixture->listing, &row), 0);
}

static struct fixture fixture_new(void)
{
  struct fixture fixture = {.mem = failing_mem_new()};
  struct kr_listing_question question = {.limit = 4};

  fixture.servers = kr_servers_new(fixture.mem);
  kr_listing_init(&fixture.listing, fixture.mem, &question);
  add(&fixture, "", "c", 1);
  add_corrupt(&fixture, "e");
  add(&fixture, "g", "m", 2);
  add(&fixture, "k", "p", 3);
  add(&fixture, "p", "", 4);
  return fixture;
}

static void fixture_free(struct fixture *fixture)
{
  kr_listing_clear(&fixture->listing);
  kr_servers_free(fixture->servers);
  failing_mem_done(fixture->mem);
}

/* Of which only the page is left. */
static struct keyroute_page *page_new(struct fixture *fixture)
{
  struct keyroute_page *page = kr_page_new(fixture->mem, &fixture->listing);

  ck_assert_ptr_nonnull(page);
  kr_listing_clear(&fixture->listing);
  return page;
}

static struct keyroute_span read_span(const struct keyroute_page *page, size_t index)
{
  struct keyroute_span span = {.size = sizeof(span)};

  ck_assert_int_eq(keyroute_page_span(page, index, &span), 0);
  return span;
}

static void expect_span(const struct keyroute_page *page, size_t index,
                        enum keyroute_span_kind kind, const char *start, const char *end)
{
  struct keyroute_span span = read_span(page, index);

  ck_assert_int_eq(span.kind, kind);
  ck_assert(kr_bytes_equal(span.start, keyroute_string(start)));
  ck_assert(kr_bytes_equal(span.end, keyroute_string(end)));
}

START_TEST(test_page__outlives_the_listing)
{
  struct fixture fixture = fixture_new();
  struct keyroute_page *page = page_new(&fixture);

  ck_assert_uint_eq(keyroute_page_count(page), 6);
  expect_span(page, 0, KEYROUTE_SPAN_REGION, "", "c");
  expect_span(page, 1, KEYROUTE_SPAN_HOLE, "c", "g");
  expect_span(page, 2, KEYROUTE_SPAN_CORRUPT, "e", "e");
  expect_span(page, 3, KEYROUTE_SPAN_REGION, "g", "m");
  expect_span(page, 4, KEYROUTE_SPAN_OVERLAP, "k", "m");
  expect_span(page, 5, KEYROUTE_SPAN_REGION, "k", "p");
  keyroute_page_free(page);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_page__locations_and_messages_are_where_they_belong)
{
  struct fixture fixture = fixture_new();
  struct keyroute_page *page = page_new(&fixture);
  struct keyroute_span region = read_span(page, 0), hole = read_span(page, 1);
  struct keyroute_span corrupt = read_span(page, 2), overlap = read_span(page, 4);

  ck_assert_int_eq(keyroute_location_region_id(region.location), 1);
  ck_assert_ptr_null(region.other);
  ck_assert_str_eq(region.message, "");
  ck_assert_ptr_null(hole.location);
  ck_assert_str_eq(hole.message, "no region covers it");
  ck_assert_ptr_null(corrupt.location);
  ck_assert_str_eq(corrupt.message, "no good");
  ck_assert_int_eq(keyroute_location_region_id(overlap.location), 2);
  ck_assert_int_eq(keyroute_location_region_id(overlap.other), 3);
  keyroute_page_free(page);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_page__tells_where_to_go_on)
{
  struct fixture fixture = fixture_new();
  struct keyroute_page *page = page_new(&fixture);
  struct keyroute_bytes next = {NULL, 0};

  ck_assert(keyroute_page_next(page, &next));
  ck_assert(kr_bytes_equal(next, keyroute_string("p")));
  ck_assert(keyroute_page_next(page, NULL));
  keyroute_page_free(page);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_page__last_one_has_no_next_key)
{
  struct fixture fixture = fixture_new();
  struct keyroute_bytes next = keyroute_string("untouched");

  kr_listing_clear(&fixture.listing);
  kr_listing_init(&fixture.listing, fixture.mem, &(struct kr_listing_question){.limit = 1});
  add(&fixture, "", "", 1);
  kr_listing_end(&fixture.listing);
  struct keyroute_page *page = page_new(&fixture);

  ck_assert(!keyroute_page_next(page, &next));
  ck_assert(kr_bytes_equal(next, keyroute_string("untouched")));
  keyroute_page_free(page);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_page__no_more_of_a_span_is_written_than_its_size)
{
  struct fixture fixture = fixture_new();
  struct keyroute_page *page = page_new(&fixture);
  struct keyroute_span span;

  memset(&span, 0x5a, sizeof(span));
  span.size = offsetof(struct keyroute_span, location);
  struct keyroute_location *behind = span.location;
  int error = keyroute_page_span(page, 0, &span);

  ck_assert_int_eq(error, 0);
  ck_assert_int_eq(span.kind, KEYROUTE_SPAN_REGION);
  ck_assert_ptr_eq(span.location, behind);
  keyroute_page_free(page);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_page__null_and_what_is_not_there_are_refused_or_harmless)
{
  struct fixture fixture = fixture_new();
  struct keyroute_page *page = page_new(&fixture);
  struct keyroute_span span = {.size = sizeof(span)}, sizeless = {.size = 0};
  const int invalid = KEYROUTE_E_INVALID_ARGUMENT;

  ck_assert_int_eq(keyroute_page_span(page, 6, &span), invalid);
  ck_assert_int_eq(keyroute_page_span(page, 0, &sizeless), invalid);
  ck_assert_int_eq(keyroute_page_span(page, 0, NULL), invalid);
  ck_assert_int_eq(keyroute_page_span(NULL, 0, &span), invalid);
  ck_assert_uint_eq(keyroute_page_count(NULL), 0);
  ck_assert(!keyroute_page_next(NULL, NULL));
  keyroute_page_free(NULL);
  keyroute_page_free(page);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_page__takes_one_allocation_which_may_fail)
{
  struct fixture fixture = fixture_new();
  long before = mem_live();

  mem_fail(1);
  struct keyroute_page *none = kr_page_new(fixture.mem, &fixture.listing);
  struct keyroute_page *page = kr_page_new(fixture.mem, &fixture.listing);

  ck_assert_ptr_null(none);
  ck_assert_int_eq(mem_live(), before + 1);
  keyroute_page_free(page);
  fixture_free(&fixture);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("page");
  TCase *all = tcase_create("all");

  tcase_set_timeout(all, 300);
  tcase_add_test(all, test_page__outlives_the_listing);
  tcase_add_test(all, test_page__locations_and_messages_are_where_they_belong);
  tcase_add_test(all, test_page__tells_where_to_go_on);
  tcase_add_test(all, test_page__last_one_has_no_next_key);
  tcase_add_test(all, test_page__no_more_of_a_span_is_written_than_its_size);
  tcase_add_test(all, test_page__null_and_what_is_not_there_are_refused_or_harmless);
  tcase_add_test(all, test_page__takes_one_allocation_which_may_fail);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
