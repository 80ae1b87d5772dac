/*
 * Locations: what they say, what they cover, and who keeps them alive.
 *
 * The MD5 sums were made by another program.
 */
#include "lib/location.h"

#include "lib/cache.h"
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

/* Names as catalogs have them: what they say, and the encoded name if it stands outside. */
static const struct {
  const char *name;
  size_t table_len, start_len;
  int64_t id;
  const char *encoded; /* a view into the name where it has one */
  bool one_name;
  const char *replica_name; /* of replica 2 */
} named[] = {
    {"t,a,7.2ea19a3f72496fc5e19ef6c1c1dde25c.", 1, 1, 7, "2ea19a3f72496fc5e19ef6c1c1dde25c", false,
     "t,a,7_0002.ed5e197649d406745663ce80637b6592."},
    {"t,,5.8adac9aaa094d2d4c17b86b12242e7b7.", 1, 0, 5, "8adac9aaa094d2d4c17b86b12242e7b7", false,
     "t,,5_0002.0eb4e29fe0ea32477d197ca3a1e8d1cf."},
    {"ns:t,a,b,1796001106352.caafb77e5e5ecd59522ab08df0037bc1.", 4, 3, 1796001106352,
     "caafb77e5e5ecd59522ab08df0037bc1", false,
     "ns:t,a,b,1796001106352_0002.4e07848e786c6a734a46b522c1bee7c4."},
    {"t,a,007.2ea19a3f72496fc5e19ef6c1c1dde25c.", 1, 1, 7, "2ea19a3f72496fc5e19ef6c1c1dde25c",
     false, "t,a,7_0002.ed5e197649d406745663ce80637b6592."},
    {"t,a,7.00000000000000000000000000000000.", 1, 1, 7, "00000000000000000000000000000000", false,
     "t,a,7_0002.ed5e197649d406745663ce80637b6592."},
    {"t,a,7", 1, 1, 7, "", false, "t,a,7_0002"},
    {"t,a,007", 1, 1, 7, "", false, "t,a,7_0002"},
    {".META.,t,a,7,1", 6, 5, 1, "", false, ".META.,t,a,7,1_0002"},
    {"hbase:meta,,1", 10, 0, 1, "1588230740", false, "hbase:meta,,1_0002"},
    {"-ROOT-,,0", 6, 0, 0, "70236052", false, "-ROOT-,,0_0002"},
    {"map,b,300.r17.", 3, 1, 300, "r17", true, "map,b,300.r17."},
    {"map,,18446744073709551615.r1.", 3, 0, -1, "r1", true, "map,,18446744073709551615.r1."},
};

enum { NAMED = sizeof(named) / sizeof(named[0]) };

static struct keyroute_location *make_named(struct fixture *fixture, int index)
{
  const char *name = named[index].name;
  const char *encoded = named[index].encoded;
  const char *inside = encoded[0] != '\0' ? strstr(name, encoded) : NULL;
  struct kr_replica nowhere = {NULL, -1};
  struct kr_location_parts parts = {
      .name = keyroute_string(name),
      .table_len = named[index].table_len,
      .start_len = named[index].start_len,
      .encoded = keyroute_string(inside != NULL ? inside : encoded),
      .end_key = keyroute_string("zz"),
      .region_id = named[index].id,
      .one_name = named[index].one_name,
      .replicas = &nowhere,
      .replica_count = 1,
  };

  parts.encoded.len = strlen(encoded);
  return kr_location_new(fixture->mem, &parts);
}

static void expect_named(const struct keyroute_location *location, int index)
{
  char encoded[64] = "";

  expect_name(location, 0, named[index].name);
  expect_name(location, 2, named[index].replica_name);
  ck_assert_uint_eq(keyroute_location_encoded_name(location, 0, encoded, sizeof(encoded) - 1),
                    strlen(named[index].encoded));
  ck_assert_str_eq(encoded, named[index].encoded);
  ck_assert(is_text(keyroute_location_end_key(location), "zz"));
}

