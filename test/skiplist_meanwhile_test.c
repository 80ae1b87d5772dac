/*
 * A writer who comes in the middle of a reader's search, in one thread.
 *
 * A list asks for keys by a function that is given to it, and this test's is where the writer comes
 * in: the list changes before a reader gets that key. So what happens between two steps of a search
 * is not left to luck, as in skiplist_race_test.c, but tried at each key that it asks for. For that
 * keys begin with the same four bytes as others do: heads are then equal, and say nothing.
 *
 * Whatever happens, what a reader is answered must have been true at one moment: before all of it,
 * behind one of the writer's steps, or behind all. The random run prints its seed; KR_TEST_SEED=N
 * repeats one.
 */
#include "lib/skiplist.h"

#include "lib/bytes.h"
#include "lib/rcu.h"
#include "test/draw.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- The list, and the writer who comes in --------------------------------------------------- */

enum { KEY_MAX = 8, MOMENTS_MAX = 600, SOME = 4 };

struct value {
  size_t len;
  char key[KEY_MAX];
};

/* What a reader asks. */
enum question { FIND, FLOOR, LOWER, HIGHER, FIRST, LAST, ABOVE, FLOOR_MANY, QUESTIONS };

struct asking {
  enum question question;
  struct keyroute_bytes key, more[SOME]; /* more: of FLOOR_MANY */
};

struct answer {
  void *values[SOME];
  size_t count;
};

static struct kr_skiplist *list;

/* The writer's part of a search. */
static struct meeting {
  void (*change)(void); /* what the writer does */
  int at;               /* it comes before the reader gets its at-th key */
  int keys;             /* the reader has asked for; counted while `reading` */
  bool reading;
  struct asking asking;
} meeting;

/* All that is true meanwhile. */
static struct answer moments[MOMENTS_MAX];
static size_t moment_count;

static struct keyroute_bytes key_in(const void *value)
{
  const struct value *of = value;

  if (meeting.reading && ++meeting.keys == meeting.at) {
    meeting.reading = false;
    meeting.change();
    meeting.reading = true;
  }
  return kr_bytes(of->key, of->len);
}

static void *ask_one(const struct asking *asking)
{
  switch (asking->question) {
  case FIND:
    return kr_skiplist_find(list, asking->key);
  case FLOOR:
    return kr_skiplist_floor(list, asking->key);
  case LOWER:
    return kr_skiplist_lower(list, asking->key);
  case HIGHER:
    return kr_skiplist_higher(list, asking->key);
  case FIRST:
    return kr_skiplist_first(list);
  default:
    return kr_skiplist_last(list);
  }
}

static struct answer ask(const struct asking *asking)
{
  struct answer answer = {.count = 1};

  if (asking->question == ABOVE) {
    answer.count = kr_skiplist_above(list, answer.values, &asking->key, SOME);
  } else if (asking->question == FLOOR_MANY) {
    answer.count = SOME;
    kr_skiplist_floor_many(list, answer.values, asking->more, SOME);
  } else {
    answer.values[0] = ask_one(asking);
  }
  return answer;
}

/* The same, nobody coming between, and of ABOVE all that there is. */
static struct answer ask_in_peace(const struct asking *asking)
{
  struct answer answer = ask(asking);

  while (asking->question == ABOVE && answer.count > 0 && answer.count < SOME) {
    struct value *last = answer.values[answer.count - 1];
    void *next = kr_skiplist_higher(list, kr_bytes(last->key, last->len));

    if (next == NULL) {
      break;
    }
    answer.values[answer.count++] = next;
  }
  return answer;
}

/* The writer has done a step: this is true now. */
static void moment(void)
{
  if (moment_count == MOMENTS_MAX) {
    ck_abort_msg("too many moments");
  }
  moments[moment_count++] = ask_in_peace(&meeting.asking);
}

/* Were the first values of an answer just those of a moment? */
static bool agree(const struct answer *answer, const struct answer *now)
{
  return answer->count <= now->count && (answer->count > 0) == (now->count > 0) &&
         memcmp(answer->values, now->values, answer->count * sizeof(answer->values[0])) == 0;
}

