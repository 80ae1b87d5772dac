/*
 * Readers of a skip list beside a writer who replaces, evicts and puts back.
 *
 * Keys have numbers. Those with even ones are always there, only replaced; those with odd ones come
 * and go, one by one, and at times all of them, so that blocks split and join under the readers. So
 * what a reader must find at and beside any key is known, but for whether an odd one is there.
 *
 * A value has a generation, which grows with each put of its key, and is overwritten before it is
 * freed: a reader who finds one that is older than what was there when it began, or is freed
 * already, counts a fault. The thread sanitizer looks on.
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

enum { KEYS = 401, READERS = 2, KEY_MAX = 48, FREED = -1 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { ROUNDS = 6000 };
#else
enum { ROUNDS = 40000 };
#endif

struct value {
  struct kr_rcu_head rcu;
  int number;
  long generation;
  size_t len;
  char key[KEY_MAX];
};

static size_t write_key(char *out, int number)
{
  return (size_t)snprintf(out, KEY_MAX, "tenant/%02d/table/%02d/%04d", number / 120,
                          number / 30 % 4, number % 30);
}

static struct keyroute_bytes key_in(const void *value)
{
  const struct value *of = value;

  return kr_bytes(of->key, of->len);
}

static struct value *new_value(int number, long generation)
{
  struct value *value = calloc(1, sizeof(*value));

  ck_assert_ptr_nonnull(value);
  value->number = number;
  value->generation = generation;
  value->len = write_key(value->key, number);
  return value;
}

/* ---- The writer ---- */

struct scene {
  struct kr_skiplist *list;
  long generations[KEYS];      /* the last that was put; the writer's */
  atomic_long published[KEYS]; /* no value older than this is found any more */
  atomic_int started;
  atomic_bool done;
  atomic_long faults, looks;
};

static void free_value(struct kr_rcu_head *head)
{
  struct value *value = (struct value *)((char *)head - offsetof(struct value, rcu));

  memset(value->key, 0xee, sizeof(value->key));
  value->generation = FREED;
  free(value);
}

static void discard(struct value *value)
{
  if (value != NULL) {
    kr_rcu_defer(&value->rcu, free_value);
  }
}

static void put(struct scene *scene, int number)
{
  long generation = ++scene->generations[number];
  void *replaced;

  if (kr_skiplist_put(scene->list, new_value(number, generation), &replaced) != 0) {
    ck_abort_msg("out of memory");
  }
  atomic_store(&scene->published[number], generation);
  discard(replaced);
}

static void evict(struct scene *scene, int number)
{
  char key[KEY_MAX];

  discard(kr_skiplist_take(scene->list, kr_bytes(key, write_key(key, number))));
}

static void write_round(struct scene *scene, int round)
{
  int odd = (round * 7919 % (KEYS - 1)) | 1;

  put(scene, odd - 1);
  if (round / 3 % 2 == 0) {
    evict(scene, odd);
  } else {
    put(scene, odd);
  }
  for (int number = 1; round % 500 == 0 && number < KEYS; number += 2) {
    if (round % 1000 == 0) {
      evict(scene, number);
    } else {
      put(scene, number);
    }
  }
}

/* ---- Readers ---- */

/* Is it the value of that key, alive, and none that was replaced before the reader looked? */
static int fault_in(const struct value *value, int number, long least)
{
  char key[KEY_MAX];

  return value == NULL || value->number != number || value->generation < least ||
         value->generation == FREED ||
         !kr_bytes_equal(key_in(value), kr_bytes(key, write_key(key, number)));
}

/* The same where either of two may be found. */
static int fault_of_two(const struct value *value, int left, int right)
{
  return fault_in(value, left, 0) != 0 && fault_in(value, right, 0) != 0;
}

static int look_at_even(const struct scene *scene, struct keyroute_bytes key, int number)
{
  long least = atomic_load(&scene->published[number]);

  return fault_in(kr_skiplist_find(scene->list, key), number, least) +
         fault_in(kr_skiplist_floor(scene->list, key), number, least);
}

