/*
 * Changes of a directory on nodes of arrays, from request to last write. Readers, a fresh one and
 * one that knows what was true before, look up every key after each change of a node; every request
 * fails in turn, before it does anything and after; and whoever comes next finds what is left.
 */
#include "lib/publish.h"
#include "lib/publish_begin.h"

#include "lib/bytes.h"
#include "lib/publish_journal.h"
#include "test/failing_mem.h"
#include "test/fake_nodes.h"
#include "test/run_suite.h"
#include "test/want.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS = 8, RANGES_MAX = 32 };

static struct fake_nodes nodes;
static struct kr_mem *mem, *own_mem; /* the publisher's; the readers' */
static struct kr_failure failure;
static struct kr_range_list after;

/* ---- Readers --------------------------------------------------------------------------------- */

/* What a reader knows. */
struct known {
  struct kr_descriptor *root;
  struct kr_range_list meta2, map;
};

static struct known old_news;

static struct kr_descriptor *decode(const void *data, size_t len)
{
  struct kr_descriptor *range = NULL;
  const char *reason = "";

  WANT(kr_descriptor_read(&range, own_mem, kr_bytes(data, len), &reason) == 0, "%s", reason);
  return range;
}

static struct fake_table *table_of(const struct kr_descriptor *range)
{
  return fake_nodes_table(&nodes, range->id, &range->replicas[0]);
}

static void read_rows(struct kr_range_list *out, const struct fake_table *table, int prefix)
{
  for (size_t i = 0; table != NULL && i < table->count; i++) {
    const struct fake_cell *cell = fake_row_cell(&table->rows[i], "d");

    if (table->rows[i].key[0] == prefix) {
      struct kr_descriptor *range = decode(cell->value, cell->len);

      WANT(kr_range_list_add(out, range, 1), "memory");
      kr_free(own_mem, range);
    }
  }
}

static const struct kr_descriptor *newest(const struct kr_range_list *list,
                                          struct keyroute_bytes key)
{
  const struct kr_descriptor *found = NULL;

  for (size_t i = 0; i < list->count; i++) {
    const struct kr_descriptor *range = list->ranges[i];

    if (kr_bytes_compare(range->start_key, key) <= 0 &&
        (range->end_key.len == 0 || kr_bytes_compare(key, range->end_key) < 0) &&
        (found == NULL || range->generation > found->generation)) {
      found = range;
    }
  }
  return found;
}

static void forget(struct known *known)
{
  kr_free(own_mem, known->root);
  known->root = NULL;
  kr_range_list_clear(&known->meta2);
  kr_range_list_clear(&known->map);
}

static void learn(struct known *known)
{
  forget(known);
  known->root = decode(nodes.root, nodes.root_len);
  read_rows(&known->meta2, table_of(known->root), 1);
  for (size_t i = 0; i < known->meta2.count; i++) {
    read_rows(&known->map, table_of(known->meta2.ranges[i]), 2);
  }
}

/* The rows of meta2 that a reader is led to for one of its own keys. */
static void find_rows(struct kr_range_list *out, const struct known *known,
                      struct keyroute_bytes row)
{
  const struct kr_descriptor *meta2 = newest(&known->meta2, row);
  struct kr_range_list list = {.mem = own_mem};
  struct kr_descriptor *root = NULL;

  if (meta2 == NULL || table_of(meta2) == NULL) {
    root = decode(nodes.root, nodes.root_len);
    read_rows(&list,
              known->root != NULL && table_of(known->root) != NULL ? table_of(known->root)
                                                                   : table_of(root),
              1);
    meta2 = newest(&list, row);
  }
  WANT(meta2 != NULL && table_of(meta2) != NULL, "meta2 is not to be found");
  read_rows(out, table_of(meta2), 2);
  kr_free(own_mem, root);
  kr_range_list_clear(&list);
}

static void check_range(const struct kr_descriptor *range, int number)
{
  WANT(table_of(range) != NULL, "key %c: table r%d is gone", 'a' + number, (int)range->id);
  WANT((table_of(range)->keys >> number & 1) != 0, "key %c is not in table r%d", 'a' + number,
       (int)range->id);
}

