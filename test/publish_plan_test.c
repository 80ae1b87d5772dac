/*
 * Plans of changes, carried out on a directory of arrays step by step: readers who know nothing,
 * and readers who know what was true long ago, look up every key after each step, and each must
 * come to a table that stands and holds the key. Whoever carries a plan out may be gone after any
 * step.
 */
#include "lib/publish_plan.h"

#include "lib/bytes.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"
#include "test/want.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 16, TABLES_MAX = 64, ROWS_MAX = 64, NODES = 3, RANGES_MAX = 32 };

/* Keys of map are one letter, a to p, and meta2's the same behind \x02; \x01 is below all. */
static const char letters[] = "abcdefghijklmnop";
static const char index_letters[] =
    "\002a\002b\002c\002d\002e\002f\002g\002h\002i\002j\002k\002l\002m\002n\002o\002p";
static const struct kr_descriptor_replica places[NODES] = {
    {1, {"one", 3}, 1}, {2, {"two", 3}, 2}, {3, {"three", 5}, 3}};

static struct keyroute_bytes key_of(enum kr_level level, int number)
{
  return level == KR_MAP ? kr_bytes(letters + number, 1) : kr_bytes(index_letters + 2 * number, 2);
}

/* One table on one node: index rows, or which of map's keys it holds. */
struct table {
  uint64_t id;
  int node;
  struct kr_descriptor rows[ROWS_MAX];
  size_t count;
  unsigned keys;
};

static struct table tables[TABLES_MAX];
static size_t table_count;
static struct kr_descriptor root;
static bool written_down;
static struct kr_mem *mem;

static int node_of(const struct kr_descriptor_replica *place)
{
  for (int i = 0; i < NODES; i++) {
    if (kr_same_place(&places[i], place)) {
      return i;
    }
  }
  ck_abort();
}

static struct table *find_table(uint64_t id, const struct kr_descriptor_replica *place)
{
  for (size_t i = 0; i < table_count; i++) {
    if (tables[i].id == id && tables[i].node == node_of(place)) {
      return &tables[i];
    }
  }
  return NULL;
}

static struct table *make_table(uint64_t id, const struct kr_descriptor_replica *place)
{
  ck_assert_ptr_null(find_table(id, place));
  ck_assert_uint_lt(table_count, TABLES_MAX);
  tables[table_count] = (struct table){.id = id, .node = node_of(place)};
  return &tables[table_count++];
}

static void drop_table(uint64_t id, const struct kr_descriptor_replica *place)
{
  struct table *table = find_table(id, place);

  if (table != NULL) {
    *table = tables[--table_count];
  }
}

static bool covers(const struct kr_descriptor *range, struct keyroute_bytes key)
{
  return kr_bytes_compare(range->start_key, key) <= 0 &&
         (range->end_key.len == 0 || kr_bytes_compare(key, range->end_key) < 0);
}

static const struct kr_descriptor *newest(const struct kr_descriptor *ranges, size_t count,
                                          struct keyroute_bytes key)
{
  const struct kr_descriptor *found = NULL;

  for (size_t i = 0; i < count; i++) {
    if (covers(&ranges[i], key) && (found == NULL || ranges[i].generation > found->generation)) {
      found = &ranges[i];
    }
  }
  return found;
}

static struct kr_descriptor *find_row(struct table *table, struct keyroute_bytes start)
{
  for (size_t i = 0; i < table->count; i++) {
    if (kr_bytes_equal(table->rows[i].start_key, start)) {
      return &table->rows[i];
    }
  }
  return NULL;
}

/* ---- Readers ---- */

/* What a reader once learnt: stale or not. */
struct reader {
  struct kr_descriptor meta1, meta2[RANGES_MAX], map[RANGES_MAX];
  size_t meta2_count, map_count;
  bool knows;
};

/* The table of a range where its leaseholder is; NULL = it is gone. */
static struct table *table_of(const struct kr_descriptor *range)
{
  return find_table(range->id, &range->replicas[0]);
}

static const struct kr_descriptor *look_up_meta2(struct reader *reader, struct keyroute_bytes key)
{
  const struct kr_descriptor *known = newest(reader->meta2, reader->meta2_count, key);
  const struct kr_descriptor *meta1 = reader->knows ? &reader->meta1 : &root;

  if (known != NULL && table_of(known) != NULL) {
    return known;
  }
  if (table_of(meta1) == NULL) {
    meta1 = &root;
  }
  WANT(table_of(meta1) != NULL, "meta1's table is gone");
  known = newest(table_of(meta1)->rows, table_of(meta1)->count, key);
  WANT(known != NULL, "a hole in meta2");
  return known;
}

