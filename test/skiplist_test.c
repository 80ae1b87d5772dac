/*
 * The skip list against a sorted array, without memory, and while readers look at it.
 *
 * The random runs print their seed; KR_TEST_SEED=N repeats one.
 */
#include "lib/skiplist.h"

#include "lib/bytes.h"
#include "lib/rcu.h"
#include "test/draw.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static struct keyroute_bytes key_in(const void *value)
{
  return key_of(value);
}

static struct value *new_value(struct keyroute_bytes key, long generation)
{
  struct value *value = calloc(1, sizeof(*value));

  if (value == NULL || key.len > KEY_MAX) {
    ck_abort_msg("no value can be made");
  }
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

  ck_assert_int_eq(kr_skiplist_put(list, value, &replaced), 0);
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
  struct kr_skiplist *list = kr_skiplist_new(mem, key_in);

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
  struct kr_skiplist *list = kr_skiplist_new(mem, key_in);
  struct value *another = new_value(text("l"), 1);
  size_t empty = kr_skiplist_size(list);
  void *replaced;

  ck_assert_uint_eq(empty, kr_skiplist_empty_size());
  put(list, text("k"), 1);
  size_t one = kr_skiplist_size(list);
  ck_assert_uint_gt(one, empty);
  free(put(list, text("k"), 2));
  ck_assert_uint_eq(kr_skiplist_size(list), one);
  mem_fail(1);
  ck_assert_int_ne(kr_skiplist_put(list, another, &replaced), 0);
  mem_fail(0);
  ck_assert_uint_eq(kr_skiplist_size(list), one);
  free(kr_skiplist_take(list, text("k")));

  ck_assert_uint_eq(kr_skiplist_size(list), empty);
  free(another);
  kr_skiplist_free(list);
  kr_rcu_barrier();
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_skiplist__empty_key_is_the_smallest_key)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = kr_skiplist_new(mem, key_in);
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
  struct kr_skiplist *list = kr_skiplist_new(mem, key_in);

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
  struct kr_skiplist *list = kr_skiplist_new(mem, key_in);
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
  struct kr_skiplist *list = kr_skiplist_new(mem, key_in);
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
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = kr_skiplist_new_of(mem, key_in, 4);
  struct value *values[100];
  void *replaced;
  for (int i = 0; i < 100; i++) {
    char key[8];
    values[i] = new_value(kr_bytes(key, (size_t)snprintf(key, sizeof(key), "%d", i)), i);
    ck_assert_int_eq(kr_skiplist_put(list, values[i], &replaced), 0);
  }

  kr_skiplist_free(list);
  kr_skiplist_free(NULL);
  kr_mem_release(mem);
  kr_rcu_barrier();
  for (int i = 0; i < 100; i++) {
    free(values[i]);
  }

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
    list = kr_skiplist_new(mem, key_in);
    failures += list == NULL;
  }

  ck_assert_int_eq(failures, 1);
  kr_skiplist_free(list);
  kr_mem_release(mem);
  ck_assert_int_eq(mem_live(), 0);
}
END_TEST

/* Put keys until blocks have split over several lanes, each at first without memory: the put fails
 * as often as it allocates, and leaves no trace. */
START_TEST(test_skiplist__put_fails_cleanly_at_each_allocation)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = kr_skiplist_new_of(mem, key_in, 4);
  int most = 0;

  for (int i = 0; i < 200; i++) {
    char key[8];
    int len = snprintf(key, sizeof(key), "%03d", i * 37 % 200);
    struct value *value = new_value(kr_bytes(key, (size_t)len), i);
    void *replaced = &mem;
    size_t size = kr_skiplist_size(list);
    long live = mem_live();
    int failures = 0;

    while (mem_fail(failures + 1), kr_skiplist_put(list, value, &replaced) != 0) {
      failures++;
      ck_assert_ptr_eq(replaced, &mem);
      ck_assert_uint_eq(kr_skiplist_count(list), (size_t)i);
      ck_assert_uint_eq(kr_skiplist_size(list), size);
      ck_assert_int_eq(mem_live(), live);
      ck_assert_ptr_null(kr_skiplist_find(list, kr_bytes(key, (size_t)len)));
    }
    mem_fail(0);
    kr_rcu_barrier();
    ck_assert_ptr_null(replaced);
    ck_assert_ptr_eq(kr_skiplist_find(list, kr_bytes(key, (size_t)len)), value);
    most = failures > most ? failures : most;
  }

  ck_assert_int_ge(most, 7); /* two blocks in each of three lanes, and a new one on top */
  empty_list(list);
  kr_skiplist_free(list);
  kr_rcu_barrier();
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_skiplist__replacing_needs_no_memory)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = kr_skiplist_new(mem, key_in);
  put(list, text("a"), 1);

  mem_fail(1);
  struct value *replaced = put(list, text("a"), 2);

  ck_assert_int_eq(replaced->generation, 1);
  ck_assert(!mem_has_failed());
  free(replaced);
  empty_list(list);
  kr_skiplist_free(list);
  kr_rcu_barrier();
  failing_mem_done(mem);
}
END_TEST

