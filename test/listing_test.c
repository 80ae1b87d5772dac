/*
 * Listings of rows made by hand, and of random ones against a naive count of who covers each key.
 *
 * A listing is compared as text: "a-m hole m-p p-" are two regions and what is between them;
 * "k-m=1&2" an overlap of the regions with these ids, "bad c" a row that cannot be believed, "> p"
 * where the next listing begins.
 */
#include "lib/listing.h"

#include "test/failing_mem.h"
#include "test/made_location.h"
#include "test/run_suite.h"

#include <stdlib.h>

enum { ROWS_MAX = 16, KEY_ROOM = 128 };

struct fixture {
  struct kr_mem *mem;
  struct kr_servers *servers;
  struct kr_catalog_row rows[ROWS_MAX];
  char keys[ROWS_MAX][KEY_ROOM];
  size_t count;
  struct kr_listing listing;
};

static struct fixture fixture_new(void)
{
  struct fixture fixture = {.mem = failing_mem_new()};

  fixture.servers = kr_servers_new(fixture.mem);
  return fixture;
}

static void forget_rows(struct fixture *fixture)
{
  for (size_t i = 0; i < fixture->count; i++) {
    keyroute_location_release(fixture->rows[i].location);
  }
  fixture->count = 0;
}

static void fixture_free(struct fixture *fixture)
{
  forget_rows(fixture);
  kr_servers_free(fixture->servers);
  failing_mem_done(fixture->mem);
}

static struct kr_catalog_row *add_on(struct fixture *fixture, const char *start, const char *end,
                                     int64_t id, const char *host)
{
  struct made made = {"t", start, end, id, host, 16020, 5, 2};
  size_t at = fixture->count++;
  struct kr_catalog_row *row = &fixture->rows[at];

  *row = (struct kr_catalog_row){.location = make_location(fixture->mem, fixture->servers, &made)};
  ck_assert_ptr_nonnull(row->location);
  row->key = kr_bytes(fixture->keys[at], made_name(fixture->keys[at], KEY_ROOM, &made));
  row->start_key = keyroute_location_start_key(row->location);
  return row;
}

static struct kr_catalog_row *add(struct fixture *fixture, const char *start, const char *end,
                                  int64_t id)
{
  return add_on(fixture, start, end, id, "h");
}

static void add_split(struct fixture *fixture, const char *start, const char *end, int64_t id)
{
  struct kr_catalog_row *row = add(fixture, start, end, id);

  row->split = row->offline = true;
}

/* start NULL = its key does not tell. */
static void add_corrupt(struct fixture *fixture, const char *start)
{
  size_t at = fixture->count++;
  struct kr_catalog_row *row = &fixture->rows[at];

  *row =
      (struct kr_catalog_row){.key = keyroute_string("t,?"), .start_key = keyroute_string(start)};
  kr_fail(&row->failure, KEYROUTE_E_CORRUPT, "catalog row %s: no good",
          start != NULL ? start : "?");
}

/* List the rows from one on; the listing is to be cleared. */
static void list_from(struct fixture *fixture, size_t first, const char *start, const char *end,
                      size_t limit)
{
  struct kr_listing_question question = {keyroute_string(start), keyroute_string(end), limit, 1000};

  kr_listing_init(&fixture->listing, fixture->mem, &question);
  for (size_t i = first; i < fixture->count; i++) {
    ck_assert_int_eq(kr_listing_add(&fixture->listing, &fixture->rows[i]), 0);
  }
  ck_assert_int_eq(kr_listing_end(&fixture->listing), 0);
  ck_assert(fixture->listing.complete);
}

/* ---- Listings as text ---- */

static void print_key(char *out, size_t size, struct keyroute_bytes key)
{
  size_t len = strlen(out);

  snprintf(out + len, size - len, "%.*s", (int)key.len, key.len > 0 ? (const char *)key.data : "");
}

static void print(char *out, size_t size, const char *text)
{
  print_key(out, size, keyroute_string(text));
}