/* The range of map that holds a key: the row may be in the range of meta2 before. */
static const struct kr_descriptor *look_up_map(struct reader *reader, int number)
{
  struct keyroute_bytes key = key_of(KR_MAP, number);
  const struct kr_descriptor *known = newest(reader->map, reader->map_count, key);

  if (known != NULL && table_of(known) != NULL) {
    return known;
  }
  for (int at = number; at >= -1; at--) {
    struct keyroute_bytes row = at >= 0 ? key_of(KR_META2, at) : keyroute_string("\001");
    const struct kr_descriptor *meta2 = look_up_meta2(reader, row);

    WANT(table_of(meta2) != NULL, "meta2's table r%d is gone", (int)meta2->id);
    known = newest(table_of(meta2)->rows, table_of(meta2)->count, key);
    if (known != NULL) {
      return known;
    }
  }
  ck_abort_msg("a hole in map");
}

static void read_all(struct reader *reader)
{
  for (int i = 0; i < KEYS; i++) {
    const struct kr_descriptor *range = look_up_map(reader, i);
    struct table *table = table_of(range);

    WANT(table != NULL, "key %c: the table r%d is gone", letters[i], (int)range->id);
    WANT((table->keys >> i & 1) != 0, "key %c is not in table r%d", letters[i], (int)range->id);
  }
}

static void learn(struct reader *reader)
{
  *reader = (struct reader){.meta1 = root, .knows = true};
  struct table *meta1 = table_of(&root);

  for (size_t i = 0; i < meta1->count && reader->meta2_count < RANGES_MAX; i++) {
    struct table *meta2 = table_of(&meta1->rows[i]);

    reader->meta2[reader->meta2_count++] = meta1->rows[i];
    for (size_t j = 0; meta2 != NULL && j < meta2->count && reader->map_count < RANGES_MAX; j++) {
      reader->map[reader->map_count++] = meta2->rows[j];
    }
  }
}

enum { READERS = 6 };
static struct reader readers[READERS];

static void all_read(void)
{
  struct reader fresh = {.knows = false};

  read_all(&fresh);
  for (int i = 0; i < READERS; i++) {
    read_all(&readers[i]);
  }
}

/* ---- Carrying out ---- */

/* The table above that holds the row of a range. */
static struct table *parent_table(enum kr_level level, struct keyroute_bytes start)
{
  uint8_t row[8] = {2};
  struct table *meta1 = table_of(&root);

  if (level == KR_META2) {
    return meta1;
  }
  memcpy(row + 1, start.len > 0 ? start.data : "", start.len);
  const struct kr_descriptor *meta2 =
      newest(meta1->rows, meta1->count, kr_bytes(row, start.len + 1));
  ck_assert_ptr_nonnull(meta2);
  return table_of(meta2);
}

static void copy_rows(const struct kr_step *step)
{
  struct table *to = find_table(step->range->id, step->node);
  struct table *from = table_of(step->from);

  for (size_t i = 0; i < from->count; i++) {
    uint8_t row[8] = {step->level == KR_META1 ? 1 : 2};
    struct keyroute_bytes start = from->rows[i].start_key;

    memcpy(row + 1, start.len > 0 ? start.data : "", start.len);
    if (covers(step->range, kr_bytes(row, start.len + 1)) && find_row(to, start) == NULL) {
      to->rows[to->count++] = from->rows[i];
    }
  }
}

static void put_row(const struct kr_step *step)
{
  struct table *table = parent_table(step->level, step->range->start_key);
  struct kr_descriptor *row = find_row(table, step->range->start_key);

  ck_assert((row != NULL) == (step->from != NULL));
  ck_assert(row == NULL || kr_same_range(row, step->from));
  if (row == NULL) {
    row = &table->rows[table->count++];
  }
  *row = *step->range;
}

static void do_step(const struct kr_step *step)
{
  struct table *table;

  switch (step->kind) {
  case KR_STEP_JOURNAL:
    ck_assert(!written_down);
    written_down = true;
    break;
  case KR_STEP_MAKE:
    make_table(step->range->id, step->node);
    break;
  case KR_STEP_COPY:
    copy_rows(step);
    break;
  case KR_STEP_PUT:
    put_row(step);
    break;
  case KR_STEP_REMOVE:
    table = parent_table(step->level, step->from->start_key);
    *find_row(table, step->from->start_key) = table->rows[table->count - 1];
    table->count--;
    break;
  case KR_STEP_ROOT:
    root = *step->range;
    break;
  case KR_STEP_DROP:
    drop_table(step->range->id, step->node);
    break;
  case KR_STEP_FORGET:
    written_down = false;
    break;
  }
}

