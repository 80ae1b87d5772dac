/*
 * The lock of publishers and the znode of meta1, on a real ZooKeeper.
 */
#include "lib/range_lock.h"

#include "lib/bytes.h"
#include "lib/clock.h"
#include "test/run_suite.h"
#include "test/zookeeper.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 20000 };

static struct zookeeper *server;
static struct keyroute_connection *conn;
static struct kr_failure failure;

/* Connections of layout range want gRPC, which has nothing to do here: the lock looks at the
 * settings alone. So the connection is one of HBase's whose settings say where meta1's znode is. */
static void open_connection(void)
{
  struct keyroute_options *options = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  char ensemble[64];

  snprintf(ensemble, sizeof(ensemble), "127.0.0.1:%d/cut", zookeeper_port(server));
  ck_assert_int_eq(keyroute_options_new(&options, NULL), 0);
  ck_assert_int_eq(keyroute_options_set_zookeeper(options, ensemble), 0);
  ck_assert_int_eq(keyroute_options_set_parent(options, "/deep/down"), 0);
  int error = keyroute_open(&conn, options, &detail);

  ck_assert_msg(error == 0, "%s", detail.message);
  conn->settings->range_znode = kr_copy(conn->mem, keyroute_string("meta1"));
  keyroute_options_free(options);
}

static void set_up(void)
{
  server = zookeeper_start();
  zookeeper_create(server, "/cut", "");
  open_connection();
  ck_assert(kr_connection_enter(conn));
}

static void tear_down(void)
{
  kr_connection_leave(conn);
  keyroute_close(conn);
  zookeeper_stop(server);
}

static struct kr_range_lock *open_lock(int64_t patience_ms)
{
  struct kr_range_lock *lock = NULL;
  int error = kr_range_lock_open(&lock, conn, kr_clock_us() + patience_ms * 1000, &failure);

  ck_assert_int_eq(error, 0);
  return lock;
}

static struct kr_range_lock *take_lock(void)
{
  struct kr_range_lock *lock = open_lock(PATIENCE_MS);
  int error = kr_range_lock_take(lock, &failure);

  ck_assert_msg(error == 0, "%s", failure.message);
  return lock;
}

/* What the znode says, and in which version. */
static int64_t read_znode(struct kr_range_lock *lock, const char *wanted)
{
  struct kr_buf data;
  int64_t version = -2;

  kr_buf_init(&data, conn->mem);
  int error = kr_range_lock_read(lock, &data, &version, &failure);

  ck_assert_msg(error == 0, "%s", failure.message);
  ck_assert(kr_bytes_equal(kr_buf_view(&data), keyroute_string(wanted)));
  kr_buf_clear(&data);
  return version;
}

START_TEST(test_range_lock__znode_is_made_with_those_above_it_and_then_written_by_version)
{
  struct kr_range_lock *lock = take_lock();

  ck_assert_int_eq(read_znode(lock, ""), -1);
  ck_assert_int_eq(kr_range_lock_write(lock, keyroute_string("one"), -1, &failure), 0);
  ck_assert_int_eq(read_znode(lock, "one"), 0);
  ck_assert_int_eq(kr_range_lock_write(lock, keyroute_string("two"), 0, &failure), 0);
  ck_assert_int_eq(read_znode(lock, "two"), 1);
  kr_range_lock_close(lock);
}
END_TEST

START_TEST(test_range_lock__znode_that_has_changed_is_left_alone)
{
  struct kr_range_lock *lock = take_lock();

  ck_assert_int_eq(kr_range_lock_write(lock, keyroute_string("one"), -1, &failure), 0);
  zookeeper_set(server, "/cut/deep/down/meta1", "other");

  ck_assert_int_eq(kr_range_lock_write(lock, keyroute_string("two"), 0, &failure),
                   KEYROUTE_E_CORRUPT);
  ck_assert_str_eq(failure.message,
                   "znode /cut/deep/down/meta1 has changed meanwhile: somebody else publishes");
  ck_assert_int_eq(kr_range_lock_write(lock, keyroute_string("two"), -1, &failure),
                   KEYROUTE_E_CORRUPT);
  read_znode(lock, "other");
  kr_range_lock_close(lock);
}
END_TEST