static void look_up(const struct known *known, int number)
{
  char letter = (char)('a' + number);
  struct keyroute_bytes key = {&letter, 1};
  const struct kr_descriptor *range = newest(&known->map, key);

  if (range != NULL && table_of(range) != NULL) {
    check_range(range, number);
    return;
  }
  /* The row may be in the range of meta2 that is before. */
  for (int at = number; at >= -1; at--) {
    char row[2] = {2, (char)('a' + at)};
    struct kr_range_list list = {.mem = own_mem};

    find_rows(&list, known, kr_bytes(row, at >= 0 ? 2 : 1));
    range = newest(&list, key);
    if (range != NULL) {
      check_range(range, number);
    }
    kr_range_list_clear(&list);
    if (range != NULL) {
      return;
    }
  }
  ck_abort_msg("a hole in map");
}

static void all_read(void)
{
  struct known nothing = {.meta2.mem = own_mem, .map.mem = own_mem};

  if (nodes.root_version < 0) {
    return;
  }
  for (int i = 0; i < KEYS; i++) {
    look_up(&nothing, i);
    look_up(&old_news, i);
  }
}

/* ---- Publishing ------------------------------------------------------------------------------ */

static int publish(const struct kr_publish_request *request)
{
  kr_range_list_clear(&after);
  return kr_publish(&after, &nodes.means, request, &failure);
}

static int begin_directory(void)
{
  static const char *const families[] = {"f"};
  struct kr_publish_beginning beginning = {.meta1 = {fake_places, 1},
                                           .meta2 = {fake_places, 1},
                                           .map = {fake_places, 1},
                                           .map_id = 2,
                                           .families = families,
                                           .family_count = 1};

  kr_range_list_clear(&after);
  return kr_publish_begin(&after, &nodes.means, &beginning, &failure);
}

/* As whoever runs the nodes does: a table, and the rows in it. */
static void fill(uint64_t id, int node, unsigned keys)
{
  struct fake_table *table = fake_nodes_table(&nodes, id, &fake_places[node]);

  if (table == NULL) {
    table = fake_nodes_make(&nodes, id, &fake_places[node]);
  }
  table->keys = keys;
}

enum { ALL = 0xff, LOW = 0x07, HIGH = 0xf8 };

/* map is [,d) r3 and [d,) r4; meta2 is cut at \x02c. */
static void begin_with_ranges(void)
{
  struct kr_publish_request map = {KR_PUBLISH_SPLIT, KR_MAP, {"d", 1}, {3, 4}, {{0}, {0}}};
  struct kr_publish_request meta2 = {
      KR_PUBLISH_SPLIT, KR_META2, {"\002c", 2}, {0, 0}, {{0}, {&fake_places[1], 1}}};

  nodes.changed = NULL;
  fake_nodes_clear(&nodes);
  fake_nodes_init(&nodes, mem);
  ck_assert_int_eq(begin_directory(), 0);
  fill(2, 0, ALL);
  fill(3, 0, LOW);
  fill(4, 0, HIGH);
  ck_assert_int_eq(publish(&map), 0);
  ck_assert_int_eq(publish(&meta2), 0);
  learn(&old_news);
  nodes.changed = all_read;
  nodes.requests = 0;
  all_read();
}

static void set_up(void)
{
  mem = failing_mem_new();
  own_mem = kr_mem_new(NULL);
  old_news = (struct known){.meta2.mem = own_mem, .map.mem = own_mem};
  after = (struct kr_range_list){.mem = mem};
  fake_nodes_init(&nodes, mem);
  begin_with_ranges();
}

static void tear_down(void)
{
  forget(&old_news);
  kr_range_list_clear(&after);
  fake_nodes_clear(&nodes);
  failing_mem_done(mem);
  kr_mem_release(own_mem);
}

