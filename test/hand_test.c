/*
 * The hands that go round the cached regions: who is visited next?
 */
#include "lib/hand.h"

#include "lib/rcu.h"
#include "test/failing_mem.h"
#include "test/made_location.h"
#include "test/run_suite.h"

#include <check.h>

enum { LISTS = 3, PER_LIST = 4 };

/* Lists 0 to 2, whose regions have the ids 10 to 13, 20 to 23 and 30 to 33. */
struct fixture {
  struct kr_mem *mem;
  struct kr_hands hands;
  struct kr_stop stops[LISTS];
};

static struct keyroute_bytes key_of(const void *location)
{
  return keyroute_location_start_key(location);
}

static void put(struct fixture *fixture, int id)
{
  struct kr_stop *stop = &fixture->stops[id / 10 - 1];
  char start[16];
  void *replaced;

  snprintf(start, sizeof(start), "%03d", id);
  struct made made = {"t", start, "", id, NULL, 0, 0, 0};
  struct keyroute_location *location = make_location(fixture->mem, NULL, &made);

  ck_assert_int_eq(kr_skiplist_put(stop->regions, location, &replaced), 0);
  ck_assert_ptr_null(replaced);
  if (kr_skiplist_count(stop->regions) == 1) {
    kr_hands_add(&fixture->hands, stop);
  }
}

static void take(struct fixture *fixture, int id)
{
  struct kr_stop *stop = &fixture->stops[id / 10 - 1];
  char start[16];

  snprintf(start, sizeof(start), "%03d", id);
  struct keyroute_location *location = kr_skiplist_take(stop->regions, keyroute_string(start));

  ck_assert_ptr_nonnull(location);
  if (kr_skiplist_count(stop->regions) == 0) {
    kr_hands_remove(&fixture->hands, stop);
  }
  kr_location_release_later(location);
}

static void take_list(struct fixture *fixture, int list)
{
  struct keyroute_location *first;

  while ((first = kr_skiplist_first(fixture->stops[list].regions)) != NULL) {
    take(fixture, (int)keyroute_location_region_id(first));
  }
}

static struct fixture *fixture_new(void)
{
  static struct fixture fixture;

  fixture.mem = failing_mem_new();
  for (int i = 0; i < LISTS; i++) {
    fixture.stops[i].regions = kr_skiplist_new(fixture.mem, key_of);
    for (int j = 0; j < PER_LIST; j++) {
      put(&fixture, 10 * (i + 1) + j);
    }
  }
  return &fixture;
}

static void fixture_free(struct fixture *fixture)
{
  for (int i = 0; i < LISTS; i++) {
    take_list(fixture, i);
    kr_skiplist_free(fixture->stops[i].regions);
  }
  kr_rcu_barrier();
  failing_mem_done(fixture->mem); /* no hand counts a region of an empty circle */
}

/* The id of the region whose turn it is; 0 = none. */
static int64_t next_id(struct fixture *fixture, int of)
{
  struct kr_hand *hand = &fixture->hands.of[of];
  struct keyroute_location *next;

  if (kr_hand_ahead(hand, &next, 1) == 0) {
    return 0;
  }
  kr_hand_pass(hand, next);
  return keyroute_location_region_id(next);
}

static void expect(struct fixture *fixture, int of, const int *ids, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    ck_assert_int_eq(next_id(fixture, of), ids[i]);
  }
}

#define EXPECT_NEXT(fixture, of, ...)                                                              \
  expect((fixture), (of), (const int[]){__VA_ARGS__},                                              \
         sizeof((const int[]){__VA_ARGS__}) / sizeof(int))

START_TEST(test_hand__goes_round_all_lists_in_the_order_of_their_keys)
{
  struct fixture *fixture = fixture_new();

  for (int round = 0; round < 3; round++) {
    EXPECT_NEXT(fixture, KR_HAND_SWEEP, 10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33);
  }
  fixture_free(fixture);
}
END_TEST

START_TEST(test_hand__each_goes_its_own_way)
{
  struct fixture *fixture = fixture_new();

  EXPECT_NEXT(fixture, KR_HAND_SWEEP, 10, 11, 12);
  kr_hand_skip(&fixture->hands.of[KR_HAND_ROOM]);
  EXPECT_NEXT(fixture, KR_HAND_ROOM, 20, 21);
  EXPECT_NEXT(fixture, KR_HAND_SWEEP, 13, 20, 21);
  kr_hand_skip(&fixture->hands.of[KR_HAND_ROOM]);

  EXPECT_NEXT(fixture, KR_HAND_ROOM, 30);
  EXPECT_NEXT(fixture, KR_HAND_SWEEP, 22);
  fixture_free(fixture);
}
END_TEST

