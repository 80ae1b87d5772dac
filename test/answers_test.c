/*
 * The judge of the tests against a real HBase: it lets pass what was true, and tells each kind of
 * wrong answer.
 */
#include "test/integration/answers.h"

#include "test/failing_mem.h"
#include "test/made_location.h"
#include "test/run_suite.h"

#include <inttypes.h>
#include <stdlib.h>

/* The region [a, c) of table t, first on A, from 2000 on (seen 2050) on B. At 3000 (seen 3050) it
 * is split: [a, b) is on B. */
static const struct made on_a = {"t", "a", "c", 7, "A", 1, 5, 2};
static const struct made on_b = {"t", "a", "c", 7, "B", 1, 6, 5};
static const struct made half = {"t", "a", "b", 9, "B", 1, 6, 8};

static struct kr_mem *mem;
static struct kr_servers *servers;
static struct answers *answers;

static void setup(void)
{
  mem = failing_mem_new();
  servers = kr_servers_new(mem);
  answers = answers_new();
}

static void teardown(void)
{
  answers_free(answers);
  kr_servers_free(servers);
  failing_mem_done(mem);
}

enum how { MISS, FRESH, CACHED };

static void told(const struct made *made, enum how how, int64_t began_ms)
{
  struct keyroute_location *location = make_location(mem, servers, made);

  answers_note(answers, location, how == FRESH, how == CACHED, began_ms, began_ms + 10);
  keyroute_location_release(location);
}

static void told_nothing(int error, const char *row, int64_t began_ms)
{
  answers_note_nothing(answers, error, "t", keyroute_string(row), began_ms, began_ms + 10);
}

static void add_line(char **to, const struct made *made, int written_ms, bool gone)
{
  char encoded[33];

  kr_region_encoded_name(encoded, keyroute_string(made->table), keyroute_string(made->start),
                         made->id, 0);
  *to += sprintf(*to, "%s\t%s\t%s\t%s\t%d\t%d\t%s\t%d\t%" PRId64 "\t%" PRId64 "\n", encoded,
                 made->table, made->start, made->end, written_ms, written_ms + 50,
                 gone ? "" : made->host, gone ? 0 : made->port, gone ? 0 : made->start_code,
                 gone ? -1 : made->seqnum);
}

static unsigned judge(void)
{
  char history[2000], *to = history;

  add_line(&to, &on_a, 1000, false);
  add_line(&to, &on_b, 2000, false);
  add_line(&to, &on_b, 3000, true);
  add_line(&to, &half, 3000, false);
  return answers_judge(answers, history);
}

START_TEST(test_answers__what_was_true_is_right)
{
  told(&on_a, MISS, 1100);
  told(&on_a, FRESH, 1990);
  told(&on_b, FRESH, 2100);
  told(&half, FRESH, 3100);

  ck_assert_uint_eq(judge(), 0);
}
END_TEST

START_TEST(test_answers__old_news_is_right_until_somebody_has_seen_newer)
{
  told(&on_a, FRESH, 2040);

  ck_assert_uint_eq(judge(), 0);
}
END_TEST

START_TEST(test_answers__the_cache_may_be_old)
{
  told(&on_a, MISS, 1100);
  told(&on_a, CACHED, 5000);

  ck_assert_uint_eq(judge(), 0);
}
END_TEST

START_TEST(test_answers__old_news_past_the_cache_is_wrong)
{
  told(&on_a, FRESH, 2100);

  ck_assert_uint_eq(judge(), 1);
}
END_TEST

START_TEST(test_answers__a_region_that_was_split_is_wrong)
{
  told(&on_b, FRESH, 3100);

  ck_assert_uint_eq(judge(), 1);
}
END_TEST

START_TEST(test_answers__a_server_that_never_had_the_region_is_wrong)
{
  struct made elsewhere = on_a;

  elsewhere.host = "C";
  told(&elsewhere, MISS, 1100);

  ck_assert_uint_eq(judge(), 1);
}
END_TEST

START_TEST(test_answers__another_start_code_or_seqnum_is_wrong)
{
  struct made restarted = on_a, reopened = on_a;

  restarted.start_code++;
  reopened.seqnum++;
  told(&restarted, MISS, 1100);
  told(&reopened, MISS, 1100);

  ck_assert_uint_eq(judge(), 2);
}
END_TEST

START_TEST(test_answers__other_bounds_are_wrong)
{
  struct made longer = on_a;

  longer.end = "d";
  told(&longer, MISS, 1100);

  ck_assert_uint_eq(judge(), 1);
}
END_TEST

START_TEST(test_answers__what_is_told_before_it_is_written_is_wrong)
{
  told(&on_b, MISS, 1500);

  ck_assert_uint_eq(judge(), 1);
}
END_TEST

START_TEST(test_answers__a_cache_that_goes_back_is_wrong)
{
  told(&on_b, FRESH, 2100);
  told(&on_a, CACHED, 2200);

  ck_assert_uint_eq(judge(), 1);
}
END_TEST

START_TEST(test_answers__a_cache_that_goes_back_to_a_split_region_is_wrong)
{
  told(&half, FRESH, 3100);
  told(&on_b, CACHED, 3200);

  ck_assert_uint_eq(judge(), 1);
}
END_TEST

START_TEST(test_answers__nothing_where_a_region_stood_all_the_time_is_wrong)
{
  told_nothing(KEYROUTE_E_TABLE_NOT_FOUND, "b", 2100);
  told_nothing(KEYROUTE_E_HOLE, "a", 2100);

  ck_assert_uint_eq(judge(), 2);
}
END_TEST

START_TEST(test_answers__nothing_is_right_where_there_was_none_or_not_yet)
{
  told_nothing(KEYROUTE_E_TABLE_NOT_FOUND, "b", 900);
  told_nothing(KEYROUTE_E_HOLE, "b", 3100);
  told_nothing(KEYROUTE_E_HOLE, "b", 2995);
  told_nothing(KEYROUTE_E_TIMEOUT, "a", 2100);

  ck_assert_uint_eq(judge(), 0);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("answers");
  TCase *all = tcase_create("answers");

  tcase_add_checked_fixture(all, setup, teardown);
  tcase_add_test(all, test_answers__what_was_true_is_right);
  tcase_add_test(all, test_answers__old_news_is_right_until_somebody_has_seen_newer);
  tcase_add_test(all, test_answers__the_cache_may_be_old);
  tcase_add_test(all, test_answers__old_news_past_the_cache_is_wrong);
  tcase_add_test(all, test_answers__a_region_that_was_split_is_wrong);
  tcase_add_test(all, test_answers__a_server_that_never_had_the_region_is_wrong);
  tcase_add_test(all, test_answers__another_start_code_or_seqnum_is_wrong);
  tcase_add_test(all, test_answers__other_bounds_are_wrong);
  tcase_add_test(all, test_answers__what_is_told_before_it_is_written_is_wrong);
  tcase_add_test(all, test_answers__a_cache_that_goes_back_is_wrong);
  tcase_add_test(all, test_answers__a_cache_that_goes_back_to_a_split_region_is_wrong);
  tcase_add_test(all, test_answers__nothing_where_a_region_stood_all_the_time_is_wrong);
  tcase_add_test(all, test_answers__nothing_is_right_where_there_was_none_or_not_yet);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