static int look_beside_odd(const struct scene *scene, struct keyroute_bytes key, int number)
{
  long least = atomic_load(&scene->published[number]);
  const struct value *found = kr_skiplist_find(scene->list, key);
  const struct value *above[8];
  void *values[8];
  size_t count = kr_skiplist_above(scene->list, values, &key, 8);
  int faults = found != NULL && fault_in(found, number, least);

  faults += fault_of_two(kr_skiplist_floor(scene->list, key), number - 1, number);
  faults += fault_in(kr_skiplist_lower(scene->list, key), number - 1, 0);
  faults += fault_in(kr_skiplist_higher(scene->list, key), number + 1, 0);
  faults += fault_in(kr_skiplist_first(scene->list), 0, 0);
  faults += fault_in(kr_skiplist_last(scene->list), KEYS - 1, 0);
  faults += count == 0;
  for (size_t i = 0; i < count; i++) {
    above[i] = values[i];
    faults += above[i]->number <= number || (i > 0 && above[i]->number <= above[i - 1]->number);
  }
  return faults;
}

static int look_at_many(const struct scene *scene, int number)
{
  char room[20][KEY_MAX];
  struct keyroute_bytes keys[20];
  void *values[20];
  int faults = 0;

  for (int i = 0; i < 20; i++) {
    keys[i] = kr_bytes(room[i], write_key(room[i], (number + i * 61) % KEYS));
  }
  kr_skiplist_floor_many(scene->list, values, keys, 20);
  for (int i = 0; i < 20; i++) {
    int at = (number + i * 61) % KEYS;

    faults += fault_of_two(values[i], at % 2 == 0 ? at : at - 1, at);
  }
  return faults;
}

static void *read_until_done(void *arg)
{
  struct scene *scene = arg;
  unsigned random = (unsigned)atomic_fetch_add(&scene->started, 1);

  while (!atomic_load(&scene->done)) {
    char room[KEY_MAX];
    int number = (int)((random = random * 1103515245u + 12345u) >> 8) % KEYS;
    struct keyroute_bytes key = kr_bytes(room, write_key(room, number));

    kr_rcu_read_begin();
    int faults =
        number % 2 == 0 ? look_at_even(scene, key, number) : look_beside_odd(scene, key, number);

    faults += look_at_many(scene, number);
    kr_rcu_read_end();
    atomic_fetch_add(&scene->faults, faults);
    atomic_fetch_add(&scene->looks, 1);
  }
  return NULL;
}

static const size_t block_sizes[] = {4, 6, 32};

START_TEST(test_skiplist_race__readers_find_what_must_be_there_and_nothing_freed)
{
  struct kr_mem *mem = failing_mem_new();
  static struct scene scene;
  pthread_t readers[READERS];
  scene.list = kr_skiplist_new_of(mem, key_in, block_sizes[_i]);
  for (int number = 0; number < KEYS; number++) {
    put(&scene, number);
  }

  for (int i = 0; i < READERS; i++) {
    ck_assert_int_eq(pthread_create(&readers[i], NULL, read_until_done, &scene), 0);
  }
  while (atomic_load(&scene.started) < READERS) {
  }
  for (int round = 0; round < ROUNDS; round++) {
    write_round(&scene, round);
    if (round % 500 == 250) {
      kr_rcu_barrier(); /* keep what waits to be freed small */
    }
  }
  atomic_store(&scene.done, true);
  for (int i = 0; i < READERS; i++) {
    pthread_join(readers[i], NULL);
  }

  ck_assert_int_eq(atomic_load(&scene.faults), 0);
  ck_assert_int_gt(atomic_load(&scene.looks), 0);
  for (int number = 0; number < KEYS; number++) {
    evict(&scene, number);
  }
  ck_assert_uint_eq(kr_skiplist_size(scene.list), kr_skiplist_empty_size());
  kr_skiplist_free(scene.list);
  kr_rcu_barrier();
  failing_mem_done(mem);
}
END_TEST

/* ---- Two blocks ---- */

/* Blocks of 4: "a b c d" and "p q r". Either "d" or "p" is always there, at times both, so a reader
 * who looks from between them and the others finds one of them; were it to look into both blocks at
 * different times, it might find neither. */
static struct value *new_letter(char letter)
{
  struct value *value = new_value(letter, 1);

  value->len = 1;
  value->key[0] = letter;
  return value;
}

static void put_letter(struct kr_skiplist *list, char letter)
{
  void *replaced;

  if (kr_skiplist_put(list, new_letter(letter), &replaced) != 0) {
    ck_abort_msg("out of memory");
  }
}

