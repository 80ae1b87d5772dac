/*
 * Spellings: which is the usual one, and that all others are kept byte for byte.
 *
 * The MD5 sums were made by another program.
 */
#include "lib/spelling.h"

#include "test/run_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What stands behind "t,a,", and its encoded name; the id is 7. */
static const struct {
  const char *tail, *encoded;
  bool usual, inside;
} spellings[] = {
    {"7.2ea19a3f72496fc5e19ef6c1c1dde25c.", "2ea19a3f72496fc5e19ef6c1c1dde25c", true, true},
    {"7.2ea19a3f72496fc5e19ef6c1c1dde25d.", "2ea19a3f72496fc5e19ef6c1c1dde25d", false, true},
    {"7.2EA19A3F72496FC5E19EF6C1C1DDE25C.", "2EA19A3F72496FC5E19EF6C1C1DDE25C", false, true},
    {"7.2ea19a3f72496fc5e19ef6c1c1dde25c,", "2ea19a3f72496fc5e19ef6c1c1dde25c", false, true},
    {"7,2ea19a3f72496fc5e19ef6c1c1dde25c.", "2ea19a3f72496fc5e19ef6c1c1dde25c", false, true},
    {"7.2ea19a3f72496fc5e19ef6c1c1dde25c..", "", false, false},
    {"7.2ea19a3f72496fc5e19ef6c1c1dde25c", "", false, false},
    {"07.2ea19a3f72496fc5e19ef6c1c1dde25c.", "2ea19a3f72496fc5e19ef6c1c1dde25c", false, true},
    {"8.2ea19a3f72496fc5e19ef6c1c1dde25c.", "2ea19a3f72496fc5e19ef6c1c1dde25c", false, true},
    {"7.r12.", "r12", false, true},
    {"7", "", false, false},
    {"", "", false, false},
    {"7", "1588230740", false, false},
};

static struct kr_spelling spelling(int index)
{
  const char *tail = spellings[index].tail, *encoded = spellings[index].encoded;
  const char *from = spellings[index].inside ? strstr(tail, encoded) : encoded;

  return (struct kr_spelling){keyroute_string(tail), kr_bytes(from, strlen(encoded))};
}

/* Is a spelling the usual one behind that? */
static bool is_usual(int index, const char *head, int64_t id)
{
  struct kr_spelling given = spelling(index);
  char name[64];

  snprintf(name, sizeof(name), "%s%s", head, spellings[index].tail);
  return kr_spelling_is_usual(&given, keyroute_string(name), id);
}

START_TEST(test_spelling__only_what_hbase_makes_is_usual)
{
  struct kr_spelling given = spelling(_i);

  ck_assert(is_usual(_i, "t,a,", 7) == spellings[_i].usual);
  ck_assert(!is_usual(_i, "t,b,", 7));
  ck_assert(!is_usual(_i, "u,a,", 7));
  ck_assert(!is_usual(_i, "t,a,", 70));
  ck_assert(kr_spelling_shows_encoded(&given) == spellings[_i].inside);
}
END_TEST

START_TEST(test_spelling__what_is_kept_comes_back_from_any_address)
{
  struct kr_spelling given = spelling(_i);
  size_t len = kr_spelling_kept_len(&given);

  for (size_t odd = 0; odd < 8; odd++) {
    uint8_t *room = malloc(odd + len);
    uint8_t *to = room + odd;

    kr_spelling_keep(&to, &given);
    struct kr_spelling kept = kr_spelling_kept(room + odd);

    ck_assert_ptr_eq(to, room + odd + len);
    ck_assert(kr_bytes_equal(kept.tail, given.tail));
    ck_assert(kr_bytes_equal(kept.encoded, given.encoded));
    ck_assert(kr_spelling_shows_encoded(&kept) == spellings[_i].inside);
    ck_assert_uint_eq(kr_spelling_kept_len(&kept), len);
    free(room);
  }
}
END_TEST

/* ---- The suite ---- */

static Suite *suite(void)
{
  enum { COUNT = sizeof(spellings) / sizeof(spellings[0]) };
  Suite *made = suite_create("spelling");
  TCase *tests = tcase_create("all");

  tcase_add_loop_test(tests, test_spelling__only_what_hbase_makes_is_usual, 0, COUNT);
  tcase_add_loop_test(tests, test_spelling__what_is_kept_comes_back_from_any_address, 0, COUNT);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
