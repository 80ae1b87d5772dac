/*
 * Random stores, removals and clearings: the cache answers as a simple oracle does, within its
 * bounds.
 *
 * The runs print their seed; KR_TEST_SEED=N repeats one.
 */
#include "test/cache_harness.h"

#include "test/draw.h"
#include "test/run_suite.h"

#include <stdio.h>

/* ---- The oracle ---- */

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

/* ---- The runs ---- */

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

  draw_seeded();
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

  draw_seeded();
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

  draw_seeded();
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

/* ---- The suite ---- */

static Suite *suite(void)
{
  Suite *made_suite = suite_create("cache_churn");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_s044_churn_leaves_what_an_oracle_says_and_nothing_overlaps);
  tcase_add_test(tests, test_cache__bounded_one_answers_rightly_or_not_at_all);
  tcase_add_test(tests, test_s044_churn_on_many_keys_stays_within_the_bounds);
  suite_add_tcase(made_suite, tests);
  return made_suite;
}

int main(void)
{
  return run_suite(suite());
}