static void print_span(char *out, size_t size, const struct kr_span *span)
{
  char ids[64];

  print(out, size, out[0] != '\0' ? " " : "");
  print(out, size, span->kind == KEYROUTE_SPAN_HOLE ? "hole " : "");
  print(out, size, span->kind == KEYROUTE_SPAN_CORRUPT ? "bad " : "");
  print_key(out, size, span->start);
  if (span->kind != KEYROUTE_SPAN_CORRUPT) {
    print(out, size, "-");
    print_key(out, size, span->end);
  }
  if (span->kind == KEYROUTE_SPAN_OVERLAP) {
    snprintf(ids, sizeof(ids), "=%lld&%lld", (long long)span->location->region_id,
             (long long)span->other->region_id);
    print(out, size, ids);
  }
}

static void print_listing(char *out, size_t size, const struct kr_listing *listing)
{
  out[0] = '\0';
  for (size_t i = 0; i < listing->count; i++) {
    print_span(out, size, &listing->spans[i]);
  }
  if (listing->has_next) {
    print(out, size, " > ");
    print_key(out, size, kr_buf_view(&listing->next));
  }
}

static void expect(struct fixture *fixture, const char *start, const char *end, size_t limit,
                   const char *wanted)
{
  char got[2048];

  list_from(fixture, 0, start, end, limit);
  print_listing(got, sizeof(got), &fixture->listing);
  ck_assert_str_eq(got, wanted);
  kr_listing_clear(&fixture->listing);
}

/* ---- Whole tables ---- */

START_TEST(test_listing__whole_table_is_its_regions)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "", "g", 1);
  add(&fixture, "g", "m", 2);
  add(&fixture, "m", "", 3);

  expect(&fixture, "", "", 100, "-g g-m m-");
  expect(&fixture, "h", "", 100, "g-m m-");
  expect(&fixture, "h", "m", 100, "g-m");
  expect(&fixture, "g", "h", 100, "g-m");
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_listing__no_row_is_one_hole)
{
  struct fixture fixture = fixture_new();

  expect(&fixture, "", "", 100, "hole -");
  expect(&fixture, "b", "c", 100, "hole b-c");
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_listing__holes_are_told_at_both_ends_and_between)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "c", "g", 1);
  add(&fixture, "k", "m", 2);

  expect(&fixture, "", "", 100, "hole -c c-g hole g-k k-m hole m-");
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_listing__holes_are_cut_to_the_span)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "c", "g", 1);
  add(&fixture, "k", "m", 2);

  expect(&fixture, "b", "x", 100, "hole b-c c-g hole g-k k-m hole m-x");
  expect(&fixture, "h", "i", 100, "hole h-i");
  expect(&fixture, "m", "n", 100, "hole m-n");
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_listing__overlap_stands_between_its_regions)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "a", "m", 1);
  add(&fixture, "k", "z", 2);

  expect(&fixture, "a", "z", 100, "a-m k-m=1&2 k-z");
  expect(&fixture, "l", "p", 100, "a-m l-m=1&2 k-z");
  expect(&fixture, "a", "l", 100, "a-m k-l=1&2 k-z");
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_listing__region_inside_another_is_held_against_the_one_that_reaches_furthest)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "", "p", 1);
  add(&fixture, "b", "c", 2);
  add(&fixture, "d", "e", 3);
  add(&fixture, "m", "", 4);

  expect(&fixture, "", "", 100, "-p b-c=1&2 b-c d-e=1&3 d-e m-p=1&4 m-");
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_listing__two_regions_with_one_start_are_both_shown)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "", "g", 1);
  add(&fixture, "", "", 2);

  expect(&fixture, "", "", 100, "-g -g=1&2 -");
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_listing__split_parents_are_no_regions)
{
  struct fixture fixture = fixture_new();

  add_split(&fixture, "", "m", 1);
  add(&fixture, "", "g", 2);
  add(&fixture, "g", "m", 3);
  add_split(&fixture, "m", "", 4);

  expect(&fixture, "", "", 100, "-g g-m hole m-");
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_listing__offline_region_is_one_that_is_marked)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "", "", 1)->offline = true;
  list_from(&fixture, 0, "", "", 100);

  ck_assert_uint_eq(fixture.listing.count, 1);
  ck_assert(fixture.listing.spans[0].offline);
  ck_assert_str_eq(fixture.listing.spans[0].message, "the region is offline");
  kr_listing_clear(&fixture.listing);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_listing__what_a_region_lacks_is_told)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "", "b", 1);
  add_on(&fixture, "b", "c", 2, NULL);
  add_on(&fixture, "c", "", 3, "dead")->location->replicas[0].server->failed_until_us = 2000;
  list_from(&fixture, 0, "", "", 100);

  ck_assert_str_eq(fixture.listing.spans[0].message, "");
  ck_assert_str_eq(fixture.listing.spans[1].message, "the region is on no server");
  ck_assert_str_eq(fixture.listing.spans[2].message, "the region's server is known dead");
  kr_listing_clear(&fixture.listing);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_listing__overlap_tells_which_answers)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "", "m", 1);
  add(&fixture, "k", "p", 2);
  add(&fixture, "n", "", 2);
  list_from(&fixture, 0, "", "", 100);

  ck_assert_ptr_nonnull(strstr(fixture.listing.spans[1].message, "newer one answers"));
  ck_assert_ptr_nonnull(strstr(fixture.listing.spans[3].message, "neither is newer"));
  kr_listing_clear(&fixture.listing);
  fixture_free(&fixture);
}
END_TEST

