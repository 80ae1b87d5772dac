/*
 * A block above lane 0, made of fences and asked about keys, against counting fences one by one: in
 * what it answers, and in whether heads and second heads told it or tails were searched.
 *
 * The random runs print their seed; KR_TEST_SEED=N repeats one.
 */
#include "lib/draft.h"

#include "lib/mem.h"
#include "test/draw.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_MAX = 64 };

/* ---- Blocks of fences ---- */

struct fences {
  struct kr_mem *mem;
  struct keyroute_bytes keys[KR_BLOCK_MAX]; /* in order, none twice */
  size_t count;
  struct kr_block *below[KR_BLOCK_MAX];
  struct kr_block *block;
};

/* high NULL = the span ends nowhere. */
static void make_block(struct fences *fences, const struct keyroute_bytes *high)
{
  struct kr_draft draft, none;

  fences->mem = kr_mem_new(NULL);
  kr_draft_begin(&none, NULL, 0);
  kr_draft_begin(&draft, NULL, 1);
  for (size_t i = 0; i < fences->count; i++) {
    struct kr_block_span span = {.low = fences->keys[i]};

    fences->below[i] = kr_draft_make(&none, fences->mem, 0, 0, &span);
    kr_draft_insert(&draft, i, fences->below[i]);
  }
  struct kr_block_span all = {.low = fences->keys[0], .ends = high != NULL};

  if (high != NULL) {
    all.high = *high;
  }
  fences->block = kr_draft_make(&draft, fences->mem, 0, fences->count, &all);
  ck_assert_ptr_nonnull(fences->block);
}

static void free_blocks(struct fences *fences)
{
  for (size_t i = 0; i < fences->count; i++) {
    kr_free(fences->mem, fences->below[i]);
  }
  kr_free(fences->mem, fences->block);
  kr_mem_release(fences->mem);
}

/* Check writes down every assertion that holds; here there are millions. */
#define MUST(what) ((what) ? (void)0 : ck_abort_msg("not so: %s", #what))

/* Fences below a key of the span, or with inclusive not above it; the first is never above. */
static size_t count_fences(const struct fences *fences, struct keyroute_bytes key, bool inclusive)
{
  size_t count = 1;

  while (count < fences->count &&
         kr_bytes_compare(fences->keys[count], key) < (inclusive ? 1 : 0)) {
    count++;
  }
  return count;
}

/* Did heads tell where the key is, of either kind? Whatever they say must be so. */
static bool told(const struct fences *fences, struct keyroute_bytes key)
{
  size_t tied, gap = kr_block_gap_by_heads(fences->block, key, &tied);

  if (tied > 0) {
    gap = kr_block_gap_by_seconds(fences->block, key, tied);
  }
  MUST(gap == 0 || gap == count_fences(fences, key, true));
  return gap > 0;
}

static void ask(const struct fences *fences, struct keyroute_bytes key)
{
  told(fences, key);
  MUST(kr_block_gap(fences->block, key, true, NULL) == count_fences(fences, key, true));
  MUST(kr_block_gap(fences->block, key, false, NULL) == count_fences(fences, key, false));
}

/* ---- Keys by chance ---- */

/* Zeros, with something else at times: what heads have behind a key that ends within them. */
static size_t draw_zeros(uint8_t *out)
{
  size_t len = draw(16);

  for (size_t i = 0; i < len; i++) {
    out[i] = draw(8) == 0 ? (uint8_t)(1 + 254 * draw(2)) : 0;
  }
  return len;
}

/* Runs that many share, of which each may be the last and may be cut, and between them a few bytes
 * in which keys differ. */
static size_t draw_nested(uint8_t *out)
{
  static const char *const runs[] = {"tenant-", "/fo", "/folder-", "/", "/object-number-"};
  size_t len = 0;

  for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
    memcpy(out + len, runs[i], strlen(runs[i]));
    len += strlen(runs[i]);
    for (uint32_t digits = draw(3) + 1; digits > 0; digits--) {
      out[len++] = (uint8_t)('0' + draw(3));
    }
    if (draw(6) == 0) {
      break;
    }
  }
  return draw(3) == 0 ? draw((uint32_t)len + 1) : len;
}

/* All begin alike, so that heads and second heads are equal too, and differ behind. */
static size_t draw_late(uint8_t *out)
{
  size_t same = 12 + draw(2) * 4;

  memset(out, 'a' + (int)draw(2), same);
  return same + (size_t)snprintf((char *)out + same, 8, "%0*u", (int)draw(5) + 1, draw(10));
}

typedef size_t draw_key(uint8_t *out);

static draw_key *const families[] = {draw_zeros, draw_nested, draw_late};

