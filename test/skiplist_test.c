/*
 * The skip list against a sorted array, without memory, and while readers look at it.
 *
 * The random runs print their seed; KR_TEST_SEED=N repeats one.
 */
#include "lib/skiplist.h"

#include "lib/bytes.h"
#include "lib/rcu.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Doubles --------------------------------------------------------------------------------- */

#define KEY_MAX 48

/* A value owns its key, as regions do. */
struct value {
  struct kr_rcu_head rcu;
  long generation;
  size_t len;
  char key[KEY_MAX];
};

static struct keyroute_bytes key_of(const struct value *value)
{
  return kr_bytes(value->key, value->len);
}

static struct value *new_value(struct keyroute_bytes key, long generation)
{
  struct value *value = calloc(1, sizeof(*value));

  ck_assert_ptr_nonnull(value);
  ck_assert_uint_le(key.len, KEY_MAX);
  value->generation = generation;
  value->len = key.len;
  memcpy(value->key, key.data, key.len);
  return value;
}

/* Put a new value; gives the one it replaced. */
static struct value *put(struct kr_skiplist *list, struct keyroute_bytes key, long generation)
{
  struct value *value = new_value(key, generation);
  void *replaced = value;

  ck_assert_int_eq(kr_skiplist_put(list, key_of(value), value, &replaced), 0);
  return replaced;
}

static struct keyroute_bytes text(const char *key)
{
  return kr_bytes(key, strlen(key));
}

static void empty_list(struct kr_skiplist *list)
{
  for (struct value *value; (value = kr_skiplist_first(list)) != NULL;) {
    ck_assert_ptr_eq(kr_skiplist_take(list, key_of(value)), value);
    free(value);
  }
}

/* ---- One key, few keys ----------------------------------------------------------------------- */

START_TEST(test_skiplist__empty_list_answers_none)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = kr_skiplist_new(mem);

  ck_assert_ptr_null(kr_skiplist_first(list));
  ck_assert_ptr_null(kr_skiplist_last(list));
  ck_assert_ptr_null(kr_skiplist_find(list, text("")));
  ck_assert_ptr_null(kr_skiplist_floor(list, text("a")));
  ck_assert_ptr_null(kr_skiplist_lower(list, text("a")));
  ck_assert_ptr_null(kr_skiplist_higher(list, text("")));
  ck_assert_ptr_null(kr_skiplist_take(list, text("")));
  ck_assert_uint_eq(kr_skiplist_count(list), 0);

  kr_skiplist_free(list);
  kr_mem_release(mem);
}
END_TEST

START_TEST(test_skiplist__size_follows_what_is_in_it)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = kr_skiplist_new(mem);
  size_t empty = kr_skiplist_size(list);
  int value;
  void *replaced;

  ck_assert_uint_eq(empty, kr_skiplist_empty_size());
  ck_assert_int_eq(kr_skiplist_put(list, keyroute_string("k"), &value, &replaced), 0);
  size_t one = kr_skiplist_size(list);
  ck_assert_uint_gt(one, empty);
  ck_assert_int_eq(kr_skiplist_put(list, keyroute_string("k"), &value, &replaced), 0);
  ck_assert_uint_eq(kr_skiplist_size(list), one);
  mem_fail(1);
  ck_assert_int_ne(kr_skiplist_put(list, keyroute_string("l"), &value, &replaced), 0);
  mem_fail(0);
  ck_assert_uint_eq(kr_skiplist_size(list), one);
  kr_skiplist_take(list, keyroute_string("k"));

  ck_assert_uint_eq(kr_skiplist_size(list), empty);
  kr_skiplist_free(list);
  kr_rcu_barrier();
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_skiplist__empty_key_is_the_smallest_key)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = kr_skiplist_new(mem);
  ck_assert_ptr_null(put(list, text("a"), 2));
  ck_assert_ptr_null(put(list, text(""), 1));

  struct value *first = kr_skiplist_first(list);
  struct value *floor = kr_skiplist_floor(list, kr_bytes("\0", 1));

  ck_assert_int_eq(first->generation, 1);
  ck_assert_ptr_eq(floor, first);
  ck_assert_ptr_eq(kr_skiplist_find(list, kr_bytes(NULL, 0)), first);
  ck_assert_ptr_null(kr_skiplist_lower(list, text("")));
  empty_list(list);
  kr_skiplist_free(list);
  kr_mem_release(mem);
}
END_TEST