START_TEST(test_location__name_is_what_the_catalog_said)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *location = make_named(&fixture, _i);
  struct keyroute_location *copy = kr_location_copy(location);

  expect_named(location, _i);
  expect_named(copy, _i);
  ck_assert_uint_eq(kr_location_size(copy), kr_location_size(location));
  keyroute_location_release(copy);
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_location__each_name_is_only_its_own)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *one = make_named(&fixture, _i);

  for (int i = 0; i < NAMED; i++) {
    struct keyroute_location *other = make_named(&fixture, i);

    ck_assert(kr_location_same_name(one, other) == (i == _i));
    ck_assert(kr_location_same_name(other, one) == (i == _i));
    keyroute_location_release(other);
  }
  keyroute_location_release(one);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_location__usual_name_takes_no_memory)
{
  static const char *const tables[] = {"t", "orders", "another:table_with_a_long_name"};
  struct fixture fixture = fixture_new();

  for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
    struct made made = {
        tables[i], "0123456789abcdef", "0123456789abcdf0", 1796001106352, "h", 16020, 5, 9};
    struct keyroute_location *location = make_location(fixture.mem, fixture.servers, &made);

    /* 40 and one replica's 16 and the keys, with the allocator's header. */
    ck_assert_uint_eq(kr_location_size(location), 40 + 16 + 2 * 16 + 8);
    keyroute_location_release(location);
  }
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_location__name_of_a_kind_of_its_own_is_kept_once)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *range = make_named(&fixture, 10), *meta = make_named(&fixture, 8);
  size_t fixed = sizeof(struct keyroute_location) + sizeof(struct kr_replica) + 2 + 8;

  ck_assert_uint_eq(kr_location_size(range), kr_mem_taken(fixed + strlen("b300.r17.")));
  ck_assert_uint_eq(kr_location_size(meta), kr_mem_taken(fixed + strlen("11588230740")));
  keyroute_location_release(range);
  keyroute_location_release(meta);
  fixture_free(&fixture);
}
END_TEST

/* Put one into a cache's table, whose other regions start elsewhere. */
static struct keyroute_location *store(struct fixture *fixture, struct kr_cache *cache,
                                       struct keyroute_table *table, const char *start,
                                       const char *end)
{
  struct keyroute_location *fresh = span(fixture, start, end), *kept = NULL;

  ck_assert_int_eq(kr_cache_store(cache, table, fresh, kr_cache_tick(cache), &kept), 0);
  keyroute_location_release(fresh);
  return kept;
}

START_TEST(test_location__all_of_a_table_share_its_label_and_keep_it)
{
  struct fixture fixture = fixture_new();
  struct kr_stats *stats = kr_stats_new(fixture.mem);
  struct kr_cache *cache = kr_cache_new(fixture.mem, stats);
  struct keyroute_table *table = kr_cache_table(cache, keyroute_string("t"));
  struct keyroute_location *one = store(&fixture, cache, table, "", "m");
  struct keyroute_location *two = store(&fixture, cache, table, "m", "");
  struct keyroute_location *copy = kr_location_copy(two);

  ck_assert_ptr_eq(one->label, two->label);
  ck_assert_ptr_eq(copy->label, two->label);
  ck_assert_ptr_eq(keyroute_location_table(one).data, kr_table_name(table).data);
  kr_table_release(table);
  kr_cache_free(cache);
  kr_stats_free(stats);
  kr_servers_free(fixture.servers);
  kr_mem_release(fixture.mem);
  keyroute_location_release(one);
  keyroute_location_release(two);

  ck_assert(is_text(keyroute_location_table(copy), "t"));
  keyroute_location_release(copy);
  ck_assert_int_eq(mem_live(), 0);
}
END_TEST