/* ---- Rows that cannot be believed ---- */

START_TEST(test_listing__corrupt_row_is_shown_where_it_would_start)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "", "g", 1);
  add_corrupt(&fixture, "g");
  add(&fixture, "m", "", 3);

  expect(&fixture, "", "", 100, "-g hole g-m bad g m-");
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_listing__corrupt_row_inside_a_region_is_behind_it)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "", "g", 1);
  add_corrupt(&fixture, "c");
  add_corrupt(&fixture, "h");
  add_corrupt(&fixture, "i");
  add(&fixture, "m", "", 3);

  expect(&fixture, "", "", 100, "-g bad c hole g-m bad h bad i m-");
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_listing__corrupt_row_below_the_span_is_not_shown)
{
  struct fixture fixture = fixture_new();

  add_corrupt(&fixture, "c");
  add(&fixture, "m", "", 3);

  expect(&fixture, "d", "", 100, "hole d-m m-");
  expect(&fixture, "c", "", 100, "hole c-m bad c m-");
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_listing__corrupt_row_whose_key_does_not_tell_is_shown_where_it_came)
{
  struct fixture fixture = fixture_new();

  add_corrupt(&fixture, NULL);
  add(&fixture, "", "m", 1);
  add(&fixture, "m", "", 2);
  add_corrupt(&fixture, NULL);

  expect(&fixture, "", "", 100, "bad  -m m- bad m");
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_listing__corrupt_row_tells_its_reason)
{
  struct fixture fixture = fixture_new();

  add_corrupt(&fixture, "g");
  list_from(&fixture, 0, "", "", 100);

  const struct kr_span *span = &fixture.listing.spans[1];
  ck_assert_int_eq(span->kind, KEYROUTE_SPAN_CORRUPT);
  ck_assert_str_eq(span->message, "catalog row g: no good");
  ck_assert(kr_bytes_equal(span->end, keyroute_string("g")));
  ck_assert_ptr_null(span->location);
  kr_listing_clear(&fixture.listing);
  fixture_free(&fixture);
}
END_TEST

/* ---- Cutting ---- */

