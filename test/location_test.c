/*
 * Locations: what they say, what they cover, and who keeps them alive.
 *
 * The MD5 sums were made by another program.
 */
#include "lib/location.h"

#include "test/failing_mem.h"
#include "test/made_location.h"
#include "test/named.h"
#include "test/run_suite.h"

#include <stdlib.h>

struct fixture {
  struct kr_mem *mem;
  struct kr_servers *servers;
};

static struct fixture fixture_new(void)
{
  struct fixture fixture = {failing_mem_new(), NULL};

  fixture.servers = kr_servers_new(fixture.mem);
  return fixture;
}

static void fixture_free(struct fixture *fixture)
{
  kr_servers_free(fixture->servers);
  failing_mem_done(fixture->mem);
}

static struct keyroute_location *span(struct fixture *fixture, const char *start, const char *end)
{
  struct made made = {"t", start, end, 7, "h", 16020, 5, 2};

  return make_location(fixture->mem, fixture->servers, &made);
}

static bool is_text(struct keyroute_bytes have, const char *want)
{
  return kr_bytes_equal(have, keyroute_string(want));
}

START_TEST(test_location__all_parts_are_read_back)
{
  struct fixture fixture = fixture_new();
  struct made made = {"ns:t", "a,b", "c", 1796001106352, "h", 16020, 5, 9};
  struct keyroute_location *location = make_location(fixture.mem, fixture.servers, &made);

  ck_assert(is_text(keyroute_location_table(location), "ns:t"));
  ck_assert(is_text(keyroute_location_start_key(location), "a,b"));
  ck_assert(is_text(keyroute_location_end_key(location), "c"));
  ck_assert_int_eq(keyroute_location_region_id(location), 1796001106352);
  ck_assert_str_eq(keyroute_location_state(location), "OPEN");
  ck_assert_int_eq(keyroute_location_replica_count(location), 1);
  ck_assert_str_eq(keyroute_location_host(location, 0), "h");
  ck_assert_int_eq(keyroute_location_port(location, 0), 16020);
  ck_assert_int_eq(keyroute_location_start_code(location, 0), 5);
  ck_assert_int_eq(keyroute_location_seqnum(location, 0), 9);
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_location__replica_that_is_not_there_has_nothing)
{
  static const int replicas[] = {-1, 1, 254, 70000};
  struct fixture fixture = fixture_new();
  struct keyroute_location *location = span(&fixture, "", "");
  int replica = replicas[_i];

  ck_assert_ptr_null(keyroute_location_host(location, replica));
  ck_assert_int_eq(keyroute_location_port(location, replica), 0);
  ck_assert_int_eq(keyroute_location_start_code(location, replica), 0);
  ck_assert_int_eq(keyroute_location_seqnum(location, replica), -1);
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

/* A name in a buffer of exactly its length. */
static void expect_name(const struct keyroute_location *location, int replica, const char *want)
{
  size_t len = keyroute_location_region_name(location, replica, NULL, 0);
  char *name = malloc(len + 1);

  name[len] = 'u';
  ck_assert_uint_eq(keyroute_location_region_name(location, replica, name, len), len);
  ck_assert_int_eq(name[len], 'u');
  ck_assert_msg(kr_bytes_equal(kr_bytes(name, len), keyroute_string(want)), "%.*s", (int)len, name);
  free(name);
}

START_TEST(test_location__region_names_are_those_hbase_writes)
{
  struct fixture fixture = fixture_new();
  struct made made = {"t", "a", "c", 1796001106352, "h", 16020, 5, 9};
  struct keyroute_location *location = make_location(fixture.mem, fixture.servers, &made);

  expect_name(location, 0, "t,a,1796001106352.a1bab7464d1998e3cf55a8143604c733.");
  expect_name(location, -1, "t,a,1796001106352.a1bab7464d1998e3cf55a8143604c733.");
  expect_name(location, 1, "t,a,1796001106352_0001.659e2037eb7c91703f282c1582f5a7cc.");
  expect_name(location, 254, "t,a,1796001106352_00FE.22912e8644e39ff934978542f29b7e06.");
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_location__encoded_names_are_md5)
{
  struct fixture fixture = fixture_new();
  struct made made = {"t", "a", "c", 1796001106352, "h", 16020, 5, 9};
  struct keyroute_location *location = make_location(fixture.mem, fixture.servers, &made);
  char encoded[33] = "";

  ck_assert_uint_eq(keyroute_location_encoded_name(location, 0, encoded, 32), 32);
  ck_assert_str_eq(encoded, "a1bab7464d1998e3cf55a8143604c733");
  ck_assert_uint_eq(keyroute_location_encoded_name(location, 1, encoded, 32), 32);
  ck_assert_str_eq(encoded, "659e2037eb7c91703f282c1582f5a7cc");
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_location__names_are_cut_to_the_room_there_is)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *location = span(&fixture, "abc", "");
  char whole[128], name[128];
  size_t len = keyroute_location_region_name(location, 1, whole, sizeof(whole));

  for (size_t size = 0; size <= len; size++) {
    memset(name, 'u', sizeof(name));
    ck_assert_uint_eq(keyroute_location_region_name(location, 1, name, size), len);
    ck_assert_int_eq(memcmp(name, whole, size), 0);
    ck_assert_int_eq(name[size], 'u');
  }
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_location__name_is_printed_as_bytes_are)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *location = span(&fixture, "a\x01", "");
  char whole[128], want[128], printed[128];
  size_t len = keyroute_location_region_name(location, 0, whole, sizeof(whole));

  for (size_t size = 8; size < sizeof(want); size++) {
    kr_bytes_print(want, size, kr_bytes(whole, len));
    ck_assert_str_eq(kr_location_print(printed, size, location), want);
  }
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_location__name_is_written_behind_what_room_holds)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *location = span(&fixture, "a", "");
  struct kr_buf room;

  kr_buf_init(&room, fixture.mem);
  kr_buf_text(&room, "x");
  struct keyroute_bytes name = kr_location_replica_name(location, 0, &room);

  ck_assert(is_named(location, name));
  ck_assert_uint_eq(kr_buf_view(&room).len, name.len + 1);
  kr_buf_clear(&room);
  mem_fail(1);
  ck_assert_uint_eq(kr_location_replica_name(location, 0, &room).len, 0);
  mem_fail(0);
  ck_assert(room.failed);
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_location__encoded_name_may_stand_outside_the_name)
{
  struct fixture fixture = fixture_new();
  struct kr_replica nowhere = {NULL, -1};
  struct kr_location_parts parts = {
      .name = keyroute_string("hbase:meta,,1"),
      .table_len = 10,
      .encoded = keyroute_string("1588230740"),
      .region_id = 1,
      .replicas = &nowhere,
      .replica_count = 1,
  };
  struct keyroute_location *location = kr_location_new(fixture.mem, &parts);
  char encoded[11] = "";

  ck_assert_uint_eq(keyroute_location_encoded_name(location, 0, encoded, 10), 10);
  ck_assert_str_eq(encoded, "1588230740");
  expect_name(location, 0, "hbase:meta,,1");
  ck_assert_ptr_null(keyroute_location_state(location));
  ck_assert(!kr_location_placed(location));
  ck_assert_uint_gt(kr_location_size(location), 23);
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_location__start_key_may_hold_any_byte)
{
  struct fixture fixture = fixture_new();
  static const char name[] = "ns:t,x\0y,5.00000000000000000000000000000000.";
  struct kr_replica nowhere = {NULL, -1};
  struct kr_location_parts parts = {
      .name = kr_bytes(name, sizeof(name) - 1),
      .table_len = 4,
      .start_len = 3,
      .encoded = kr_bytes(name + 11, 32),
      .end_key = kr_bytes("\xff\0", 2),
      .region_id = 5,
      .replicas = &nowhere,
      .replica_count = 1,
  };
  struct keyroute_location *location = kr_location_new(fixture.mem, &parts);
  char encoded[33] = "";

  ck_assert(kr_bytes_equal(keyroute_location_start_key(location), kr_bytes("x\0y", 3)));
  ck_assert(kr_bytes_equal(keyroute_location_end_key(location), kr_bytes("\xff\0", 2)));
  keyroute_location_encoded_name(location, 1, encoded, 32);
  ck_assert_str_eq(encoded, "71ba3fc69aafe04e0a80fc86b476c591");
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

static const struct {
  const char *start, *end, *row;
  bool at, before;
} covers[] = {
    {"", "", "", true, true},       {"", "", "a", true, true},     {"", "m", "", true, false},
    {"", "m", "a", true, true},     {"", "m", "m", false, true},   {"", "m", "m\x01", false, false},
    {"m", "", "", false, true},     {"m", "", "l", false, false},  {"m", "", "m", true, false},
    {"m", "", "m\x01", true, true}, {"m", "", "\xff", true, true}, {"a", "c", "", false, false},
    {"a", "c", "a", true, false},   {"a", "c", "b", true, true},   {"a", "c", "c", false, true},
    {"a", "c", "d", false, false},
};

START_TEST(test_location__covers_rows_at_and_before)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *location = span(&fixture, covers[_i].start, covers[_i].end);
  struct keyroute_bytes row = keyroute_string(covers[_i].row);

  ck_assert(kr_location_covers(location, row, KR_AT) == covers[_i].at);
  ck_assert(kr_location_covers(location, row, KR_BEFORE) == covers[_i].before);
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

static const struct {
  const char *start, *end, *other_start, *other_end;
  bool overlap;
} overlaps[] = {
    {"", "", "", "", true},      {"", "m", "m", "", false},  {"", "n", "m", "", true},
    {"a", "c", "c", "e", false}, {"a", "d", "c", "e", true}, {"a", "z", "c", "e", true},
    {"a", "c", "d", "e", false}, {"a", "c", "a", "c", true}, {"m", "", "p", "", true},
    {"", "a", "b", "", false},   {"m", "", "", "n", true},   {"m", "", "", "m", false},
};

START_TEST(test_location__overlap_is_sharing_a_row_whoever_is_asked)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *one = span(&fixture, overlaps[_i].start, overlaps[_i].end);
  struct keyroute_location *two = span(&fixture, overlaps[_i].other_start, overlaps[_i].other_end);

  ck_assert(kr_location_overlaps(one, two) == overlaps[_i].overlap);
  ck_assert(kr_location_overlaps(two, one) == overlaps[_i].overlap);
  keyroute_location_release(one);
  keyroute_location_release(two);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_location__state_names_and_numbers_are_inverse)
{
  for (int state = KR_STATE_OFFLINE; state < KR_STATE_OTHER; state++) {
    const char *name = kr_region_state_name((enum kr_region_state)state);

    ck_assert_ptr_nonnull(name);
    ck_assert_int_eq(kr_region_state_parse(keyroute_string(name)), state);
  }
  ck_assert_int_eq(kr_region_state_parse(keyroute_string("")), KR_STATE_UNKNOWN);
  ck_assert_int_eq(kr_region_state_parse(keyroute_string("OPE")), KR_STATE_OTHER);
  ck_assert_int_eq(kr_region_state_parse(keyroute_string("open")), KR_STATE_OTHER);
  ck_assert_ptr_null(kr_region_state_name(KR_STATE_UNKNOWN));
}
END_TEST