START_TEST(test_location__label_of_another_table_is_not_taken)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *location = span(&fixture, "", "");
  struct kr_label *same = kr_label_new(fixture.mem, keyroute_string("t"));
  struct kr_label *other = kr_label_new(fixture.mem, keyroute_string("u"));

  kr_location_relabel(location, same);
  kr_location_relabel(location, other);

  ck_assert_ptr_eq(location->label, same);
  kr_label_release(same);
  kr_label_release(other);
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
  kr_location_retire(location, KR_EVICTED_CLEARED);
  kr_location_retire(location, KR_EVICTED_REPORTED);
  kr_location_retire(location, KR_EVICTED_SERVER);
  kr_server_drop(kr_location_server(location, 0));

  ck_assert(kr_location_retired(location));
  ck_assert_int_eq(kr_location_retired_why(location), KR_EVICTED_CLEARED);
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_location__clearing_is_told_rather_than_a_report)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *location = span(&fixture, "", "");

  kr_location_report(location);
  kr_location_retire(location, KR_EVICTED_REPORTED);
  ck_assert_int_eq(kr_location_retired_why(location), KR_EVICTED_REPORTED);
  kr_location_retire(location, KR_EVICTED_CLEARED);

  ck_assert_int_eq(kr_location_retired_why(location), KR_EVICTED_CLEARED);
  ck_assert(kr_location_reported(location));
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

START_TEST(test_location__times_are_kept_as_long_as_reads_take)
{
  static const struct {
    uint64_t stored, sent, kept_sent;
  } cases[] = {
      {1, 0, 0},
      {1, 1, 1},
      {UINT64_C(28800000000), UINT64_C(25200000000), UINT64_C(25200000000)},
      {UINT64_C(28800000000), UINT64_C(3600000000), UINT64_C(28800000000) - UINT32_MAX},
      {UINT64_C(28800000000), 0, UINT64_C(28800000000) - UINT32_MAX},
      {UINT64_C(0xffffffffffff), UINT64_C(0xfffffffffff0), UINT64_C(0xfffffffffff0)},
      {5, 9, 5}, /* not sent after it was stored */
  };
  struct fixture fixture = fixture_new();
  struct keyroute_location *location = span(&fixture, "a", "b");

  ck_assert_uint_eq(kr_location_stored(location), 0);
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    kr_location_set_times(location, cases[i].stored, cases[i].sent);
    ck_assert_uint_eq(kr_location_stored(location), cases[i].stored);
    ck_assert_uint_eq(kr_location_sent(location), cases[i].kept_sent);
  }

  keyroute_location_release(location);
  fixture_free(&fixture);
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
  long before = mem_live();

  for (long n = 1; n <= 2; n++) { /* its label, and its own */
    mem_fail(n + 1);              /* the first is the look-up's key of the server */
    ck_assert_ptr_null(span(&fixture, "", ""));
    ck_assert(mem_has_failed());
    ck_assert_int_eq(mem_live(), before);
  }
  mem_fail(4);
  keyroute_location_release(span(&fixture, "", ""));
  ck_assert(!mem_has_failed());
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
  tcase_add_loop_test(tests, test_location__name_is_what_the_catalog_said, 0, NAMED);
  tcase_add_loop_test(tests, test_location__each_name_is_only_its_own, 0, NAMED);
  tcase_add_test(tests, test_location__usual_name_takes_no_memory);
  tcase_add_test(tests, test_location__name_of_a_kind_of_its_own_is_kept_once);
  tcase_add_test(tests, test_location__all_of_a_table_share_its_label_and_keep_it);
  tcase_add_test(tests, test_location__label_of_another_table_is_not_taken);
  tcase_add_loop_test(tests, test_location__covers_rows_at_and_before, 0,
                      (int)(sizeof(covers) / sizeof(covers[0])));
  tcase_add_loop_test(tests, test_location__overlap_is_sharing_a_row_whoever_is_asked, 0,
                      (int)(sizeof(overlaps) / sizeof(overlaps[0])));
  tcase_add_test(tests, test_location__state_names_and_numbers_are_inverse);
  tcase_add_test(tests, test_location__retiring_is_seen_and_stays);
  tcase_add_test(tests, test_location__clearing_is_told_rather_than_a_report);
  tcase_add_test(tests, test_location__first_report_is_told_from_the_others);
  tcase_add_test(tests, test_location__copy_says_the_same_and_is_fresh);
  tcase_add_test(tests, test_location__whose_primarys_server_is_dropped_is_retired);
  tcase_add_test(tests, test_location__outlives_servers_and_allocator_handle);
  tcase_add_test(tests, test_location__times_are_kept_as_long_as_reads_take);
  tcase_add_test(tests, test_location__releasing_later_waits_for_readers);
  tcase_add_test(tests, test_location__without_memory_there_is_none);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
