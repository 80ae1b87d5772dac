/* Texts that say where the root is, good and bad. */
#include "lib/root_text.h"

#include "lib/bytes.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

typedef bool (*parser)(struct kr_root_text *out, struct keyroute_bytes text);

static const struct {
  parser parse;
  const char *text, *host; /* NULL = it is refused */
  int port;
  int64_t start_code;
} cases[] = {
    {kr_root_text_parse, "m:16020", "m", 16020, 0},
    {kr_root_text_parse, "m:65535:77", "m", 65535, 77},
    {kr_root_text_parse, "[fe80::1]:1", "fe80::1", 1, 0},
    {kr_root_text_parse, "[fe80::1]:1:5", "fe80::1", 1, 5},
    {kr_root_text_parse_znode, "m,16020,77", "m", 16020, 77},
    {kr_root_text_parse_znode, "m,16020", "m", 16020, 0},
    {kr_root_text_parse_znode, "m:16020", "m", 16020, 0},
    {kr_root_text_parse_znode, "fe80::1,1,5", "fe80::1", 1, 5},
    {kr_root_text_parse, "", NULL, 0, 0},
    {kr_root_text_parse, "m", NULL, 0, 0},
    {kr_root_text_parse, "m:", NULL, 0, 0},
    {kr_root_text_parse, ":1", NULL, 0, 0},
    {kr_root_text_parse, "m:0", NULL, 0, 0},
    {kr_root_text_parse, "m:65536", NULL, 0, 0},
    {kr_root_text_parse, "m:1:", NULL, 0, 0},
    {kr_root_text_parse, "m:1:5:6", NULL, 0, 0},
    {kr_root_text_parse, "m:1:99999999999999999999", NULL, 0, 0},
    {kr_root_text_parse, "m,1,5", NULL, 0, 0},
    {kr_root_text_parse, "[fe80::1:1", NULL, 0, 0},
    {kr_root_text_parse, "[fe80::1]", NULL, 0, 0},
    {kr_root_text_parse, "[]:1", NULL, 0, 0},
    {kr_root_text_parse, "m\n:1", NULL, 0, 0},
    {kr_root_text_parse_znode, "", NULL, 0, 0},
    {kr_root_text_parse_znode, "m", NULL, 0, 0},
    {kr_root_text_parse_znode, ",1,5", NULL, 0, 0},
    {kr_root_text_parse_znode, "m,x,5", NULL, 0, 0},
    {kr_root_text_parse_znode, "m,1,-5", NULL, 0, 0},
    {kr_root_text_parse_znode, "m,1,5,", NULL, 0, 0},
    {kr_root_text_parse_znode, "m\xff,1,5", NULL, 0, 0},
};

START_TEST(test_root_text__places_are_read_and_others_refused)
{
  size_t len = strlen(cases[_i].text);
  char *copy = malloc(len + 1); /* without the NUL, for the sanitizer */
  struct kr_root_text place;

  memcpy(copy, cases[_i].text, len);
  bool good = cases[_i].parse(&place, kr_bytes(copy, len));

  ck_assert_int_eq(good, cases[_i].host != NULL);
  if (good) {
    ck_assert(kr_bytes_equal(place.host, keyroute_string(cases[_i].host)));
    ck_assert_int_eq(place.port, cases[_i].port);
    ck_assert_int_eq(place.start_code, cases[_i].start_code);
  }
  free(copy);
}
END_TEST

START_TEST(test_root_text__host_is_no_longer_than_a_name_can_be)
{
  char text[300];
  struct kr_root_text place;

  memset(text, 'h', sizeof(text));
  memcpy(text + 255, ":1", 2);
  ck_assert(kr_root_text_parse(&place, kr_bytes(text, 257)));
  memcpy(text + 255, "h:1", 3);
  ck_assert(!kr_root_text_parse(&place, kr_bytes(text, 258)));
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("root_text");
  TCase *tests = tcase_create("all");

  tcase_add_loop_test(tests, test_root_text__places_are_read_and_others_refused, 0,
                      (int)(sizeof(cases) / sizeof(cases[0])));
  tcase_add_test(tests, test_root_text__host_is_no_longer_than_a_name_can_be);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
