/* How the ZooKeeper registry ends its reads and itself, at any moment and without memory. */
#include "lib/registry_zookeeper.h"

#include "test/failing_mem.h"
#include "test/registry_zookeeper_harness.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- Ends ----------------------------------------------------------------------------------- */

START_TEST(test_registry_zookeeper__a_read_can_be_cancelled_at_every_stage)
{
  open_default();

  for (int wait_us = 0; wait_us < 40000; wait_us += 500) {
    struct read_handle *handle = harness_start(loop, registry, PATIENCE_MS);
    usleep((useconds_t)wait_us);
    harness_cancel(handle);
    struct answer after = harness_await(handle, 0);
    ck_assert_int_le(after.calls, 1);
    harness_forget(handle);
  }
  struct answer answer = read_once(PATIENCE_MS);

  expect_value(&answer, "here");
}
END_TEST

START_TEST(test_registry_zookeeper__shutdown_at_any_moment_forgets_reads_and_is_quick)
{
  for (int wait_ms = 0; wait_ms < 60; wait_ms += 3) {
    open_default();
    struct read_handle *one = harness_start(loop, registry, PATIENCE_MS);
    struct read_handle *two = harness_start(loop, registry, PATIENCE_MS);
    sleep_ms(wait_ms);
    int64_t close_ms = harness_close(loop, registry, 3000);
    int calls = harness_await(one, 0).calls + harness_await(two, 0).calls;
    kr_loop_free(loop);
    registry->ops->free(registry);
    ck_assert_int_eq(kr_loop_new(&loop, mem), 0);
    registry = NULL;

    ck_assert_int_lt(close_ms, 1000);
    ck_assert_int_eq(harness_await(one, 0).calls + harness_await(two, 0).calls, calls);
    harness_forget(one);
    harness_forget(two);
  }
}
END_TEST

START_TEST(test_registry_zookeeper__close_is_quick_when_the_server_is_silent)
{
  open_through_proxy();
  struct answer good = read_once(PATIENCE_MS);
  proxy_set(proxy, PROXY_STALL);
  struct read_handle *handle = harness_start(loop, registry, PATIENCE_MS);
  sleep_ms(300);

  int64_t close_ms = harness_close(loop, registry, 2500);
  kr_loop_free(loop);
  registry->ops->free(registry);
  ck_assert_int_eq(kr_loop_new(&loop, mem), 0);
  registry = NULL;
  struct answer silent = harness_await(handle, 0);
  harness_forget(handle);

  expect_value(&good, "here");
  ck_assert_int_lt(close_ms, 3000);
  ck_assert_int_eq(silent.calls, 0);
}
END_TEST

static int count_open_signals(void)
{
  DIR *dir = opendir("/proc/self/task");
  struct dirent *entry;
  int open = 0;

  while ((entry = readdir(dir)) != NULL) {
    char path[300], line[256];
    snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
    FILE *file = entry->d_name[0] != '.' ? fopen(path, "r") : NULL;
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
      unsigned long long mask;
      /* SIGTERM is bit 14. */
      if (sscanf(line, "SigBlk: %llx", &mask) == 1 && (mask & 0x4000) == 0) {
        open++;
      }
    }
    if (file != NULL) {
      fclose(file);
    }
  }
  closedir(dir);
  return open;
}

START_TEST(test_registry_zookeeper__no_thread_but_the_tests_takes_signals)
{
  int before = count_open_signals();
  open_default();

  struct answer answer = read_once(PATIENCE_MS);
  int after = count_open_signals();

  expect_value(&answer, "here");
  ck_assert_int_eq(after, before);
}
END_TEST

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char log_text[16384];

static void note_line(void *user, enum keyroute_log_level level, const char *line)
{
  (void)user;
  (void)level;
  pthread_mutex_lock(&log_lock);
  size_t len = strlen(log_text);
  snprintf(log_text + len, sizeof(log_text) - len, "%s\n", line);
  pthread_mutex_unlock(&log_lock);
}

START_TEST(test_registry_zookeeper__the_clients_log_goes_to_the_connections)
{
  settings.log = (struct kr_log){KEYROUTE_LOG_DEBUG, note_line, NULL};
  open_default();

  struct answer answer = read_once(PATIENCE_MS);

  expect_value(&answer, "here");
  pthread_mutex_lock(&log_lock);
  ck_assert_ptr_nonnull(strstr(log_text, "ZooKeeper's client: session establishment complete"));
  pthread_mutex_unlock(&log_lock);
}
END_TEST

/* ---- Memory --------------------------------------------------------------------------------- */

/* One life of a registry with so many allocations granted. Returns the read's code. */
static int live_with(struct kr_mem *counted, long granted)
{
  struct answer answer = {0};

  mem_fail_from(granted + 1);
  answer.failure.code =
      kr_registry_zookeeper_new(&registry, counted, loop, &settings, stats, note_change, NULL);
  if (answer.failure.code == 0) {
    answer = read_once(PATIENCE_MS);
    harness_close(loop, registry, 3000);
    kr_loop_free(loop);
    registry->ops->free(registry);
    ck_assert_int_eq(kr_loop_new(&loop, mem), 0);
    if (!answer.done) {
      answer.failure.code = KEYROUTE_E_NO_MEMORY; /* read_root said NULL */
    }
  }
  registry = NULL;
  return answer.failure.code;
}

START_TEST(test_registry_zookeeper__each_failed_allocation_is_no_memory_and_leaks_nothing)
{
  zookeeper_create(server, "/hbase/meta-region-server-1", "one");
  open_default();
  harness_close(loop, registry, 3000);
  registry->ops->free(registry);
  struct kr_mem *counted = failing_mem_new();
  long before = mem_live();
  int code = KEYROUTE_E_NO_MEMORY;
  long granted = 0;

  for (; code == KEYROUTE_E_NO_MEMORY; granted++) {
    code = live_with(counted, granted);
    ck_assert_int_eq(mem_live(), before);
  }

  ck_assert_int_eq(code, 0);
  ck_assert_int_gt(granted, 5);
  failing_mem_done(counted);
}
END_TEST

/* ---- The suite ------------------------------------------------------------------------------ */

static void add_with_znode(Suite *suite)
{
  TCase *tcase = add_case(suite, "znode", setup_znode);

  tcase_add_test(tcase, test_registry_zookeeper__a_read_can_be_cancelled_at_every_stage);
  tcase_add_test(tcase, test_registry_zookeeper__shutdown_at_any_moment_forgets_reads_and_is_quick);
  tcase_add_test(tcase, test_registry_zookeeper__close_is_quick_when_the_server_is_silent);
  tcase_add_test(tcase, test_registry_zookeeper__no_thread_but_the_tests_takes_signals);
  tcase_add_test(tcase, test_registry_zookeeper__the_clients_log_goes_to_the_connections);
  tcase_add_test(tcase,
                 test_registry_zookeeper__each_failed_allocation_is_no_memory_and_leaks_nothing);
}

int main(void)
{
  Suite *suite = suite_create("registry_zookeeper_end");

  if (zookeeper_jars() != NULL) {
    add_with_znode(suite);
  }
  return run_zookeeper_suite(suite);
}
