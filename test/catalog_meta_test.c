/*
 * The catalog of HBase 0.96 and later: what is looked for, and which rows are believed.
 */
#include "lib/catalog.h"

#include "lib/proto/hbase.pb-c.h"
#include "test/catalog_harness.h"
#include "test/failing_mem.h"
#include "test/fake_catalog.h"
#include "test/made_location.h"
#include "test/named.h"
#include "test/run_suite.h"

#include <stdlib.h>

static const struct kr_catalog *const catalog = &kr_catalog_meta;

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

/* ---- Keys ---- */

static void set_up_keys(void)
{
  catalog_set_up(&kr_catalog_meta);
}

START_TEST(test_catalog_meta__search_keys_are_those_hbase_uses)
{
  expect_catalog_key("t", keyroute_string("a,b"), KR_AT, keyroute_string("t,a,b,99999999999999"));
  expect_catalog_key("ns:t", keyroute_string(""), KR_AT, keyroute_string("ns:t,,99999999999999"));
  expect_catalog_key("t", kr_bytes("\0\xff", 2), KR_AT, kr_bytes("t,\0\xff,99999999999999", 19));
  expect_catalog_key("t", keyroute_string("m"), KR_BEFORE, keyroute_string("t,m,00000000000000"));
}
END_TEST

START_TEST(test_catalog_meta__before_the_empty_row_is_behind_all_of_the_table)
{
  expect_catalog_key("t", kr_bytes(NULL, 0), KR_BEFORE, kr_bytes("t\0", 2));
  ck_assert_int_gt(fake_catalog_compare(kr_bytes("t\0", 2), keyroute_string("t,zzz,9999")), 0);
  ck_assert_int_lt(fake_catalog_compare(kr_bytes("t\0", 2), keyroute_string("t1,,1")), 0);
}
END_TEST

START_TEST(test_catalog_meta__key_is_as_long_as_a_server_takes_and_no_longer)
{
  enum { LONGEST = 32767 - 1 - 2 - 14 };
  static char row[40000];
  static char want[32767];
  enum kr_position position = _i == 0 ? KR_AT : KR_BEFORE;

  memset(row, 'r', sizeof(row));
  memset(want, 'r', sizeof(want));
  memcpy(want, "t,", 2);
  memcpy(want + 32767 - 15, position == KR_AT ? ",99999999999999" : ",00000000000000", 15);
  expect_catalog_key("t", kr_bytes(row, LONGEST), position, kr_bytes(want, 32767));
  memcpy(want + 32767 - 15, ",99999999999999", 15);

  expect_catalog_key("t", kr_bytes(row, LONGEST + 1), position, kr_bytes(want, 32767));
  expect_catalog_key("t", kr_bytes(row, 40000), position, kr_bytes(want, 32767));
}
END_TEST

START_TEST(test_s005_bounds_have_both_commas_and_hold_one_table_only)
{
  expect_catalog_bounds("t", BYTES("t,,"), BYTES("t ,,"));

  ck_assert_int_lt(fake_catalog_compare(BYTES("t,,"), BYTES("t,,1")), 0);
  ck_assert_int_gt(fake_catalog_compare(BYTES("t ,,"), BYTES("t,\xff,1")), 0);
  ck_assert_int_lt(fake_catalog_compare(BYTES("t ,,"), BYTES("t1,,1")), 0);
}
END_TEST

/* Short keys of few bytes, among them those on both sides of the comma. */
static struct keyroute_bytes random_key(char *out)
{
  static const char bytes[] = {'\0', '\x0a', ' ', ',', ',', ',', 'a', 't', '\xff'};
  size_t len = (unsigned)rand() % 9;

  for (size_t i = 0; i < len; i++) {
    out[i] = bytes[(unsigned)rand() % sizeof(bytes)];
  }
  return kr_bytes(out, len);
}

static int sign(int order)
{
  return (order > 0) - (order < 0);
}

START_TEST(test_catalog_meta__keys_have_the_order_of_the_server)
{
  char left[16], right[16];

  ck_assert_int_gt(catalog->compare_keys(kr_bytes("t,a\0,1", 6), keyroute_string("t,a,1")), 0);
  srand(1);
  for (int i = 0; i < 100000; i++) {
    struct keyroute_bytes a = random_key(left), b = random_key(right);

    ck_assert_int_eq(sign(catalog->compare_keys(a, b)), sign(fake_catalog_compare(a, b)));
  }
}
END_TEST

START_TEST(test_catalog_meta__every_table_but_the_root_has_the_root_as_parent)
{
  ck_assert_str_eq(catalog->root, "hbase:meta");
  ck_assert_str_eq(catalog->family, "info");
  ck_assert_uint_eq(catalog->parent(keyroute_string("hbase:meta")).len, 0);
  ck_assert(kr_bytes_equal(catalog->parent(keyroute_string("t")), keyroute_string("hbase:meta")));
  ck_assert(kr_bytes_equal(catalog->parent(keyroute_string("hbase:meta2")),
                           keyroute_string("hbase:meta")));
}
END_TEST

/* ---- Rows ---- */

/* What a row is made of. */
struct info {
  const char *namespace_, *qualifier, *start, *end;
  uint64_t id;
  int32_t replica;
  bool offline, split;
};