static bool is_written_down(void)
{
  struct kr_descriptor *root = decode(nodes.root, nodes.root_len);
  const struct fake_table *meta1 = table_of(root);
  bool written_down = meta1->count > 0 && meta1->rows[0].key[0] == 0;

  kr_free(own_mem, root);
  return written_down;
}

/* ---- The changes that are tried -------------------------------------------------------------- */

struct trial {
  struct kr_publish_request request;
  size_t tables;       /* that stand when it is made: of index and map */
  void (*ready)(void); /* the new tables of map; NULL = none */
  const char *places;  /* where the ranges of its level are then: node ids in order */
};

static void ready_split(void)
{
  fill(5, 2, 0x18);
  fill(6, 0, 0xe0);
}

static void ready_merge(void)
{
  fill(5, 0, ALL);
}

static void ready_move(void)
{
  fill(4, 1, HIGH);
}

static void ready_renamed(void)
{
  fill(9, 0, HIGH);
}

static const struct trial trials[] = {
    {{KR_PUBLISH_SPLIT, KR_MAP, {"f", 1}, {5, 6}, {{&fake_places[2], 1}, {0}}},
     6,
     ready_split,
     "131"},
    {{KR_PUBLISH_MERGE, KR_MAP, {"b", 1}, {5, 0}, {{0}, {0}}}, 4, ready_merge, "1"},
    {{KR_PUBLISH_MOVE, KR_MAP, {"d", 1}, {0, 0}, {{&fake_places[1], 1}, {0}}}, 5, ready_move, "12"},
    {{KR_PUBLISH_MOVE, KR_MAP, {"h", 1}, {9, 0}, {{&fake_places[0], 1}, {0}}},
     5,
     ready_renamed,
     "11"},
    {{KR_PUBLISH_SPLIT, KR_META2, {"\002b", 2}, {0, 0}, {{0}, {&fake_places[2], 1}}},
     6,
     NULL,
     "132"},
    {{KR_PUBLISH_MERGE, KR_META2, {"\002a", 2}, {0, 0}, {{&fake_places[1], 2}, {0}}}, 5, NULL, "2"},
    {{KR_PUBLISH_MOVE, KR_META2, {"\002z", 2}, {0, 0}, {{&fake_places[3], 1}, {0}}}, 5, NULL, "14"},
    {{KR_PUBLISH_MOVE, KR_META1, {"", 0}, {0, 0}, {{&fake_places[2], 1}, {0}}}, 5, NULL, "3"},
};
enum { TRIALS = sizeof(trials) / sizeof(trials[0]) };

static void begin_trial(const struct trial *trial)
{
  begin_with_ranges();
  if (trial->ready != NULL) {
    trial->ready();
  }
}

static void check_made(const struct trial *trial)
{
  struct known known = {.meta2.mem = own_mem, .map.mem = own_mem};
  struct kr_range_list root = {.mem = own_mem};
  char places[16] = "";

  learn(&known);
  ck_assert(kr_range_list_add(&root, known.root, 1));
  const struct kr_range_list *level = trial->request.level == KR_MAP     ? &known.map
                                      : trial->request.level == KR_META2 ? &known.meta2
                                                                         : &root;
  for (size_t i = 0; i < level->count; i++) {
    places[i] = (char)('0' + level->ranges[i]->replicas[0].node_id);
  }
  ck_assert_str_eq(places, trial->places);
  ck_assert_uint_eq(nodes.table_count, trial->tables);
  ck_assert(!is_written_down());
  all_read();
  kr_range_list_clear(&root);
  forget(&known);
}

/* ---- Tests: all goes well -------------------------------------------------------------------- */

START_TEST(test_publish__change_is_made_and_leaves_nothing_behind)
{
  const struct trial *trial = &trials[_i];

  begin_trial(trial);

  ck_assert_int_eq(publish(&trial->request), 0);

  check_made(trial);
  ck_assert_uint_gt(after.count, 0);
}
END_TEST