/* Was value i of an answer, which are independent of each other, true at some moment? */
static bool was_true(const struct answer *answer, size_t i)
{
  for (size_t at = 0; at < moment_count; at++) {
    const struct answer *now = &moments[at];

    if (meeting.asking.question == FLOOR_MANY ? answer->values[i] == now->values[i]
                                              : agree(answer, now)) {
      return true;
    }
  }
  return false;
}

/* Ask, while the writer comes before the at-th key. Returns whether it came. */
static bool meet(const struct asking *asking, int at, void (*change)(void))
{
  moment_count = 0;
  meeting = (struct meeting){.change = change, .at = at, .asking = *asking};
  kr_rcu_read_begin();
  moment();
  meeting.reading = true;
  struct answer answer = ask(asking);

  meeting.reading = false;
  kr_rcu_read_end();
  for (size_t i = 0; i < (asking->question == FLOOR_MANY ? SOME : 1); i++) {
    if (!was_true(&answer, i)) {
      ck_abort_msg("question %d: an answer that was never true, the writer came at key %d",
                   asking->question, at);
    }
  }
  return meeting.keys >= at;
}

/* ---- Lists made for one meeting -------------------------------------------------------------- */

/* Values by words of one line, each of which is one key. */
enum { WORDS_MAX = 24 };

static struct value words[WORDS_MAX];
static size_t word_count;

static struct value *word(const char *text)
{
  for (size_t i = 0; i < word_count; i++) {
    if (kr_bytes_equal(kr_bytes(words[i].key, words[i].len), keyroute_string(text))) {
      return &words[i];
    }
  }
  struct value *made = &words[word_count++];

  made->len = strlen(text);
  memcpy(made->key, text, made->len);
  return made;
}

static void put(struct value *value)
{
  void *replaced;

  ck_assert_int_eq(kr_skiplist_put(list, value, &replaced), 0);
}

static void take(const char *text)
{
  ck_assert_ptr_eq(kr_skiplist_take(list, keyroute_string(text)), word(text));
}

/* In blocks of four, as they come: keys in order fill them. */
static struct kr_mem *list_of(const char *text)
{
  struct kr_mem *mem = failing_mem_new();
  char line[128], *rest = line;

  list = kr_skiplist_new_of(mem, key_in, 4);
  snprintf(line, sizeof(line), "%s", text);
  for (char *one; (one = strtok_r(rest, " ", &rest)) != NULL;) {
    put(word(one));
  }
  return mem;
}

static void done(struct kr_mem *mem)
{
  while (kr_skiplist_count(list) > 0) {
    struct value *value = kr_skiplist_first(list);

    kr_skiplist_take(list, kr_bytes(value->key, value->len));
  }
  kr_skiplist_free(list);
  kr_rcu_barrier();
  failing_mem_done(mem);
}

/* Have the writer come before each key in turn that the question asks for, to a list made anew. */
static void meet_at_each_key(enum question question, const char *key, const char *text,
                             void (*prepare)(void), void (*change)(void))
{
  const struct asking asking = {.question = question, .key = keyroute_string(key)};
  bool came = true;
  int at = 0;

  while (came) {
    struct kr_mem *mem = list_of(text);

    prepare();
    came = meet(&asking, ++at, change);
    done(mem);
  }
  ck_assert_int_gt(at, 1);
}

/* ---- What lies in several blocks ---- */

static void take_first_behind(void)
{
  take("pppp0");
}

static void put_first_behind_take_last_before(void)
{
  put(word("pppp0"));
  moment();
  take("d");
  moment();
}

/* There is always one of d and pppp0. A reader that sees the second block as it was, without pppp0,
 * and then the first as it has become, without d, must not say that c is the nearest. */
START_TEST(test_skiplist_meanwhile__left_neighbour_in_either_of_two_blocks_is_found)
{
  static const enum question questions[] = {FLOOR, LOWER};

  meet_at_each_key(questions[_i], "pppp1", "a b c d pppp0 pppp2 q r", take_first_behind,
                   put_first_behind_take_last_before);
}
END_TEST

