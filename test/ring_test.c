/*
 * The ring of cached locations: who is visited next?
 */
#include "lib/ring.h"

#include "test/failing_mem.h"
#include "test/made_location.h"
#include "test/run_suite.h"

#include <check.h>

enum { COUNT = 5 };

struct fixture {
  struct kr_mem *mem;
  struct kr_ring ring;
  struct keyroute_location *locations[COUNT];
};

static struct fixture fixture_new(void)
{
  struct fixture fixture = {.mem = failing_mem_new()};

  for (int i = 0; i < COUNT; i++) {
    struct made made = {"t", "", "", i + 1, NULL, 0, 0, 0};

    fixture.locations[i] = make_location(fixture.mem, NULL, &made);
    kr_ring_add(&fixture.ring, fixture.locations[i]);
  }
  return fixture;
}

static void fixture_free(struct fixture *fixture)
{
  for (int i = 0; i < COUNT; i++) {
    keyroute_location_release(fixture->locations[i]);
  }
  failing_mem_done(fixture->mem);
}

/* The id of the location whose turn it is; 0 = none. */
static int64_t next_id(struct fixture *fixture)
{
  struct keyroute_location *location = kr_ring_next(&fixture->ring);

  return location != NULL ? keyroute_location_region_id(location) : 0;
}

START_TEST(test_ring__goes_round_in_the_order_of_adding)
{
  struct fixture fixture = fixture_new();

  ck_assert_uint_eq(fixture.ring.count, COUNT);
  for (int i = 0; i < 3 * COUNT; i++) {
    ck_assert_int_eq(next_id(&fixture), 1 + i % COUNT);
  }
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_ring__what_is_added_in_the_middle_of_a_round_comes_last)
{
  struct fixture fixture = fixture_new();

  kr_ring_remove(&fixture.ring, fixture.locations[0]);
  ck_assert_int_eq(next_id(&fixture), 2);
  ck_assert_int_eq(next_id(&fixture), 3);
  kr_ring_add(&fixture.ring, fixture.locations[0]);

  static const int64_t rest[] = {4, 5, 2, 3, 1, 4};
  for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++) {
    ck_assert_int_eq(next_id(&fixture), rest[i]);
  }
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_ring__what_is_removed_under_the_hand_makes_way_for_the_next)
{
  struct fixture fixture = fixture_new();

  next_id(&fixture);
  kr_ring_remove(&fixture.ring, fixture.locations[1]); /* under the hand */
  kr_ring_remove(&fixture.ring, fixture.locations[0]); /* just visited */

  ck_assert_int_eq(next_id(&fixture), 3);
  ck_assert_int_eq(next_id(&fixture), 4);
  ck_assert_int_eq(next_id(&fixture), 5);
  ck_assert_int_eq(next_id(&fixture), 3);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_ring__may_be_emptied_and_filled_again)
{
  struct fixture fixture = fixture_new();

  for (int i = COUNT - 1; i >= 0; i--) {
    kr_ring_remove(&fixture.ring, fixture.locations[i]);
  }
  ck_assert_uint_eq(fixture.ring.count, 0);
  ck_assert_int_eq(next_id(&fixture), 0);
  kr_ring_add(&fixture.ring, fixture.locations[3]);

  ck_assert_int_eq(next_id(&fixture), 4);
  ck_assert_int_eq(next_id(&fixture), 4);
  ck_assert_uint_eq(fixture.ring.count, 1);
  fixture_free(&fixture);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("ring");
  TCase *tests = tcase_create("all");

  tcase_add_test(tests, test_ring__goes_round_in_the_order_of_adding);
  tcase_add_test(tests, test_ring__what_is_added_in_the_middle_of_a_round_comes_last);
  tcase_add_test(tests, test_ring__what_is_removed_under_the_hand_makes_way_for_the_next);
  tcase_add_test(tests, test_ring__may_be_emptied_and_filled_again);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
