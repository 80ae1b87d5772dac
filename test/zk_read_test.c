/*
 * What one read asks of ZooKeeper and makes of the replies, without ZooKeeper.
 *
 * zk_session.c's requests are defined here: they are kept until the test replies to them.
 */
#include "lib/zk_read.h"

#include "lib/zk_absent.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SESSION ((struct kr_zk_session *)&requests)

static struct kr_zk_reply *requests[128]; /* those out, the oldest first */
static int sent;                          /* in all */
static int taken;
static struct kr_mem *mem;
static struct kr_zk_paths paths;
static struct kr_zk_read read;

struct kr_zk_reply *kr_zk_reply_new(const struct kr_zk_session *session, enum kr_zk_request request,
                                    const char *path)
{
  struct kr_zk_reply *reply = calloc(1, sizeof(*reply) + strlen(path) + 1);

  ck_assert_ptr_eq(session, SESSION);
  reply->request = request;
  memcpy(reply->path, path, strlen(path) + 1);
  return reply;
}

void kr_zk_reply_free(struct kr_zk_reply *reply)
{
  free(reply->data);
  free(reply);
}

void kr_zk_session_send(struct kr_zk_session *session, struct kr_zk_reply *reply)
{
  (void)session;
  requests[sent++] = reply;
}

static void setup(void)
{
  struct kr_settings settings = {
      .chroot = (char[]){""}, .parent = (char[]){"/hbase"}, .meta_znode = (char[]){"meta"}};

  mem = kr_mem_new(NULL);
  ck_assert(kr_zk_paths_init(&paths, mem, &settings));
  paths.places[0].name = "meta"; /* the settings' has gone */
  kr_zk_read_init(&read, mem, &paths, 7);
  ck_assert(kr_zk_read_begin(&read, SESSION));
}

static void teardown(void)
{
  kr_zk_read_reset(&read);
  while (taken < sent) {
    kr_zk_reply_free(requests[taken++]);
  }
  kr_zk_paths_clear(&paths, mem);
  kr_mem_release(mem);
}

/* Reply to the oldest request, which must be for this path. */
static enum kr_zk_progress reply(const char *path, enum kr_zk_result result, const char *data,
                                 size_t len)
{
  ck_assert_int_lt(taken, sent);
  struct kr_zk_reply *reply = requests[taken++];

  ck_assert_str_eq(reply->path, path);
  ck_assert(kr_zk_read_awaits(&read, reply));
  reply->result = result;
  reply->text = "refused";
  if (len > 0) {
    reply->data = malloc(len);
    memcpy(reply->data, data, len);
    reply->len = len;
  }
  return kr_zk_read_hear(&read, reply);
}

static enum kr_zk_progress reply_value(const char *path, const char *value)
{
  return reply(path, KR_ZK_OK, value, strlen(value));
}

static enum kr_zk_progress reply_absent(const char *path)
{
  return reply(path, KR_ZK_NO_NODE, NULL, 0);
}

static void expect_why(int code, const char *message)
{
  struct kr_failure failure;

  ck_assert(kr_zk_absent_explain(&read, &failure));
  ck_assert_int_eq(failure.code, code);
  ck_assert_str_eq(failure.message, message);
}

START_TEST(test_zk_read__values_come_in_the_order_of_replicas)
{
  static const char names[] = "meta-10\0meta-2\0meta\0meta-x\0other\0meta-0";
  size_t count = 0;

  reply("/hbase", KR_ZK_OK, names, sizeof(names));
  reply_value("/hbase/meta", "a");
  reply_value("/hbase/meta-10", "c");
  enum kr_zk_progress progress = reply_value("/hbase/meta-2", "b");
  struct kr_root_value *values = kr_zk_read_values(&read, &count);

  ck_assert_int_eq(progress, KR_ZK_READ_ANSWERED);
  ck_assert_uint_eq(count, 3);
  ck_assert_int_eq(values[0].replica, 0);
  ck_assert_int_eq(values[1].replica, 2);
  ck_assert_int_eq(values[2].replica, 10);
  ck_assert_mem_eq(values[1].data.data, "b", 1);
  kr_free(mem, values);
}
END_TEST

