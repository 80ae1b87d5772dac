/*
 * Names of regions, their order, and RegionInfo values, good and bad.
 *
 * The encoded names are from md5sum, the first one is also HBase's own example (RegionInfo):
 *   printf 'TestTable,0094429456,1289497600452' | md5sum
 *   printf 't,a,1796001106352_0001' | md5sum
 *   printf 'ns:t,\000\377,,5' | md5sum
 */
#include "lib/region.h"

#include "lib/bytes.h"
#include "lib/proto/hbase.pb-c.h"
#include "test/failing_mem.h"
#include "test/fake_catalog.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MD5_OF_T "a1bab7464d1998e3cf55a8143604c733"

/* ---- Doubles --------------------------------------------------------------------------------- */

static struct kr_mem *mem;

static void set_up(void)
{
  mem = failing_mem_new();
}

static void tear_down(void)
{
  failing_mem_done(mem);
}

/* A string literal as bytes, NULs inside included. */
#define BYTES(literal) kr_bytes(literal, sizeof(literal) - 1)

static void assert_bytes(struct keyroute_bytes got, struct keyroute_bytes want)
{
  char got_text[200];
  char want_text[200];

  ck_assert_str_eq(kr_bytes_print(got_text, sizeof(got_text), got),
                   kr_bytes_print(want_text, sizeof(want_text), want));
}

static struct kr_region_name parse(struct keyroute_bytes name)
{
  struct kr_region_name parsed;

  ck_assert_int_eq(kr_region_name_parse(&parsed, name), 0);
  return parsed;
}

static void assert_corrupt_name(struct keyroute_bytes name)
{
  struct kr_region_name parsed = {.id = 77};

  ck_assert_int_eq(kr_region_name_parse(&parsed, name), KEYROUTE_E_CORRUPT);
  ck_assert_int_eq(parsed.id, 77);
}

/* Both ways round. */
static void assert_order(struct keyroute_bytes low, struct keyroute_bytes high)
{
  ck_assert_int_lt(fake_catalog_compare(low, high), 0);
  ck_assert_int_gt(fake_catalog_compare(high, low), 0);
  ck_assert_int_eq(fake_catalog_compare(low, low), 0);
}

/* ---- Names ----------------------------------------------------------------------------------- */

START_TEST(test_region__name_is_taken_apart)
{
  struct kr_region_name name = parse(BYTES("ns:t,a,1796001106352." MD5_OF_T "."));

  assert_bytes(name.table, BYTES("ns:t"));
  assert_bytes(name.start_key, BYTES("a"));
  assert_bytes(name.encoded, BYTES(MD5_OF_T));
  ck_assert_int_eq(name.id, 1796001106352);
}
END_TEST

START_TEST(test_region__old_and_catalog_names_have_no_encoded_part)
{
  struct kr_region_name old = parse(BYTES("t,a,123"));
  struct kr_region_name meta = parse(BYTES("hbase:meta,,1"));

  assert_bytes(old.encoded, BYTES(""));
  ck_assert_int_eq(old.id, 123);
  assert_bytes(meta.table, BYTES("hbase:meta"));
  assert_bytes(meta.start_key, BYTES(""));
  ck_assert_int_eq(meta.id, 1);
}
END_TEST

START_TEST(test_region__start_key_may_hold_any_byte)
{
  struct kr_region_name name = parse(BYTES("t,\x00,.\xff,,7." MD5_OF_T "."));
  struct kr_region_name commas = parse(BYTES("t,,,,5"));

  assert_bytes(name.start_key, BYTES("\x00,.\xff,"));
  ck_assert_int_eq(name.id, 7);
  assert_bytes(commas.start_key, BYTES(",,"));
}
END_TEST

START_TEST(test_region__unbelievable_names_are_corrupt)
{
  static const char *const names[] = {"",
                                      ",",
                                      ",,",
                                      "t",
                                      "t,",
                                      "t,1",
                                      "t,,",
                                      ",,1",
                                      "t,a,",
                                      "t,a,x",
                                      "t,a,-1",
                                      "t,a,1x",
                                      "t,a, 1",
                                      "t,a,1.",
                                      "t,a,.",
                                      "t,a,1..",
                                      "t,a,1.ab.",
                                      "t,a,1_0001." MD5_OF_T ".",
                                      "t,a,1." MD5_OF_T,
                                      "t,a,1." MD5_OF_T "..",
                                      "t,a,1.A1BAB7464D1998E3CF55A8143604C733.",
                                      "t,a,9223372036854775808",
                                      "t,a,99999999999999999999999999999999"};

  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    assert_corrupt_name(keyroute_string(names[i]));
  }
  assert_corrupt_name(kr_bytes(NULL, 0));
  assert_corrupt_name(BYTES("t,a,1\x00"));
}
END_TEST