START_TEST(test_hand__some_at_once_are_those_of_one_list)
{
  struct fixture *fixture = fixture_new();
  struct kr_hand *hand = &fixture->hands.of[KR_HAND_SWEEP];
  struct keyroute_location *some[8];

  ck_assert_uint_eq(kr_hand_ahead(hand, some, 0), 0);
  ck_assert_uint_eq(kr_hand_ahead(hand, some, 3), 3);
  ck_assert_uint_eq(kr_hand_ahead(hand, some, 8), PER_LIST); /* none was passed */
  ck_assert_int_eq(keyroute_location_region_id(some[2]), 12);
  kr_hand_pass(hand, some[2]);
  ck_assert_uint_eq(kr_hand_ahead(hand, some, 8), 1);
  kr_hand_pass(hand, some[0]);

  ck_assert_uint_eq(kr_hand_ahead(hand, some, 8), PER_LIST);
  ck_assert_int_eq(keyroute_location_region_id(some[0]), 20);
  ck_assert_ptr_eq(hand->stop, &fixture->stops[1]);
  fixture_free(fixture);
}
END_TEST

START_TEST(test_hand__goes_on_behind_a_region_that_has_left)
{
  struct fixture *fixture = fixture_new();

  EXPECT_NEXT(fixture, KR_HAND_SWEEP, 10, 11);
  take(fixture, 11); /* visited last */
  take(fixture, 12); /* would be next */
  kr_rcu_barrier();
  EXPECT_NEXT(fixture, KR_HAND_SWEEP, 13, 20);
  put(fixture, 12); /* behind the hand */
  put(fixture, 24);

  EXPECT_NEXT(fixture, KR_HAND_SWEEP, 21, 22, 23, 24, 30, 31, 32, 33, 10, 12, 13, 20);
  fixture_free(fixture);
}
END_TEST

START_TEST(test_hand__list_that_is_emptied_under_it_makes_way_for_the_next)
{
  struct fixture *fixture = fixture_new();

  EXPECT_NEXT(fixture, KR_HAND_SWEEP, 10, 11, 12, 13, 20);
  EXPECT_NEXT(fixture, KR_HAND_ROOM, 10);
  take_list(fixture, 1);
  EXPECT_NEXT(fixture, KR_HAND_SWEEP, 30, 31);
  take_list(fixture, 0);
  EXPECT_NEXT(fixture, KR_HAND_ROOM, 30);
  EXPECT_NEXT(fixture, KR_HAND_SWEEP, 32, 33, 30);

  fixture_free(fixture);
}
END_TEST

START_TEST(test_hand__list_that_is_filled_again_comes_last_where_room_is_made)
{
  struct fixture *fixture = fixture_new();

  EXPECT_NEXT(fixture, KR_HAND_ROOM, 10, 11, 12, 13, 20);
  take_list(fixture, 2);
  put(fixture, 35);

  EXPECT_NEXT(fixture, KR_HAND_ROOM, 21, 22, 23, 10, 11, 12, 13, 35, 20);
  fixture_free(fixture);
}
END_TEST

START_TEST(test_hand__circle_may_be_emptied_and_filled_again)
{
  struct fixture *fixture = fixture_new();

  EXPECT_NEXT(fixture, KR_HAND_SWEEP, 10, 11);
  for (int i = 0; i < LISTS; i++) {
    take_list(fixture, i);
  }
  ck_assert_int_eq(next_id(fixture, KR_HAND_SWEEP), 0);
  ck_assert_int_eq(next_id(fixture, KR_HAND_ROOM), 0);
  put(fixture, 25);

  EXPECT_NEXT(fixture, KR_HAND_SWEEP, 25, 25);
  EXPECT_NEXT(fixture, KR_HAND_ROOM, 25, 25);
  fixture_free(fixture);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("hand");
  TCase *tests = tcase_create("all");

  tcase_add_test(tests, test_hand__goes_round_all_lists_in_the_order_of_their_keys);
  tcase_add_test(tests, test_hand__each_goes_its_own_way);
  tcase_add_test(tests, test_hand__some_at_once_are_those_of_one_list);
  tcase_add_test(tests, test_hand__goes_on_behind_a_region_that_has_left);
  tcase_add_test(tests, test_hand__list_that_is_emptied_under_it_makes_way_for_the_next);
  tcase_add_test(tests, test_hand__list_that_is_filled_again_comes_last_where_room_is_made);
  tcase_add_test(tests, test_hand__circle_may_be_emptied_and_filled_again);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
