/*
 * HRegionInfo values of HBase before 0.96, good and bad. The good ones are what HBase 0.94.27's own
 * classes write.
 */
#include "lib/region094.h"

#include "lib/bytes.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#define BYTES(literal) kr_bytes(literal, sizeof(literal) - 1)

/* Table t, a to c, id 1796001106352. */
#define NAME "t,a,1796001106352.a1bab7464d1998e3cf55a8143604c733."
#define ID "\x00\x00\x01\xa2\x2a\x02\x09\xb0"
#define VERSION_1(offline, split) "\1\1c" offline ID "\x33" NAME split "\1a\1t\x70\x3b\x18\x74"

static const char user[] = VERSION_1("\0", "\0");
static const char parent[] = VERSION_1("\1", "\1");
static const char first_meta[] =
    "\1\0\0\0\0\0\0\0\0\0\1\x09.META.,,1\0\0\x06.META.\x2b\x9c\xa4\xdd";
static const char root[] = "\1\0\0\0\0\0\0\0\0\0\0\x09-ROOT-,,0\0\0\x06-ROOT-\xaf\x59\xbd\xfb";

/* Of 0.90: the name without its hash, a table with two values and no family. */
#define DESCRIPTOR                                                                                 \
  "\0\0\0\5\1t\0\0\0\0\0\2\0\0\0\7IS_META\0\0\0\5"                                                 \
  "false\0\0\0\7IS_ROOT\0\0\0\5"                                                                   \
  "false\0\0\0\0"
static const char old[] = "\0\1c\0" ID "\x11t,a,1796001106352\0\1a" DESCRIPTOR "\x4a\x96\x74\xee";

static struct kr_mem *mem;

static void set_up(void)
{
  mem = failing_mem_new();
}

static void tear_down(void)
{
  failing_mem_done(mem);
}

/* Parse a copy of exactly the value's size, for the sanitizer. */
static int parse(struct kr_region_info **out, const void *data, size_t len)
{
  void *copy = malloc(len > 0 ? len : 1);

  memcpy(copy, data, len);
  int error = kr_region094_info_parse(out, mem, kr_bytes(copy, len));

  free(copy);
  return error;
}

static void assert_corrupt(struct keyroute_bytes value)
{
  struct kr_region_info *info = NULL;

  ck_assert_int_eq(parse(&info, value.data, value.len), KEYROUTE_E_CORRUPT);
  ck_assert_ptr_null(info);
}

static void assert_info(const char *value, size_t size, const char *table, const char *start,
                        const char *end, int64_t id)
{
  struct kr_region_info *info;

  ck_assert_int_eq(parse(&info, value, size - 1), 0);
  ck_assert(kr_bytes_equal(info->table, keyroute_string(table)));
  ck_assert(kr_bytes_equal(info->start_key, keyroute_string(start)));
  ck_assert(kr_bytes_equal(info->end_key, keyroute_string(end)));
  ck_assert_int_eq(info->id, id);
  ck_assert_int_eq(info->replica, 0);
  ck_assert(!info->offline && !info->split);
  kr_free(mem, info);
}

START_TEST(test_region094__user_regions_are_read_in_both_versions)
{
  assert_info(user, sizeof(user), "t", "a", "c", 1796001106352);
  assert_info(old, sizeof(old), "t", "a", "c", 1796001106352);
}
END_TEST

START_TEST(test_region094__catalog_regions_are_read)
{
  assert_info(first_meta, sizeof(first_meta), ".META.", "", "", 1);
  assert_info(root, sizeof(root), "-ROOT-", "", "", 0);
}
END_TEST

START_TEST(test_region094__split_parent_is_offline_and_split)
{
  struct kr_region_info *info;

  ck_assert_int_eq(parse(&info, parent, sizeof(parent) - 1), 0);
  ck_assert(info->offline && info->split);
  kr_free(mem, info);
}
END_TEST