START_TEST(test_region__largest_id_is_read)
{
  struct kr_region_name name = parse(BYTES("t,,9223372036854775807"));

  ck_assert_int_eq(name.id, INT64_MAX);
}
END_TEST

START_TEST(test_region__every_piece_of_a_name_is_safe_to_read)
{
  struct keyroute_bytes whole = BYTES("t,a,b,1796001106352." MD5_OF_T ".");

  for (size_t len = 0; len <= whole.len; len++) {
    struct kr_region_name name;
    char *copy = malloc(len > 0 ? len : 1); /* so that a sanitizer sees an over-read */
    memcpy(copy, whole.data, len);
    kr_region_name_parse(&name, kr_bytes(copy, len));
    free(copy);
  }
}
END_TEST

START_TEST(test_region__encoded_name_is_the_md5_of_the_name)
{
  char plain[33], replica[33], odd[33];

  kr_region_encoded_name(plain, BYTES("TestTable"), BYTES("0094429456"), 1289497600452, 0);
  kr_region_encoded_name(replica, BYTES("t"), BYTES("a"), 1796001106352, 1);
  kr_region_encoded_name(odd, BYTES("ns:t"), BYTES("\x00\xff,"), 5, 0);

  ck_assert_str_eq(plain, "527db22f95c8a9e0116f0cc13c680396");
  ck_assert_str_eq(replica, "659e2037eb7c91703f282c1582f5a7cc");
  ck_assert_str_eq(odd, "e69bd84ea7f8ba45a1fa9054e961d1f1");
}
END_TEST

START_TEST(test_region__encoded_name_of_an_empty_start_key)
{
  char made[33], again[33];

  kr_region_encoded_name(made, BYTES("t"), kr_bytes(NULL, 0), 1, 0);
  kr_region_encoded_name(again, BYTES("t,"), BYTES(""), 1, 0);

  ck_assert_uint_eq(strlen(made), 32);
  ck_assert_str_ne(made, again);
}
END_TEST

/* ---- Order ----------------------------------------------------------------------------------- */

START_TEST(test_region__order_compares_three_parts)
{
  assert_order(BYTES("t,a,1"), BYTES("t,a,2"));
  assert_order(BYTES("t,a,9"), BYTES("t,b,1"));
  assert_order(BYTES("t,z,9"), BYTES("u,a,1"));
  assert_order(BYTES("t,,1"), BYTES("t,\x00,1"));
  assert_order(BYTES("t,\x7f,1"), BYTES("t,\x80,1"));
  assert_order(BYTES("t,a,1796." MD5_OF_T "."), BYTES("t,a,99999999999999"));
}
END_TEST

START_TEST(test_region__start_key_that_goes_on_below_the_comma_sorts_behind)
{
  assert_order(BYTES("t,a,1"), BYTES("t,a\x00,1"));
  assert_order(BYTES("t,a,99999999999999"), BYTES("t,a+,1"));
  assert_order(BYTES("t,a,99999999999999"), BYTES("t,a,,1"));
}
END_TEST

START_TEST(test_region__names_with_fewer_commas_come_first)
{
  assert_order(BYTES(""), BYTES("t"));
  assert_order(BYTES("t"), BYTES("t,"));
  assert_order(BYTES("t,"), BYTES("t,,"));
  assert_order(BYTES("t,,"), BYTES("t,,1"));
  assert_order(BYTES("t,a"), BYTES("t,a,"));
  assert_order(BYTES("t"), BYTES("t1"));
  assert_order(BYTES("t,,99999999999999"), BYTES("t ,,"));
}
END_TEST

START_TEST(test_region__order_is_total)
{
  static const char *const sorted[] = {"",      "t",      "t,",     "t,,",   "t,,1",
                                       "t,,2",  "t,!",    "t,!,1",  "t,,,1", "t,a",
                                       "t,a,1", "t,a!,1", "t,a,,1", "t1,,1"};
  size_t count = sizeof(sorted) / sizeof(sorted[0]);

  for (size_t i = 0; i < count; i++) {
    for (size_t j = i + 1; j < count; j++) {
      assert_order(keyroute_string(sorted[i]), keyroute_string(sorted[j]));
    }
  }
}
END_TEST