START_TEST(test_location__retiring_is_seen_and_stays)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *location = span(&fixture, "", "");

  ck_assert(!kr_location_retired(location));
  ck_assert_int_eq(kr_location_retired_why(location), KR_NOT_EVICTED);
  kr_location_retire(location, KR_EVICTED_REPORTED);
  kr_location_retire(location, KR_EVICTED_CLEARED);
  kr_server_drop(kr_location_server(location, 0));

  ck_assert(kr_location_retired(location));
  ck_assert_int_eq(kr_location_retired_why(location), KR_EVICTED_REPORTED);
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_location__first_report_is_told_from_the_others)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *location = span(&fixture, "", "");

  ck_assert(!kr_location_reported(location));
  ck_assert(!kr_location_report(location));
  ck_assert(kr_location_report(location));

  ck_assert(kr_location_reported(location));
  ck_assert(!kr_location_retired(location));
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_location__copy_says_the_same_and_is_fresh)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *location = span(&fixture, "b", "d");

  location->hops = 3;
  kr_location_retire(location, KR_EVICTED_REPORTED);
  kr_location_report(location);
  struct keyroute_location *copy = kr_location_copy(location);

  ck_assert(!kr_location_retired(copy));
  ck_assert(!kr_location_reported(copy));
  ck_assert_int_eq(copy->hops, 3);
  ck_assert(kr_location_same_name(copy, location));
  ck_assert(is_text(keyroute_location_start_key(copy), "b"));
  ck_assert(is_text(keyroute_location_end_key(copy), "d"));
  ck_assert_ptr_eq(kr_location_server(copy, 0), kr_location_server(location, 0));
  ck_assert_int_eq(keyroute_location_seqnum(copy, 0), keyroute_location_seqnum(location, 0));
  ck_assert_str_eq(keyroute_location_state(copy), "OPEN");
  char names[2][64] = {{0}};
  keyroute_location_encoded_name(location, 0, names[0], 63);
  keyroute_location_encoded_name(copy, 0, names[1], 63);
  ck_assert_str_eq(names[0], names[1]);
  ck_assert_uint_eq(kr_location_size(copy), kr_location_size(location));
  mem_fail(1);
  ck_assert_ptr_null(kr_location_copy(location));
  mem_fail(0);
  keyroute_location_release(location);
  keyroute_location_release(copy);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_location__whose_primarys_server_is_dropped_is_retired)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *location = span(&fixture, "", "");

  ck_assert(kr_location_placed(location));
  kr_server_drop(kr_location_server(location, 0));

  ck_assert(kr_location_retired(location));
  ck_assert_int_eq(kr_location_retired_why(location), KR_EVICTED_SERVER);
  ck_assert(!kr_location_placed(location));
  ck_assert_ptr_null(kr_location_live_server(location, 0));
  ck_assert_str_eq(keyroute_location_host(location, 0), "h");
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_location__outlives_servers_and_allocator_handle)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *location = span(&fixture, "a", "b");

  ck_assert_ptr_eq(keyroute_location_ref(location), location);
  keyroute_location_release(location);
  kr_servers_free(fixture.servers);
  kr_mem_release(fixture.mem);

  ck_assert_str_eq(keyroute_location_host(location, 0), "h");
  ck_assert(is_text(keyroute_location_start_key(location), "a"));
  keyroute_location_release(location);
  keyroute_location_release(NULL);
  ck_assert_int_eq(mem_live(), 0);
}
END_TEST

