/*
 * Readers while ranges are split, merged and moved: after every single write of a publisher that
 * keeps to the order of keyroute_range(7), a reader's fresh answer is a range whose table is there,
 * and what it has cached is found to be stale by that table's absence only.
 *
 * The model is two sorted lists: the ranges of the map, and those of meta2. A random run of changes
 * is made to it and to the directory in memory; the seed is printed on failure. Also here: ranges
 * that overlap, told in every order, as reads that overlap in time bring them.
 */
#include "test/range_world.h"

#include "lib/bytes.h"
#include "test/run_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANGES_MAX = 64, KEY = 8, NODES = 9, CHANGES = 120, READS = 3 };

/* A range of the model; its bounds are its own. */
struct part {
  uint64_t id, generation;
  char start[KEY], end[KEY];
  unsigned node;
};

struct parts {
  struct part list[RANGES_MAX];
  unsigned count;
};

static struct range_world *range;
static struct parts map, meta2;
static struct range meta1;
static uint64_t last_id;
static unsigned seed;

/* ---- Chance ---- */

static unsigned draw(unsigned below)
{
  return (unsigned)rand_r(&seed) % below;
}

/* Two letters; of a key of meta2, behind its byte. */
static void draw_key(char out[KEY], bool of_meta2)
{
  snprintf(out, KEY, "%s%c%c", of_meta2 ? "\2" : "", (int)('a' + draw(26)), (int)('a' + draw(26)));
}

/* ---- The model ---- */

static struct range as_range(const struct part *part)
{
  return (struct range){part->id, part->generation, part->start, part->end, part->node};
}

static bool holds(const struct part *part, const char *key)
{
  return strcmp(part->start, key) <= 0 && (part->end[0] == '\0' || strcmp(key, part->end) < 0);
}

static unsigned find(const struct parts *parts, const char *key)
{
  unsigned i = 0;

  while (!holds(&parts->list[i], key)) {
    i++;
  }
  return i;
}

/* The range of the index where a range of the map has its row; meta1 for one of the index. */
static struct range index_of(const struct parts *parts, const char *start)
{
  char key[KEY + 1];

  if (parts == &meta2) {
    return meta1;
  }
  snprintf(key, sizeof(key), "\2%s", start);
  return as_range(&meta2.list[find(&meta2, key)]);
}

static struct part new_part(const char *start, const char *end, uint64_t generation)
{
  struct part part = {.id = ++last_id, .generation = generation, .node = 1 + draw(NODES)};

  snprintf(part.start, KEY, "%s", start);
  snprintf(part.end, KEY, "%s", end);
  return part;
}

static void replace(struct parts *parts, unsigned at, unsigned gone, const struct part *with,
                    unsigned count)
{
  memmove(&parts->list[at + count], &parts->list[at + gone],
          (parts->count - at - gone) * sizeof(parts->list[0]));
  memcpy(&parts->list[at], with, count * sizeof(*with));
  parts->count += count - gone;
}

/* ---- The reader ---- */

static void run(struct ask *ask)
{
  ask_start(ask);
  for (int i = 0; i < 300 && ask->done == 0; i++) {
    fake_clock_pass_ms(i == 0 ? 0 : 100);
  }
  ck_assert_int_eq(ask->done, 1);
}

/* Where a key is now; cleared by the caller. */
static void ask_for(struct ask *ask, const char *key, bool refresh)
{
  ask_init(ask, range->world, "map", key);
  ask->lookup.refresh = refresh;
  run(ask);
  ck_assert_msg(ask->lookup.location != NULL, "%s: %s", key, ask->lookup.failure.message);
  ck_assert(kr_location_covers(ask->lookup.location, keyroute_string(key), KR_AT));
}

static bool is_there(const struct keyroute_location *location)
{
  return range_has_table(range, range_id(location), range_node(location));
}

/* What the directory says now. */
static void read_fresh(const char *key)
{
  struct ask fresh;

  ask_for(&fresh, key, true);
  ck_assert_msg(is_there(fresh.lookup.location), "%s is not on r%llu", key,
                (unsigned long long)range_id(fresh.lookup.location));
  ck_assert_uint_le(fresh.lookup.attempts, 3); /* meta2's place stale, and meta1's */
  ask_clear(&fresh);
}

/* As an application: what is cached, and if its table is not there, what the directory says. */
static void read_one(const char *key)
{
  struct ask cached;

  ask_for(&cached, key, false);
  if (!is_there(cached.lookup.location)) {
    read_fresh(key);
  }
  ask_clear(&cached);
}