START_TEST(test_publish__what_is_there_already_is_no_error)
{
  const struct trial *trial = &trials[_i];

  begin_trial(trial);
  ck_assert_int_eq(publish(&trial->request), 0);
  nodes.changed = NULL;

  int error = publish(&trial->request);

  /* Of the index there are no ids to go by: a second merge is another one. */
  if (trial->request.level == KR_MAP || trial->request.kind != KR_PUBLISH_MERGE) {
    ck_assert_int_eq(error, 0);
    check_made(trial);
  }
}
END_TEST

/* ---- Tests: ends in the middle --------------------------------------------------------------- */

START_TEST(test_publish__request_that_fails_anywhere_is_made_good_by_the_same_again)
{
  const struct trial *trial = &trials[_i / 2];
  unsigned long at = 1;

  for (bool failed = true; failed; at++) {
    begin_trial(trial);
    nodes.fail_after = _i % 2 == 1;
    nodes.fail_at = at;

    failed = publish(&trial->request) != 0;

    nodes.fail_at = 0;
    /* A merge in the index whose last answer was lost is made; the same again is another one. */
    if (failed && publish(&trial->request) != 0) {
      ck_assert_int_eq(trial->request.kind, KR_PUBLISH_MERGE);
      ck_assert_int_eq(trial->request.level, KR_META2);
    }
    check_made(trial);
  }
  ck_assert_uint_gt(at, 8);
}
END_TEST

START_TEST(test_publish__publisher_may_die_before_any_write)
{
  const struct trial *trial = &trials[_i];
  int error = KEYROUTE_E_CANCELLED;

  for (uint64_t most = 1; error != 0; most++) {
    begin_trial(trial);
    nodes.writes_left = most;

    error = publish(&trial->request);

    nodes.writes_left = UINT64_MAX;
    ck_assert_int_eq(error, error != 0 ? KEYROUTE_E_CANCELLED : 0);
    if (error != 0) {
      ck_assert_int_eq(publish(&trial->request), 0);
      check_made(trial);
    }
  }
}
END_TEST

START_TEST(test_publish__interrupted_change_is_seen_to_by_whoever_comes_next)
{
  const struct trial *trial = &trials[_i];
  struct kr_publish_request other = {
      KR_PUBLISH_MOVE, KR_MAP, {"a", 1}, {7, 0}, {{&fake_places[3], 1}, {0}}};
  bool failed = true;

  for (unsigned long at = 1; failed; at++) {
    begin_trial(trial);
    nodes.fail_at = at;
    nodes.fail_after = true;
    failed = publish(&trial->request) != 0;
    nodes.fail_at = 0;
    fill(7, 3, ALL);
    bool written_down = is_written_down();

    int error = publish(&other);

    if (error != 0 && written_down) {
      /* Half a change of map: the same again, first. */
      ck_assert_int_eq(error, KEYROUTE_E_INVALID_ARGUMENT);
      ck_assert_ptr_nonnull(strstr(failure.message, "was interrupted half-way"));
      ck_assert_int_eq(publish(&trial->request), 0);
    }
    ck_assert(!is_written_down());
  }
}
END_TEST

START_TEST(test_publish__beginning_that_fails_anywhere_is_made_good_by_the_same_again)
{
  bool failed = true;

  for (unsigned long at = 1; failed; at++) {
    nodes.changed = NULL;
    fake_nodes_clear(&nodes);
    fake_nodes_init(&nodes, mem);
    nodes.fail_at = at;
    nodes.fail_after = _i == 1;

    failed = begin_directory() != 0;

    nodes.fail_at = 0;
    if (failed && nodes.root_version < 0) {
      ck_assert_msg(begin_directory() == 0, "request %lu: %s", at, failure.message);
    }
    fill(2, 0, ALL);
    forget(&old_news);
    all_read();
    ck_assert_uint_eq(nodes.table_count, 3);
  }
}
END_TEST