/* The row of the catalog at or closest before a key: what a reversed scan finds first. */
static int closest_before(const struct keyroute_bytes *rows, int count, struct keyroute_bytes key)
{
  int best = -1;

  for (int i = 0; i < count; i++) {
    if (fake_catalog_compare(rows[i], key) <= 0 &&
        (best < 0 || fake_catalog_compare(rows[i], rows[best]) > 0)) {
      best = i;
    }
  }
  return best;
}

/* The key from which the region of a row is looked for, in room. */
static struct keyroute_bytes search_key(char room[64], const char *table, struct keyroute_bytes row)
{
  size_t len = (size_t)snprintf(room, 64, "%s,", table);

  memcpy(room + len, row.data, row.len);
  memcpy(room + len + row.len, ",99999999999999", 15);
  return kr_bytes(room, len + row.len + 15);
}

START_TEST(test_region__s001_key_that_extends_a_start_key_by_a_comma_finds_it)
{
  const struct keyroute_bytes rows[] = {BYTES("t,,10"), BYTES("t,foo,20")};
  char room[64];

  int found = closest_before(rows, 2, search_key(room, "t", BYTES("foo,\x02")));

  ck_assert_int_eq(found, 1);
}
END_TEST

START_TEST(test_region__s002_commas_in_keys_find_their_region)
{
  const struct keyroute_bytes rows[] = {BYTES("t,,1"), BYTES("t,a,b,2"), BYTES("t,c,,,3")};
  char room[64];

  assert_bytes(parse(rows[1]).start_key, BYTES("a,b"));
  assert_bytes(parse(rows[2]).start_key, BYTES("c,,"));

  ck_assert_int_eq(closest_before(rows, 3, search_key(room, "t", BYTES("a,b,x"))), 1);
  ck_assert_int_eq(closest_before(rows, 3, search_key(room, "t", BYTES("c,"))), 1);
  ck_assert_int_eq(closest_before(rows, 3, search_key(room, "t", BYTES("c,,"))), 2);
  ck_assert_int_eq(closest_before(rows, 3, search_key(room, "t", BYTES(","))), 0);
}
END_TEST

START_TEST(test_region__s003_table_that_is_a_prefix_of_another_finds_its_own)
{
  const struct keyroute_bytes rows[] = {BYTES("t,,1"), BYTES("t1,,2"), BYTES("tt,,3"),
                                        BYTES("t-a,,4")};
  char room[64];

  ck_assert_int_eq(closest_before(rows, 4, search_key(room, "t", BYTES("zzz"))), 0);
  ck_assert_int_eq(closest_before(rows, 4, search_key(room, "t1", BYTES(""))), 1);
  ck_assert_int_eq(closest_before(rows, 4, search_key(room, "tt", BYTES("\xff"))), 2);
  ck_assert_int_eq(closest_before(rows, 4, search_key(room, "t-a", BYTES("\x00"))), 3);
}
END_TEST

START_TEST(test_region__s006_keys_below_the_comma_find_their_region)
{
  const struct keyroute_bytes starts[] = {BYTES(""),  BYTES("\x01"), BYTES("!a"),
                                          BYTES("+"), BYTES(","),    BYTES("-")};
  const struct keyroute_bytes rows[] = {BYTES("t,,1"),  BYTES("t,\x01,1"), BYTES("t,!a,1"),
                                        BYTES("t,+,1"), BYTES("t,,,1"),    BYTES("t,-,1")};
  char room[64];

  for (int i = 0; i < 6; i++) {
    char longer[8] = {0};
    memcpy(longer, starts[i].data, starts[i].len);
    struct keyroute_bytes above = kr_bytes(longer, starts[i].len + 1);
    struct keyroute_bytes below = kr_bytes(longer, starts[i].len > 0 ? starts[i].len - 1 : 0);

    ck_assert_int_eq(closest_before(rows, 6, search_key(room, "t", starts[i])), i);
    ck_assert_int_eq(closest_before(rows, 6, search_key(room, "t", above)), i);
    ck_assert_int_eq(closest_before(rows, 6, search_key(room, "t", below)), i == 2 ? 1 : 0);
  }
}
END_TEST

/* ---- RegionInfo ------------------------------------------------------------------------------ */