static void *read_letters(void *arg)
{
  struct scene *scene = arg;

  atomic_fetch_add(&scene->started, 1);
  while (!atomic_load(&scene->done)) {
    kr_rcu_read_begin();
    for (int i = 0; i < 100; i++) {
      const struct value *left = kr_skiplist_floor(scene->list, keyroute_string("pp"));
      const struct value *right = kr_skiplist_higher(scene->list, keyroute_string("cc"));

      if ((left->number != 'd' && left->number != 'p') ||
          (right->number != 'd' && right->number != 'p')) {
        atomic_fetch_add(&scene->faults, 1);
      }
    }
    kr_rcu_read_end();
    atomic_fetch_add(&scene->looks, 1);
  }
  return NULL;
}

START_TEST(test_skiplist_race__what_is_in_either_of_two_blocks_is_found)
{
  struct kr_mem *mem = failing_mem_new();
  static struct scene scene;
  pthread_t reader;
  scene.list = kr_skiplist_new_of(mem, key_in, 4);
  for (const char *letter = "abcdpqr"; *letter != '\0'; letter++) {
    put_letter(scene.list, *letter);
  }

  ck_assert_int_eq(pthread_create(&reader, NULL, read_letters, &scene), 0);
  while (atomic_load(&scene.started) < 1) {
  }
  for (int round = 0; round < 5 * ROUNDS; round++) {
    char gone = round % 2 == 0 ? 'd' : 'p';

    discard(kr_skiplist_take(scene.list, kr_bytes(&gone, 1)));
    put_letter(scene.list, gone);
    if (round % 1000 == 999) {
      kr_rcu_barrier();
    }
  }
  atomic_store(&scene.done, true);
  pthread_join(reader, NULL);

  ck_assert_int_eq(atomic_load(&scene.faults), 0);
  ck_assert_int_gt(atomic_load(&scene.looks), 0);
  for (const char *letter = "abcdpqr"; *letter != '\0'; letter++) {
    discard(kr_skiplist_take(scene.list, kr_bytes(letter, 1)));
  }
  kr_skiplist_free(scene.list);
  kr_rcu_barrier();
  failing_mem_done(mem);
}
END_TEST

/* ---- A stretch that leaves at once ---- */

/* Between the first key and the last are so many others. They come from the highest down, or all at
 * once, and leave in one go from the lowest up: where one is, all above it are. So the floor of one
 * of them is itself or the first key. */
enum { STRETCH = 300 };

static void take_one(void *value, void *arg)
{
  (void)arg;
  discard(value);
}

static void come_at_once(struct scene *scene)
{
  void *values[STRETCH];

  for (int number = 1; number <= STRETCH; number++) {
    values[number - 1] = new_value(number, ++scene->generations[number]);
  }
  if (kr_skiplist_put_many(scene->list, values, STRETCH) != 0) {
    ck_abort_msg("out of memory");
  }
}

static void come_and_leave(struct scene *scene, bool at_once)
{
  char low[KEY_MAX], high[KEY_MAX];
  struct keyroute_bytes from = kr_bytes(low, write_key(low, 0));
  struct keyroute_bytes to = kr_bytes(high, write_key(high, STRETCH + 1));

  if (at_once) {
    come_at_once(scene);
  }
  for (int number = STRETCH; !at_once && number > 0; number--) {
    put(scene, number);
  }
  if (kr_skiplist_take_between(scene->list, &from, &to, take_one, NULL) != STRETCH) {
    atomic_fetch_add(&scene->faults, 1);
  }
}

static int look_into_stretch(const struct scene *scene, int number)
{
  char room[KEY_MAX];
  struct keyroute_bytes key = kr_bytes(room, write_key(room, number));
  const struct value *higher = kr_skiplist_higher(scene->list, key);
  int faults = fault_of_two(kr_skiplist_floor(scene->list, key), 0, number);

  faults += higher == NULL || higher->number <= number || higher->generation == FREED;
  faults += fault_in(kr_skiplist_first(scene->list), 0, 0);
  faults += fault_in(kr_skiplist_last(scene->list), STRETCH + 1, 0);
  faults += fault_of_two(kr_skiplist_lower(scene->list, key_in(kr_skiplist_last(scene->list))), 0,
                         STRETCH);
  return faults;
}