/* Do the steps from one on, for at most so many. Returns where it stopped. */
static size_t do_steps(const struct kr_plan *plan, size_t from, size_t most)
{
  size_t i = from;

  while (i < plan->count && i - from < most) {
    do_step(&plan->steps[i++]);
    all_read();
  }
  return i;
}

static bool has_switched(const struct kr_plan *plan, size_t done)
{
  for (size_t i = 0; i < done; i++) {
    if (kr_step_switches(&plan->steps[i])) {
      return true;
    }
  }
  return false;
}

/* Carry a change out, gone after so many steps; then somebody else sees to it, who is gone after as
 * many steps again, and so on. Returns whether it was carried out. */
static bool apply(const struct kr_change *change, size_t most)
{
  struct kr_plan plan, undo;
  bool carried = false;

  kr_plan_init(&plan, mem);
  kr_plan_init(&undo, mem);
  kr_plan_carry_out(&plan, change);
  kr_plan_undo(&undo, change);
  size_t done = do_steps(&plan, 0, most);

  if (has_switched(&plan, done)) {
    carried = true;
    while (done < plan.count) {
      done = do_steps(&plan, done, most);
    }
  } else if (done > 0) {
    /* Undone steps may be undone again: whoever is gone leaves the journal. */
    do_steps(&undo, 0, most < undo.count ? most : 0);
    do_steps(&undo, 0, undo.count);
  }
  ck_assert(!written_down);
  kr_plan_clear(&plan);
  kr_plan_clear(&undo);
  return carried;
}

/* ---- Changes ---- */

static uint64_t last_id;

static void fill(const struct kr_descriptor *range)
{
  for (size_t i = 0; i < range->replica_count; i++) {
    struct table *table = find_table(range->id, &range->replicas[i]);

    if (table == NULL) {
      table = make_table(range->id, &range->replicas[i]);
    }
    for (int key = 0; key < KEYS; key++) {
      table->keys |= covers(range, key_of(KR_MAP, key)) ? 1u << key : 0;
    }
  }
}

/* A directory of one range on each level. */
static void begin_directory(void)
{
  static struct kr_descriptor meta1, meta2, map;
  struct kr_plan plan;

  meta1 = (struct kr_descriptor){.id = 1, .generation = 1, .replicas = places, .replica_count = 1};
  meta2 = meta1;
  meta2.id = KR_RANGE_ID_MAX + 1;
  map = meta1;
  map.id = 2;
  last_id = 2;
  kr_plan_init(&plan, mem);
  kr_plan_begin(&plan, &meta1, &meta2, &map, true);
  root = meta1;
  for (size_t i = 0; i < plan.count; i++) {
    if (plan.steps[i].kind == KR_STEP_PUT && plan.steps[i].level == KR_MAP) {
      find_table(meta2.id, places)->rows[0] = map;
      find_table(meta2.id, places)->count = 1;
    } else {
      do_step(&plan.steps[i]);
    }
  }
  kr_plan_clear(&plan);
  fill(&map);
  for (int i = 0; i < READERS; i++) {
    learn(&readers[i]);
  }
  all_read();
}

static void set_up(void)
{
  mem = failing_mem_new();
  table_count = 0;
  written_down = false;
  begin_directory();
}

static void tear_down(void)
{
  failing_mem_done(mem);
}

static struct kr_descriptor range_at(enum kr_level level, struct keyroute_bytes key)
{
  struct table *meta1 = table_of(&root);

  if (level == KR_META1) {
    return root;
  }
  if (level == KR_META2) {
    return *newest(meta1->rows, meta1->count, key);
  }
  struct reader fresh = {.knows = false};

  return *look_up_map(&fresh, (int)(strchr(letters, *(const char *)key.data) - letters));
}

static struct kr_failure failure;

static bool plan_split(struct kr_change *change, enum kr_level level, int key, int node)
{
  struct kr_descriptor old = range_at(level, key_of(level, key));
  uint64_t base = level == KR_META2 ? KR_RANGE_ID_MAX : 0;
  uint64_t ids[2] = {base + last_id + 1, base + last_id + 2};
  struct kr_nodes nodes[2] = {{&places[node], 1}, {NULL, 0}};

  last_id += 2;
  return kr_plan_split(change, level, &old, key_of(level, key), ids, nodes, &failure) == 0;
}