START_TEST(test_zk_read__a_replica_that_is_refused_or_empty_is_left_out)
{
  static const char names[] = "meta-1\0meta-2";
  size_t count = 0;

  reply("/hbase", KR_ZK_OK, names, sizeof(names));
  reply_value("/hbase/meta", "a");
  reply("/hbase/meta-1", KR_ZK_NOT_ALLOWED, NULL, 0);
  enum kr_zk_progress progress = reply_value("/hbase/meta-2", "");
  struct kr_root_value *values = kr_zk_read_values(&read, &count);

  ck_assert_int_eq(progress, KR_ZK_READ_ANSWERED);
  ck_assert_uint_eq(count, 1);
  kr_free(mem, values);
}
END_TEST

START_TEST(test_zk_read__an_unreadable_primary_fails_with_its_reason)
{
  reply("/hbase", KR_ZK_NOT_ALLOWED, NULL, 0);

  enum kr_zk_progress progress = reply("/hbase/meta", KR_ZK_NOT_ALLOWED, NULL, 0);

  ck_assert_int_eq(progress, KR_ZK_READ_FAILED);
  expect_why(KEYROUTE_E_AUTH, "ZooKeeper does not let us read znode /hbase/meta: refused");
}
END_TEST

START_TEST(test_zk_read__a_missing_znode_is_awaited_and_named)
{
  reply("/hbase", KR_ZK_OK, NULL, 0);
  reply_absent("/hbase/meta");
  enum kr_zk_request request = requests[taken]->request;

  enum kr_zk_progress progress = reply_absent("/hbase/meta");

  ck_assert_int_eq(request, KR_ZK_AWAIT);
  ck_assert_int_eq(progress, KR_ZK_READ_FAILED);
  expect_why(KEYROUTE_E_BOOTSTRAP, "no such znode /hbase/meta");
}
END_TEST

START_TEST(test_zk_read__a_znode_that_comes_and_goes_ends_the_read)
{
  enum kr_zk_progress progress = KR_ZK_READ_GOES_ON;
  reply("/hbase", KR_ZK_OK, NULL, 0);

  for (int i = 0; progress == KR_ZK_READ_GOES_ON; i++) {
    ck_assert_int_lt(i, 10);
    reply_absent("/hbase/meta");
    progress = reply("/hbase/meta", KR_ZK_OK, NULL, 0);
  }

  ck_assert_int_eq(progress, KR_ZK_READ_FAILED);
  expect_why(KEYROUTE_E_BOOTSTRAP, "znode /hbase/meta comes and goes");
}
END_TEST

/* Up to the list of what stands next to the parent. */
static void reply_no_parent(void)
{
  reply_absent("/hbase");
  reply_absent("/hbase/meta");
  reply_absent("/hbase/meta");
}

START_TEST(test_zk_read__the_hint_names_one_and_asks_those_of_hbase_first)
{
  static const char names[] = "a\0zookeeper\0hbase2";
  reply_no_parent();
  reply("/", KR_ZK_OK, names, sizeof(names));

  reply("/hbase2/meta", KR_ZK_OK, NULL, 0);
  enum kr_zk_progress progress = reply_absent("/a/meta");

  ck_assert_int_eq(progress, KR_ZK_READ_FAILED);
  expect_why(KEYROUTE_E_BOOTSTRAP, "no such parent /hbase; a meta stands below /hbase2");
}
END_TEST

START_TEST(test_zk_read__the_hint_tells_of_a_range_directory)
{
  static const char names[] = "keyroute";
  reply_no_parent();
  reply("/", KR_ZK_OK, names, sizeof(names));

  reply_absent("/keyroute/meta");
  enum kr_zk_progress progress = reply("/keyroute/meta1", KR_ZK_OK, NULL, 0);

  ck_assert_int_eq(progress, KR_ZK_READ_FAILED);
  expect_why(KEYROUTE_E_BOOTSTRAP, "no such parent /hbase; a meta1 stands below /keyroute, of a "
                                   "range directory: that is layout range");
}
END_TEST