START_TEST(test_publish__undoing_does_not_wait_for_a_node_that_is_down)
{
  const struct trial *trial = &trials[6]; /* a range of meta2 moves to the fourth node */
  struct kr_publish_request other = {
      KR_PUBLISH_MOVE, KR_MAP, {"a", 1}, {7, 0}, {{&fake_places[2], 1}, {0}}};

  begin_trial(trial);
  nodes.writes_left = 3;
  ck_assert_int_eq(publish(&trial->request), KEYROUTE_E_CANCELLED);
  nodes.writes_left = UINT64_MAX;
  nodes.down[3] = true;
  fill(7, 2, LOW);

  ck_assert_int_eq(publish(&other), 0);

  ck_assert(!is_written_down());
}
END_TEST

/* ---- Tests: what is refused ------------------------------------------------------------------ */

static void refuses(const struct kr_publish_request *request, int error, const char *message)
{
  unsigned long version = 0;

  nodes.changed = NULL;
  for (size_t i = 0; i < nodes.table_count; i++) {
    version += nodes.tables[i].count + 100;
  }
  ck_assert_int_eq(publish(request), error);
  ck_assert_str_eq(failure.message, message);
  for (size_t i = 0; i < nodes.table_count; i++) {
    version -= nodes.tables[i].count + 100;
  }
  ck_assert_uint_eq(version, 0);
}

START_TEST(test_publish__what_cannot_be_is_refused_and_nothing_written)
{
  struct kr_descriptor_replica number[1] = {{.node_id = 9}};
  struct kr_publish_request split = {KR_PUBLISH_SPLIT, KR_MAP, {"f", 1}, {5, 4}, {{0}, {0}}};
  struct kr_publish_request merge = {KR_PUBLISH_MERGE, KR_MAP, {"x", 1}, {5, 0}, {{0}, {0}}};
  struct kr_publish_request move = {KR_PUBLISH_MOVE, KR_MAP, {"a", 1}, {0, 0}, {{number, 1}, {0}}};

  refuses(&split, KEYROUTE_E_INVALID_ARGUMENT, "the id 4 is in use: a range of map has it");
  split.ids[1] = 6;
  refuses(&split, KEYROUTE_E_INVALID_ARGUMENT,
          "there is no table r5 on one:1001: it has to stand, and to be filled, beforehand");
  split.key = keyroute_string("d");
  refuses(&split, KEYROUTE_E_INVALID_ARGUMENT,
          "the key \"d\" is not inside map's range r4, \"d\" to \"\"");
  refuses(&merge, KEYROUTE_E_INVALID_ARGUMENT,
          "map's range r4 is the last: none is behind it to merge with");
  refuses(&move, KEYROUTE_E_INVALID_ARGUMENT,
          "no range is on a node 9: name it with its host and port");
  nodes.means.fixed = true;
  move.level = KR_META1;
  refuses(&move, KEYROUTE_E_INVALID_ARGUMENT,
          "with registry static nobody could be told where meta1 moves");
}
END_TEST

START_TEST(test_publish__node_may_be_named_by_its_number_alone)
{
  struct kr_descriptor_replica number[1] = {{.node_id = 2}};
  struct kr_publish_request move = {KR_PUBLISH_MOVE, KR_MAP, {"d", 1}, {0, 0}, {{number, 1}, {0}}};

  fill(4, 1, HIGH);

  ck_assert_int_eq(publish(&move), 0);

  ck_assert_uint_eq(after.count, 1);
  ck_assert(kr_same_place(&after.ranges[0]->replicas[0], &fake_places[1]));
}
END_TEST