START_TEST(test_skiplist__keys_are_unsigned_bytes_and_prefixes_come_first)
{
  static const char *const sorted[] = {"",   "!a", "+",    ",",    "-",    "a",       "a\x01",
                                       "a,", "ab", "\x7f", "\x80", "\xff", "\xff\xff"};
  enum { count = sizeof(sorted) / sizeof(sorted[0]) };
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = kr_skiplist_new(mem);

  for (size_t i = 0; i < count; i++) {
    put(list, text(sorted[(i * 5) % count]), (long)((i * 5) % count));
  }

  for (size_t i = 0; i < count; i++) {
    struct value *higher = kr_skiplist_higher(list, text(sorted[i]));
    struct value *lower = kr_skiplist_lower(list, text(sorted[i]));
    ck_assert_int_eq(higher != NULL ? higher->generation : count, (long)i + 1);
    ck_assert_int_eq(lower != NULL ? lower->generation : -1, (long)i - 1);
  }
  empty_list(list);
  kr_skiplist_free(list);
  kr_mem_release(mem);
}
END_TEST

START_TEST(test_skiplist__replacing_takes_the_key_of_the_new_value)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = kr_skiplist_new(mem);
  put(list, text("a"), 1);
  put(list, text("b"), 2);

  struct value *replaced = put(list, text("a"), 3);
  memset(replaced, 'z', sizeof(*replaced)); /* with its key: nothing may look at it any more */
  free(replaced);

  struct value *now = kr_skiplist_find(list, text("a"));
  ck_assert_int_eq(now->generation, 3);
  ck_assert_uint_eq(kr_skiplist_count(list), 2);
  empty_list(list);
  kr_skiplist_free(list);
  kr_mem_release(mem);
}
END_TEST

START_TEST(test_skiplist__removed_nodes_outlive_list_and_allocator_handle)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = kr_skiplist_new(mem);
  for (char key[] = "a"; key[0] <= 'z'; key[0]++) {
    put(list, text(key), 1);
  }

  empty_list(list);
  kr_skiplist_free(list);
  kr_mem_release(mem);
  kr_rcu_barrier();

  ck_assert_int_eq(mem_live(), 0);
}
END_TEST

START_TEST(test_skiplist__freeing_a_full_list_frees_all_nodes)
{
  static const char *const keys[] = {"a", "b", "c", "d", "e", "f"};
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = kr_skiplist_new(mem);
  void *replaced;
  for (size_t i = 0; i < 6; i++) {
    kr_skiplist_put(list, text(keys[i]), &mem, &replaced);
  }

  kr_skiplist_free(list);
  kr_skiplist_free(NULL);
  kr_mem_release(mem);

  ck_assert_int_eq(mem_live(), 0);
}
END_TEST

/* ---- Memory ---------------------------------------------------------------------------------- */

START_TEST(test_skiplist__new_fails_cleanly_at_each_allocation)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = NULL;
  int failures = 0;

  for (long at = 1; list == NULL; at++) {
    mem_fail(at);
    list = kr_skiplist_new(mem);
    failures += list == NULL;
  }

  ck_assert_int_eq(failures, 2);
  kr_skiplist_free(list);
  kr_mem_release(mem);
  ck_assert_int_eq(mem_live(), 0);
}
END_TEST

START_TEST(test_skiplist__put_without_memory_changes_nothing)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = kr_skiplist_new(mem);
  struct value *other = new_value(text("b"), 2);
  struct value *again = new_value(text("a"), 3);
  void *untouched = &mem;
  put(list, text("a"), 1);

  mem_fail(1);
  int added = kr_skiplist_put(list, key_of(other), other, &untouched);
  mem_fail(1);
  int replaced = kr_skiplist_put(list, key_of(again), again, &untouched);

  ck_assert_int_eq(added, KEYROUTE_E_NO_MEMORY);
  ck_assert_int_eq(replaced, KEYROUTE_E_NO_MEMORY);
  ck_assert_ptr_eq(untouched, &mem);
  ck_assert_uint_eq(kr_skiplist_count(list), 1);
  ck_assert_int_eq(((struct value *)kr_skiplist_last(list))->generation, 1);
  free(other);
  free(again);
  empty_list(list);
  kr_skiplist_free(list);
  kr_mem_release(mem);
}
END_TEST

START_TEST(test_skiplist__take_needs_no_memory)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = kr_skiplist_new(mem);
  put(list, text("a"), 1);

  mem_fail(1);
  struct value *taken = kr_skiplist_take(list, text("a"));

  ck_assert_int_eq(taken->generation, 1);
  ck_assert(!mem_has_failed());
  free(taken);
  kr_skiplist_free(list);
  kr_mem_release(mem);
}
END_TEST