/* Nothing is joined without memory: all that is left must be found all the same, and an emptied
 * list be as small as a new one. */
START_TEST(test_skiplist__take_needs_no_memory)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = kr_skiplist_new_of(mem, key_in, 4);
  for (int i = 0; i < 200; i++) {
    char key[8];
    put(list, kr_bytes(key, (size_t)snprintf(key, sizeof(key), "%03d", i)), i);
  }

  mem_fail_from(1);
  for (int i = 0; i < 200; i++) {
    char key[8];
    struct value *higher, *taken;
    snprintf(key, sizeof(key), "%03d", i * 37 % 200);
    taken = kr_skiplist_take(list, text(key));
    higher = kr_skiplist_higher(list, text(key));
    ck_assert_int_eq(taken->generation, i * 37 % 200);
    ck_assert(higher == NULL || higher->generation > taken->generation);
    free(taken);
  }
  mem_fail(0);

  ck_assert_uint_eq(kr_skiplist_count(list), 0);
  ck_assert_uint_eq(kr_skiplist_size(list), kr_skiplist_empty_size());
  kr_skiplist_free(list);
  kr_rcu_barrier();
  failing_mem_done(mem);
}
END_TEST

/* ---- The oracle: a sorted array -------------------------------------------------------------- */

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

/* Bytes of all values, of which zeros are many: they look like the end of a key to a head. */
static size_t draw_any(char *out)
{
  size_t len = draw(9);

  for (size_t i = 0; i < len; i++) {
    out[i] = (char)(draw(3) == 0 ? 0 : draw(256));
  }
  return len;
}

static size_t draw_region_name(char *out)
{
  return (size_t)snprintf(out, KEY_MAX, "t%u,%s%u,%u", draw(2), draw(2) ? "," : "", draw(300),
                          draw(3));
}

static size_t draw_hex(char *out)
{
  return (size_t)snprintf(out, KEY_MAX, "%04x%08x", draw(1 << 12) << 4, draw(2));
}

static size_t draw_user(char *out)
{
  return (size_t)snprintf(out, KEY_MAX, "user%012u", draw(5000));
}

/* Prefixes in prefixes. */
static size_t draw_tenant(char *out)
{
  return (size_t)snprintf(out, KEY_MAX, "tenant/%08u/table/%04u/%08u", draw(8), draw(12), draw(60));
}

/* Levels below levels: between the bytes in which keys differ stand runs that they share, too long
 * for a head or two; and some keys end anywhere, or have zeros behind. */
static size_t draw_nested(char *out)
{
  static const char *const runs[] = {"t-", "/fold", "/object-", "/", "/version-is-"};
  size_t len = 0;

  for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
    len += (size_t)snprintf(out + len, KEY_MAX - len, "%s%0*u", runs[i], (int)draw(2) + 1, draw(4));
  }
  if (draw(4) == 0) {
    len = draw((uint32_t)len + 1);
    for (uint32_t zeros = draw(5); zeros > 0 && len < KEY_MAX; zeros--) {
      out[len++] = 0;
    }
  }
  return len;
}

/* Zeros are to heads what the end of a key is: many are equal, and second ones too. */
static size_t draw_zeros(char *out)
{
  size_t len = draw(20);

  for (size_t i = 0; i < len; i++) {
    out[i] = draw(6) == 0 ? (char)draw(3) : 0;
  }
  return len;
}

static const struct family {
  size_t (*draw_key)(char *);
  size_t block_max;
} families[] = {
    {draw_short, 4},       {draw_common_prefix, 4}, {draw_any, 4},    {draw_region_name, 4},
    {draw_hex, 6},         {draw_user, 6},          {draw_tenant, 6}, {draw_any, 6},
    {draw_region_name, 6}, {draw_hex, 32},          {draw_user, 32},  {draw_tenant, 32},
    {draw_any, 32},        {draw_nested, 4},        {draw_nested, 6}, {draw_nested, 32},
    {draw_zeros, 4},       {draw_zeros, 32},
};