START_TEST(test_region094__keys_may_hold_any_byte)
{
  struct kr_region_info *info;
  struct keyroute_bytes value = BYTES("\1\2,\xff\0" ID "\0\0\3\0,\0\1t\0\0\0\0");

  ck_assert_int_eq(parse(&info, value.data, value.len), 0);
  ck_assert(kr_bytes_equal(info->start_key, BYTES("\0,\0")));
  ck_assert(kr_bytes_equal(info->end_key, BYTES(",\xff")));
  kr_free(mem, info);
}
END_TEST

START_TEST(test_region094__value_cut_short_or_too_long_is_corrupt)
{
  char longer[sizeof(user)];

  memcpy(longer, user, sizeof(user)); /* with its NUL */
  for (size_t len = 0; len < sizeof(user) - 1; len++) {
    assert_corrupt(kr_bytes(user, len));
  }
  assert_corrupt(kr_bytes(longer, sizeof(longer)));
}
END_TEST

START_TEST(test_region094__old_value_must_reach_its_tables_name_and_a_hash)
{
  size_t name = sizeof(old) - 1 - 4 - (sizeof(DESCRIPTOR) - 1) + 6;

  for (size_t len = 0; len < name + 4; len++) {
    assert_corrupt(kr_bytes(old, len));
  }
}
END_TEST

START_TEST(test_region094__what_no_region_says_is_corrupt)
{
  assert_corrupt(BYTES("\2\1c\0" ID "\0\0\1a\1t\0\0\0\0")); /* version 2 */
  assert_corrupt(BYTES("\1\1c\2" ID "\0\0\1a\1t\0\0\0\0")); /* no bool */
  assert_corrupt(BYTES("\1\1c\0\xff\xff\xff\xff\xff\xff\xff\xff\0\0\1a\1t\0\0\0\0")); /* id */
  assert_corrupt(BYTES("\1\1c\0" ID "\0\0\1a\0\0\0\0\0"));                            /* no table */
  assert_corrupt(BYTES("\0\1c\0" ID "\0\0\1a\0\0\0\2\1t\0\0\0\0"));          /* descriptor */
  assert_corrupt(BYTES("\1\x8c\x7f\xff\xff\xff\0" ID "\0\0\1a\1t\0\0\0\0")); /* length */
  assert_corrupt(BYTES("PBUF"));
}
END_TEST

START_TEST(test_region094__every_flipped_byte_is_safe_to_read)
{
  char spoilt[sizeof(user)];

  for (size_t at = 0; at < sizeof(user) - 1; at++) {
    for (int bit = 0; bit < 8; bit++) {
      struct kr_region_info *info = NULL;

      memcpy(spoilt, user, sizeof(user));
      spoilt[at] = (char)(spoilt[at] ^ (1 << bit));
      if (parse(&info, spoilt, sizeof(user) - 1) == 0) {
        ck_assert_uint_le(info->table.len + info->start_key.len + info->end_key.len, sizeof(user));
        kr_free(mem, info);
      }
    }
  }
}
END_TEST

START_TEST(test_region094__parse_fails_cleanly_without_memory)
{
  struct kr_region_info *info = NULL;

  mem_fail(1);

  ck_assert_int_eq(parse(&info, user, sizeof(user) - 1), KEYROUTE_E_NO_MEMORY);
  ck_assert_ptr_null(info);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("region094");
  TCase *tests = tcase_create("all");

  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, test_region094__user_regions_are_read_in_both_versions);
  tcase_add_test(tests, test_region094__catalog_regions_are_read);
  tcase_add_test(tests, test_region094__split_parent_is_offline_and_split);
  tcase_add_test(tests, test_region094__keys_may_hold_any_byte);
  tcase_add_test(tests, test_region094__value_cut_short_or_too_long_is_corrupt);
  tcase_add_test(tests, test_region094__old_value_must_reach_its_tables_name_and_a_hash);
  tcase_add_test(tests, test_region094__what_no_region_says_is_corrupt);
  tcase_add_test(tests, test_region094__every_flipped_byte_is_safe_to_read);
  tcase_add_test(tests, test_region094__parse_fails_cleanly_without_memory);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