static bool plan_merge(struct kr_change *change, enum kr_level level, int key, int node)
{
  struct kr_descriptor left = range_at(level, key_of(level, key));
  uint64_t base = level == KR_META2 ? KR_RANGE_ID_MAX : 0;
  struct kr_nodes nodes = {&places[node], 1};

  if (left.end_key.len == 0) {
    return false;
  }
  struct kr_descriptor right = range_at(level, left.end_key);

  return kr_plan_merge(change, level, &left, &right, base + ++last_id, &nodes, &failure) == 0;
}

/* A range of map keeps its id now and then, but not where it has been. */
static bool plan_move(struct kr_change *change, enum kr_level level, int key, int node)
{
  struct kr_descriptor old = range_at(level, key_of(level, key));
  struct kr_nodes nodes = {&places[node], node < NODES - 1 ? 2 : 1};
  uint64_t base = level != KR_MAP ? KR_RANGE_ID_MAX : 0;
  bool keeps = level == KR_MAP && node_of(&old.replicas[0]) < node && old.replica_count == 1;

  return kr_plan_move(change, level, &old, keeps ? old.id : base + ++last_id, &nodes, &failure) ==
         0;
}

typedef bool (*plan_one)(struct kr_change *change, enum kr_level level, int key, int node);
static const plan_one kinds[] = {plan_split, plan_merge, plan_move};

static void drop_new_tables(const struct kr_change *change)
{
  for (size_t i = 0; i < change->new_count; i++) {
    for (size_t j = 0; j < change->news[i].replica_count; j++) {
      const struct kr_descriptor_replica *place = &change->news[i].replicas[j];
      bool is_old = false;

      for (size_t k = 0; k < change->old_count; k++) {
        is_old = is_old || kr_has_table(&change->olds[k], change->news[i].id, place);
      }
      if (!is_old) {
        drop_table(change->news[i].id, place);
      }
    }
  }
}

/* As whoever runs the nodes does: the new tables are filled first. */
static void carry_out(const struct kr_change *change, size_t most)
{
  for (size_t i = 0; change->level == KR_MAP && i < change->new_count; i++) {
    fill(&change->news[i]);
  }
  if (!apply(change, most) && change->level == KR_MAP) {
    drop_new_tables(change);
  }
}

/* ---- Tests ---- */

START_TEST(test_publish_plan__readers_are_right_after_every_step_whoever_is_gone_when)
{
  for (int level = KR_META1; level <= KR_MAP; level++) {
    for (size_t most = 1; most < 16; most++) {
      struct kr_change change;

      table_count = 0;
      begin_directory();
      for (int i = 0; i < 24; i++) {
        learn(&readers[i % READERS]);
        if (kinds[i % 3](&change, (enum kr_level)level, (5 * i + 3) % KEYS, i % NODES)) {
          carry_out(&change, most);
        }
        if (i % 4 == 0 && plan_split(&change, KR_MAP, (7 * i + 2) % KEYS, i % NODES)) {
          carry_out(&change, 99);
        }
      }
    }
  }
}
END_TEST

START_TEST(test_publish_plan__readers_are_right_in_any_order_of_changes)
{
  unsigned seed = (unsigned)_i + 1;

  for (int i = 0; i < 300; i++) {
    enum kr_level level = (enum kr_level)(rand_r(&seed) % 3);
    int key = rand_r(&seed) % KEYS, node = rand_r(&seed) % NODES;
    size_t most = (size_t)rand_r(&seed) % 20 + 1;
    struct kr_change change;

    if (rand_r(&seed) % 2 == 0) {
      learn(&readers[rand_r(&seed) % READERS]);
    }
    if (kinds[rand_r(&seed) % 3](&change, level, key, node)) {
      carry_out(&change, most);
    }
  }
}
END_TEST

START_TEST(test_publish_plan__a_split_puts_the_upper_row_first)
{
  struct kr_change change;
  struct kr_plan plan;
  static const enum kr_step_kind wanted[] = {KR_STEP_JOURNAL, KR_STEP_PUT, KR_STEP_PUT,
                                             KR_STEP_DROP, KR_STEP_FORGET};

  ck_assert(plan_split(&change, KR_MAP, 5, 1));
  kr_plan_init(&plan, mem);
  kr_plan_carry_out(&plan, &change);

  ck_assert_uint_eq(plan.count, 5);
  for (size_t i = 0; i < plan.count; i++) {
    ck_assert_int_eq(plan.steps[i].kind, wanted[i]);
  }
  ck_assert(kr_bytes_equal(plan.steps[1].range->start_key, keyroute_string("f")));
  ck_assert_ptr_null(plan.steps[1].from);
  ck_assert_uint_eq(plan.steps[2].range->start_key.len, 0);
  kr_plan_clear(&plan);
}
END_TEST