START_TEST(test_publish__second_beginning_is_refused)
{
  ck_assert_int_eq(begin_directory(), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_str_eq(failure.message,
                   "there is a range directory already: its meta1 is r1 on one:1001");
}
END_TEST

START_TEST(test_publish__rows_of_another_directory_are_told_apart_at_the_beginning)
{
  nodes.root_version = -1; /* as if its znode had been deleted */

  ck_assert_int_eq(begin_directory(), KEYROUTE_E_CORRUPT);

  ck_assert_ptr_nonnull(strstr(failure.message, "has rows already, of another range directory"));
}
END_TEST

START_TEST(test_publish__without_a_directory_nothing_can_be_changed)
{
  nodes.root_version = -1;
  nodes.means.znode = "/keyroute/meta1";

  ck_assert_int_eq(publish(&trials[0].request), KEYROUTE_E_BOOTSTRAP);

  ck_assert_str_eq(failure.message, "there is no range directory: no such znode /keyroute/meta1");
}
END_TEST

START_TEST(test_publish__lost_lock_ends_it)
{
  const struct trial *trial = &trials[0];

  begin_trial(trial);
  nodes.not_mine = true;

  ck_assert_int_eq(publish(&trial->request), KEYROUTE_E_OVERLOADED);

  ck_assert(!is_written_down());
}
END_TEST

/* Somebody else changes the row that is to be replaced, when all has been read. */
static void change_the_row(void)
{
  for (size_t i = 0; i < nodes.table_count; i++) {
    for (size_t j = 0; j < nodes.tables[i].count; j++) {
      struct fake_row *row = &nodes.tables[i].rows[j];

      if (row->len == 2 && row->key[0] == 2 && row->key[1] == 'd') {
        row->cells[0].value[7]++; /* the generation's */
      }
    }
  }
  nodes.changed = NULL;
}

START_TEST(test_publish__row_that_somebody_else_changed_is_left_alone)
{
  struct kr_publish_request move = {
      KR_PUBLISH_MOVE, KR_MAP, {"d", 1}, {0, 0}, {{&fake_places[1], 1}, {0}}};

  fill(4, 1, HIGH);
  nodes.changed = change_the_row;

  ck_assert_int_eq(publish(&move), KEYROUTE_E_CORRUPT);

  ck_assert_str_eq(
      failure.message,
      "the row of map's range at \"d\" has changed meanwhile: somebody else publishes, too");
}
END_TEST

START_TEST(test_publish__without_memory_it_ends_and_may_be_tried_again)
{
  const struct trial *trial = &trials[_i];
  bool failed = true;

  for (long at = 1; failed; at += 7) {
    begin_trial(trial);
    nodes.changed = NULL;
    mem_fail(at);

    failed = publish(&trial->request) != 0;

    failed = failed || mem_has_failed();
    mem_fail(0);
    if (failed) {
      ck_assert_int_eq(publish(&trial->request), 0);
      check_made(trial);
    }
  }
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("publish");
  TCase *tests = tcase_create("publish");

  tcase_set_timeout(tests, 120);
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_loop_test(tests, test_publish__change_is_made_and_leaves_nothing_behind, 0, TRIALS);
  tcase_add_loop_test(tests, test_publish__what_is_there_already_is_no_error, 0, TRIALS);
  tcase_add_loop_test(tests,
                      test_publish__request_that_fails_anywhere_is_made_good_by_the_same_again, 0,
                      2 * TRIALS);
  tcase_add_loop_test(tests, test_publish__publisher_may_die_before_any_write, 0, TRIALS);
  tcase_add_loop_test(tests, test_publish__interrupted_change_is_seen_to_by_whoever_comes_next, 0,
                      TRIALS);
  tcase_add_loop_test(
      tests, test_publish__beginning_that_fails_anywhere_is_made_good_by_the_same_again, 0, 2);
  tcase_add_test(tests, test_publish__undoing_does_not_wait_for_a_node_that_is_down);
  tcase_add_test(tests, test_publish__what_cannot_be_is_refused_and_nothing_written);
  tcase_add_test(tests, test_publish__node_may_be_named_by_its_number_alone);
  tcase_add_test(tests, test_publish__second_beginning_is_refused);
  tcase_add_test(tests, test_publish__rows_of_another_directory_are_told_apart_at_the_beginning);
  tcase_add_test(tests, test_publish__without_a_directory_nothing_can_be_changed);
  tcase_add_test(tests, test_publish__lost_lock_ends_it);
  tcase_add_test(tests, test_publish__row_that_somebody_else_changed_is_left_alone);
  tcase_add_loop_test(tests, test_publish__without_memory_it_ends_and_may_be_tried_again, 0,
                      TRIALS);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