START_TEST(test_location__releasing_later_waits_for_readers)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *location = span(&fixture, "a", "b");

  kr_rcu_read_begin();
  kr_location_release_later(location);
  ck_assert(is_text(keyroute_location_start_key(location), "a"));
  kr_rcu_read_end();
  kr_rcu_barrier();

  kr_servers_free(fixture.servers);
  failing_mem_done(fixture.mem);
}
END_TEST

START_TEST(test_location__without_memory_there_is_none)
{
  struct fixture fixture = fixture_new();

  kr_server_release(kr_servers_get(fixture.servers, keyroute_string("h"), 16020, 5));
  mem_fail(2); /* the first is the look-up's key of the server */

  ck_assert_ptr_null(span(&fixture, "", ""));
  mem_fail(0);
  fixture_free(&fixture);
}
END_TEST

/* ---- The suite ---- */

static Suite *suite(void)
{
  Suite *made = suite_create("location");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_location__all_parts_are_read_back);
  tcase_add_loop_test(tests, test_location__replica_that_is_not_there_has_nothing, 0, 4);
  tcase_add_test(tests, test_location__region_names_are_those_hbase_writes);
  tcase_add_test(tests, test_location__encoded_names_are_md5);
  tcase_add_test(tests, test_location__names_are_cut_to_the_room_there_is);
  tcase_add_test(tests, test_location__name_is_printed_as_bytes_are);
  tcase_add_test(tests, test_location__name_is_written_behind_what_room_holds);
  tcase_add_test(tests, test_location__encoded_name_may_stand_outside_the_name);
  tcase_add_test(tests, test_location__start_key_may_hold_any_byte);
  tcase_add_loop_test(tests, test_location__covers_rows_at_and_before, 0,
                      (int)(sizeof(covers) / sizeof(covers[0])));
  tcase_add_loop_test(tests, test_location__overlap_is_sharing_a_row_whoever_is_asked, 0,
                      (int)(sizeof(overlaps) / sizeof(overlaps[0])));
  tcase_add_test(tests, test_location__state_names_and_numbers_are_inverse);
  tcase_add_test(tests, test_location__retiring_is_seen_and_stays);
  tcase_add_test(tests, test_location__first_report_is_told_from_the_others);
  tcase_add_test(tests, test_location__copy_says_the_same_and_is_fresh);
  tcase_add_test(tests, test_location__whose_primarys_server_is_dropped_is_retired);
  tcase_add_test(tests, test_location__outlives_servers_and_allocator_handle);
  tcase_add_test(tests, test_location__releasing_later_waits_for_readers);
  tcase_add_test(tests, test_location__without_memory_there_is_none);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