enum { FAMILIES = sizeof(families) / sizeof(families[0]) };

static int compare_keys(const void *a, const void *b)
{
  return kr_bytes_compare(*(const struct keyroute_bytes *)a, *(const struct keyroute_bytes *)b);
}

/* Draw so many keys, and keep those of them that differ, in order. */
static size_t draw_keys(struct keyroute_bytes *keys, uint8_t room[][KEY_MAX], size_t count,
                        draw_key *draw_one)
{
  size_t kept = 0;

  for (size_t i = 0; i < count; i++) {
    keys[i] = kr_bytes(room[i], draw_one(room[i]));
  }
  qsort(keys, count, sizeof(keys[0]), compare_keys);
  for (size_t i = 0; i < count; i++) {
    if (kept == 0 || !kr_bytes_equal(keys[kept - 1], keys[i])) {
      keys[kept++] = keys[i];
    }
  }
  return kept;
}

static void ask_in_span(const struct fences *fences, struct keyroute_bytes key,
                        const struct keyroute_bytes *high)
{
  if (kr_bytes_compare(key, fences->keys[0]) >= 0 &&
      (high == NULL || kr_bytes_compare(key, *high) < 0)) {
    ask(fences, key);
  }
}

START_TEST(test_block__answers_as_counting_fences_does)
{
  uint8_t room[KR_BLOCK_MAX + 1][KEY_MAX], key[KEY_MAX];
  struct keyroute_bytes keys[KR_BLOCK_MAX + 1];
  draw_seeded();

  for (int round = 0; round < 2000; round++) {
    size_t count = draw_keys(keys, room, 3 + draw(KR_BLOCK_MAX - 1), families[_i]);
    bool ends = draw(2) == 0 || count > KR_BLOCK_MAX;
    const struct keyroute_bytes *high = ends ? &keys[count - 1] : NULL;
    struct fences fences = {.count = ends ? count - 1 : count};

    if (fences.count < 2) {
      continue;
    }
    memcpy(fences.keys, keys, fences.count * sizeof(keys[0]));
    make_block(&fences, high);
    for (size_t i = 0; i < fences.count; i++) {
      ask(&fences, fences.keys[i]);
    }
    for (int i = 0; i < 100; i++) {
      ask_in_span(&fences, kr_bytes(key, families[_i](key)), high);
    }
    free_blocks(&fences);
  }
}
END_TEST

/* ---- What second heads are for ---- */

static void add(struct fences *fences, const char *key)
{
  fences->keys[fences->count++] = keyroute_string(key);
}

START_TEST(test_block__second_heads_tell_folders_of_a_tenant)
{
  struct fences fences = {.count = 0};
  add(&fences, "tenant-0040/folder-009");
  add(&fences, "tenant-0041");
  add(&fences, "tenant-0041/folder-003");
  add(&fences, "tenant-0041/folder-0055");
  add(&fences, "tenant-0041/folder-008");
  add(&fences, "tenant-0042/folder-0017");
  add(&fences, "tenant-0043");
  add(&fences, "tenant-0043/folder-004");
  make_block(&fences, NULL);

  for (int number = 4100; number < 4400; number++) {
    char row[KEY_MAX];
    int len = snprintf(row, sizeof(row), "tenant-%04d/folder-%04d/object-%08d", number / 100,
                       number % 100, number);

    ck_assert(told(&fences, kr_bytes(row, (size_t)len)));
  }
  ck_assert(!told(&fences, keyroute_string("tenant-0041/forests-0001"))); /* is not of theirs */
  ck_assert(!told(&fences, keyroute_string("tenant-0041/fold")));
  free_blocks(&fences);
}
END_TEST

/* What is known of a fence that has no more bytes than its two heads is all of it; not so of a
 * longer one, or where the key has less. */
START_TEST(test_block__a_key_that_has_all_of_a_fence_is_not_below_it)
{
  struct fences fences = {.count = 0};
  add(&fences, "");
  add(&fences, "abcdSHARED0001");
  add(&fences, "abcdSHARED0002");
  add(&fences, "abcdSHARED0002-and-more");
  fences.keys[fences.count++] = kr_bytes("abcdSHARED3\0", 12);
  add(&fences, "x");
  make_block(&fences, NULL);

  ck_assert(told(&fences, keyroute_string("abcdSHARED0001")));
  ck_assert(told(&fences, keyroute_string("abcdSHARED0001-1")));
  ck_assert(!told(&fences, keyroute_string("abcdSHARED0002-1")));
  ck_assert(!told(&fences, keyroute_string("abcdSHARED3")));
  ck_assert(told(&fences, kr_bytes("abcdSHARED3\0", 12)));
  ck_assert(!told(&fences, keyroute_string("abcdSHAR")));
  free_blocks(&fences);
}
END_TEST

