/*
 * Servers: each known once, by host, port and start code.
 */
#include "lib/server.h"

#include "lib/bytes.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <string.h>

static struct kr_server *get(struct kr_servers *servers, const char *host, uint16_t port,
                             int64_t start_code)
{
  return kr_servers_get(servers, keyroute_string(host), port, start_code);
}

START_TEST(test_s109_equal_names_are_one_object)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_servers *servers = kr_servers_new(mem);
  struct kr_server *first = get(servers, "h", 1, 5);

  for (int i = 0; i < 5000; i++) {
    struct kr_server *again = get(servers, "h", 1, 5);

    ck_assert_ptr_eq(again, first);
    kr_server_release(again);
  }

  ck_assert_uint_eq(kr_servers_count(servers), 1);
  ck_assert_str_eq(first->host, "h");
  ck_assert_uint_eq(first->port, 1);
  ck_assert_int_eq(first->start_code, 5);
  kr_server_release(first);
  kr_servers_free(servers);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_s101_host_port_and_start_code_tell_servers_apart)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_servers *servers = kr_servers_new(mem);
  struct kr_server *made[] = {get(servers, "h", 1, 5), get(servers, "h", 1, 6),
                              get(servers, "h", 2, 5), get(servers, "hh", 1, 5),
                              get(servers, "H", 1, 5), get(servers, "h", 1, 0)};

  for (int i = 0; i < 6; i++) {
    for (int j = 0; j < i; j++) {
      ck_assert_ptr_ne(made[i], made[j]);
    }
  }
  ck_assert_uint_eq(kr_servers_count(servers), 6);
  for (int i = 0; i < 6; i++) {
    kr_server_release(made[i]);
  }
  kr_servers_free(servers);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_server__purge_drops_those_nobody_counts_unless_marked)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_servers *servers = kr_servers_new(mem);
  struct kr_server *held = get(servers, "held", 1, 1);
  struct kr_server *marked = get(servers, "marked", 1, 1);

  kr_server_release(get(servers, "gone", 1, 1));
  marked->failed_until_us = 1000;
  kr_server_release(marked);
  kr_servers_purge(servers, 999);
  ck_assert_uint_eq(kr_servers_count(servers), 2);
  kr_servers_purge(servers, 1000);

  ck_assert_uint_eq(kr_servers_count(servers), 1);
  kr_server_release(held);
  kr_servers_purge(servers, 1000);
  ck_assert_uint_eq(kr_servers_count(servers), 0);
  kr_servers_free(servers);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_server__dropped_one_named_again_is_another_object_with_its_mark)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_servers *servers = kr_servers_new(mem);
  struct kr_server *old = get(servers, "h", 1, 5);

  old->failed_until_us = 77;
  old->doubted_us = 78;
  kr_server_drop(old);
  struct kr_server *fresh = get(servers, "h", 1, 5);
  struct kr_server *again = get(servers, "h", 1, 5);

  ck_assert_ptr_ne(fresh, old);
  ck_assert_ptr_eq(again, fresh);
  ck_assert(kr_server_dropped(old));
  ck_assert(!kr_server_dropped(fresh));
  ck_assert_int_eq(fresh->failed_until_us, 77);
  ck_assert_int_eq(fresh->doubted_us, 78);
  ck_assert_str_eq(fresh->host, "h");
  ck_assert_int_eq(fresh->start_code, 5);
  ck_assert_uint_eq(kr_servers_count(servers), 1);
  kr_server_release(old);
  kr_server_release(fresh);
  kr_server_release(again);
  kr_servers_free(servers);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_server__dropped_one_that_cannot_be_made_anew_is_not_given_out)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_servers *servers = kr_servers_new(mem);
  struct kr_server *old = get(servers, "h", 1, 5);

  kr_server_drop(old);
  mem_fail(2); /* the first is the look-up's key */
  ck_assert_ptr_null(get(servers, "h", 1, 5));
  mem_fail(0);

  struct kr_server *fresh = get(servers, "h", 1, 5);
  ck_assert_ptr_nonnull(fresh);
  ck_assert(!kr_server_dropped(fresh));
  kr_server_release(old);
  kr_server_release(fresh);
  kr_servers_free(servers);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_server__finding_makes_nothing_and_shows_dropped_ones)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_servers *servers = kr_servers_new(mem);
  struct kr_server *server = get(servers, "h", 1, 5);
  char long_name[300];

  memset(long_name, 'h', sizeof(long_name));
  mem_fail_from(1);
  ck_assert_ptr_eq(kr_servers_find(servers, keyroute_string("h"), 1, 5), server);
  ck_assert_ptr_null(kr_servers_find(servers, keyroute_string("h"), 1, 6));
  ck_assert_ptr_null(kr_servers_find(servers, keyroute_string("i"), 1, 5));
  ck_assert_ptr_null(kr_servers_find(servers, kr_bytes(long_name, sizeof(long_name)), 1, 5));
  kr_server_drop(server);
  ck_assert_ptr_eq(kr_servers_find(servers, keyroute_string("h"), 1, 5), server);
  mem_fail(0);

  ck_assert_uint_eq(kr_servers_count(servers), 1);
  kr_server_release(server);
  kr_servers_free(servers);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_server__one_without_a_start_code_is_refused_for_less)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_servers *servers = kr_servers_new(mem);
  struct kr_server *named = get(servers, "h", 1, 5);
  struct kr_server *unnamed = get(servers, "h", 1, 0);

  ck_assert_int_eq(kr_server_refuse_ms(named, 2000), 2000);
  ck_assert_int_eq(kr_server_refuse_ms(unnamed, 2000), 300);
  kr_server_release(named);
  kr_server_release(unnamed);
  kr_servers_free(servers);
  failing_mem_done(mem);
}
END_TEST