START_TEST(test_zk_read__the_hint_names_three_and_counts_the_rest)
{
  static const char *const hints[] = {
      "no such parent /hbase; a meta stands below /a",
      "no such parent /hbase; a meta stands below /a and /b",
      "no such parent /hbase; a meta stands below /a, /b and /\\x01",
      "no such parent /hbase; a meta stands below /a, /b, /\\x01 and 1 other",
      "no such parent /hbase; a meta stands below /a, /b, /\\x01 and 2 others",
  };
  static const char names[] = "a\0b\0\1\0d\0e";
  static const char *const replies[] = {"/a/meta", "/b/meta", "/\1/meta", "/d/meta", "/e/meta"};
  reply_no_parent();
  expect_why(KEYROUTE_E_BOOTSTRAP, "no such parent /hbase");
  reply("/", KR_ZK_OK, names, sizeof(names));

  for (int i = 0; i < 5; i++) {
    enum kr_zk_progress progress = reply(replies[i], KR_ZK_OK, NULL, 0);

    ck_assert_int_eq(progress, i < 4 ? KR_ZK_READ_GOES_ON : KR_ZK_READ_FAILED);
    expect_why(KEYROUTE_E_BOOTSTRAP, hints[i]);
  }
}
END_TEST

START_TEST(test_zk_read__a_long_hint_is_cut_to_the_message)
{
  static char names[16 * 401];
  char path[512];
  for (int i = 0; i < 16; i++) {
    memset(names + i * 401, 'a' + i, 400);
  }
  reply_no_parent();
  reply("/", KR_ZK_OK, names, sizeof(names));

  for (int i = 0; i < 16; i++) {
    snprintf(path, sizeof(path), "/%.400s/meta", names + i * 401);
    reply(path, KR_ZK_OK, NULL, 0);
  }

  struct kr_failure failure;
  ck_assert(kr_zk_absent_explain(&read, &failure));
  ck_assert_ptr_nonnull(strstr(failure.message, "... and 13 others"));
}
END_TEST

START_TEST(test_zk_read__a_lost_request_ends_the_round)
{
  struct kr_failure failure;
  reply_absent("/hbase");

  enum kr_zk_progress progress = reply("/hbase/meta", KR_ZK_LOST, NULL, 0);
  bool begun = kr_zk_read_begun(&read);
  bool explained = kr_zk_absent_explain(&read, &failure);
  ck_assert(kr_zk_read_begin(&read, SESSION));
  struct kr_zk_reply old = {.read = 7, .round = 0};

  ck_assert_int_eq(progress, KR_ZK_READ_LOST);
  ck_assert(!begun);
  ck_assert(!explained);
  ck_assert(!kr_zk_read_awaits(&read, &old));
  ck_assert(kr_zk_read_awaits(&read, requests[taken]));
}
END_TEST

START_TEST(test_zk_read__a_reply_short_of_memory_fails_the_read)
{
  enum kr_zk_progress progress = reply("/hbase", KR_ZK_SHORT_OF_MEMORY, NULL, 0);

  ck_assert_int_eq(progress, KR_ZK_READ_FAILED);
  expect_why(KEYROUTE_E_NO_MEMORY, "out of memory");
}
END_TEST

/* ---- Where the layout is to be found out ---- */

static void set_up_both(void)
{
  static char parent[] = "/hbase", meta_name[] = "meta", root_name[] = "root", none[] = "";
  struct kr_settings settings = {
      .chroot = none, .parent = parent, .meta_znode = meta_name, .root_znode = root_name};

  mem = kr_mem_new(NULL);
  ck_assert(kr_zk_paths_init(&paths, mem, &settings));
  kr_zk_read_init(&read, mem, &paths, 7);
  ck_assert(kr_zk_read_begin(&read, SESSION));
}

START_TEST(test_zk_read__the_older_root_is_not_looked_at_beside_the_newer)
{
  static const char names[] = "meta\0root";

  reply("/hbase", KR_ZK_OK, names, sizeof(names));
  enum kr_zk_progress progress = reply_value("/hbase/meta", "a");

  ck_assert_int_eq(progress, KR_ZK_READ_ANSWERED);
  ck_assert_int_eq(taken, sent);
  ck_assert_uint_eq(kr_zk_read_place(&read)->tiers, 2);
  ck_assert_str_eq(kr_zk_read_place(&read)->text, "znode /hbase/meta");
}
END_TEST

