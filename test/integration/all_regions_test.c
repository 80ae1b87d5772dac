/*
 * Listings of whole tables against a real HBase, compared with the Java client's list, region by
 * region and replica by replica: one region, many, few at a time, just split or merged, replicas, a
 * namespace, a disabled table, one whose name begins another's, a region that is on no server.
 */
#include "test/integration/real.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWERS_MAX = 1000 };

static struct real_answer theirs[ANSWERS_MAX];
static size_t their_count;

static struct keyroute_connection *conn;

/* As the Java client has it: without a server there is no location. */
static void describe(struct real_answer *ours, const struct keyroute_location *location,
                     int replica)
{
  if (keyroute_location_host(location, replica) != NULL) {
    real_describe(ours, location, replica);
  } else {
    *ours = (struct real_answer){.found = false};
  }
}

/* Compare the regions of one page with the answers from a certain one on. Returns how many there
 * were. */
static size_t compare_page(const struct keyroute_page *page, size_t first, const char *table)
{
  size_t compared = first;

  for (size_t i = 0; i < keyroute_page_count(page); i++) {
    struct keyroute_span span = {.size = sizeof(span)};
    struct real_answer ours;

    ck_assert_int_eq(keyroute_page_span(page, i, &span), 0);
    ck_assert_msg(span.kind == KEYROUTE_SPAN_REGION, "%s: %s", table, span.message);
    for (int replica = 0; replica < keyroute_location_replica_count(span.location); replica++) {
      ck_assert_msg(compared < their_count, "%s has more regions than Java says", table);
      describe(&ours, span.location, replica);
      const char *difference = real_difference(&ours, &theirs[compared++]);

      ck_assert_msg(difference[0] == '\0', "%s, region %zu: %s", table, i, difference);
    }
  }
  return compared - first;
}

/* List a table in pages of a size, 0 = as many as the library chooses. */
static void compare_listing(const char *table, size_t limit)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_bytes start = {"", 0};
  unsigned char next[1100];
  size_t compared = 0;
  bool more;

  do {
    struct keyroute_page *page;

    ck_assert_msg(
        keyroute_regions(&page, conn, table, start, keyroute_string(""), limit, NULL, &detail) == 0,
        "%s", detail.message);
    compared += compare_page(page, compared, table);
    more = keyroute_page_next(page, &start);
    if (more) {
      ck_assert_uint_le(start.len, sizeof(next));
      start.data = memcpy(next, start.data, start.len);
    }
    keyroute_page_free(page);
  } while (more);
  ck_assert_msg(compared == their_count, "%s: %zu of %zu", table, compared, their_count);
  keyroute_detail_clear(&detail);
}

/* Compare a table's listing, in one page and in several. */
static void compare(const char *table)
{
  real_command("wait-quiet");
  their_count = real_all_locations(theirs, ANSWERS_MAX, table);
  compare_listing(table, 0);
  compare_listing(table, 7);
  compare_listing(table, 1);
  printf("%s: %zu locations compared with the Java client's\n", table, their_count);
}

static void create_many(void)
{
  static char command[8192];
  char *to = command + sprintf(command, "create many");

  for (unsigned i = 1; i < 150; i++) {
    unsigned key = i * 0x10000 / 150;

    to += sprintf(to, " \\x%02X\\x%02X", key >> 8, key & 0xFF);
  }
  real_command("%s", command);
}

START_TEST(test_all_regions__every_table_is_as_the_java_client_lists_it)
{
  real_command("create one");
  real_command("create on g");
  real_command("create ns:one c , g");
  real_command("create copies replication=3 m");
  create_many();
  compare("one");
  compare("on");
  compare("ns:one");
  compare("copies");
  compare("many");
  compare("hbase:meta");
  compare("hbase:quota");
}
END_TEST

START_TEST(test_all_regions__split_and_merged_regions_are_listed_as_they_are)
{
  real_command("create changed d h l p t");
  real_command("split changed a");
  real_command("split changed f");
  compare("changed");
  real_command("merge changed l p");
  compare("changed");
  real_command("move changed l");
  compare("changed");
}
END_TEST

START_TEST(test_all_regions__disabled_table_is_listed)
{
  real_command("create resting d h replication=2");
  real_command("disable resting");
  compare("resting");
  real_command("enable resting");
  compare("resting");
}
END_TEST

START_TEST(test_all_regions__region_without_a_server_is_listed)
{
  struct keyroute_location *location;
  char name[256], text[4 * sizeof(name)];

  real_command("create homeless d h");
  ck_assert_int_eq(keyroute_locate(&location, conn, "homeless", keyroute_string("d"), NULL, NULL),
                   0);
  size_t len = keyroute_location_region_name(location, 0, name, sizeof(name));

  keyroute_location_release(location);
  real_command("delete-meta %s server", real_key_text(text, name, len));
  compare("homeless");
  ck_assert_uint_eq(their_count, 3);
  ck_assert(!theirs[1].found);
}
END_TEST

START_TEST(test_all_regions__warms_the_cache)
{
  struct keyroute_stats stats = {.size = sizeof(stats)};
  struct keyroute_location *location;
  struct keyroute_page *page;

  keyroute_clear_all(conn);
  ck_assert_int_eq(keyroute_regions(&page, conn, "many", keyroute_string(""), keyroute_string(""),
                                    0, NULL, NULL),
                   0);
  keyroute_page_free(page);
  keyroute_stats(conn, &stats);
  uint64_t scans = stats.scans;

  for (unsigned row = 0; row < 256; row++) {
    unsigned char key[] = {(unsigned char)row, 'x'};

    ck_assert_int_eq(keyroute_locate(&location, conn, "many",
                                     (struct keyroute_bytes){key, sizeof(key)}, NULL, NULL),
                     0);
    keyroute_location_release(location);
  }
  keyroute_stats(conn, &stats);
  ck_assert_uint_eq(stats.scans, scans);
}
END_TEST

static void set_up(void)
{
  conn = real_open(NULL);
}

static void tear_down(void)
{
  keyroute_close(conn);
}

int main(void)
{
  Suite *suite = suite_create("hbase all regions");
  TCase *cases = tcase_create("all regions");

  tcase_set_timeout(cases, 0);
  tcase_add_unchecked_fixture(cases, set_up, tear_down);
  tcase_add_test(cases, test_all_regions__every_table_is_as_the_java_client_lists_it);
  tcase_add_test(cases, test_all_regions__split_and_merged_regions_are_listed_as_they_are);
  tcase_add_test(cases, test_all_regions__disabled_table_is_listed);
  tcase_add_test(cases, test_all_regions__region_without_a_server_is_listed);
  tcase_add_test(cases, test_all_regions__warms_the_cache);
  suite_add_tcase(suite, cases);
  return real_run(suite, false, 300);
}
