/*
 * Which znodes are looked at, by the settings.
 */
#include "lib/zk_paths.h"

#include "test/run_suite.h"

#include <check.h>

START_TEST(test_zk_paths__join_chroot_parent_and_znode)
{
  struct kr_mem *mem = kr_mem_new(NULL);
  struct kr_zk_paths made;
  struct kr_settings settings = {
      .chroot = (char[]){"/prod"}, .parent = (char[]){"/"}, .meta_znode = (char[]){"meta"}};

  ck_assert(kr_zk_paths_init(&made, mem, &settings));

  ck_assert_str_eq(made.parent, "/prod");
  ck_assert_uint_eq(made.count, 1);
  ck_assert_str_eq(made.places[0].znode, "/prod/meta");
  ck_assert_str_eq(made.places[0].text, "znode /prod/meta");
  kr_zk_paths_clear(&made, mem);
  kr_mem_release(mem);
}
END_TEST

START_TEST(test_zk_paths__join_the_parent_that_is_the_root_of_the_tree)
{
  struct kr_mem *mem = kr_mem_new(NULL);
  struct kr_zk_paths made;
  struct kr_settings settings = {
      .chroot = (char[]){""}, .parent = (char[]){"/"}, .meta_znode = (char[]){"meta"}};

  ck_assert(kr_zk_paths_init(&made, mem, &settings));

  ck_assert_str_eq(made.parent, "/");
  ck_assert_str_eq(made.places[0].znode, "/meta");
  kr_zk_paths_clear(&made, mem);
  kr_mem_release(mem);
}
END_TEST

START_TEST(test_zk_paths__places_are_in_the_order_in_which_they_are_looked_at)
{
  struct kr_mem *mem = kr_mem_new(NULL);
  struct kr_zk_paths made;
  struct kr_settings settings = {.chroot = (char[]){""},
                                 .parent = (char[]){"/hbase"},
                                 .meta_znode = (char[]){"meta"},
                                 .root_znode = (char[]){"root"}};

  ck_assert(kr_zk_paths_init(&made, mem, &settings));

  ck_assert_uint_eq(made.count, 2);
  ck_assert_str_eq(made.places[0].znode, "/hbase/meta");
  ck_assert_uint_eq(made.places[0].tiers, 2);
  ck_assert_str_eq(made.places[1].znode, "/hbase/root");
  ck_assert_uint_eq(made.places[1].tiers, 3);
  kr_zk_paths_clear(&made, mem);
  kr_mem_release(mem);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("zk_paths");
  TCase *all = tcase_create("all");

  tcase_add_test(all, test_zk_paths__join_chroot_parent_and_znode);
  tcase_add_test(all, test_zk_paths__join_the_parent_that_is_the_root_of_the_tree);
  tcase_add_test(all, test_zk_paths__places_are_in_the_order_in_which_they_are_looked_at);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