/* After every write: around what it was about, where most can be wrong, and anywhere. */
static void read_some(const struct part *about)
{
  bool is_map = about->start[0] != '\2' && about->end[0] != '\2';
  char key[KEY], above[KEY + 2];

  for (int i = 0; i < READS; i++) {
    draw_key(key, false);
    read_one(key);
  }
  if (draw(4) == 0) {
    draw_key(key, false);
    read_fresh(is_map ? about->start : key);
    read_fresh(is_map && about->end[0] != '\0' ? about->end : key);
    snprintf(above, sizeof(above), "%sz", is_map ? about->start : "");
    read_fresh(above);
  }
}

/* Between changes the answer is the model's. */
static void read_as_model(void)
{
  struct ask fresh;
  char key[KEY];

  draw_key(key, false);
  ask_for(&fresh, key, true);
  const struct part *part = &map.list[find(&map, key)];

  ck_assert_uint_eq(range_id(fresh.lookup.location), part->id);
  ck_assert_uint_eq(range_node(fresh.lookup.location), part->node);
  ck_assert_int_eq(keyroute_location_region_id(fresh.lookup.location), (int64_t)part->generation);
  ask_clear(&fresh);
}

/* ---- The publisher: each of these is one write, and what a reader then meets ---- */

/* A range's table, filled if it is of the index. */
static void make_table(const struct parts *parts, const struct part *to,
                       const struct part *const *from, unsigned count)
{
  struct range made = as_range(to);

  range_make_table(range, to->id, to->node);
  for (unsigned i = 0; i < count && parts == &meta2; i++) {
    struct range old = as_range(from[i]);

    range_copy_rows(range, &old, &made);
  }
  read_some(to);
}

static void write_row(const struct parts *parts, const struct part *part)
{
  struct range at = index_of(parts, part->start), row = as_range(part);

  range_write_row(range, &at, &row);
  read_some(part);
}

static void delete_row(const struct parts *parts, const struct part *part)
{
  struct range at = index_of(parts, part->start);

  range_delete_row(range, &at, part->start);
  read_some(part);
}

static void drop_table(const struct part *part)
{
  range_drop_table(range, part->id, part->node);
  read_some(part);
}

/* ---- Changes ---- */

static void split(struct parts *parts)
{
  char key[KEY];

  draw_key(key, parts == &meta2);
  unsigned at = find(parts, key);
  struct part old = parts->list[at];

  if (strcmp(old.start, key) == 0 || parts->count + 1 == RANGES_MAX) {
    return;
  }
  const struct part *from[] = {&old};
  struct part two[] = {new_part(old.start, key, old.generation + 1),
                       new_part(key, old.end, old.generation + 1)};

  make_table(parts, &two[0], from, 1);
  make_table(parts, &two[1], from, 1);
  write_row(parts, &two[1]);
  write_row(parts, &two[0]);
  drop_table(&old);
  replace(parts, at, 1, two, 2);
}

static void merge(struct parts *parts)
{
  unsigned at = draw(parts->count);

  if (at + 1 == parts->count) {
    return;
  }
  struct part low = parts->list[at], high = parts->list[at + 1];
  const struct part *from[] = {&low, &high};
  uint64_t newest = low.generation > high.generation ? low.generation : high.generation;
  struct part whole = new_part(low.start, high.end, newest + 1);

  make_table(parts, &whole, from, 2);
  write_row(parts, &whole);
  delete_row(parts, &high);
  drop_table(&low);
  drop_table(&high);
  replace(parts, at, 2, &whole, 1);
}

static void move(struct parts *parts)
{
  unsigned at = draw(parts->count);
  struct part old = parts->list[at], moved = old;
  const struct part *from[] = {&old};

  moved.node = old.node % NODES + 1;
  moved.generation++;
  make_table(parts, &moved, from, 1);
  write_row(parts, &moved);
  drop_table(&old);
  parts->list[at] = moved;
}

static void move_meta1(void)
{
  const struct part whole = {.id = 1};
  struct range moved = meta1;

  moved.node = meta1.node % NODES + 1;
  moved.generation++;
  range_make_table(range, moved.id, moved.node);
  range_copy_rows(range, &meta1, &moved);
  read_some(&whole);
  range_write_znode(range, &moved);
  read_some(&whole);
  range_drop_table(range, meta1.id, meta1.node);
  meta1 = moved;
  read_some(&whole);
}

static void change(void)
{
  unsigned which = draw(20);
  struct parts *parts = which % 4 == 0 ? &meta2 : &map;

  if (which < 8) {
    split(parts);
  } else if (which < 13) {
    merge(parts);
  } else if (which < 19) {
    move(parts);
  } else {
    move_meta1();
  }
}

/* ---- Tests ---- */

static void set_up(void)
{
  range = range_world_new();
  meta1 = range_meta1;
  last_id = 10;
  map.count = meta2.count = 1;
  map.list[0] = new_part("", "", 1);
  meta2.list[0] = (struct part){.id = range_meta2.id, .generation = 1, .node = range_meta2.node};
  struct range first = as_range(&map.list[0]);

  range_publish(range, &first);
}

