/*
 * What a skip list does with many values at once.
 */
#include "lib/skiplist.h"

#include "lib/bytes.h"
#include "lib/rcu.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* ---- Doubles --------------------------------------------------------------------------------- */

enum { KEYS = 1000, KEY_MAX = 12 }; /* any int fits into a key, for a compiler that sees no less */

struct value {
  int number;
  char key[KEY_MAX];
};

static struct value values[KEYS];

static struct keyroute_bytes key_in(const void *value)
{
  return keyroute_string(((const struct value *)value)->key);
}

static void make_values(void)
{
  for (int i = 0; i < KEYS; i++) {
    values[i].number = i;
    snprintf(values[i].key, sizeof(values[i].key), "%04u", (unsigned)i % 10000);
  }
}

static struct keyroute_bytes key_at(int number)
{
  return key_in(&values[number]);
}

/* Check writes down every assertion that holds; here there are millions. */
#define MUST_EQ(a, b) ((a) == (b) ? (void)0 : ck_abort_msg("%s is not %s", #a, #b))

static void put(struct kr_skiplist *list, int number)
{
  void *replaced;

  MUST_EQ(kr_skiplist_put(list, &values[number], &replaced), 0);
  MUST_EQ(replaced, NULL);
}

static const size_t block_sizes[] = {4, 6, 32};

static struct kr_skiplist *new_list(struct kr_mem *mem, size_t block_max)
{
  make_values();
  return kr_skiplist_new_of(mem, key_in, block_max);
}

/* All values from one number to before another, each that is `step` further. */
static void put_each(struct kr_skiplist *list, int from, int to, int step)
{
  for (int number = from; number < to; number += step) {
    put(list, number);
  }
}

static void take_each(struct kr_skiplist *list, int from, int to, int step)
{
  for (int number = from; number < to; number += step) {
    MUST_EQ(kr_skiplist_take(list, key_at(number)), &values[number]);
  }
}

static void must_be_empty(const struct kr_skiplist *list)
{
  ck_assert_ptr_null(kr_skiplist_first(list));
  ck_assert_ptr_null(kr_skiplist_last(list));
  ck_assert_ptr_null(kr_skiplist_floor(list, key_at(KEYS / 2)));
  ck_assert_uint_eq(kr_skiplist_count(list), 0);
  ck_assert_uint_eq(kr_skiplist_size(list), kr_skiplist_empty_size());
}

/* Nothing of a list is left behind. */
static void free_list(struct kr_skiplist *list, struct kr_mem *mem)
{
  kr_skiplist_free(list);
  kr_rcu_barrier();
  failing_mem_done(mem);
}

/* Nor of one that had all keys, and from which all are taken. */
static void free_emptied(struct kr_skiplist *list, struct kr_mem *mem)
{
  take_each(list, 0, KEYS, 1);
  must_be_empty(list);
  free_list(list, mem);
}

static void must_hold(const struct kr_skiplist *list, int from, int to)
{
  for (int number = from; number < to; number++) {
    MUST_EQ(kr_skiplist_find(list, key_at(number)), &values[number]);
  }
  MUST_EQ(kr_skiplist_count(list), (size_t)(to - from));
}

/* ---- Detaching ------------------------------------------------------------------------------- */