START_TEST(test_zk_read__the_older_root_is_read_where_the_newer_is_awaited)
{
  size_t count;

  reply("/hbase", KR_ZK_OK, "root", 5);
  reply_absent("/hbase/meta");
  ck_assert_int_eq(requests[taken]->request, KR_ZK_AWAIT);
  reply_absent("/hbase/meta");
  ck_assert_int_eq(requests[taken]->request, KR_ZK_GET);
  enum kr_zk_progress progress = reply_value("/hbase/root", "h,1,2");
  struct kr_root_value *values = kr_zk_read_values(&read, &count);

  ck_assert_int_eq(progress, KR_ZK_READ_ANSWERED);
  ck_assert_uint_eq(count, 1);
  ck_assert_int_eq(values[0].replica, 0);
  ck_assert_mem_eq(values[0].data.data, "h,1,2", 5);
  ck_assert_uint_eq(kr_zk_read_place(&read)->tiers, 3);
  ck_assert_str_eq(kr_zk_read_place(&read)->text, "znode /hbase/root");
  kr_free(mem, values);
}
END_TEST

START_TEST(test_zk_read__both_roots_are_awaited_and_named)
{
  reply("/hbase", KR_ZK_OK, NULL, 0);
  reply_absent("/hbase/meta");
  reply_absent("/hbase/meta");
  reply_absent("/hbase/root");
  ck_assert_int_eq(requests[taken]->request, KR_ZK_AWAIT);
  enum kr_zk_progress progress = reply_absent("/hbase/root");

  ck_assert_int_eq(progress, KR_ZK_READ_FAILED);
  expect_why(KEYROUTE_E_BOOTSTRAP, "no such znode /hbase/meta, nor a root beside it");
}
END_TEST

START_TEST(test_zk_read__the_next_round_begins_with_the_newer_root)
{
  reply("/hbase", KR_ZK_OK, NULL, 0);
  reply_absent("/hbase/meta");
  reply_absent("/hbase/meta");
  ck_assert_int_eq(reply("/hbase/root", KR_ZK_LOST, NULL, 0), KR_ZK_READ_LOST);
  ck_assert(kr_zk_read_begin(&read, SESSION));

  reply("/hbase", KR_ZK_OK, NULL, 0);
  ck_assert_int_eq(reply_value("/hbase/meta", "a"), KR_ZK_READ_ANSWERED);
  ck_assert_uint_eq(kr_zk_read_place(&read)->tiers, 2);
}
END_TEST

START_TEST(test_zk_read__the_hint_names_both_kinds_of_roots)
{
  static const char names[] = "hbase-a\0hbase-b";

  reply_absent("/hbase");
  reply_absent("/hbase/meta");
  reply_absent("/hbase/meta");
  reply_absent("/hbase/root");
  reply_absent("/hbase/root");
  reply("/", KR_ZK_OK, names, sizeof(names));
  reply("/hbase-a/meta", KR_ZK_OK, NULL, 0);
  reply_absent("/hbase-a/root");
  reply_absent("/hbase-b/meta");
  enum kr_zk_progress progress = reply("/hbase-b/root", KR_ZK_OK, NULL, 0);

  ck_assert_int_eq(progress, KR_ZK_READ_FAILED);
  expect_why(KEYROUTE_E_BOOTSTRAP, "no such parent /hbase; a meta stands below /hbase-a; a root "
                                   "stands below /hbase-b");
}
END_TEST

/* ---- Of a range directory, below a chroot ---- */

static void set_up_range(void)
{
  static char chroot[] = "/prod", parent[] = "/keyroute", name[] = "meta1";
  struct kr_settings settings = {.chroot = chroot, .parent = parent, .range_znode = name};

  mem = kr_mem_new(NULL);
  ck_assert(kr_zk_paths_init(&paths, mem, &settings));
  kr_zk_read_init(&read, mem, &paths, 7);
  ck_assert(kr_zk_read_begin(&read, SESSION));
}