enum { FAMILIES = sizeof(families) / sizeof(families[0]) };

/* In all of them together a million. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STEPS = 100000 / FAMILIES };
#else
enum { STEPS = 1000000 / FAMILIES + 1 };
#endif

#define ORACLE_MAX 2500

struct oracle {
  struct value *sorted[ORACLE_MAX];
  size_t count;
};

/* How many keys are below this one. */
static size_t rank(const struct oracle *oracle, struct keyroute_bytes key)
{
  size_t low = 0, high = oracle->count;

  while (low < high) {
    size_t middle = (low + high) / 2;

    if (kr_bytes_compare(key_of(oracle->sorted[middle]), key) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static bool holds(const struct oracle *oracle, size_t at, struct keyroute_bytes key)
{
  return at < oracle->count && kr_bytes_equal(key_of(oracle->sorted[at]), key);
}

static struct value *at_or_none(const struct oracle *oracle, size_t at)
{
  return at < oracle->count ? oracle->sorted[at] : NULL;
}

/* Check writes down every assertion that holds; here there are millions. */
#define MUST_EQ(a, b) ((a) == (b) ? (void)0 : ck_abort_msg("%s is not %s", #a, #b))

static void check_above(const struct kr_skiplist *list, const struct oracle *oracle, size_t from,
                        const struct keyroute_bytes *key)
{
  void *values[8];
  size_t count = kr_skiplist_above(list, values, key, 8);

  MUST_EQ(count <= 8, true);
  MUST_EQ(count > 0, from < oracle->count);
  for (size_t i = 0; i < count; i++) {
    MUST_EQ(values[i], at_or_none(oracle, from + i));
  }
}

/* Behind the value at this place, if there is one: what comes next. */
static void check_behind(const struct kr_skiplist *list, const struct oracle *oracle, size_t at)
{
  void *next = NULL;
  size_t count = kr_skiplist_behind(list, &next, at_or_none(oracle, at), 1);

  MUST_EQ(count > 0, at_or_none(oracle, at + 1) != NULL);
  MUST_EQ(next, at_or_none(oracle, at + 1));
}

static void check_below(const struct kr_skiplist *list, const struct oracle *oracle, size_t from,
                        struct keyroute_bytes key)
{
  void *values[8];
  size_t count = kr_skiplist_below(list, values, key, 8);

  MUST_EQ(count <= 8, true);
  MUST_EQ(count > 0, from > 0);
  for (size_t i = 0; i < count; i++) {
    MUST_EQ(values[i], at_or_none(oracle, from - 1 - i));
  }
}

static void check_queries(const struct kr_skiplist *list, const struct oracle *oracle,
                          struct keyroute_bytes key)
{
  size_t below = rank(oracle, key);
  size_t equal = holds(oracle, below, key) ? 1 : 0;

  /* (size_t)0 - 1 is beyond every count. */
  MUST_EQ(kr_skiplist_find(list, key), equal ? oracle->sorted[below] : NULL);
  MUST_EQ(kr_skiplist_floor(list, key), at_or_none(oracle, below + equal - 1));
  MUST_EQ(kr_skiplist_lower(list, key), at_or_none(oracle, below - 1));
  MUST_EQ(kr_skiplist_higher(list, key), at_or_none(oracle, below + equal));
  MUST_EQ(kr_skiplist_first(list), at_or_none(oracle, 0));
  MUST_EQ(kr_skiplist_last(list), at_or_none(oracle, oracle->count - 1));
  MUST_EQ(kr_skiplist_count(list), oracle->count);
  check_above(list, oracle, below + equal, &key);
  check_behind(list, oracle, below + equal - 1);
  check_below(list, oracle, below, key);
}

static void check_put(struct kr_skiplist *list, struct oracle *oracle, struct keyroute_bytes key)
{
  struct value *value = new_value(key, 0);
  size_t at = rank(oracle, key);
  void *replaced = value;

  MUST_EQ(kr_skiplist_put(list, value, &replaced), 0);
  if (holds(oracle, at, key)) {
    MUST_EQ(replaced, oracle->sorted[at]);
    free(replaced);
  } else {
    MUST_EQ(replaced, NULL);
    memmove(&oracle->sorted[at + 1], &oracle->sorted[at],
            (oracle->count++ - at) * sizeof(oracle->sorted[0]));
  }
  oracle->sorted[at] = value;
}

/* What is taken out is freed, its key with it: nothing may look at either any more. */
static void check_take(struct kr_skiplist *list, struct oracle *oracle, struct keyroute_bytes key)
{
  size_t at = rank(oracle, key);
  struct value *taken = kr_skiplist_take(list, key);

  if (!holds(oracle, at, key)) {
    MUST_EQ(taken, NULL);
    return;
  }
  MUST_EQ(taken, oracle->sorted[at]);
  memmove(&oracle->sorted[at], &oracle->sorted[at + 1],
          (--oracle->count - at) * sizeof(oracle->sorted[0]));
  memset(taken, 0xee, sizeof(*taken));
  free(taken);
}

/* Take the keys from one on, in order, as a region does that grows over its neighbours: blocks are
 * emptied one after another. */
static void check_take_run(struct kr_skiplist *list, struct oracle *oracle, size_t at, size_t count)
{
  while (count-- > 0 && at < oracle->count) {
    char room[KEY_MAX];
    struct keyroute_bytes key = key_of(oracle->sorted[at]);

    memcpy(room, key.data, key.len);
    check_take(list, oracle, kr_bytes(room, key.len));
  }
}

/* What was told of a stretch that leaves: each is freed as it is told. */
struct leaving {
  struct oracle *oracle;
  size_t at, count;
};

static void leave(void *value, void *arg)
{
  struct leaving *leaving = arg;

  MUST_EQ(value, at_or_none(leaving->oracle, leaving->at + leaving->count));
  leaving->count++;
  memset(value, 0xee, sizeof(struct value));
  free(value);
}

/* Take all between two keys; either NULL = all on that side. */
static void check_take_between(struct kr_skiplist *list, struct oracle *oracle,
                               const struct keyroute_bytes *low, const struct keyroute_bytes *high)
{
  size_t from = low != NULL ? rank(oracle, *low) + (kr_skiplist_find(list, *low) != NULL) : 0;
  size_t to = high != NULL ? rank(oracle, *high) : oracle->count;
  struct leaving leaving = {.oracle = oracle, .at = from};
  size_t gone = to > from ? to - from : 0;

  MUST_EQ(kr_skiplist_take_between(list, low, high, leave, &leaving), gone);
  MUST_EQ(leaving.count, gone);
  memmove(&oracle->sorted[from], &oracle->sorted[from + gone],
          (oracle->count - from - gone) * sizeof(oracle->sorted[0]));
  oracle->count -= gone;
}

/* A stretch that begins at a drawn key: mostly of so many values, at times all behind or before. */
static void check_take_stretch(struct kr_skiplist *list, struct oracle *oracle,
                               struct keyroute_bytes low)
{
  char room[KEY_MAX];
  const struct value *end = at_or_none(oracle, rank(oracle, low) + draw(100));
  struct keyroute_bytes high = kr_bytes(room, end != NULL ? end->len : 0);

  if (end != NULL) {
    memcpy(room, end->key, end->len);
    check_take_between(list, oracle, draw(20) == 0 ? NULL : &low, &high);
  } else if (draw(10) == 0) {
    check_take_between(list, oracle, &low, NULL);
  }
}

/* Take a stretch out and put some of its keys back, at once: all, or none if memory is short. */
static void check_reload(struct kr_skiplist *list, struct oracle *oracle, struct keyroute_bytes low,
                         bool is_short)
{
  enum { MOST = 100 };
  void *back[MOST];
  size_t from = rank(oracle, low) + (kr_skiplist_find(list, low) != NULL), count = 0;
  size_t to = from + draw(MOST) + 1;
  const struct value *end = at_or_none(oracle, to);
  struct keyroute_bytes high = end != NULL ? key_of(end) : low;

  for (size_t at = from; at < to && at < oracle->count; at += 1 + draw(2)) {
    back[count++] = new_value(key_of(oracle->sorted[at]), 0);
  }
  check_take_between(list, oracle, &low, end != NULL ? &high : NULL);
  bool failed = kr_skiplist_put_many(list, back, count) != 0;

  MUST_EQ(failed, is_short && count > 0);
  if (!failed) {
    memmove(&oracle->sorted[from + count], &oracle->sorted[from],
            (oracle->count - from) * sizeof(oracle->sorted[0]));
    memcpy(&oracle->sorted[from], back, count * sizeof(oracle->sorted[0]));
    oracle->count += count;
  }
  while (failed && count > 0) {
    free(back[--count]);
  }
}

static void check_floor_many(const struct kr_skiplist *list, const struct oracle *oracle,
                             size_t (*draw_key)(char *))
{
  char room[37][KEY_MAX];
  struct keyroute_bytes keys[37];
  void *values[37];

  for (size_t i = 0; i < 37; i++) {
    keys[i] = kr_bytes(room[i], draw_key(room[i]));
  }
  kr_skiplist_floor_many(list, values, keys, 37);
  for (size_t i = 0; i < 37; i++) {
    size_t at = rank(oracle, keys[i]) + (kr_skiplist_find(list, keys[i]) != NULL ? 1 : 0);

    MUST_EQ(values[i], at_or_none(oracle, at - 1));
  }
}

/* All that is there, both ways. */
static void check_order(const struct kr_skiplist *list, const struct oracle *oracle)
{
  const struct value *up = kr_skiplist_first(list), *down = kr_skiplist_last(list);

  for (size_t i = 0; i < oracle->count; i++) {
    MUST_EQ(up, oracle->sorted[i]);
    MUST_EQ(down, oracle->sorted[oracle->count - 1 - i]);
    up = kr_skiplist_higher(list, key_of(up));
    down = kr_skiplist_lower(list, key_of(down));
  }
  MUST_EQ(up, NULL);
  MUST_EQ(down, NULL);
  check_above(list, oracle, 0, NULL);
}

/* Now and then memory is short for as long as a few steps. */
static void lack_memory_at_times(int step)
{
  if (step % 97 == 0) {
    mem_fail_from(1);
  } else if (step % 97 == 5) {
    mem_fail(0);
  }
}

static bool memory_is_short(int step)
{
  return step % 97 < 5;
}

/* A step puts or takes, and then asks everything about another key. Phases of mostly putting and
 * mostly taking alternate, so that the list is full at times and nearly empty at others. */
static void random_steps(struct kr_skiplist *list, struct oracle *oracle,
                         size_t (*draw_key)(char *), int steps)
{
  for (int step = 0; step < steps; step++) {
    char room[KEY_MAX];
    struct keyroute_bytes key = kr_bytes(room, draw_key(room));
    bool growing = step / 4000 % 2 == 0;

    lack_memory_at_times(step);
    if (draw(4) != 0 && growing == (draw(4) != 0)) {
      if (oracle->count < ORACLE_MAX && !memory_is_short(step)) {
        check_put(list, oracle, key);
      }
    } else if (draw(200) == 0) {
      check_take_run(list, oracle, rank(oracle, key), 40);
    } else if (draw(200) == 0) {
      check_take_stretch(list, oracle, key);
    } else if (draw(200) == 0) {
      check_reload(list, oracle, key, memory_is_short(step));
    } else {
      check_take(list, oracle, key);
    }
    check_queries(list, oracle, kr_bytes(room, draw_key(room)));
    if (step % 500 == 499) {
      check_floor_many(list, oracle, draw_key);
      check_order(list, oracle);
    }
    if (step % 10000 == 9999) {
      kr_rcu_barrier(); /* keep what waits to be freed small */
    }
  }
  mem_fail(0);
}

START_TEST(test_skiplist__answers_as_a_sorted_array_does)
{
  static struct oracle oracle;
  struct kr_mem *mem = failing_mem_new();
  struct kr_skiplist *list = kr_skiplist_new_of(mem, key_in, families[_i].block_max);
  draw_seeded();

  random_steps(list, &oracle, families[_i].draw_key, STEPS);

  empty_list(list);
  ck_assert_uint_eq(kr_skiplist_size(list), kr_skiplist_empty_size());
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

static const size_t block_sizes[] = {4, 6, 32};

START_TEST(test_skiplist__readers_never_see_a_mixture_of_two_states)
{
  struct kr_mem *mem = failing_mem_new();
  struct scene scene = {.list = kr_skiplist_new_of(mem, key_in, block_sizes[_i])};
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
  tcase_add_test(tests, test_skiplist__put_fails_cleanly_at_each_allocation);
  tcase_add_test(tests, test_skiplist__replacing_needs_no_memory);
  tcase_add_test(tests, test_skiplist__take_needs_no_memory);
  tcase_add_loop_test(tests, test_skiplist__answers_as_a_sorted_array_does, 0, FAMILIES);
  tcase_add_loop_test(tests, test_skiplist__readers_never_see_a_mixture_of_two_states, 0, 3);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