START_TEST(test_skiplist_bulk__detach_moves_all_without_memory)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = new_list(mem, block_sizes[_i]);
  struct kr_skiplist *into = new_list(mem, block_sizes[_i]);
  put_each(list, 0, KEYS, 1);
  size_t size = kr_skiplist_size(list);

  mem_fail_from(1);
  kr_skiplist_detach(list, into);
  ck_assert(!mem_has_failed());
  mem_fail(0);

  must_be_empty(list);
  must_hold(into, 0, KEYS);
  ck_assert_uint_eq(kr_skiplist_size(into), size);
  kr_skiplist_free(list);
  kr_skiplist_free(into);
  kr_rcu_barrier();
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_skiplist_bulk__both_lists_can_be_changed_once_detached)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = new_list(mem, block_sizes[_i]);
  struct kr_skiplist *into = new_list(mem, block_sizes[_i]);
  put_each(list, 0, KEYS, 2);

  kr_skiplist_detach(list, into);
  put_each(list, 1, KEYS, 2);
  put_each(into, 1, KEYS, 2);
  must_hold(into, 0, KEYS);
  take_each(into, 0, KEYS, 1);
  put_each(list, 0, KEYS, 2);

  must_be_empty(into);
  must_hold(list, 0, KEYS);
  kr_skiplist_free(list);
  kr_skiplist_free(into);
  kr_rcu_barrier();
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_skiplist_bulk__an_empty_list_can_be_detached)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = new_list(mem, block_sizes[_i]);
  struct kr_skiplist *into = new_list(mem, block_sizes[_i]);

  kr_skiplist_detach(list, into);

  must_be_empty(list);
  must_be_empty(into);
  kr_skiplist_free(list);
  kr_skiplist_free(into);
  failing_mem_done(mem);
}
END_TEST

/* ---- Taking what is between two keys --------------------------------------------------------- */

/* What was told of a stretch that leaves. */
struct told {
  const struct kr_skiplist *list;
  int next, count;
};

/* In order, none left out, and each not to be found any more. */
static void tell(void *value, void *arg)
{
  struct told *told = arg;

  MUST_EQ((struct value *)value, &values[told->next]);
  MUST_EQ(kr_skiplist_find(told->list, key_at(told->next)), NULL);
  told->next++;
  told->count++;
}

/* Take what is from one number to before another. */
static void take_stretch(struct kr_skiplist *list, int from, int to)
{
  struct told told = {.list = list, .next = from};
  struct keyroute_bytes low = key_at(from > 0 ? from - 1 : 0), high = key_at(to % KEYS);

  ck_assert_uint_eq(
      kr_skiplist_take_between(list, from > 0 ? &low : NULL, to < KEYS ? &high : NULL, tell, &told),
      (size_t)(to - from));
  ck_assert_int_eq(told.count, to - from);
}

static const struct stretch {
  int from, to;
} stretches[] = {{0, KEYS},        {0, KEYS - 1}, {1, KEYS},  {1, KEYS - 1}, {0, 1},
                 {KEYS - 1, KEYS}, {200, 202},    {200, 800}, {399, 607},    {500, 500}};

enum { STRETCHES = sizeof(stretches) / sizeof(stretches[0]) };

/* All else is found, from either side. */
static void must_lack(const struct kr_skiplist *list, int from, int to)
{
  struct value *below = from > 0 ? &values[from - 1] : NULL;
  struct value *above = to < KEYS ? &values[to] : NULL;

  for (int number = 0; number < KEYS; number++) {
    bool gone = number >= from && number < to;

    MUST_EQ(kr_skiplist_find(list, key_at(number)), gone ? NULL : &values[number]);
    MUST_EQ(kr_skiplist_floor(list, key_at(number)), gone ? below : &values[number]);
    if (gone) {
      MUST_EQ(kr_skiplist_higher(list, key_at(number)), above);
    }
  }
  MUST_EQ(kr_skiplist_count(list), (size_t)(KEYS - (to - from)));
}

static void leave_and_come_back(const struct stretch *stretch, size_t block_max)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = new_list(mem, block_max);
  put_each(list, 0, KEYS, 1);

  take_stretch(list, stretch->from, stretch->to);

  must_lack(list, stretch->from, stretch->to);
  put_each(list, stretch->from, stretch->to, 1);
  must_hold(list, 0, KEYS);
  free_emptied(list, mem);
}

START_TEST(test_skiplist_bulk__what_is_between_two_keys_leaves_in_order)
{
  for (size_t i = 0; i < STRETCHES; i++) {
    leave_and_come_back(&stretches[i], block_sizes[_i]);
  }
}
END_TEST