static void take_last_before(void)
{
  take("cccc2");
}

static void put_last_before_take_first_behind(void)
{
  put(word("cccc2"));
  moment();
  take("p");
  moment();
}

START_TEST(test_skiplist_meanwhile__right_neighbour_in_either_of_two_blocks_is_found)
{
  static const enum question questions[] = {HIGHER, ABOVE};

  meet_at_each_key(questions[_i], "cccc1", "a b cccc0 cccc2 p q r s", take_last_before,
                   put_last_before_take_first_behind);
}
END_TEST

/* ---- A block that is replaced under its reader ---- */

static void nothing(void)
{
}

static void replace_block_then_values(void)
{
  static struct value other;

  put(word("pppp3")); /* the block has five now: two come in its place */
  moment();
  other = *word("pppp1");
  put(&other);
  moment();
  take("pppp0");
  moment();
  take("pppp2");
  moment();
}

START_TEST(test_skiplist_meanwhile__reader_on_a_replaced_block_finds_what_was_there)
{
  static const enum question questions[] = {FIND, FLOOR, LOWER, HIGHER, ABOVE};

  meet_at_each_key(questions[_i], "pppp1", "a b c d pppp0 pppp1 pppp2 q", nothing,
                   replace_block_then_values);
}
END_TEST

/* ---- Blocks that are joined under their reader ---- */

static void thin_out(void)
{
  take("b");
  take("c");
}

/* The first block has two: it joins its neighbour when one more goes. */
static void take_more_of_both_blocks(void)
{
  take("aaaa0");
  moment();
  take("p");
  moment();
  take("aaaa2");
  moment();
  take("q");
  moment();
}

START_TEST(test_skiplist_meanwhile__reader_of_joined_blocks_finds_what_was_there)
{
  static const enum question questions[] = {FIND, FLOOR, LOWER, HIGHER, ABOVE};

  meet_at_each_key(questions[_i], "aaaa1", "aaaa0 aaaa2 b c p q r s", thin_out,
                   take_more_of_both_blocks);
}
END_TEST

/* Nothing is below the key that `first` looks for, but a head of zeros equals that of none. */
static struct value zeros = {.len = 5, .key = "\0\0\0\0z"};

static void put_zeros_thin_out(void)
{
  put(&zeros);
  take("b");
  take("c");
}

static void take_zeros_and_more(void)
{
  ck_assert_ptr_eq(kr_skiplist_take(list, kr_bytes(zeros.key, zeros.len)), &zeros);
  moment();
  take("a");
  moment();
  take("d");
  moment();
}

START_TEST(test_skiplist_meanwhile__first_of_joined_blocks_was_the_first)
{
  meet_at_each_key(FIRST, "", "a b c d e f g h", put_zeros_thin_out, take_zeros_and_more);
}
END_TEST

static void one_left(void *value, void *arg)
{
  (void)value;
  (void)arg;
  moment();
}

/* They leave one by one, and their blocks behind that. */
static void take_between_both_ends(void)
{
  struct keyroute_bytes low = keyroute_string("b"), high = keyroute_string("w");

  kr_skiplist_take_between(list, &low, &high, one_left, NULL);
  moment();
}

START_TEST(test_skiplist_meanwhile__reader_in_a_stretch_that_leaves_finds_what_was_there)
{
  static const enum question questions[] = {FIND, FLOOR, LOWER, HIGHER, ABOVE};

  meet_at_each_key(questions[_i], "pppp1", "a b c d e f g h pppp0 pppp1 pppp2 q r s t u v w x y",
                   nothing, take_between_both_ends);
}
END_TEST

/* ---- A list that is detached under its reader ---- */

static struct kr_skiplist *into;

/* What was in the list leaves it, and then the list that it went to, which may answer meanwhile. */
static void detach_and_take(void)
{
  struct kr_skiplist *emptied = list;

  kr_skiplist_detach(list, into);
  moment();
  list = into;
  while (kr_skiplist_count(into) > 0) {
    struct value *value = kr_skiplist_last(into);

    kr_skiplist_take(into, kr_bytes(value->key, value->len));
    moment();
  }
  list = emptied;
}