START_TEST(test_zk_read__znode_of_meta1_is_read)
{
  size_t count = 0;

  reply("/prod/keyroute", KR_ZK_OK, NULL, 0);
  enum kr_zk_progress progress = reply_value("/prod/keyroute/meta1", "KRD");
  struct kr_root_value *values = kr_zk_read_values(&read, &count);

  ck_assert_int_eq(progress, KR_ZK_READ_ANSWERED);
  ck_assert_uint_eq(count, 1);
  ck_assert(!values[0].text);
  ck_assert_str_eq(kr_zk_read_place(&read)->text, "znode /prod/keyroute/meta1");
  ck_assert_uint_eq(kr_zk_read_place(&read)->tiers, 0);
  kr_free(mem, values);
}
END_TEST

START_TEST(test_zk_read__znode_of_meta1_that_is_absent_is_awaited_and_named)
{
  reply("/prod/keyroute", KR_ZK_OK, NULL, 0);
  reply_absent("/prod/keyroute/meta1");
  ck_assert_int_eq(requests[taken]->request, KR_ZK_AWAIT);
  enum kr_zk_progress progress = reply_absent("/prod/keyroute/meta1");

  ck_assert_int_eq(progress, KR_ZK_READ_FAILED);
  expect_why(KEYROUTE_E_BOOTSTRAP, "no such znode /prod/keyroute/meta1");
}
END_TEST

START_TEST(test_zk_read__directory_that_is_absent_is_told_with_the_one_that_is_there)
{
  static const char names[] = "zookeeper\0kr2";

  reply_absent("/prod/keyroute");
  reply_absent("/prod/keyroute/meta1");
  reply_absent("/prod/keyroute/meta1");
  reply("/prod", KR_ZK_OK, names, sizeof(names));
  enum kr_zk_progress progress = reply("/prod/kr2/meta1", KR_ZK_OK, NULL, 0);

  ck_assert_int_eq(progress, KR_ZK_READ_FAILED);
  expect_why(KEYROUTE_E_BOOTSTRAP, "no such parent /prod/keyroute; a meta1 stands below /prod/kr2");
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("zk_read");
  TCase *all = tcase_create("zk_read");

  tcase_add_checked_fixture(all, setup, teardown);
  tcase_add_test(all, test_zk_read__values_come_in_the_order_of_replicas);
  tcase_add_test(all, test_zk_read__a_replica_that_is_refused_or_empty_is_left_out);
  tcase_add_test(all, test_zk_read__an_unreadable_primary_fails_with_its_reason);
  tcase_add_test(all, test_zk_read__a_missing_znode_is_awaited_and_named);
  tcase_add_test(all, test_zk_read__a_znode_that_comes_and_goes_ends_the_read);
  tcase_add_test(all, test_zk_read__the_hint_names_one_and_asks_those_of_hbase_first);
  tcase_add_test(all, test_zk_read__the_hint_tells_of_a_range_directory);
  tcase_add_test(all, test_zk_read__the_hint_names_three_and_counts_the_rest);
  tcase_add_test(all, test_zk_read__a_long_hint_is_cut_to_the_message);
  tcase_add_test(all, test_zk_read__a_lost_request_ends_the_round);
  tcase_add_test(all, test_zk_read__a_reply_short_of_memory_fails_the_read);
  suite_add_tcase(suite, all);
  TCase *both = tcase_create("both");

  tcase_add_checked_fixture(both, set_up_both, teardown);
  tcase_add_test(both, test_zk_read__the_older_root_is_not_looked_at_beside_the_newer);
  tcase_add_test(both, test_zk_read__the_older_root_is_read_where_the_newer_is_awaited);
  tcase_add_test(both, test_zk_read__both_roots_are_awaited_and_named);
  tcase_add_test(both, test_zk_read__the_next_round_begins_with_the_newer_root);
  tcase_add_test(both, test_zk_read__the_hint_names_both_kinds_of_roots);
  suite_add_tcase(suite, both);
  TCase *range = tcase_create("range");

  tcase_add_checked_fixture(range, set_up_range, teardown);
  tcase_add_test(range, test_zk_read__znode_of_meta1_is_read);
  tcase_add_test(range, test_zk_read__znode_of_meta1_that_is_absent_is_awaited_and_named);
  tcase_add_test(range, test_zk_read__directory_that_is_absent_is_told_with_the_one_that_is_there);
  suite_add_tcase(suite, range);
  return run_suite(suite);
}