/* More is shared than the block has a number for. */
START_TEST(test_block__fences_may_share_more_than_is_noted)
{
  enum { SHARED = 70000, LEN = SHARED + 1 };
  char *room = malloc((size_t)4 * LEN);
  struct fences fences = {.count = 0};
  ck_assert_ptr_nonnull(room);
  memset(room, 'k', (size_t)4 * LEN);
  add(&fences, "");
  for (size_t i = 0; i < 3; i++) {
    room[i * LEN + SHARED] = (char)('0' + 2 * i);
    fences.keys[fences.count++] = kr_bytes(room + i * LEN, LEN);
  }
  add(&fences, "x");
  make_block(&fences, NULL);

  for (char last = '/'; last < '7'; last++) {
    room[(size_t)3 * LEN + SHARED] = last;
    ask(&fences, kr_bytes(room + (size_t)3 * LEN, LEN));
  }
  free_blocks(&fences);
  free(room);
}
END_TEST

/* Bytes 0 and 1 behind "abc", in memory of its own: so a sanitizer sees who reads behind it. */
static struct keyroute_bytes tied_key(size_t len, unsigned bits)
{
  uint8_t *data = malloc(len);

  ck_assert_ptr_nonnull(data);
  for (size_t i = 0; i < len; i++) {
    data[i] = (uint8_t)(i < 3 ? 'a' + i : bits >> i & 1);
  }
  return kr_bytes(data, len);
}

START_TEST(test_block__tied_keys_are_compared_as_they_are)
{
  const struct kr_block block = {.cut_len = 3};
  int ties = 0;

  draw_from_seed(1);
  for (int round = 0; round < 20000; round++) {
    struct keyroute_bytes key = tied_key(3 + draw(8), draw(1 << 12) & draw(1 << 12));
    struct keyroute_bytes of_slot = tied_key(3 + draw(8), draw(1 << 12) & draw(1 << 12));

    if (kr_head_of(key, 3) == kr_head_of(of_slot, 3)) {
      MUST(kr_block_below_tied(&block, key, of_slot) == (kr_bytes_compare(key, of_slot) < 0));
      ties++;
    }
    free((void *)(uintptr_t)key.data);
    free((void *)(uintptr_t)of_slot.data);
  }
  ck_assert_int_gt(ties, 1000);
}
END_TEST

START_TEST(test_block__size_is_what_was_asked_for)
{
  char last[200]; /* more than allocations are rounded up by */
  struct fences fences = {.count = 0};
  memset(last, 'x', sizeof(last));
  add(&fences, "");
  add(&fences, "tenant-0041/folder-003");
  fences.keys[fences.count++] = kr_bytes(last, sizeof(last));

  make_block(&fences, NULL);

  const int32_t *end = kr_block_seconds(fences.block) + kr_block_seconds_room(fences.count);
  size_t len = fences.block->bytes_at + kr_block_tails(fences.block)[fences.count].begin;
  ck_assert_ptr_eq(end, kr_block_bytes(fences.block));
  ck_assert_uint_eq(kr_block_size(fences.block), kr_mem_taken(kr_block_room(len)));
  free_blocks(&fences);
}
END_TEST

START_TEST(test_block__nothing_behind_heads_takes_no_room)
{
  struct fences shorter = {.count = 0}, longer = {.count = 0};
  add(&shorter, "");
  add(&shorter, "abcd");
  add(&shorter, "b");
  add(&longer, "");
  add(&longer, "abcde");
  add(&longer, "b");

  make_block(&shorter, NULL);
  make_block(&longer, NULL);

  ck_assert_uint_eq(longer.block->bytes_at - shorter.block->bytes_at,
                    kr_block_seconds_room(3) * sizeof(int32_t));
  ck_assert(!told(&shorter, keyroute_string("abcde")));
  ck_assert(told(&longer, keyroute_string("abcde")));
  free_blocks(&shorter);
  free_blocks(&longer);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("block");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 120);
  tcase_add_loop_test(tests, test_block__answers_as_counting_fences_does, 0, FAMILIES);
  tcase_add_test(tests, test_block__second_heads_tell_folders_of_a_tenant);
  tcase_add_test(tests, test_block__a_key_that_has_all_of_a_fence_is_not_below_it);
  tcase_add_test(tests, test_block__fences_may_share_more_than_is_noted);
  tcase_add_test(tests, test_block__tied_keys_are_compared_as_they_are);
  tcase_add_test(tests, test_block__size_is_what_was_asked_for);
  tcase_add_test(tests, test_block__nothing_behind_heads_takes_no_room);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