/* A message with everything set, for tests to spoil. */
static void fill(Kr__Pb__RegionInfo *info, Kr__Pb__TableName *table, const char *namespace,
                 const char *qualifier)
{
  kr__pb__table_name__init(table);
  table->has_namespace_ = table->has_qualifier = 1;
  table->namespace_ = (ProtobufCBinaryData){strlen(namespace), (uint8_t *)(uintptr_t) namespace};
  table->qualifier = (ProtobufCBinaryData){strlen(qualifier), (uint8_t *)(uintptr_t)qualifier};
  kr__pb__region_info__init(info);
  info->table_name = table;
  info->has_region_id = 1;
  info->region_id = 1796001106352;
  info->has_start_key = info->has_end_key = 1;
  info->start_key = (ProtobufCBinaryData){3, (uint8_t *)(uintptr_t) "a\0,"};
  info->end_key = (ProtobufCBinaryData){2, (uint8_t *)(uintptr_t) "b\xff"};
  info->has_replica_id = info->has_offline = info->has_split = 1;
  info->replica_id = 2;
  info->offline = info->split = 1;
}

/* The value as a catalog cell holds it; exactly as long, so that a sanitizer sees an over-read. */
static struct keyroute_bytes pack(const Kr__Pb__RegionInfo *info)
{
  size_t len = kr__pb__region_info__get_packed_size(info);
  uint8_t *value = malloc(len + 4);

  memcpy(value, "PBUF", 4);
  kr__pb__region_info__pack(info, value + 4);
  return kr_bytes(value, len + 4);
}

static void drop(struct keyroute_bytes value)
{
  free((void *)(uintptr_t)value.data);
}

/* Gives what it means, or NULL; an error must leave out alone. */
static struct kr_region_info *parse_value(struct keyroute_bytes value)
{
  struct kr_region_info *untouched = (struct kr_region_info *)(uintptr_t)&mem;
  struct kr_region_info *info = untouched;
  int error = kr_region_info_parse(&info, mem, value);

  if (error == 0) {
    ck_assert_ptr_ne(info, untouched);
    return info;
  }
  ck_assert(error == KEYROUTE_E_CORRUPT || (mem_has_failed() && error == KEYROUTE_E_NO_MEMORY));
  ck_assert_ptr_eq(info, untouched);
  return NULL;
}

static void assert_corrupt(const Kr__Pb__RegionInfo *message)
{
  struct keyroute_bytes value = pack(message);

  ck_assert_ptr_null(parse_value(value));
  drop(value);
}

START_TEST(test_region__info_is_read_in_full)
{
  Kr__Pb__RegionInfo message;
  Kr__Pb__TableName table;
  fill(&message, &table, "ns", "t");
  struct keyroute_bytes value = pack(&message);

  struct kr_region_info *info = parse_value(value);
  drop(value); /* all is copied */

  assert_bytes(info->table, BYTES("ns:t"));
  assert_bytes(info->start_key, BYTES("a\0,"));
  assert_bytes(info->end_key, BYTES("b\xff"));
  ck_assert_int_eq(info->id, 1796001106352);
  ck_assert_int_eq(info->replica, 2);
  ck_assert(info->offline && info->split);
  kr_free(mem, info);
}
END_TEST

START_TEST(test_region__info_leaves_out_the_default_namespace)
{
  Kr__Pb__RegionInfo message;
  Kr__Pb__TableName table;
  fill(&message, &table, "default", "t");
  struct keyroute_bytes value = pack(&message);

  struct kr_region_info *info = parse_value(value);

  assert_bytes(info->table, BYTES("t"));
  kr_free(mem, info);
  drop(value);
}
END_TEST

START_TEST(test_region__info_has_defaults_for_what_is_absent)
{
  Kr__Pb__RegionInfo message;
  Kr__Pb__TableName table;
  fill(&message, &table, "default", "t");
  message.has_start_key = message.has_end_key = message.has_replica_id = 0;
  message.has_offline = message.has_split = 0;
  struct keyroute_bytes value = pack(&message);

  struct kr_region_info *info = parse_value(value);

  ck_assert_uint_eq(info->start_key.len + info->end_key.len, 0);
  ck_assert_int_eq(info->replica, 0);
  ck_assert(!info->offline && !info->split);
  kr_free(mem, info);
  drop(value);
}
END_TEST