/* So it is where the answer was lost with the connection, and the write is sent once more. */
START_TEST(test_range_lock__what_stands_there_already_was_written)
{
  struct kr_range_lock *lock = take_lock();

  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(kr_range_lock_write(lock, keyroute_string("one"), -1, &failure), 0);
    ck_assert_int_eq(read_znode(lock, "one"), 0);
  }
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(kr_range_lock_write(lock, keyroute_string("two"), 0, &failure), 0);
    ck_assert_int_eq(read_znode(lock, "two"), 1);
  }
  kr_range_lock_close(lock);
}
END_TEST

START_TEST(test_range_lock__second_publisher_is_told_who_the_first_one_is)
{
  struct kr_range_lock *first = take_lock(), *second = open_lock(PATIENCE_MS);
  char me[64];

  ck_assert_int_eq(kr_range_lock_take(second, &failure), KEYROUTE_E_OVERLOADED);
  snprintf(me, sizeof(me), "process %ld on ", (long)getpid());
  ck_assert_ptr_nonnull(strstr(failure.message, me));
  ck_assert_ptr_nonnull(
      strstr(failure.message, "publishes now: it holds znode /cut/deep/down/meta1.publisher"));
  kr_range_lock_close(second);
  ck_assert_int_eq(kr_range_lock_check(first, &failure), 0);
  kr_range_lock_close(first);
}
END_TEST

START_TEST(test_range_lock__lock_that_is_given_back_may_be_taken)
{
  for (int i = 0; i < 3; i++) {
    kr_range_lock_close(take_lock());
  }
}
END_TEST

START_TEST(test_range_lock__lock_is_lost_with_its_session_for_good)
{
  struct kr_range_lock *lock = take_lock();
  int64_t until_us = kr_clock_us() + PATIENCE_MS * 1000;

  zookeeper_kill(server);
  while (kr_range_lock_check(lock, &failure) == 0 && kr_clock_us() < until_us) {
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  }
  ck_assert_int_eq(kr_range_lock_check(lock, &failure), KEYROUTE_E_OVERLOADED);
  zookeeper_restart(server);
  ck_assert_int_eq(kr_range_lock_write(lock, keyroute_string("x"), -1, &failure),
                   KEYROUTE_E_OVERLOADED);
  kr_range_lock_close(lock);
}
END_TEST

START_TEST(test_range_lock__without_zookeeper_the_deadline_ends_it)
{
  struct kr_range_lock *lock;

  zookeeper_pause(server);
  lock = open_lock(300);

  int error = kr_range_lock_take(lock, &failure);

  ck_assert_msg(error == KEYROUTE_E_TIMEOUT, "%d %s", error, failure.message);
  zookeeper_resume(server);
  kr_range_lock_close(lock);
}
END_TEST

START_TEST(test_range_lock__znodes_that_may_not_be_read_are_told)
{
  struct kr_range_lock *lock = take_lock();
  struct kr_buf data;
  int64_t version;

  ck_assert_int_eq(kr_range_lock_write(lock, keyroute_string("one"), -1, &failure), 0);
  zookeeper_lock(server, "/cut/deep/down/meta1");
  kr_buf_init(&data, conn->mem);

  ck_assert_int_eq(kr_range_lock_read(lock, &data, &version, &failure), KEYROUTE_E_AUTH);

  ck_assert_ptr_nonnull(strstr(failure.message, "znode /cut/deep/down/meta1: "));
  kr_buf_clear(&data);
  kr_range_lock_close(lock);
}
END_TEST

static Suite *suite(void)
{
  Suite *made = suite_create("range_lock");
  TCase *tests = tcase_create("range_lock");

  tcase_set_timeout(tests, 120);
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests,
                 test_range_lock__znode_is_made_with_those_above_it_and_then_written_by_version);
  tcase_add_test(tests, test_range_lock__znode_that_has_changed_is_left_alone);
  tcase_add_test(tests, test_range_lock__what_stands_there_already_was_written);
  tcase_add_test(tests, test_range_lock__second_publisher_is_told_who_the_first_one_is);
  tcase_add_test(tests, test_range_lock__lock_that_is_given_back_may_be_taken);
  tcase_add_test(tests, test_range_lock__lock_is_lost_with_its_session_for_good);
  tcase_add_test(tests, test_range_lock__without_zookeeper_the_deadline_ends_it);
  tcase_add_test(tests, test_range_lock__znodes_that_may_not_be_read_are_told);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  if (zookeeper_jars() == NULL) {
    return 77;
  }
  return run_suite(suite());
}