/* ---- The oracle: a sorted array -------------------------------------------------------------- */

static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(random_state >> 33) % below;
}

static void seed_from_environment(void)
{
  const char *given = getenv("KR_TEST_SEED");

  random_state = given != NULL ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
  printf("KR_TEST_SEED=%llu\n", (unsigned long long)random_state);
  fflush(stdout);
}

static size_t draw_from(char *out, size_t max_len, const char *alphabet, size_t alphabet_len)
{
  size_t len = draw((uint32_t)max_len + 1);

  for (size_t i = 0; i < len; i++) {
    out[i] = alphabet[draw((uint32_t)alphabet_len)];
  }
  return len;
}

/* Few bytes, the extreme ones and those around the comma: many equal keys and prefixes. */
static size_t draw_short(char *out)
{
  return draw_from(out, 4, "\x00\x01+,-a\x7f\x80\xff", 9);
}

/* All differ only at the end. */
static size_t draw_common_prefix(char *out)
{
  memset(out, 'p', 40);
  return 40 + draw_from(out + 40, 3, "\x00pq\xff", 4);
}

static size_t draw_any(char *out)
{
  size_t len = draw(9);

  for (size_t i = 0; i < len; i++) {
    out[i] = (char)draw(256);
  }
  return len;
}

static size_t draw_region_name(char *out)
{
  return (size_t)snprintf(out, KEY_MAX, "t%u,%s%u,%u", draw(2), draw(2) ? "," : "", draw(30),
                          draw(3));
}

static size_t (*const families[])(char *) = {draw_short, draw_common_prefix, draw_any,
                                             draw_region_name};

#define ORACLE_MAX 400

struct oracle {
  struct value *sorted[ORACLE_MAX];
  size_t count;
};

/* How many keys are below this one. */
static size_t rank(const struct oracle *oracle, struct keyroute_bytes key)
{
  size_t at = 0;

  while (at < oracle->count && kr_bytes_compare(key_of(oracle->sorted[at]), key) < 0) {
    at++;
  }
  return at;
}

static bool holds(const struct oracle *oracle, size_t at, struct keyroute_bytes key)
{
  return at < oracle->count && kr_bytes_equal(key_of(oracle->sorted[at]), key);
}

static struct value *at_or_none(const struct oracle *oracle, size_t at)
{
  return at < oracle->count ? oracle->sorted[at] : NULL;
}

static void check_queries(const struct kr_skiplist *list, const struct oracle *oracle,
                          struct keyroute_bytes key)
{
  size_t below = rank(oracle, key);
  size_t equal = holds(oracle, below, key) ? 1 : 0;

  /* (size_t)0 - 1 is beyond every count. */
  ck_assert_ptr_eq(kr_skiplist_find(list, key), equal ? oracle->sorted[below] : NULL);
  ck_assert_ptr_eq(kr_skiplist_floor(list, key), at_or_none(oracle, below + equal - 1));
  ck_assert_ptr_eq(kr_skiplist_lower(list, key), at_or_none(oracle, below - 1));
  ck_assert_ptr_eq(kr_skiplist_higher(list, key), at_or_none(oracle, below + equal));
  ck_assert_ptr_eq(kr_skiplist_first(list), at_or_none(oracle, 0));
  ck_assert_ptr_eq(kr_skiplist_last(list), at_or_none(oracle, oracle->count - 1));
  ck_assert_uint_eq(kr_skiplist_count(list), oracle->count);
}

static void check_put(struct kr_skiplist *list, struct oracle *oracle, struct keyroute_bytes key)
{
  struct value *value = new_value(key, 0);
  size_t at = rank(oracle, key);
  void *replaced = value;

  ck_assert_int_eq(kr_skiplist_put(list, key_of(value), value, &replaced), 0);
  if (holds(oracle, at, key)) {
    ck_assert_ptr_eq(replaced, oracle->sorted[at]);
    free(replaced);
  } else {
    ck_assert_ptr_null(replaced);
    memmove(&oracle->sorted[at + 1], &oracle->sorted[at],
            (oracle->count++ - at) * sizeof(oracle->sorted[0]));
  }
  oracle->sorted[at] = value;
}

static void check_take(struct kr_skiplist *list, struct oracle *oracle, struct keyroute_bytes key)
{
  size_t at = rank(oracle, key);
  struct value *taken = kr_skiplist_take(list, key);

  if (!holds(oracle, at, key)) {
    ck_assert_ptr_null(taken);
    return;
  }
  ck_assert_ptr_eq(taken, oracle->sorted[at]);
  memmove(&oracle->sorted[at], &oracle->sorted[at + 1],
          (--oracle->count - at) * sizeof(oracle->sorted[0]));
  free(taken);
}