/* As often as it allocates, and with none at all. */
static void leave_at_each_failure(const struct stretch *stretch, size_t block_max)
{
  struct kr_mem *mem = failing_mem_new();
  bool failed = true;

  for (long at = 1; failed; at++) {
    struct kr_skiplist *list = new_list(mem, block_max);

    put_each(list, 0, KEYS, 1);
    if (at % 2 == 0) {
      mem_fail(at / 2);
    } else {
      mem_fail_from(at / 2 + 1);
    }
    take_stretch(list, stretch->from, stretch->to);
    failed = mem_has_failed();
    mem_fail(0);
    must_lack(list, stretch->from, stretch->to);
    take_stretch(list, 0, stretch->from);
    take_stretch(list, stretch->to, KEYS);
    must_be_empty(list);
    kr_skiplist_free(list);
  }
  kr_rcu_barrier();
  failing_mem_done(mem);
}

START_TEST(test_skiplist_bulk__a_stretch_leaves_without_memory)
{
  for (size_t i = 0; i < STRETCHES; i++) {
    leave_at_each_failure(&stretches[i], block_sizes[_i]);
  }
}
END_TEST

START_TEST(test_skiplist_bulk__what_is_left_of_a_stretch_is_small)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = new_list(mem, block_sizes[_i]);
  put_each(list, 0, 20, 1);
  size_t small = kr_skiplist_size(list);
  put_each(list, 20, KEYS, 1);

  take_stretch(list, 15, KEYS - 5);

  ck_assert_uint_le(kr_skiplist_size(list), small + small / 2);
  free_list(list, mem);
}
END_TEST

START_TEST(test_skiplist_bulk__nothing_is_between_keys_in_the_wrong_order)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = new_list(mem, 4);
  struct keyroute_bytes low = key_at(20), high = key_at(10);
  struct told told = {.list = list};

  ck_assert_uint_eq(kr_skiplist_take_between(list, NULL, NULL, tell, &told), 0);
  put_each(list, 0, 30, 1);
  ck_assert_uint_eq(kr_skiplist_take_between(list, &low, &high, tell, &told), 0);
  ck_assert_uint_eq(kr_skiplist_take_between(list, &low, &low, tell, &told), 0);

  must_hold(list, 0, 30);
  ck_assert_int_eq(told.count, 0);
  free_list(list, mem);
}
END_TEST

/* ---- Putting many at once -------------------------------------------------------------------- */

/* Put what is from one number to before another, at once. Returns what the list does. */
static int put_stretch(struct kr_skiplist *list, int from, int to)
{
  void *some[KEYS];

  for (int number = from; number < to; number++) {
    some[number - from] = &values[number];
  }
  return kr_skiplist_put_many(list, some, (size_t)(to - from));
}

static void fall_into_gap(const struct stretch *stretch, size_t block_max)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = new_list(mem, block_max);
  put_each(list, 0, stretch->from, 1);
  put_each(list, stretch->to, KEYS, 1);

  ck_assert_int_eq(put_stretch(list, stretch->from, stretch->to), 0);

  must_lack(list, 0, 0);
  free_emptied(list, mem);
}

START_TEST(test_skiplist_bulk__what_falls_into_one_gap_is_put_at_once)
{
  for (size_t i = 0; i < STRETCHES; i++) {
    fall_into_gap(&stretches[i], block_sizes[_i]);
  }
}
END_TEST

/* What is put into a block of which all was taken, no memory being there to join it. */
static void come_back_between_empty_slots(const struct stretch *stretch, size_t block_max)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = new_list(mem, block_max);
  put_each(list, 0, KEYS, 1);
  mem_fail_from(1);
  take_stretch(list, stretch->from, stretch->to);
  mem_fail(0);

  ck_assert_int_eq(put_stretch(list, stretch->from, stretch->to), 0);

  must_lack(list, 0, 0);
  free_emptied(list, mem);
}