START_TEST(test_region__info_without_a_required_field_is_corrupt)
{
  Kr__Pb__RegionInfo message;
  Kr__Pb__TableName table;

  fill(&message, &table, "ns", "t");
  message.has_region_id = 0;
  assert_corrupt(&message);
  fill(&message, &table, "ns", "t");
  message.table_name = NULL;
  assert_corrupt(&message);
  fill(&message, &table, "ns", "t");
  table.has_namespace_ = 0;
  assert_corrupt(&message);
  fill(&message, &table, "ns", "t");
  table.has_qualifier = 0;
  assert_corrupt(&message);
}
END_TEST

START_TEST(test_region__info_out_of_range_is_corrupt)
{
  Kr__Pb__RegionInfo message;
  Kr__Pb__TableName table;

  fill(&message, &table, "", "t");
  assert_corrupt(&message);
  fill(&message, &table, "ns", "");
  assert_corrupt(&message);
  fill(&message, &table, "ns", "t");
  message.region_id = (uint64_t)INT64_MAX + 1;
  assert_corrupt(&message);
  fill(&message, &table, "ns", "t");
  message.replica_id = -1;
  assert_corrupt(&message);
  fill(&message, &table, "ns", "t");
  message.replica_id = 0x10000;
  assert_corrupt(&message);
}
END_TEST

START_TEST(test_region__s058_short_and_wrong_magic_is_corrupt)
{
  static const char *const values[] = {
      "P", "PB", "PBU", "PBUF", "pbuf", "PBUG", "\x01\x02\x03\x04"};

  for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
    ck_assert_ptr_null(parse_value(keyroute_string(values[i])));
  }
  ck_assert_ptr_null(parse_value(kr_bytes(NULL, 0)));
}
END_TEST

START_TEST(test_region__s058_truncated_value_is_corrupt_or_lacks_only_optional_fields)
{
  Kr__Pb__RegionInfo message;
  Kr__Pb__TableName table;
  fill(&message, &table, "ns", "t");
  struct keyroute_bytes value = pack(&message);
  int corrupt = 0;

  for (size_t len = 0; len < value.len; len++) {
    char *piece = malloc(len > 0 ? len : 1);
    memcpy(piece, value.data, len);
    struct kr_region_info *info = parse_value(kr_bytes(piece, len));
    if (info == NULL) {
      corrupt++;
    } else {
      assert_bytes(info->table, BYTES("ns:t"));
    }
    kr_free(mem, info);
    free(piece);
  }

  ck_assert_int_ge(corrupt, (int)value.len - 5); /* five fields may be missing */
  drop(value);
}
END_TEST

START_TEST(test_region__s058_lengths_beyond_the_value_are_corrupt)
{
  ck_assert_ptr_null(parse_value(BYTES("PBUF\x08\x01\x1a\xff\xff\xff\xff\x0f"
                                       "abc")));
  ck_assert_ptr_null(parse_value(BYTES("PBUF\x08\x01\x12\xff\xff\xff\xff\x0f\x0a\x01n")));
  ck_assert_ptr_null(parse_value(BYTES("PBUF\x1a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")));
  ck_assert_ptr_null(parse_value(BYTES("PBUF\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")));
  ck_assert_ptr_null(parse_value(BYTES("PBUF\x08\x01\x12\x00\x1a\x05"
                                       "abc")));
}
END_TEST

START_TEST(test_region__info_of_a_newer_server_is_read)
{
  /* Field 9 of each kind that there is, field 8 in the table's name. */
  struct keyroute_bytes value = BYTES("PBUF\x48\x07\x49"
                                      "12345678\x08\x05\x4a\x02xx\x4d"
                                      "1234\x12\x09\x40\x01\x0a\x02ns\x12\x01t\x1a\x01"
                                      "a");

  struct kr_region_info *info = parse_value(value);

  ck_assert_ptr_nonnull(info);
  assert_bytes(info->table, BYTES("ns:t"));
  assert_bytes(info->start_key, BYTES("a"));
  ck_assert_int_eq(info->id, 5);
  kr_free(mem, info);
}
END_TEST

START_TEST(test_region__info_with_a_field_of_another_kind_is_corrupt)
{
  static const char *const spoilt[] = {"\x0a\x01x", "\x10\x01",  "\x18\x01", "\x20\x01",
                                       "\x2a\x01x", "\x32\x01x", "\x3a\x01x"};
  char value[40] = "PBUF\x08\x05\x12\x07\x0a\x02ns\x12\x01t";
  size_t len = strlen(value);

  for (size_t i = 0; i < sizeof(spoilt) / sizeof(spoilt[0]); i++) {
    strcpy(value + len, spoilt[i]);
    ck_assert_ptr_null(parse_value(keyroute_string(value)));
  }

  ck_assert_ptr_null(parse_value(BYTES("PBUF\x08\x05\x12\x09\x08\x01\x0a\x02ns\x12\x01t")));
}
END_TEST