START_TEST(test_listing__full_one_tells_where_to_go_on)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "", "g", 1);
  add(&fixture, "g", "m", 2);
  add(&fixture, "m", "", 3);

  expect(&fixture, "", "", 2, "-g g-m > m");
  expect(&fixture, "m", "", 2, "m-");
  expect(&fixture, "", "", 3, "-g g-m m-");
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_listing__hole_behind_a_full_one_is_the_next_ones)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "", "g", 1);
  add(&fixture, "k", "m", 2);

  expect(&fixture, "", "", 1, "-g > g");
  expect(&fixture, "g", "", 1, "hole g-k k-m hole m-");
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_listing__overlap_is_never_cut)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "", "m", 1);
  add(&fixture, "g", "p", 2);
  add(&fixture, "n", "q", 3);
  add(&fixture, "q", "", 4);

  expect(&fixture, "", "", 1, "-m g-m=1&2 g-p n-p=2&3 n-q > q");
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_listing__corrupt_rows_count_and_cut_the_hole_they_are_in)
{
  struct fixture fixture = fixture_new();

  add_corrupt(&fixture, "c");
  add_corrupt(&fixture, "c");
  add_corrupt(&fixture, "e");
  add(&fixture, "m", "", 1);

  expect(&fixture, "", "", 1, "hole -e bad c bad c > e");
  expect(&fixture, "e", "", 1, "hole e-m bad e > m");
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_listing__rows_behind_the_span_end_it)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "", "g", 1);
  add(&fixture, "g", "m", 2);

  expect(&fixture, "", "g", 1, "-g");
  expect(&fixture, "", "f", 1, "-g");
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_listing__region_below_anchors_it)
{
  struct fixture fixture = fixture_new();

  add(&fixture, "b", "c", 1);
  add(&fixture, "d", "", 2);

  list_from(&fixture, 0, "d", "", 100);
  ck_assert(fixture.listing.anchored);
  kr_listing_clear(&fixture.listing);
  list_from(&fixture, 1, "d", "", 100);
  ck_assert(!fixture.listing.anchored);
  kr_listing_clear(&fixture.listing);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_listing__overlap_of_very_many_is_cut)
{
  struct fixture fixture = fixture_new();
  struct kr_listing_question question = {keyroute_string(""), keyroute_string(""), 1, 0};
  struct kr_listing *listing = &fixture.listing;
  char start[16];

  kr_listing_init(listing, fixture.mem, &question);
  add(&fixture, "", "", 1);
  for (int i = 0; i < 20000 && !listing->complete; i++) {
    ck_assert_int_eq(kr_listing_add(listing, &fixture.rows[0]), 0);
    forget_rows(&fixture);
    snprintf(start, sizeof(start), "%05d", i);
    add(&fixture, start, "x", 2 + i);
  }

  ck_assert(listing->has_next);
  ck_assert_uint_eq(listing->entries, 10001);
  ck_assert(kr_bytes_equal(kr_buf_view(&listing->next), keyroute_string("10000")));
  kr_listing_clear(listing);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_listing__memory_may_run_short_anywhere)
{
  struct fixture fixture = fixture_new();
  struct kr_listing_question question = {keyroute_string(""), keyroute_string(""), 4, 0};
  struct kr_listing *listing = &fixture.listing;
  int error = KEYROUTE_E_NO_MEMORY;

  add(&fixture, "", "m", 1);
  add(&fixture, "g", "p", 2);
  add_corrupt(&fixture, "q");
  add_corrupt(&fixture, "r");
  add_corrupt(&fixture, "s");

  for (long n = 1; error != 0; n++) {
    kr_listing_init(listing, fixture.mem, &question);
    mem_fail(n);
    error = 0;
    for (size_t i = 0; i < fixture.count && error == 0; i++) {
      error = kr_listing_add(listing, &fixture.rows[i]);
    }
    ck_assert(error == 0 || error == KEYROUTE_E_NO_MEMORY);
    mem_fail(0);
    kr_listing_clear(listing);
    ck_assert_int_lt(n, 50);
  }
  fixture_free(&fixture);
}
END_TEST

/* ---- Random ones ---- */

/* The keys there are, and the cells between them: cell i is from bound i to the next one. */
static const char *const bounds[] = {"", "b", "c", "d", "e", "f", "g", "h"};

enum { CELLS = sizeof(bounds) / sizeof(bounds[0]), RANDOM_ROUNDS = 4000 };

static int bound_of(struct keyroute_bytes key, bool is_end)
{
  for (int i = is_end ? 1 : 0; i < CELLS; i++) {
    if (kr_bytes_equal(key, keyroute_string(bounds[i]))) {
      return i;
    }
  }
  ck_assert(is_end && key.len == 0);
  return CELLS;
}

static int pick(int count)
{
  return (int)((unsigned)rand() % (unsigned)count);
}

static int compare_rows(const void *left, const void *right)
{
  const struct kr_catalog_row *a = left, *b = right;
  int order = kr_bytes_compare(a->start_key, b->start_key);

  return order != 0 ? order : kr_bytes_compare(a->key, b->key);
}

static void add_random(struct fixture *fixture, int64_t id)
{
  int first = pick(CELLS);
  int last = first + 1 + pick(CELLS - first);
  const char *end = last < CELLS ? bounds[last] : "";

  switch (pick(8)) {
  case 0:
    add_split(fixture, bounds[first], end, id);
    break;
  case 1:
    add_corrupt(fixture, bounds[first]);
    break;
  case 2:
    add(fixture, bounds[first], end, id)->offline = true;
    break;
  default:
    add(fixture, bounds[first], end, id);
  }
}