START_TEST(test_skiplist_bulk__a_stretch_comes_back_between_empty_slots)
{
  for (size_t i = 0; i < STRETCHES; i++) {
    come_back_between_empty_slots(&stretches[i], block_sizes[_i]);
  }
}
END_TEST

static void put_at_each_failure(const struct stretch *stretch, size_t block_max)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = new_list(mem, block_max);
  put_each(list, 0, stretch->from, 1);
  put_each(list, stretch->to, KEYS, 1);
  kr_rcu_barrier();
  size_t size = kr_skiplist_size(list);
  long failures = 0, live = mem_live();

  while (mem_fail(failures + 1), put_stretch(list, stretch->from, stretch->to) != 0) {
    failures++;
    ck_assert_ptr_null(kr_skiplist_find(list, key_at(stretch->from)));
    ck_assert_uint_eq(kr_skiplist_count(list), (size_t)(KEYS - (stretch->to - stretch->from)));
    ck_assert_uint_eq(kr_skiplist_size(list), size);
    ck_assert_int_eq(mem_live(), live);
  }
  mem_fail(0);

  must_lack(list, 0, 0);
  ck_assert_int_ge(failures, stretch->to > stretch->from ? 2 : 0);
  free_list(list, mem);
}

START_TEST(test_skiplist_bulk__all_of_a_stretch_is_put_or_nothing)
{
  for (size_t i = 0; i < STRETCHES; i++) {
    put_at_each_failure(&stretches[i], block_sizes[_i]);
  }
}
END_TEST

START_TEST(test_skiplist_bulk__pages_put_in_order_leave_full_blocks)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = new_list(mem, 32);

  for (int from = 0; from < KEYS; from += 100) {
    ck_assert_int_eq(put_stretch(list, from, from + 100), 0);
  }

  must_hold(list, 0, KEYS);
  ck_assert_uint_le(kr_skiplist_size(list) - kr_skiplist_empty_size(), 16 * KEYS);
  free_list(list, mem);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("skiplist_bulk");
  TCase *detaching = tcase_create("detaching"), *taking = tcase_create("taking"),
        *putting = tcase_create("putting");

  tcase_add_loop_test(detaching, test_skiplist_bulk__detach_moves_all_without_memory, 0, 3);
  tcase_add_loop_test(detaching, test_skiplist_bulk__both_lists_can_be_changed_once_detached, 0, 3);
  tcase_add_loop_test(detaching, test_skiplist_bulk__an_empty_list_can_be_detached, 0, 3);
  tcase_set_timeout(detaching, 120);
  suite_add_tcase(made, detaching);
  tcase_add_loop_test(taking, test_skiplist_bulk__what_is_between_two_keys_leaves_in_order, 0, 3);
  tcase_add_loop_test(taking, test_skiplist_bulk__a_stretch_leaves_without_memory, 0, 3);
  tcase_add_loop_test(taking, test_skiplist_bulk__what_is_left_of_a_stretch_is_small, 0, 3);
  tcase_add_test(taking, test_skiplist_bulk__nothing_is_between_keys_in_the_wrong_order);
  tcase_set_timeout(taking, 120);
  suite_add_tcase(made, taking);
  tcase_add_loop_test(putting, test_skiplist_bulk__what_falls_into_one_gap_is_put_at_once, 0, 3);
  tcase_add_loop_test(putting, test_skiplist_bulk__a_stretch_comes_back_between_empty_slots, 0, 3);
  tcase_add_loop_test(putting, test_skiplist_bulk__all_of_a_stretch_is_put_or_nothing, 0, 3);
  tcase_add_test(putting, test_skiplist_bulk__pages_put_in_order_leave_full_blocks);
  tcase_set_timeout(putting, 120);
  suite_add_tcase(made, putting);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