START_TEST(test_region__s058_every_flipped_byte_is_safe_to_read)
{
  Kr__Pb__RegionInfo message;
  Kr__Pb__TableName table;
  fill(&message, &table, "ns", "t");
  struct keyroute_bytes value = pack(&message);
  uint8_t *bytes = (uint8_t *)(uintptr_t)value.data;

  for (size_t i = 0; i < value.len; i++) {
    for (int byte = 0; byte < 256; byte++) {
      uint8_t saved = bytes[i];
      bytes[i] = (uint8_t)byte;
      kr_free(mem, parse_value(value));
      bytes[i] = saved;
    }
  }

  kr_free(mem, parse_value(value));
  drop(value);
}
END_TEST

START_TEST(test_region__info_parse_fails_cleanly_at_each_allocation)
{
  Kr__Pb__RegionInfo message;
  Kr__Pb__TableName table;
  fill(&message, &table, "ns", "t");
  struct keyroute_bytes value = pack(&message);
  struct kr_region_info *info = NULL;
  int failures = 0;
  long before = mem_live();

  for (long n = 1; info == NULL; n++) {
    mem_fail(n);
    info = parse_value(value);
    failures += info == NULL;
    ck_assert_int_eq(mem_live(), info == NULL ? before : before + 1);
  }

  ck_assert_int_eq(failures, 1);
  kr_free(mem, info);
  drop(value);
}
END_TEST

/* ---- The suite ------------------------------------------------------------------------------- */

static Suite *suite(void)
{
  Suite *made = suite_create("region");
  TCase *tests = tcase_create("all");

  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, test_region__name_is_taken_apart);
  tcase_add_test(tests, test_region__old_and_catalog_names_have_no_encoded_part);
  tcase_add_test(tests, test_region__start_key_may_hold_any_byte);
  tcase_add_test(tests, test_region__unbelievable_names_are_corrupt);
  tcase_add_test(tests, test_region__largest_id_is_read);
  tcase_add_test(tests, test_region__every_piece_of_a_name_is_safe_to_read);
  tcase_add_test(tests, test_region__encoded_name_is_the_md5_of_the_name);
  tcase_add_test(tests, test_region__encoded_name_of_an_empty_start_key);
  tcase_add_test(tests, test_region__order_compares_three_parts);
  tcase_add_test(tests, test_region__start_key_that_goes_on_below_the_comma_sorts_behind);
  tcase_add_test(tests, test_region__names_with_fewer_commas_come_first);
  tcase_add_test(tests, test_region__order_is_total);
  tcase_add_test(tests, test_region__s001_key_that_extends_a_start_key_by_a_comma_finds_it);
  tcase_add_test(tests, test_region__s002_commas_in_keys_find_their_region);
  tcase_add_test(tests, test_region__s003_table_that_is_a_prefix_of_another_finds_its_own);
  tcase_add_test(tests, test_region__s006_keys_below_the_comma_find_their_region);
  tcase_add_test(tests, test_region__info_is_read_in_full);
  tcase_add_test(tests, test_region__info_leaves_out_the_default_namespace);
  tcase_add_test(tests, test_region__info_has_defaults_for_what_is_absent);
  tcase_add_test(tests, test_region__info_without_a_required_field_is_corrupt);
  tcase_add_test(tests, test_region__info_out_of_range_is_corrupt);
  tcase_add_test(tests, test_region__s058_short_and_wrong_magic_is_corrupt);
  tcase_add_test(tests, test_region__s058_truncated_value_is_corrupt_or_lacks_only_optional_fields);
  tcase_add_test(tests, test_region__s058_lengths_beyond_the_value_are_corrupt);
  tcase_add_test(tests, test_region__info_of_a_newer_server_is_read);
  tcase_add_test(tests, test_region__info_with_a_field_of_another_kind_is_corrupt);
  tcase_add_test(tests, test_region__s058_every_flipped_byte_is_safe_to_read);
  tcase_add_test(tests, test_region__info_parse_fails_cleanly_at_each_allocation);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