static void tear_down(void)
{
  range_world_free(range);
}

START_TEST(test_range_publish__no_reader_is_led_to_a_table_that_is_not_there)
{
  seed = (unsigned)_i;
  set_up();

  for (int i = 0; i < CHANGES; i++) {
    change();
    read_as_model();
  }

  ck_assert_uint_gt(map.count, 2);
  tear_down();
}
END_TEST

/* ---- Ranges that overlap, in every order of arrival ---- */

enum { NEWS = 6 };

/* One line of descent of the whole map; of each key the largest generation is right. */
static const struct range news[NEWS] = {
    {11, 5, "", "", 1},   {12, 6, "", "m", 1}, {13, 6, "m", "", 1},
    {14, 7, "g", "s", 1}, {15, 7, "s", "", 1}, {16, 8, "a", "g", 1},
};

/* The generation that is right for a key among those that have been told. */
static int64_t newest(const bool *told, const char *key)
{
  int64_t generation = -1;

  for (int i = 0; i < NEWS; i++) {
    if (told[i] && strcmp(news[i].start, key) <= 0 &&
        (news[i].end[0] == '\0' || strcmp(key, news[i].end) < 0) &&
        (int64_t)news[i].generation > generation) {
      generation = (int64_t)news[i].generation;
    }
  }
  return generation;
}

static struct keyroute_location *make_location(const struct range *row)
{
  struct world *world = range->world;
  const struct fake_row *found;
  struct kr_catalog_row parsed;
  struct fake_scan scan = {.limit = 1};
  struct range index_range = {99, 1, "", "", 1};
  bool more;

  range_make_table(range, 99, 1);
  range_write_row(range, &index_range, row);
  fake_catalog_scan(range->tables[range->table_count - 1].rows, &scan, &found, &more);
  struct kr_cell cell = {
      .family = keyroute_string("r"),
      .qualifier = keyroute_string("d"),
      .value = kr_bytes(found->cells[0].value, found->cells[0].value_len),
  };
  struct kr_row raw = {kr_bytes(found->key, found->key_len), &cell, 1};

  ck_assert_int_eq(
      kr_catalog_range.parse_row(&parsed, world->mem, world->servers, keyroute_string("map"), &raw),
      0);
  ck_assert_ptr_nonnull(parsed.location);
  range_drop_table(range, 99, 1);
  return parsed.location;
}

static void expect_hits(struct keyroute_table *table, const bool *told)
{
  static const char *const keys[] = {"", "a", "f", "g", "h", "m", "n", "s", "z"};

  kr_rcu_read_begin();
  for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
    const struct keyroute_location *hit = kr_table_find(table, keyroute_string(keys[i]), KR_AT);

    ck_assert_msg(hit == NULL || keyroute_location_region_id(hit) == newest(told, keys[i]),
                  "key %s: generation %lld, not %lld", keys[i],
                  (long long)keyroute_location_region_id(hit), (long long)newest(told, keys[i]));
  }
  kr_rcu_read_end();
}

/* Tell them in this order, all by reads that were sent before the first was told. */
static void tell(const int *order)
{
  struct kr_cache *cache = range->world->cache;
  struct keyroute_table *table = kr_cache_table(cache, keyroute_string("map"));
  uint64_t sent = kr_cache_tick(cache);
  bool told[NEWS] = {false};

  for (int i = 0; i < NEWS; i++) {
    struct keyroute_location *fresh = make_location(&news[order[i]]), *kept;

    ck_assert_int_eq(kr_cache_store(cache, table, fresh, sent, &kept), 0);
    keyroute_location_release(kept);
    keyroute_location_release(fresh);
    told[order[i]] = true;
    expect_hits(table, told);
  }
  kr_cache_clear_table(cache, table);
  kr_table_release(table);
}

/* All orders of those from `at` on. */
static void tell_in_every_order(int *order, int at)
{
  if (at == NEWS) {
    tell(order);
    return;
  }
  for (int i = at; i < NEWS; i++) {
    int first = order[i];

    order[i] = order[at];
    order[at] = first;
    tell_in_every_order(order, at + 1);
    order[at] = order[i];
    order[i] = first;
  }
}

START_TEST(test_range_publish__larger_generation_is_right_in_every_order)
{
  int order[NEWS] = {0, 1, 2, 3, 4, 5};

  range = range_world_new();
  tell_in_every_order(order, 0);
  tear_down();
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("range_publish");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_loop_test(tests, test_range_publish__no_reader_is_led_to_a_table_that_is_not_there, 1,
                      31);
  tcase_add_test(tests, test_range_publish__larger_generation_is_right_in_every_order);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