START_TEST(test_publish_plan__generations_are_above_all_that_keys_are_taken_from)
{
  struct kr_change change;
  struct kr_descriptor left = {.id = 5,
                               .generation = 9,
                               .end_key = keyroute_string("g"),
                               .replicas = places,
                               .replica_count = 1};
  struct kr_descriptor right = {.id = 6,
                                .generation = 40,
                                .start_key = keyroute_string("g"),
                                .replicas = places,
                                .replica_count = 1};

  ck_assert_int_eq(kr_plan_merge(&change, KR_MAP, &left, &right, 7, NULL, &failure), 0);

  ck_assert_uint_eq(change.news[0].generation, 41);
}
END_TEST

static void refuses(int error, const char *message)
{
  ck_assert_int_eq(error, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(failure.code, error);
  ck_assert_str_eq(failure.message, message);
}

START_TEST(test_publish_plan__what_cannot_be_is_refused_with_the_reason)
{
  struct kr_change change;
  struct kr_nodes none[2] = {{NULL, 0}, {NULL, 0}};
  struct kr_descriptor_replica twice[2] = {places[0], places[0]};
  struct kr_nodes same = {twice, 2};
  struct kr_descriptor range = {.id = 5,
                                .generation = 9,
                                .start_key = keyroute_string("c"),
                                .end_key = keyroute_string("g"),
                                .replicas = places,
                                .replica_count = 1};
  struct kr_descriptor far = range;
  uint64_t good[2] = {6, 7}, equal[2] = {6, 6}, old[2] = {6, 5}, low[2] = {1, 6},
           high[2] = {6, KR_RANGE_ID_MAX + 1};

#define SPLIT(level, key, ids)                                                                     \
  kr_plan_split(&change, level, &range, keyroute_string(key), ids, none, &failure)
  refuses(SPLIT(KR_META1, "d", good), "meta1 is one range, and never split");
  refuses(SPLIT(KR_MAP, "c", good), "the key \"c\" is not inside map's range r5, \"c\" to \"g\"");
  refuses(SPLIT(KR_MAP, "g", good), "the key \"g\" is not inside map's range r5, \"c\" to \"g\"");
  refuses(SPLIT(KR_META2, "d", good), "the key \"d\" is none of meta2's, which begin with \\x02");
  refuses(SPLIT(KR_MAP, "d", equal),
          "the ids 6 and 6 are to be new, and different: range r5 is split");
  refuses(SPLIT(KR_MAP, "d", old),
          "the ids 6 and 5 are to be new, and different: range r5 is split");
  refuses(SPLIT(KR_MAP, "d", low), "the id 1 is not 2 to 999999999999");
  refuses(SPLIT(KR_MAP, "d", high), "the id 1000000000000 is not 2 to 999999999999");
  far.start_key = keyroute_string("h");
  far.end_key = keyroute_string("");
  refuses(kr_plan_merge(&change, KR_MAP, &range, &far, 8, NULL, &failure),
          "map's ranges r5 and r5 are not side by side");
  far.start_key = keyroute_string("g");
  refuses(kr_plan_merge(&change, KR_MAP, &range, &far, 5, NULL, &failure),
          "the id 5 is to be new: it is that of a range to be merged");
  refuses(kr_plan_move(&change, KR_MAP, &range, 5, &none[0], &failure),
          "no node is named for range r5");
  refuses(kr_plan_move(&change, KR_MAP, &range, 5, &same, &failure),
          "node one:1 is named twice for range r5");
  range.generation = INT64_MAX;
  refuses(SPLIT(KR_MAP, "d", good),
          "the generation 9223372036854775807 is the last: there is none above it");
#undef SPLIT
}
END_TEST

START_TEST(test_publish_plan__short_memory_is_told)
{
  struct kr_change change;
  struct kr_plan plan;

  ck_assert(plan_split(&change, KR_META2, 5, 1));
  kr_plan_init(&plan, mem);
  mem_fail(1);
  kr_plan_carry_out(&plan, &change);

  ck_assert(plan.failed);
  kr_plan_clear(&plan);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("publish_plan");
  TCase *tests = tcase_create("publish_plan");

  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, test_publish_plan__readers_are_right_after_every_step_whoever_is_gone_when);
  tcase_add_loop_test(tests, test_publish_plan__readers_are_right_in_any_order_of_changes, 0, 20);
  tcase_add_test(tests, test_publish_plan__a_split_puts_the_upper_row_first);
  tcase_add_test(tests, test_publish_plan__generations_are_above_all_that_keys_are_taken_from);
  tcase_add_test(tests, test_publish_plan__what_cannot_be_is_refused_with_the_reason);
  tcase_add_test(tests, test_publish_plan__short_memory_is_told);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