/* What listings tell, whatever their limit. */
struct told {
  char spans[4096]; /* all but the holes */
  int holes[CELLS], overlaps[CELLS];
};

static void note_cells(int *cells, const struct kr_span *span)
{
  for (int i = bound_of(span->start, false); i < bound_of(span->end, true); i++) {
    cells[i]++;
  }
}

static void note_listing(struct told *told, const struct kr_listing *listing)
{
  for (size_t i = 0; i < listing->count; i++) {
    const struct kr_span *span = &listing->spans[i];

    if (span->kind == KEYROUTE_SPAN_HOLE) {
      note_cells(told->holes, span);
    } else {
      print_span(told->spans, sizeof(told->spans), span);
    }
    if (span->kind == KEYROUTE_SPAN_OVERLAP) {
      note_cells(told->overlaps, span);
      ck_assert(kr_location_covers(span->location, span->start, KR_AT));
      ck_assert(kr_location_covers(span->other, span->start, KR_AT));
    }
  }
}

/* The last believed region that starts below a key: where rows are read from. */
static size_t anchor_of(const struct fixture *fixture, struct keyroute_bytes start)
{
  size_t anchor = 0;

  for (size_t i = 0; i < fixture->count; i++) {
    const struct kr_catalog_row *row = &fixture->rows[i];

    if (kr_bytes_compare(row->start_key, start) < 0 && row->location != NULL && !row->split &&
        kr_bytes_compare(row->start_key, fixture->rows[anchor].start_key) > 0) {
      anchor = i;
    }
  }
  return anchor;
}

/* Listing after listing of one limit, each read from where it has to be. */
static void tell(struct told *told, struct fixture *fixture, const char *start, const char *end,
                 size_t limit)
{
  char from[16];
  bool more = true;

  memset(told, 0, sizeof(*told));
  snprintf(from, sizeof(from), "%s", start);
  for (int i = 0; more; i++) {
    size_t first = i == 0 ? 0 : anchor_of(fixture, keyroute_string(from));

    list_from(fixture, first, from, end, limit);
    note_listing(told, &fixture->listing);
    more = fixture->listing.has_next;
    if (more) {
      struct keyroute_bytes next = kr_buf_view(&fixture->listing.next);

      ck_assert_int_gt(kr_bytes_compare(next, keyroute_string(from)), 0);
      snprintf(from, sizeof(from), "%.*s", (int)next.len, (const char *)next.data);
    }
    kr_listing_clear(&fixture->listing);
  }
}

/* How many regions cover a cell. */
static int count_covering(const struct fixture *fixture, int cell)
{
  int count = 0;

  for (size_t i = 0; i < fixture->count; i++) {
    const struct kr_catalog_row *row = &fixture->rows[i];

    count += row->location != NULL && !row->split &&
             kr_location_covers(row->location, keyroute_string(bounds[cell]), KR_AT);
  }
  return count;
}

/* The entries that a span should have, in the order of the rows. */
static void tell_naively(char *out, size_t size, const struct fixture *fixture, int first, int last)
{
  out[0] = '\0';
  for (size_t i = 0; i < fixture->count; i++) {
    const struct kr_catalog_row *row = &fixture->rows[i];
    int start = bound_of(row->start_key, false);
    struct kr_span span = {.kind = KEYROUTE_SPAN_CORRUPT, .start = row->start_key};
    bool inside = start >= first && start < last;

    if (row->location != NULL) {
      span.kind = KEYROUTE_SPAN_REGION;
      span.end = keyroute_location_end_key(row->location);
      inside = !row->split && start < last && bound_of(span.end, true) > first;
    }
    if (inside) {
      print_span(out, size, &span);
    }
  }
}

