/* Keys of a catalog's rows: their order against the one that the scripted server has of its own. */
#include "lib/meta_key.h"

#include "lib/bytes.h"
#include "test/failing_mem.h"
#include "test/fake_catalog.h"
#include "test/run_suite.h"

#include <stdlib.h>
#include <string.h>

#define BYTES(text) kr_bytes(text, sizeof(text) - 1)

static struct keyroute_bytes random_key(char *room, size_t size)
{
  static const char letters[] = "t,,,a\0\x2b\xff";
  size_t len = (size_t)rand() % size;

  for (size_t i = 0; i < len; i++) {
    room[i] = letters[(size_t)rand() % (sizeof(letters) - 1)];
  }
  return kr_bytes(room, len);
}

static int sign(int order)
{
  return (order > 0) - (order < 0);
}

START_TEST(test_meta_key__order_is_the_servers)
{
  char left[12], right[12];

  srand(1);
  for (int i = 0; i < 100000; i++) {
    struct keyroute_bytes a = random_key(left, sizeof(left));
    struct keyroute_bytes b = random_key(right, sizeof(right));

    ck_assert_int_eq(sign(kr_meta_key_compare(a, b)), sign(fake_catalog_compare(a, b)));
  }
}
END_TEST

START_TEST(test_meta_key__start_key_with_low_bytes_is_no_prefix_of_the_id)
{
  ck_assert_int_gt(kr_meta_key_compare(BYTES("t,a\0,1"), BYTES("t,a,1")), 0);
  ck_assert_int_gt(kr_meta_key_compare(BYTES("t,a,b,1"), BYTES("t,a,2")), 0);
  ck_assert_int_lt(kr_meta_key_compare(BYTES("t,zz,9"), BYTES("t1,,1")), 0);
}
END_TEST

/* What stands directly below a key, compared. */
static void expect_below(struct keyroute_bytes key, struct keyroute_bytes want)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_buf below;

  kr_buf_init(&below, mem);
  kr_meta_key_write_below(&below, key);
  ck_assert(kr_bytes_equal(kr_buf_view(&below), want));
  kr_buf_clear(&below);
  failing_mem_done(mem);
}

START_TEST(test_meta_key__key_below_leaves_no_room_for_a_region)
{
  expect_below(BYTES("t,a,1.0f."), BYTES("t,a,1.0f-\xff"));
  expect_below(BYTES(".META.,,1"), BYTES(".META.,,0\xff"));
  expect_below(BYTES("t,a\0"), BYTES("t,a"));
  expect_below(BYTES(""), BYTES(""));
  ck_assert_int_lt(kr_meta_key_compare(BYTES("t,a,1.0f-\xff"), BYTES("t,a,1.0f.")), 0);
  ck_assert_int_gt(kr_meta_key_compare(BYTES("t,a,1.0f-\xff"), BYTES("t,a,1.0e.")), 0);
}
END_TEST

START_TEST(test_meta_key__table_ends_at_the_first_comma)
{
  ck_assert(kr_bytes_equal(kr_meta_key_table(BYTES(".META.,t,c,9,9")), BYTES(".META.,")));
  ck_assert_uint_eq(kr_meta_key_table(BYTES("t")).len, 0);
  ck_assert_uint_eq(kr_meta_key_table(kr_bytes(NULL, 0)).len, 0);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("meta_key");
  TCase *cases = tcase_create("meta_key");

  tcase_add_test(cases, test_meta_key__order_is_the_servers);
  tcase_add_test(cases, test_meta_key__start_key_with_low_bytes_is_no_prefix_of_the_id);
  tcase_add_test(cases, test_meta_key__key_below_leaves_no_room_for_a_region);
  tcase_add_test(cases, test_meta_key__table_ends_at_the_first_comma);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