static void check_floor_many(const struct kr_skiplist *list, size_t (*draw_key)(char *))
{
  char room[16][KEY_MAX];
  struct keyroute_bytes keys[16];
  void *values[16];

  for (size_t i = 0; i < 16; i++) {
    keys[i] = kr_bytes(room[i], draw_key(room[i]));
  }
  kr_skiplist_floor_many(list, values, keys, 16);
  for (size_t i = 0; i < 16; i++) {
    ck_assert_ptr_eq(values[i], kr_skiplist_floor(list, keys[i]));
  }
}

/* A step puts or takes, and then asks everything about another key. Phases of mostly putting and
 * mostly taking alternate, so that the list is full at times and nearly empty at others. */
static void random_steps(struct kr_skiplist *list, struct oracle *oracle,
                         size_t (*draw_key)(char *), int steps)
{
  for (int step = 0; step < steps; step++) {
    char room[KEY_MAX];
    struct keyroute_bytes key = kr_bytes(room, draw_key(room));
    bool growing = step / 1000 % 2 == 0;

    if (draw(4) != 0 && growing == (draw(4) != 0)) {
      if (oracle->count < ORACLE_MAX) {
        check_put(list, oracle, key);
      }
    } else {
      check_take(list, oracle, key);
    }
    check_queries(list, oracle, kr_bytes(room, draw_key(room)));
  }
  check_floor_many(list, draw_key);
}

START_TEST(test_skiplist__answers_as_a_sorted_array_does)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = kr_skiplist_new(mem);
  struct oracle oracle = {.count = 0};
  seed_from_environment();

  random_steps(list, &oracle, families[_i], 6000);

  empty_list(list);
  kr_skiplist_free(list);
  kr_mem_release(mem);
  kr_rcu_barrier();
  ck_assert_int_eq(mem_live(), 0);
}
END_TEST

/* ---- Readers while a writer changes the list ------------------------------------------------- */

/* The writer walks through states so chosen that an answer made of two of them gives itself away:
 *
 *  "k"        is replaced over and over with rising generations: it never misses, never goes back.
 *  "m" < "mX" "mX" is a token that climbs: the next one is put before the last one is taken. Just
 *             below "n" stands a token, never "m", with a generation that never goes back; just
 *             above "n" stands "r", however many tokens are put below meanwhile.
 *  "r" < "s"  "r" alone in its stretch has an even generation, for it is made odd only while "s" is
 *             there: an odd "r" must never be found just below "t".
 *  "z..."     noise, which raises and tears down towers that all others walk along. */
#define ROUNDS 4000

struct scene {
  struct kr_skiplist *list;
  atomic_int started;
  atomic_bool done;
  atomic_long faults;
  atomic_long answers;
};

static void free_value(struct kr_rcu_head *head)
{
  struct value *value = (struct value *)((char *)head - offsetof(struct value, rcu));

  memset(value->key, 0xee, sizeof(value->key));
  value->generation = -1;
  free(value);
}

static void discard(struct value *value)
{
  if (value != NULL) {
    kr_rcu_defer(&value->rcu, free_value);
  }
}

#define TOKEN_MAX 24

static void token_key(char out[TOKEN_MAX], long round)
{
  snprintf(out, TOKEN_MAX, "m%06ld", round);
}

static void write_round(struct kr_skiplist *list, long round)
{
  char key[TOKEN_MAX];

  discard(put(list, text("k"), round));

  token_key(key, round);
  discard(put(list, text(key), round));
  token_key(key, round - 1);
  discard(kr_skiplist_take(list, text(key)));

  discard(put(list, text("r"), 2 * round));
  discard(kr_skiplist_take(list, text("s")));
  discard(put(list, text("s"), 0));
  discard(put(list, text("r"), 2 * round + 1));

  snprintf(key, sizeof(key), "z%ld", round * 7919 % 64);
  if (round / 64 % 2 == 0) {
    discard(put(list, text(key), round));
  } else {
    discard(kr_skiplist_take(list, text(key)));
  }
}

static long generation(const struct value *value, const char *prefix)
{
  if (value == NULL || memcmp(value->key, prefix, strlen(prefix)) != 0) {
    return -1;
  }
  return value->generation;
}