static void *read_stretch(void *arg)
{
  struct scene *scene = arg;
  unsigned random = (unsigned)atomic_fetch_add(&scene->started, 1);

  while (!atomic_load(&scene->done)) {
    int number = 1 + (int)((random = random * 1103515245u + 12345u) >> 8) % STRETCH;

    kr_rcu_read_begin();
    atomic_fetch_add(&scene->faults, look_into_stretch(scene, number));
    kr_rcu_read_end();
    atomic_fetch_add(&scene->looks, 1);
  }
  return NULL;
}

START_TEST(test_skiplist_race__a_stretch_leaves_from_its_lowest_key_up)
{
  struct kr_mem *mem = failing_mem_new();
  static struct scene scene;
  pthread_t readers[READERS];
  scene.list = kr_skiplist_new_of(mem, key_in, block_sizes[_i]);
  put(&scene, 0);
  put(&scene, STRETCH + 1);

  for (int i = 0; i < READERS; i++) {
    ck_assert_int_eq(pthread_create(&readers[i], NULL, read_stretch, &scene), 0);
  }
  while (atomic_load(&scene.started) < READERS) {
  }
  for (int round = 0; round < ROUNDS / 100; round++) {
    come_and_leave(&scene, round % 2 == 0);
    if (round % 10 == 9) {
      kr_rcu_barrier();
    }
  }
  atomic_store(&scene.done, true);
  for (int i = 0; i < READERS; i++) {
    pthread_join(readers[i], NULL);
  }

  ck_assert_int_eq(atomic_load(&scene.faults), 0);
  ck_assert_int_gt(atomic_load(&scene.looks), 0);
  evict(&scene, 0);
  evict(&scene, STRETCH + 1);
  ck_assert_uint_eq(kr_skiplist_size(scene.list), kr_skiplist_empty_size());
  kr_skiplist_free(scene.list);
  kr_rcu_barrier();
  failing_mem_done(mem);
}
END_TEST

/* ---- A list that is emptied ---- */

/* One value comes and goes, always the same, so that the list is empty every other moment. */
static struct value lone = {.len = 1, .key = "a"};

static void *read_lone(void *arg)
{
  struct scene *scene = arg;
  struct keyroute_bytes key = key_in(&lone);

  atomic_fetch_add(&scene->started, 1);
  while (!atomic_load(&scene->done)) {
    kr_rcu_read_begin();
    for (int i = 0; i < 100; i++) {
      void *value;

      kr_skiplist_floor_many(scene->list, &value, &key, 1);
      if (value != NULL && value != &lone) {
        atomic_fetch_add(&scene->faults, 1);
      }
    }
    kr_rcu_read_end();
    atomic_fetch_add(&scene->looks, 1);
  }
  return NULL;
}

static void come_and_go(struct kr_skiplist *list)
{
  void *replaced;

  if (kr_skiplist_put(list, &lone, &replaced) != 0) {
    ck_abort_msg("out of memory");
  }
  kr_skiplist_take(list, key_in(&lone));
}

START_TEST(test_skiplist_race__a_list_may_be_emptied_under_who_looks_for_many)
{
  struct kr_mem *mem = failing_mem_new();
  static struct scene scene;
  pthread_t readers[READERS];
  scene.list = kr_skiplist_new(mem, key_in);

  for (int i = 0; i < READERS; i++) {
    ck_assert_int_eq(pthread_create(&readers[i], NULL, read_lone, &scene), 0);
  }
  while (atomic_load(&scene.started) < READERS) {
  }
  for (int round = 0; round < 60 * ROUNDS; round++) {
    come_and_go(scene.list);
  }
  atomic_store(&scene.done, true);
  for (int i = 0; i < READERS; i++) {
    pthread_join(readers[i], NULL);
  }

  ck_assert_int_eq(atomic_load(&scene.faults), 0);
  ck_assert_int_gt(atomic_load(&scene.looks), 0);
  kr_skiplist_free(scene.list);
  kr_rcu_barrier();
  failing_mem_done(mem);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("skiplist_race");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_loop_test(tests, test_skiplist_race__readers_find_what_must_be_there_and_nothing_freed,
                      0, 3);
  tcase_add_test(tests, test_skiplist_race__what_is_in_either_of_two_blocks_is_found);
  tcase_add_loop_test(tests, test_skiplist_race__a_stretch_leaves_from_its_lowest_key_up, 0, 3);
  tcase_add_test(tests, test_skiplist_race__a_list_may_be_emptied_under_who_looks_for_many);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