/* Without the overlaps, which are the only ones with a '='. */
static void drop_overlaps(char *out, size_t size, const char *spans)
{
  char copy[4096], *rest;

  snprintf(copy, sizeof(copy), "%s", spans);
  out[0] = '\0';
  for (char *word = strtok_r(copy, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
    if (strchr(word, '=') == NULL) {
      print(out, size, out[0] != '\0' ? " " : "");
      print(out, size, word);
    }
  }
}

static void expect_naive(struct fixture *fixture, const struct told *told, int first, int last)
{
  char wanted[4096], shown[4096], spans[4096];

  for (int i = 0; i < CELLS; i++) {
    int covering = i >= first && i < last ? count_covering(fixture, i) : -1;

    ck_assert_int_eq(told->holes[i], covering == 0);
    ck_assert_int_eq(told->overlaps[i] > 0, covering > 1);
  }
  tell_naively(wanted, sizeof(wanted), fixture, first, last);
  drop_overlaps(spans, sizeof(spans), wanted);
  drop_overlaps(shown, sizeof(shown), told->spans);
  ck_assert_str_eq(shown, spans);
}

START_TEST(test_listing__random_rows_tell_the_same_naively_and_in_pages_of_any_size)
{
  struct fixture fixture = fixture_new();
  struct told whole, paged;

  srand(4711);
  for (int round = 0; round < RANDOM_ROUNDS; round++) {
    int first = pick(CELLS), last = first + 1 + pick(CELLS - first);
    int rows = pick(9);

    for (int i = 0; i < rows; i++) {
      add_random(&fixture, 100 + pick(50));
    }
    qsort(fixture.rows, fixture.count, sizeof(fixture.rows[0]), compare_rows);
    const char *end = last < CELLS ? bounds[last] : "";

    tell(&whole, &fixture, bounds[first], end, 100);
    expect_naive(&fixture, &whole, first, last);
    for (size_t limit = 1; limit <= fixture.count; limit++) {
      tell(&paged, &fixture, bounds[first], end, limit);
      ck_assert_msg(strcmp(paged.spans, whole.spans) == 0, "round %d, limit %zu: %s, not %s", round,
                    limit, paged.spans, whole.spans);
      ck_assert_mem_eq(paged.holes, whole.holes, sizeof(whole.holes));
    }
    forget_rows(&fixture);
  }
  fixture_free(&fixture);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("listing");
  TCase *all = tcase_create("all");

  tcase_set_timeout(all, 300);
  tcase_add_test(all, test_listing__whole_table_is_its_regions);
  tcase_add_test(all, test_listing__no_row_is_one_hole);
  tcase_add_test(all, test_listing__holes_are_told_at_both_ends_and_between);
  tcase_add_test(all, test_listing__holes_are_cut_to_the_span);
  tcase_add_test(all, test_listing__overlap_stands_between_its_regions);
  tcase_add_test(all,
                 test_listing__region_inside_another_is_held_against_the_one_that_reaches_furthest);
  tcase_add_test(all, test_listing__two_regions_with_one_start_are_both_shown);
  tcase_add_test(all, test_listing__split_parents_are_no_regions);
  tcase_add_test(all, test_listing__offline_region_is_one_that_is_marked);
  tcase_add_test(all, test_listing__what_a_region_lacks_is_told);
  tcase_add_test(all, test_listing__overlap_tells_which_answers);
  tcase_add_test(all, test_listing__corrupt_row_is_shown_where_it_would_start);
  tcase_add_test(all, test_listing__corrupt_row_inside_a_region_is_behind_it);
  tcase_add_test(all, test_listing__corrupt_row_below_the_span_is_not_shown);
  tcase_add_test(all, test_listing__corrupt_row_whose_key_does_not_tell_is_shown_where_it_came);
  tcase_add_test(all, test_listing__corrupt_row_tells_its_reason);
  tcase_add_test(all, test_listing__full_one_tells_where_to_go_on);
  tcase_add_test(all, test_listing__hole_behind_a_full_one_is_the_next_ones);
  tcase_add_test(all, test_listing__overlap_is_never_cut);
  tcase_add_test(all, test_listing__corrupt_rows_count_and_cut_the_hole_they_are_in);
  tcase_add_test(all, test_listing__rows_behind_the_span_end_it);
  tcase_add_test(all, test_listing__region_below_anchors_it);
  tcase_add_test(all, test_listing__overlap_of_very_many_is_cut);
  tcase_add_test(all, test_listing__memory_may_run_short_anywhere);
  tcase_add_test(all, test_listing__random_rows_tell_the_same_naively_and_in_pages_of_any_size);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