/* One look at everything; counts what cannot be. seen keeps the generations of the last look. */
static int read_round(const struct kr_skiplist *list, long seen[2])
{
  long by_floor = generation(kr_skiplist_floor(list, text("k")), "k");
  long replaced = generation(kr_skiplist_find(list, text("k")), "k");
  long token = generation(kr_skiplist_lower(list, text("n")), "m0");
  const struct value *next = kr_skiplist_higher(list, text("m"));
  const struct value *behind = kr_skiplist_higher(list, text("n"));
  const struct value *below_t = kr_skiplist_floor(list, text("t"));
  const struct value *last = kr_skiplist_last(list);
  const struct value *first = kr_skiplist_first(list);
  const struct value *noise = kr_skiplist_higher(list, text("t"));
  int faults = 0;

  faults += by_floor < seen[0] || replaced < by_floor;
  faults += token < seen[1];
  faults += generation(next, "m0") < token - 1; /* the last token, if not taken yet */
  faults += behind == NULL || behind->key[0] != 'r';
  faults += below_t == NULL || (below_t->key[0] != 's' && below_t->key[0] != 'r');
  faults += below_t != NULL && below_t->key[0] == 'r' && below_t->generation % 2 != 0;
  faults += last == NULL || (last->key[0] != 'z' && last->key[0] != 's' && last->key[0] != 'r');
  faults += first == NULL || first->key[0] != 'a';
  faults += noise != NULL && noise->key[0] != 'z';
  seen[0] = replaced;
  seen[1] = token;
  return faults;
}

static void *read_until_done(void *arg)
{
  struct scene *scene = arg;
  long seen[2] = {0, 0};

  atomic_fetch_add(&scene->started, 1);
  while (!atomic_load(&scene->done)) {
    kr_rcu_read_begin();
    for (int i = 0; i < 8; i++) {
      atomic_fetch_add(&scene->faults, read_round(scene->list, seen));
    }
    kr_rcu_read_end();
    atomic_fetch_add(&scene->answers, 8);
  }
  return NULL;
}

static void write_all(struct scene *scene, int readers)
{
  while (atomic_load(&scene->started) < readers) {
  }
  for (long round = 2; round < ROUNDS; round++) {
    write_round(scene->list, round);
    if (round % 500 == 0) {
      kr_rcu_barrier(); /* keep what waits to be freed small */
    }
  }
  atomic_store(&scene->done, true);
}

START_TEST(test_skiplist__readers_never_see_a_mixture_of_two_states)
{
  struct kr_mem *mem = failing_mem_new();
  struct scene scene = {.list = kr_skiplist_new(mem)};
  pthread_t readers[2];
  put(scene.list, text("a"), 0);
  put(scene.list, text("m"), 0);
  put(scene.list, text("s"), 0);
  write_round(scene.list, 1);

  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(pthread_create(&readers[i], NULL, read_until_done, &scene), 0);
  }
  write_all(&scene, 2);
  for (int i = 0; i < 2; i++) {
    pthread_join(readers[i], NULL);
  }

  ck_assert_int_eq(atomic_load(&scene.faults), 0);
  ck_assert_int_gt(atomic_load(&scene.answers), 0);
  empty_list(scene.list);
  kr_skiplist_free(scene.list);
  kr_mem_release(mem);
  kr_rcu_barrier();
  ck_assert_int_eq(mem_live(), 0);
}
END_TEST

/* ---- The suite ------------------------------------------------------------------------------- */

static Suite *suite(void)
{
  Suite *made = suite_create("skiplist");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_skiplist__empty_list_answers_none);
  tcase_add_test(tests, test_skiplist__size_follows_what_is_in_it);
  tcase_add_test(tests, test_skiplist__empty_key_is_the_smallest_key);
  tcase_add_test(tests, test_skiplist__keys_are_unsigned_bytes_and_prefixes_come_first);
  tcase_add_test(tests, test_skiplist__replacing_takes_the_key_of_the_new_value);
  tcase_add_test(tests, test_skiplist__removed_nodes_outlive_list_and_allocator_handle);
  tcase_add_test(tests, test_skiplist__freeing_a_full_list_frees_all_nodes);
  tcase_add_test(tests, test_skiplist__new_fails_cleanly_at_each_allocation);
  tcase_add_test(tests, test_skiplist__put_without_memory_changes_nothing);
  tcase_add_test(tests, test_skiplist__take_needs_no_memory);
  tcase_add_loop_test(tests, test_skiplist__answers_as_a_sorted_array_does, 0,
                      (int)(sizeof(families) / sizeof(families[0])));
  tcase_add_test(tests, test_skiplist__readers_never_see_a_mixture_of_two_states);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