/* As put_first_behind_take_last_before does, but in the list that they went to. */
static void detach_and_change(void)
{
  struct kr_skiplist *emptied = list;

  kr_skiplist_detach(list, into);
  moment();
  list = into;
  put_first_behind_take_last_before();
  list = emptied;
}

/* Have the writer come before each key that the question asks for. */
static void detach_at_each_key(enum question question, const char *text, void (*prepare)(void),
                               void (*change)(void))
{
  const struct asking asking = {.question = question, .key = keyroute_string("pppp1")};
  bool came = true;
  int at = 0;

  while (came) {
    struct kr_mem *mem = list_of(text);

    prepare();
    into = kr_skiplist_new_of(mem, key_in, 4);
    came = meet(&asking, ++at, change);
    kr_skiplist_free(into);
    done(mem);
  }
  ck_assert_int_gt(at, 1);
}

START_TEST(test_skiplist_meanwhile__reader_of_a_detached_list_finds_what_was_in_either)
{
  static const enum question questions[] = {FIND, FLOOR, LOWER, HIGHER, ABOVE};

  detach_at_each_key(questions[_i], "a b c d pppp0 pppp1 pppp2 q", nothing, detach_and_take);
}
END_TEST

START_TEST(test_skiplist_meanwhile__reader_of_two_blocks_that_are_detached_looks_again)
{
  static const enum question questions[] = {FLOOR, LOWER};

  detach_at_each_key(questions[_i], "a b c d pppp0 pppp2 q r", take_first_behind,
                     detach_and_change);
}
END_TEST

/* ---- Whatever comes -------------------------------------------------------------------------- */

/* Keys begin in one of three ways, four bytes each, so that heads are equal in every block. */
enum { BEGINNINGS = 3, ENDINGS = 21, ALL = BEGINNINGS * ENDINGS };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MEETINGS = 20000 };
#else
enum { MEETINGS = 200000 };
#endif

static struct value all[ALL]
                       [2]; /* the second is for replacing the first, and the other way round */

static void make_all(void)
{
  static const char *const beginnings[BEGINNINGS] = {"aaaa", "aaab", "zzzz"};
  static const char letters[] = {'\0', 'a', 'm', '\xff'};

  for (int i = 0; i < ALL; i++) {
    struct value *value = &all[i][0];
    int ending = i % ENDINGS;

    memcpy(value->key, beginnings[i / ENDINGS], 4);
    value->len = ending == 0 ? 4 : ending <= 4 ? 5 : 6;
    value->key[4] = letters[ending <= 4 ? (ending + 3) % 4 : (ending - 5) / 4];
    value->key[5] = letters[(ending + 3) % 4];
    all[i][1] = *value;
  }
}

static struct keyroute_bytes drawn_key(void)
{
  const struct value *value = &all[draw(ALL)][0];

  return kr_bytes(value->key, value->len);
}

/* One step of the writer: it puts, replaces or takes, more often what the list has little of. */
static void change_once(void)
{
  size_t i = draw(ALL);
  struct keyroute_bytes key = kr_bytes(all[i][0].key, all[i][0].len);
  struct value *there = kr_skiplist_find(list, key);

  if (there == NULL || draw(4) == 0) {
    put(there == &all[i][0] ? &all[i][1] : &all[i][0]);
  } else if (draw(ALL) < kr_skiplist_count(list) + 20) {
    ck_assert_ptr_eq(kr_skiplist_take(list, key), there);
  }
}

static void take_some(void)
{
  struct keyroute_bytes low = drawn_key(), high = drawn_key();

  kr_skiplist_take_between(list, draw(5) == 0 ? NULL : &low, draw(5) == 0 ? NULL : &high, one_left,
                           NULL);
}

static int compare_values(const void *a, const void *b)
{
  const struct value *const *left = a, *const *right = b;

  return kr_bytes_compare(kr_bytes((*left)->key, (*left)->len),
                          kr_bytes((*right)->key, (*right)->len));
}