static size_t pack_info(uint8_t *out, const struct info *info)
{
  Kr__Pb__TableName table = KR__PB__TABLE_NAME__INIT;
  Kr__Pb__RegionInfo message = KR__PB__REGION_INFO__INIT;

#define PUT(to, field, text)                                                                       \
  ((to).has_##field = true, (to).field.len = strlen(text),                                         \
   (to).field.data = (uint8_t *)(uintptr_t)(text))
  PUT(table, namespace_, info->namespace_);
  PUT(table, qualifier, info->qualifier);
  PUT(message, start_key, info->start);
  PUT(message, end_key, info->end);
#undef PUT
  message.table_name = &table;
  message.has_region_id = true;
  message.region_id = info->id;
  message.has_offline = message.has_split = message.has_replica_id = true;
  message.offline = info->offline;
  message.split = info->split;
  message.replica_id = info->replica;
  memcpy(out, "PBUF", 4);
  return 4 + kr__pb__region_info__pack(&message, out + 4);
}

static struct info good_info(void)
{
  return (struct info){"default", "t", "a", "c", 5, 0, false, false};
}

#define GOOD_KEY "t,a,5.7b520268c67d8870e20f6d880327ab7e."

/* A row under construction. */
struct made_row {
  struct kr_cell cells[1200];
  size_t count;
  uint8_t info[512];
};

static void add_cell(struct made_row *row, const char *qualifier, struct keyroute_bytes value)
{
  row->cells[row->count++] = (struct kr_cell){
      .family = keyroute_string("info"),
      .qualifier = keyroute_string(qualifier),
      .value = value,
      .type = 4,
  };
}

static void add_info(struct made_row *row, const struct info *info)
{
  add_cell(row, "regioninfo", kr_bytes(row->info, pack_info(row->info, info)));
}

static const uint8_t start_code[8] = {0, 0, 0, 0, 0, 0, 1, 2}; /* 258 */

static void add_place(struct made_row *row, const char *address)
{
  add_cell(row, "server", keyroute_string(address));
  add_cell(row, "serverstartcode", kr_bytes(start_code, 8));
  add_cell(row, "seqnumDuringOpen", kr_bytes("\0\0\0\0\0\0\0\x09", 8));
}

static struct kr_catalog_row parse(struct fixture *fixture, const char *table, const char *key,
                                   const struct made_row *made)
{
  struct kr_row row = {keyroute_string(key), made->cells, made->count};
  struct kr_catalog_row out;

  ck_assert_int_eq(
      catalog->parse_row(&out, fixture->mem, fixture->servers, keyroute_string(table), &row), 0);
  ck_assert((out.location == NULL) == (out.failure.code == KEYROUTE_E_CORRUPT));
  return out;
}

static void expect_corrupt(const char *key, const struct made_row *made, const char *reason)
{
  struct fixture fixture = fixture_new();
  struct kr_catalog_row row = parse(&fixture, "t", key, made);

  ck_assert_ptr_null(row.location);
  ck_assert_int_eq(row.failure.code, KEYROUTE_E_CORRUPT);
  ck_assert_msg(strstr(row.failure.message, reason) != NULL, "%s", row.failure.message);
  ck_assert_int_eq(strncmp(row.failure.message, "catalog row ", 12), 0);
  fixture_free(&fixture);
}