START_TEST(test_server__counted_one_outlives_table_and_allocator_handle)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_servers *servers = kr_servers_new(mem);
  struct kr_server *held = kr_server_ref(get(servers, "h", 1, 1));

  kr_server_release(held);
  kr_servers_free(servers);
  kr_mem_release(mem);

  ck_assert_str_eq(held->host, "h");
  kr_server_release(held);
  kr_server_release(NULL);
  ck_assert_int_eq(mem_live(), 0);
}
END_TEST

START_TEST(test_server__printed_ipv6_addresses_have_brackets_and_odd_bytes_are_escaped)
{
  char text[64];

  ck_assert_str_eq(kr_server_print(text, sizeof(text), "h.example", 16020), "h.example:16020");
  ck_assert_str_eq(kr_server_print(text, sizeof(text), "fe80::1", 16020), "[fe80::1]:16020");
  ck_assert_str_eq(kr_server_print(text, sizeof(text), "[fe80::1]", 1), "[fe80::1]:1");
  ck_assert_str_eq(kr_server_print(text, 4, "h.example", 16020), "h.e");
  ck_assert_str_eq(kr_server_print(text, sizeof(text), "a\x1b", 5), "a\\x1B:5");
}
END_TEST

START_TEST(test_server__each_allocation_may_fail)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_servers *servers = kr_servers_new(mem);
  long n = 0;
  struct kr_server *server = NULL;

  while (server == NULL) {
    mem_fail(++n);
    server = get(servers, "h", 1, 1);
    mem_fail(0);
    ck_assert_uint_eq(kr_servers_count(servers), server != NULL ? 1 : 0);
  }

  ck_assert_int_gt(n, 3);
  kr_server_release(server);
  kr_servers_free(servers);
  failing_mem_done(mem);
}
END_TEST

/* ---- The suite ---- */

static Suite *suite(void)
{
  Suite *made = suite_create("server");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_s109_equal_names_are_one_object);
  tcase_add_test(tests, test_s101_host_port_and_start_code_tell_servers_apart);
  tcase_add_test(tests, test_server__purge_drops_those_nobody_counts_unless_marked);
  tcase_add_test(tests, test_server__dropped_one_named_again_is_another_object_with_its_mark);
  tcase_add_test(tests, test_server__dropped_one_that_cannot_be_made_anew_is_not_given_out);
  tcase_add_test(tests, test_server__finding_makes_nothing_and_shows_dropped_ones);
  tcase_add_test(tests, test_server__one_without_a_start_code_is_refused_for_less);
  tcase_add_test(tests, test_server__counted_one_outlives_table_and_allocator_handle);
  tcase_add_test(tests,
                 test_server__printed_ipv6_addresses_have_brackets_and_odd_bytes_are_escaped);
  tcase_add_test(tests, test_server__each_allocation_may_fail);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