/* Put all keys at once that are between one and the next that is there. */
static void put_some(void)
{
  struct keyroute_bytes key = drawn_key();
  const struct value *next = kr_skiplist_higher(list, key);
  void *some[ALL];
  size_t count = 0;

  for (int i = 0; i < ALL; i++) {
    struct value *value = &all[i][0];
    struct keyroute_bytes other = kr_bytes(value->key, value->len);

    if (kr_bytes_compare(other, key) > 0 &&
        (next == NULL || kr_bytes_compare(other, kr_bytes(next->key, next->len)) < 0)) {
      some[count++] = value;
    }
  }
  qsort(some, count, sizeof(some[0]), compare_values);
  ck_assert_int_eq(kr_skiplist_put_many(list, some, count), 0);
}

static void change_some(void)
{
  for (uint32_t steps = 1 + draw(8); steps > 0; steps--) {
    if (draw(40) == 0) {
      take_some();
      moment();
      put_some();
    } else {
      change_once();
    }
    moment();
  }
}

static struct asking drawn_asking(void)
{
  struct asking asking = {.question = draw(QUESTIONS), .key = drawn_key()};

  for (int i = 0; i < SOME; i++) {
    asking.more[i] = drawn_key();
  }
  return asking;
}

/* Some changes find no memory to join blocks: empty ones are left. */
static void change_between_meetings(void)
{
  for (uint32_t steps = draw(12); steps > 0; steps--) {
    struct value *value = kr_skiplist_floor(list, drawn_key());

    if (value != NULL && draw(3) == 0) {
      mem_fail_from(1);
      kr_skiplist_take(list, kr_bytes(value->key, value->len));
      mem_fail(0);
    } else {
      change_once();
    }
  }
}

START_TEST(test_skiplist_meanwhile__every_answer_was_true_at_one_moment)
{
  struct kr_mem *mem = failing_mem_new();
  int met = 0;

  draw_seeded();
  make_all();
  list = kr_skiplist_new_of(mem, key_in, _i == 0 ? 4 : 6);

  for (int i = 0; i < MEETINGS; i++) {
    struct asking asking = drawn_asking();

    change_between_meetings();
    met += meet(&asking, 1 + (int)draw(6), change_some);
    if (i % 1000 == 999) {
      kr_rcu_barrier(); /* keep what waits to be freed small */
    }
  }

  ck_assert_int_gt(met, MEETINGS / 10);
  done(mem);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("skiplist_meanwhile");
  TCase *fixed = tcase_create("fixed"), *random = tcase_create("random");

  tcase_add_loop_test(
      fixed, test_skiplist_meanwhile__left_neighbour_in_either_of_two_blocks_is_found, 0, 2);
  tcase_add_loop_test(
      fixed, test_skiplist_meanwhile__right_neighbour_in_either_of_two_blocks_is_found, 0, 2);
  tcase_add_loop_test(
      fixed, test_skiplist_meanwhile__reader_on_a_replaced_block_finds_what_was_there, 0, 5);
  tcase_add_loop_test(fixed, test_skiplist_meanwhile__reader_of_joined_blocks_finds_what_was_there,
                      0, 5);
  tcase_add_test(fixed, test_skiplist_meanwhile__first_of_joined_blocks_was_the_first);
  tcase_add_loop_test(
      fixed, test_skiplist_meanwhile__reader_in_a_stretch_that_leaves_finds_what_was_there, 0, 5);
  tcase_add_loop_test(
      fixed, test_skiplist_meanwhile__reader_of_a_detached_list_finds_what_was_in_either, 0, 5);
  tcase_add_loop_test(
      fixed, test_skiplist_meanwhile__reader_of_two_blocks_that_are_detached_looks_again, 0, 2);
  tcase_set_timeout(fixed, 60);
  suite_add_tcase(made, fixed);
  tcase_set_timeout(random, 120);
  tcase_add_loop_test(random, test_skiplist_meanwhile__every_answer_was_true_at_one_moment, 0, 2);
  suite_add_tcase(made, random);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