START_TEST(test_catalog_meta__good_row_is_believed_whole)
{
  struct fixture fixture = fixture_new();
  struct made_row made = {.count = 0};
  struct info info = good_info();

  add_info(&made, &info);
  add_place(&made, "h.example:16020");
  add_cell(&made, "state", keyroute_string("OPEN"));
  add_cell(&made, "sn", keyroute_string("other,1,2"));
  struct kr_catalog_row row = parse(&fixture, "t", GOOD_KEY, &made);

  ck_assert_ptr_nonnull(row.location);
  ck_assert(!row.offline && !row.split);
  ck_assert(is_named(row.location, keyroute_string(GOOD_KEY)));
  ck_assert(kr_bytes_equal(keyroute_location_end_key(row.location), keyroute_string("c")));
  ck_assert_int_eq(keyroute_location_region_id(row.location), 5);
  ck_assert_str_eq(keyroute_location_host(row.location, 0), "h.example");
  ck_assert_int_eq(keyroute_location_port(row.location, 0), 16020);
  ck_assert_int_eq(keyroute_location_start_code(row.location, 0), 258);
  ck_assert_int_eq(keyroute_location_seqnum(row.location, 0), 9);
  ck_assert_str_eq(keyroute_location_state(row.location), "OPEN");
  ck_assert_int_eq(keyroute_location_replica_count(row.location), 1);
  keyroute_location_release(row.location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_catalog_meta__namespace_is_part_of_the_name)
{
  struct fixture fixture = fixture_new();
  struct made_row made = {.count = 0};
  struct info info = {"ns", "t", "", "", 5, 0, false, false};

  add_info(&made, &info);
  struct kr_catalog_row row = parse(&fixture, "ns:t", "ns:t,,5", &made);

  ck_assert_ptr_nonnull(row.location);
  ck_assert(kr_bytes_equal(keyroute_location_table(row.location), keyroute_string("ns:t")));
  keyroute_location_release(row.location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s002_start_key_with_commas_is_cut_right)
{
  struct fixture fixture = fixture_new();
  struct made_row made = {.count = 0};
  struct info info = {"default", "t", "c,,", "", 5, 0, false, false};

  add_info(&made, &info);
  struct kr_catalog_row row = parse(&fixture, "t", "t,c,,,5", &made);

  ck_assert_ptr_nonnull(row.location);
  ck_assert(kr_bytes_equal(keyroute_location_start_key(row.location), keyroute_string("c,,")));
  keyroute_location_release(row.location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_catalog_meta__split_and_offline_are_told)
{
  struct fixture fixture = fixture_new();
  struct made_row made = {.count = 0};
  struct info info = good_info();

  info.split = info.offline = true;
  add_info(&made, &info);
  struct kr_catalog_row row = parse(&fixture, "t", GOOD_KEY, &made);

  ck_assert(row.split && row.offline);
  ck_assert_ptr_nonnull(row.location);
  keyroute_location_release(row.location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s048_row_without_regioninfo_is_corrupt)
{
  struct made_row made = {.count = 0};

  expect_corrupt(GOOD_KEY, &made, "it has no regioninfo");
  add_place(&made, "h:1");
  expect_corrupt(GOOD_KEY, &made, "it has no regioninfo");
  add_cell(&made, "regioninfo", kr_bytes(NULL, 0));
  expect_corrupt(GOOD_KEY, &made, "it has no regioninfo");
}
END_TEST

START_TEST(test_s058_damaged_regioninfo_is_corrupt)
{
  struct info info = good_info();
  uint8_t packed[512];
  size_t len = pack_info(packed, &info);

  for (size_t cut = 1; cut < len; cut++) {
    struct fixture fixture = fixture_new();
    struct made_row made = {.count = 0};
    uint8_t *copy = malloc(cut);

    memcpy(copy, packed, cut);
    add_cell(&made, "regioninfo", kr_bytes(copy, cut));
    struct kr_catalog_row row = parse(&fixture, "t", GOOD_KEY, &made);

    /* A message cut between two fields is whole: before end key, offline, split, replica. */
    bool whole = cut == len - 9 || cut == len - 6 || cut == len - 4 || cut == len - 2;

    ck_assert((row.location != NULL) == whole);
    keyroute_location_release(row.location);
    free(copy);
    fixture_free(&fixture);
  }
}
END_TEST

START_TEST(test_catalog_meta__key_that_is_no_region_name_is_corrupt)
{
  static const char *const keys[] = {"", "t", "t,", "t,a", "t,a,", "t,a,x", "t,a,5.short.", ",a,5"};
  struct made_row made = {.count = 0};
  struct info info = good_info();

  add_info(&made, &info);
  for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
    expect_corrupt(keys[i], &made, "its key is not a region name");
  }
}
END_TEST

START_TEST(test_s003_row_of_another_table_is_not_believed)
{
  struct made_row made = {.count = 0};
  struct info info = good_info();

  info.qualifier = "t1";
  add_info(&made, &info);

  expect_corrupt("t1,a,5", &made, "it belongs to another table");
  expect_corrupt("t,a,5", &made, "its regioninfo names another table");
}
END_TEST

static const struct {
  const char *key, *start; /* NULL = it does not tell */
} starts[] = {
    {GOOD_KEY, "a"},  {"t,,5", ""}, {"t,a,b,5", "a,b"}, {"t,a,x", "a"},  {"t,a", "a"},
    {"t,a,5.x", "a"}, {"t,", ""},   {"t", NULL},        {"u,a,5", NULL}, {",a,5", NULL},
};

START_TEST(test_catalog_meta__start_key_is_told_by_any_key_of_the_table)
{
  struct fixture fixture = fixture_new();
  struct made_row made = {.count = 0};

  struct kr_catalog_row row = parse(&fixture, "t", starts[_i].key, &made);

  ck_assert_ptr_null(row.location);
  ck_assert_int_eq(row.start_key.data != NULL, starts[_i].start != NULL);
  ck_assert(kr_bytes_equal(row.start_key, keyroute_string(starts[_i].start)));
  fixture_free(&fixture);
}
END_TEST

static const struct {
  struct info info;
  const char *reason;
} disagreements[] = {
    {{"ns", "t", "a", "c", 5, 0, false, false}, "names another table"},
    {{"default", "tt", "a", "c", 5, 0, false, false}, "names another table"},
    {{"default", "t", "b", "c", 5, 0, false, false}, "names another start key"},
    {{"default", "t", "", "c", 5, 0, false, false}, "names another start key"},
    {{"default", "t", "a", "c", 6, 0, false, false}, "names another region id"},
    {{"default", "t", "a", "c", UINT64_MAX, 0, false, false}, "cannot be read"},
    {{"default", "t", "a", "c", 5, 1, false, false}, "is that of a replica"},
    {{"default", "t", "a", "c", 5, -1, false, false}, "cannot be read"},
    {{"default", "t", "a", "a", 5, 0, false, false}, "ends at or below its start key"},
    {{"default", "t", "a", "Z", 5, 0, false, false}, "ends at or below its start key"},
    {{"", "t", "a", "c", 5, 0, false, false}, "cannot be read"},
    {{"default", "", "a", "c", 5, 0, false, false}, "cannot be read"},
};

START_TEST(test_catalog_meta__regioninfo_unlike_its_key_is_corrupt)
{
  struct made_row made = {.count = 0};

  add_info(&made, &disagreements[_i].info);
  add_place(&made, "h:1");

  expect_corrupt(GOOD_KEY, &made, disagreements[_i].reason);
}
END_TEST

/* A start key of so many bytes, or an end key. */
static struct kr_catalog_row parse_long(struct fixture *fixture, size_t len, bool is_start)
{
  static char key[KR_LOCATION_KEY_MAX + 2], name[KR_LOCATION_KEY_MAX + 16];
  static uint8_t value[KR_LOCATION_KEY_MAX + 100];
  struct made_row made = {.count = 0};
  struct info info = good_info();

  memset(key, 'r', len);
  key[len] = '\0';
  *(is_start ? &info.start : &info.end) = key;
  if (is_start) {
    info.end = "";
  }
  snprintf(name, sizeof(name), "t,%s,5", info.start);
  add_cell(&made, "regioninfo", kr_bytes(value, pack_info(value, &info)));
  return parse(fixture, "t", name, &made);
}

START_TEST(test_catalog_meta__key_that_no_location_has_room_for_is_corrupt)
{
  static const char *const reasons[] = {
      "rr...: its regioninfo has too long a start key",
      "catalog row t,a,5: its regioninfo has too long an end key"};
  struct fixture fixture = fixture_new();
  struct kr_catalog_row row = parse_long(&fixture, KR_LOCATION_KEY_MAX, _i == 0);

  ck_assert_uint_eq(keyroute_location_start_key(row.location).len, _i == 0 ? UINT16_MAX : 1);
  ck_assert_uint_eq(keyroute_location_end_key(row.location).len, _i == 1 ? UINT16_MAX : 0);
  keyroute_location_release(row.location);
  row = parse_long(&fixture, KR_LOCATION_KEY_MAX + 1, _i == 0);
  ck_assert_ptr_null(row.location);
  ck_assert_msg(strstr(row.failure.message, reasons[_i]) != NULL, "%s", row.failure.message);
  fixture_free(&fixture);
}
END_TEST

/* ---- Servers ---- */

/* The location of a good row with this server cell. */
static struct keyroute_location *placed_at(struct fixture *fixture, struct keyroute_bytes address)
{
  struct made_row made = {.count = 0};
  struct info info = good_info();

  add_info(&made, &info);
  add_cell(&made, "server", address);
  add_cell(&made, "serverstartcode", kr_bytes(start_code, 8));
  return parse(fixture, "t", GOOD_KEY, &made).location;
}

static const char *const bad_addresses[] = {"h",    ":1",   "h:",    "h:0", "h:65536",  "h:1x",
                                            "h:-1", "h: 1", "16020", ":",   "h:999999", "h:1 "};

START_TEST(test_catalog_meta__server_that_is_not_host_and_port_is_corrupt)
{
  struct made_row made = {.count = 0};
  struct info info = good_info();

  add_info(&made, &info);
  add_place(&made, bad_addresses[_i]);

  expect_corrupt(GOOD_KEY, &made, "its server is not host:port");
}
END_TEST

START_TEST(test_catalog_meta__server_with_a_nul_or_too_long_is_corrupt)
{
  struct fixture fixture = fixture_new();
  char address[300];

  memset(address, 'h', sizeof(address));
  memcpy(address + 256, ":1", 2);
  ck_assert_ptr_null(placed_at(&fixture, kr_bytes("h\0i:1", 5)));
  ck_assert_ptr_null(placed_at(&fixture, kr_bytes(address, 300)));
  memcpy(address + 294, ":16020", 6);
  ck_assert_ptr_null(placed_at(&fixture, kr_bytes(address, 300)));

  fixture_free(&fixture);
}
END_TEST

START_TEST(test_catalog_meta__ipv6_addresses_are_taken_at_their_last_colon)
{
  struct fixture fixture = fixture_new();
  struct keyroute_location *location = placed_at(&fixture, keyroute_string("fe80::1:16020"));

  ck_assert_str_eq(keyroute_location_host(location, 0), "fe80::1");
  ck_assert_int_eq(keyroute_location_port(location, 0), 16020);
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s049_missing_server_or_start_code_is_no_server)
{
  for (int i = 0; i < 5; i++) {
    struct fixture fixture = fixture_new();
    struct made_row made = {.count = 0};
    struct info info = good_info();

    add_info(&made, &info);
    if (i == 1 || i == 2) {
      add_cell(&made, "server", keyroute_string(i == 1 ? "" : "h:1"));
    }
    if (i == 3) {
      add_cell(&made, "serverstartcode", kr_bytes(start_code, 8));
    }
    if (i == 4) {
      add_cell(&made, "server", keyroute_string("h:1"));
      add_cell(&made, "serverstartcode", kr_bytes(start_code, 7));
    }
    struct kr_catalog_row row = parse(&fixture, "t", GOOD_KEY, &made);

    ck_assert_ptr_nonnull(row.location);
    ck_assert(!kr_location_placed(row.location));
    ck_assert_int_eq(keyroute_location_replica_count(row.location), 1);
    keyroute_location_release(row.location);
    fixture_free(&fixture);
  }
}
END_TEST

static void add_replica(struct made_row *row, char names[3][32], unsigned replica,
                        const char *address)
{
  static const char *const columns[] = {"server", "serverstartcode", "seqnumDuringOpen"};

  for (int i = 0; i < 3; i++) {
    snprintf(names[i], 32, "%s_%04X", columns[i], replica);
  }
  add_cell(row, names[0], keyroute_string(address));
  add_cell(row, names[1], kr_bytes(start_code, 8));
  add_cell(row, names[2], kr_bytes("\0\0\0\0\0\0\0\x07", 8));
}

START_TEST(test_s056_replica_columns_make_one_region_of_three_replicas)
{
  struct fixture fixture = fixture_new();
  struct made_row made = {.count = 0};
  struct info info = good_info();
  char names[2][3][32];

  add_info(&made, &info);
  add_place(&made, "h0:1");
  add_replica(&made, names[0], 2, "h2:1");
  add_replica(&made, names[1], 1, "not an address");
  struct kr_catalog_row row = parse(&fixture, "t", GOOD_KEY, &made);

  ck_assert_int_eq(keyroute_location_replica_count(row.location), 3);
  ck_assert_str_eq(keyroute_location_host(row.location, 0), "h0");
  ck_assert_ptr_null(keyroute_location_host(row.location, 1));
  ck_assert_str_eq(keyroute_location_host(row.location, 2), "h2");
  ck_assert_int_eq(keyroute_location_seqnum(row.location, 2), 7);
  keyroute_location_release(row.location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_catalog_meta__three_hundred_replicas_are_cut_at_the_most_there_are)
{
  struct fixture fixture = fixture_new();
  static struct made_row made;
  static char names[301][3][32];
  struct info info = good_info();

  add_info(&made, &info);
  add_place(&made, "h:1");
  for (unsigned i = 1; i <= 300; i++) {
    add_replica(&made, names[i], i, "r:2");
  }
  struct kr_catalog_row row = parse(&fixture, "t", GOOD_KEY, &made);

  ck_assert_int_eq(keyroute_location_replica_count(row.location), KR_REPLICAS_MAX);
  ck_assert_str_eq(keyroute_location_host(row.location, 254), "r");
  keyroute_location_release(row.location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_catalog_meta__odd_columns_name_no_replica)
{
  static const char *const odd[] = {"server_",     "server_1",    "server_001",  "server_00001",
                                    "server_0000", "server_FFFF", "server_00ff", "server_000G",
                                    "serverx0001", "Server_0001", "server_-001", "servers"};
  struct fixture fixture = fixture_new();
  struct made_row made = {.count = 0};
  struct info info = good_info();

  add_info(&made, &info);
  add_place(&made, "h:1");
  for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
    add_cell(&made, odd[i], keyroute_string("odd:1"));
  }
  add_cell(&made, "", keyroute_string("odd:1"));
  struct kr_catalog_row row = parse(&fixture, "t", GOOD_KEY, &made);

  ck_assert_int_eq(keyroute_location_replica_count(row.location), 1);
  ck_assert_str_eq(keyroute_location_host(row.location, 0), "h");
  keyroute_location_release(row.location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_catalog_meta__each_allocation_may_fail)
{
  struct fixture fixture = fixture_new();
  struct made_row made = {.count = 0};
  struct info info = good_info();
  struct kr_catalog_row out = {.location = NULL};
  long n = 0;

  add_info(&made, &info);
  add_place(&made, "h:1");
  struct kr_row row = {keyroute_string(GOOD_KEY), made.cells, made.count};

  while (out.location == NULL) {
    mem_fail(++n);
    int error = catalog->parse_row(&out, fixture.mem, fixture.servers, keyroute_string("t"), &row);

    mem_fail(0);
    ck_assert(error == 0 || error == KEYROUTE_E_NO_MEMORY);
    ck_assert(error == 0 || out.location == NULL);
    ck_assert_int_lt(n, 100);
  }

  ck_assert_int_gt(n, 5);
  keyroute_location_release(out.location);
  fixture_free(&fixture);
}
END_TEST

/* ---- The root ---- */

static size_t pack_place(uint8_t *out, const char *host, uint32_t port, int state)
{
  Kr__Pb__ServerName server = KR__PB__SERVER_NAME__INIT;
  Kr__Pb__MetaRegionServer message = KR__PB__META_REGION_SERVER__INIT;

  server.host_name = (char *)(uintptr_t)host;
  server.has_port = server.has_start_code = true;
  server.port = port;
  server.start_code = 77;
  message.server = &server;
  message.has_state = state >= 0;
  message.state = (Kr__Pb__MetaRegionServer__State)state;
  memcpy(out, "\xff\0\0\0\x02idPBUF", 11);
  return 11 + kr__pb__meta_region_server__pack(&message, out + 11);
}

static struct keyroute_location *parse_root(struct fixture *fixture, struct kr_failure *failure,
                                            const struct kr_root_value *values, size_t count)
{
  struct kr_root root = {.values = values, .count = count, .place = "znode /hbase/m"};

  memset(failure, 0, sizeof(*failure));
  return catalog->parse_root(failure, fixture->mem, fixture->servers, &root);
}

START_TEST(test_catalog_meta__root_is_where_its_znode_says)
{
  for (int state = -1; state <= 3; state += 4) {
    struct fixture fixture = fixture_new();
    struct kr_failure failure;
    uint8_t data[128];
    struct kr_root_value value = {.data = kr_bytes(data, pack_place(data, "m", 16020, state))};
    struct keyroute_location *location = parse_root(&fixture, &failure, &value, 1);
    char encoded[11] = "";

    ck_assert_ptr_nonnull(location);
    ck_assert_int_eq(failure.code, 0);
    ck_assert(is_named(location, keyroute_string("hbase:meta,,1")));
    keyroute_location_encoded_name(location, 0, encoded, 10);
    ck_assert_str_eq(encoded, "1588230740");
    ck_assert_str_eq(keyroute_location_host(location, 0), "m");
    ck_assert_int_eq(keyroute_location_start_code(location, 0), 77);
    ck_assert(kr_location_covers(location, keyroute_string("anything"), KR_AT));
    keyroute_location_release(location);
    fixture_free(&fixture);
  }
}
END_TEST

START_TEST(test_s082_root_that_is_not_open_is_a_bootstrap_error_with_its_state)
{
  struct fixture fixture = fixture_new();
  struct kr_failure failure;
  uint8_t data[128];
  struct kr_root_value value = {.data = kr_bytes(data, pack_place(data, "m", 16020, 2))};

  ck_assert_ptr_null(parse_root(&fixture, &failure, &value, 1));

  ck_assert_int_eq(failure.code, KEYROUTE_E_BOOTSTRAP);
  ck_assert_str_eq(failure.message, "znode /hbase/m: hbase:meta is OPENING, not OPEN, on m:16020");
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s063_garbage_in_the_znode_is_a_bootstrap_error_with_its_reason)
{
  static const struct {
    const char *data;
    size_t len;
  } garbage[] = {{"", 0},
                 {"x", 1},
                 {"\xff", 1},
                 {"\xff\xff\xff\xff\xff", 5},
                 {"\xff\0\0\0\0", 5},
                 {"PBUF", 4},
                 {"PBUX\x0a", 5},
                 {"PBUF\xff\xff\xff\xff", 8}};

  for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
    struct fixture fixture = fixture_new();
    struct kr_failure failure;
    struct kr_root_value value = {.data = kr_bytes(garbage[i].data, garbage[i].len)};

    ck_assert_ptr_null(parse_root(&fixture, &failure, &value, 1));
    ck_assert_int_eq(failure.code, KEYROUTE_E_BOOTSTRAP);
    ck_assert_int_eq(strncmp(failure.message, "znode /hbase/m: it", 18), 0);
    fixture_free(&fixture);
  }
}
END_TEST

START_TEST(test_catalog_meta__sparse_replicas_of_the_root_are_kept_in_their_places)
{
  struct fixture fixture = fixture_new();
  struct kr_failure failure;
  uint8_t data[3][128];
  struct kr_root_value values[] = {
      {.replica = 0, .data = kr_bytes(data[0], pack_place(data[0], "m0", 1, 3))},
      {.replica = 4, .data = kr_bytes(data[1], pack_place(data[1], "m4", 1, 3))},
      {.replica = 1, .data = keyroute_string("garbage")},
      {.replica = 2, .data = kr_bytes(data[2], pack_place(data[2], "m2", 1, 2))},
      {.replica = 300, .data = keyroute_string("garbage")},
      {.replica = -1, .data = keyroute_string("garbage")},
  };
  struct keyroute_location *location = parse_root(&fixture, &failure, values, 6);

  ck_assert_ptr_nonnull(location);
  ck_assert_int_eq(failure.code, 0);
  ck_assert_int_eq(keyroute_location_replica_count(location), 5);
  ck_assert_str_eq(keyroute_location_host(location, 0), "m0");
  ck_assert_ptr_null(keyroute_location_host(location, 1));
  ck_assert_ptr_null(keyroute_location_host(location, 2));
  ck_assert_ptr_null(keyroute_location_host(location, 3));
  ck_assert_int_eq(keyroute_location_seqnum(location, 3), -1);
  ck_assert_str_eq(keyroute_location_host(location, 4), "m4");
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_catalog_meta__bad_primary_behind_good_replicas_leaks_nothing)
{
  struct fixture fixture = fixture_new();
  struct kr_failure failure;
  uint8_t data[128];
  struct kr_root_value values[] = {
      {.replica = 2, .data = kr_bytes(data, pack_place(data, "m2", 1, 3))},
      {.replica = 0, .data = keyroute_string("garbage")},
  };

  ck_assert_ptr_null(parse_root(&fixture, &failure, values, 2));
  ck_assert_int_eq(failure.code, KEYROUTE_E_BOOTSTRAP);
  fixture_free(&fixture);
}
END_TEST

static const struct {
  const char *text, *host;
  int port;
  int64_t start_code;
} written[] = {
    {"m:16020", "m", 16020, 0},
    {"m:16020:77", "m", 16020, 77},
    {"[fe80::1]:1", "fe80::1", 1, 0},
    {"[fe80::1]:1:5", "fe80::1", 1, 5},
    {"m", NULL, 0, 0},
    {"m:", NULL, 0, 0},
    {":1", NULL, 0, 0},
    {"m:0", NULL, 0, 0},
    {"m:65536", NULL, 0, 0},
    {"m:1:", NULL, 0, 0},
    {"m:1:x", NULL, 0, 0},
    {"m:1:5:6", NULL, 0, 0},
    {"[fe80::1:1", NULL, 0, 0},
    {"[]:1", NULL, 0, 0},
    {"m:1:99999999999999999999", NULL, 0, 0},
};

START_TEST(test_catalog_meta__root_may_be_written_down)
{
  struct fixture fixture = fixture_new();
  struct kr_failure failure;
  struct kr_root_value value = {.text = true, .data = keyroute_string(written[_i].text)};
  struct keyroute_location *location = parse_root(&fixture, &failure, &value, 1);

  ck_assert((location != NULL) == (written[_i].host != NULL));
  if (location != NULL) {
    ck_assert_str_eq(keyroute_location_host(location, 0), written[_i].host);
    ck_assert_int_eq(keyroute_location_port(location, 0), written[_i].port);
    ck_assert_int_eq(keyroute_location_start_code(location, 0), written[_i].start_code);
  } else {
    ck_assert_int_eq(failure.code, KEYROUTE_E_BOOTSTRAP);
  }
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_catalog_meta__root_without_memory_says_so)
{
  struct fixture fixture = fixture_new();
  struct kr_failure failure;
  uint8_t data[128];
  struct kr_root_value value = {.data = kr_bytes(data, pack_place(data, "m", 16020, 3))};
  struct keyroute_location *location = NULL;
  long n = 0;

  while (location == NULL) {
    mem_fail(++n);
    location = parse_root(&fixture, &failure, &value, 1);
    mem_fail(0);
    /* protobuf-c cannot tell a short memory from bad bytes. */
    ck_assert(location != NULL || failure.code == KEYROUTE_E_NO_MEMORY ||
              failure.code == KEYROUTE_E_BOOTSTRAP);
    ck_assert_int_lt(n, 100);
  }

  ck_assert_int_gt(n, 3);
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

/* ---- The state of a table ---- */

static const char *state_of(const char *key, const char *family, struct keyroute_bytes value)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_cell cell = {.family = keyroute_string(family),
                         .qualifier = keyroute_string("state"),
                         .value = value,
                         .type = 4};
  struct kr_row row = {keyroute_string(key), &cell, 1};
  const char *state = catalog->parse_state(mem, keyroute_string("ns:t"), &row);

  failing_mem_done(mem);
  return state;
}

START_TEST(test_catalog_meta__state_of_a_table_is_told_if_it_explains_anything)
{
  ck_assert_str_eq(state_of("ns:t", "table", kr_bytes("\x08\x01", 2)), "disabled");
  ck_assert_str_eq(state_of("ns:t", "table", kr_bytes("\x08\x02", 2)), "being disabled");
  ck_assert_str_eq(state_of("ns:t", "table", kr_bytes("\x08\x03", 2)), "being enabled");
  /* Fields that are not known do no harm. */
  ck_assert_str_eq(state_of("ns:t", "table", kr_bytes("\x10\x07\x08\x01", 4)), "disabled");
  ck_assert_ptr_null(state_of("ns:t", "table", kr_bytes("\x08\x00", 2)));
}
END_TEST

START_TEST(test_catalog_meta__state_that_cannot_be_read_is_none)
{
  static const char negative[] = "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";

  ck_assert_ptr_null(state_of("ns:t", "table", kr_bytes(NULL, 0)));
  ck_assert_ptr_null(state_of("ns:t", "table", kr_bytes("\x08", 1)));
  ck_assert_ptr_null(state_of("ns:t", "table", kr_bytes("\x08\x04", 2)));
  ck_assert_ptr_null(state_of("ns:t", "table", kr_bytes("PBUF\x08\x01", 6)));
  ck_assert_ptr_null(state_of("ns:t", "table", kr_bytes(negative, sizeof(negative) - 1)));
  ck_assert_ptr_null(state_of("ns:t", "info", kr_bytes("\x08\x01", 2)));
  ck_assert_ptr_null(state_of("ns:t2", "table", kr_bytes("\x08\x01", 2)));
  ck_assert_ptr_null(state_of("ns:t,,1", "table", kr_bytes("\x08\x01", 2)));
}
END_TEST

START_TEST(test_catalog_meta__row_of_thousands_of_cells_is_read)
{
  enum { CELLS = 100000 };
  struct fixture fixture = fixture_new();
  struct made_row made = {.count = 0};
  struct info info = good_info();
  struct kr_cell *cells = calloc(CELLS, sizeof(*cells));

  ck_assert_ptr_nonnull(cells);
  add_info(&made, &info);
  add_place(&made, "h:1");
  for (size_t i = 0; i < CELLS - made.count; i++) {
    cells[i] = (struct kr_cell){.family = keyroute_string("info"),
                                .qualifier = keyroute_string("serverless"),
                                .value = keyroute_string("odd"),
                                .type = 4};
  }
  memcpy(cells + CELLS - made.count, made.cells, made.count * sizeof(*cells));
  struct kr_row row = {keyroute_string(GOOD_KEY), cells, CELLS};
  struct kr_catalog_row out;
  int error = catalog->parse_row(&out, fixture.mem, fixture.servers, keyroute_string("t"), &row);

  ck_assert_int_eq(error, 0);
  ck_assert_ptr_nonnull(out.location);
  ck_assert_str_eq(keyroute_location_host(out.location, 0), "h");
  ck_assert_int_eq(keyroute_location_replica_count(out.location), 1);
  keyroute_location_release(out.location);
  free(cells);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_catalog_meta__replica_of_the_root_named_twice_is_read_once)
{
  struct fixture fixture = fixture_new();
  struct kr_failure failure;
  uint8_t data[3][128];
  struct kr_root_value values[] = {
      {.replica = 0, .data = kr_bytes(data[0], pack_place(data[0], "m0", 1, 3))},
      {.replica = 2, .data = kr_bytes(data[1], pack_place(data[1], "m2", 1, 3))},
      {.replica = 2, .data = kr_bytes(data[2], pack_place(data[2], "other", 1, 3))},
  };
  struct keyroute_location *location = parse_root(&fixture, &failure, values, 3);

  ck_assert_ptr_nonnull(location);
  ck_assert_str_eq(keyroute_location_host(location, 2), "m2");
  keyroute_location_release(location);
  fixture_free(&fixture);
}
END_TEST

/* ---- The suite ---- */

static Suite *suite(void)
{
  Suite *made = suite_create("catalog_meta");
  TCase *keys = tcase_create("keys");
  TCase *tests = tcase_create("all");

  tcase_add_checked_fixture(keys, set_up_keys, catalog_tear_down);
  tcase_add_test(keys, test_catalog_meta__search_keys_are_those_hbase_uses);
  tcase_add_test(keys, test_catalog_meta__before_the_empty_row_is_behind_all_of_the_table);
  tcase_add_loop_test(keys, test_catalog_meta__key_is_as_long_as_a_server_takes_and_no_longer, 0,
                      2);
  tcase_add_test(keys, test_s005_bounds_have_both_commas_and_hold_one_table_only);
  suite_add_tcase(made, keys);

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_catalog_meta__every_table_but_the_root_has_the_root_as_parent);
  tcase_add_test(tests, test_catalog_meta__good_row_is_believed_whole);
  tcase_add_test(tests, test_catalog_meta__namespace_is_part_of_the_name);
  tcase_add_test(tests, test_s002_start_key_with_commas_is_cut_right);
  tcase_add_test(tests, test_catalog_meta__split_and_offline_are_told);
  tcase_add_test(tests, test_s048_row_without_regioninfo_is_corrupt);
  tcase_add_test(tests, test_s058_damaged_regioninfo_is_corrupt);
  tcase_add_test(tests, test_catalog_meta__key_that_is_no_region_name_is_corrupt);
  tcase_add_test(tests, test_s003_row_of_another_table_is_not_believed);
  tcase_add_loop_test(tests, test_catalog_meta__key_that_no_location_has_room_for_is_corrupt, 0, 2);
  tcase_add_loop_test(tests, test_catalog_meta__regioninfo_unlike_its_key_is_corrupt, 0,
                      (int)(sizeof(disagreements) / sizeof(disagreements[0])));
  tcase_add_loop_test(tests, test_catalog_meta__server_that_is_not_host_and_port_is_corrupt, 0,
                      (int)(sizeof(bad_addresses) / sizeof(bad_addresses[0])));
  tcase_add_test(tests, test_catalog_meta__server_with_a_nul_or_too_long_is_corrupt);
  tcase_add_test(tests, test_catalog_meta__ipv6_addresses_are_taken_at_their_last_colon);
  tcase_add_test(tests, test_s049_missing_server_or_start_code_is_no_server);
  tcase_add_loop_test(tests, test_catalog_meta__start_key_is_told_by_any_key_of_the_table, 0,
                      (int)(sizeof(starts) / sizeof(starts[0])));
  tcase_add_test(tests, test_catalog_meta__keys_have_the_order_of_the_server);
  tcase_add_test(tests, test_s056_replica_columns_make_one_region_of_three_replicas);
  tcase_add_test(tests, test_catalog_meta__three_hundred_replicas_are_cut_at_the_most_there_are);
  tcase_add_test(tests, test_catalog_meta__odd_columns_name_no_replica);
  tcase_add_test(tests, test_catalog_meta__each_allocation_may_fail);
  tcase_add_test(tests, test_catalog_meta__root_is_where_its_znode_says);
  tcase_add_test(tests, test_s082_root_that_is_not_open_is_a_bootstrap_error_with_its_state);
  tcase_add_test(tests, test_s063_garbage_in_the_znode_is_a_bootstrap_error_with_its_reason);
  tcase_add_test(tests, test_catalog_meta__sparse_replicas_of_the_root_are_kept_in_their_places);
  tcase_add_test(tests, test_catalog_meta__bad_primary_behind_good_replicas_leaks_nothing);
  tcase_add_loop_test(tests, test_catalog_meta__root_may_be_written_down, 0,
                      (int)(sizeof(written) / sizeof(written[0])));
  tcase_add_test(tests, test_catalog_meta__root_without_memory_says_so);
  tcase_add_test(tests, test_catalog_meta__state_of_a_table_is_told_if_it_explains_anything);
  tcase_add_test(tests, test_catalog_meta__state_that_cannot_be_read_is_none);
  tcase_add_test(tests, test_catalog_meta__row_of_thousands_of_cells_is_read);
  tcase_add_test(tests, test_catalog_meta__replica_of_the_root_named_twice_is_read_once);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
