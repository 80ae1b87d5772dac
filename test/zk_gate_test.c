/* The gate between foreign threads and the loop, and the log lines that pass it. */
#include "lib/zk_gate.h"

#include "lib/zk_log.h"
#include "test/run_suite.h"

#include <check.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <unistd.h>

static struct kr_mem *mem;
static struct kr_loop *loop;
static struct kr_zk_gate *gate;
static struct kr_log kr_log;
static char last_line[1200];
static int lines;
static enum keyroute_log_level last_level;
static sem_t entered, leave;
static bool slow;

static void note_line(void *user, enum keyroute_log_level level, const char *line)
{
  (void)user;
  if (slow) {
    sem_post(&entered);
    sem_wait(&leave);
  }
  lines++;
  last_level = level;
  memcpy(last_line, line, strlen(line) + 1);
}

static void setup(void)
{
  mem = kr_mem_new(NULL);
  ck_assert_int_eq(kr_loop_new(&loop, mem), 0);
  kr_log = (struct kr_log){KEYROUTE_LOG_DEBUG, note_line, NULL};
  gate = kr_zk_gate_new(loop, &kr_log, &mem, "127.0.0.1:7,b:8");
  sem_init(&entered, 0, 0);
  sem_init(&leave, 0, 0);
}

static void teardown(void)
{
  kr_zk_gate_release(gate);
  kr_loop_free(loop);
  kr_mem_release(mem);
}

struct probe_task {
  struct kr_task task;
  void *owner;
  sem_t ran;
};

static void look_at_owner(struct kr_task *task)
{
  struct probe_task *probe = (struct probe_task *)task;

  probe->owner = kr_zk_gate_owner(gate);
  sem_post(&probe->ran);
}

static void stop_gate(struct kr_task *task)
{
  kr_zk_gate_stop(gate);
  sem_post(&((struct probe_task *)task)->ran);
}

static bool pass(struct probe_task *probe, void (*run)(struct kr_task *))
{
  probe->task.run = run;
  sem_init(&probe->ran, 0, 0);
  bool passed = kr_zk_gate_post(gate, &probe->task);
  if (passed) {
    sem_wait(&probe->ran);
  }
  return passed;
}

START_TEST(test_zk_gate__an_open_gate_lets_tasks_reach_the_owner)
{
  struct probe_task probe = {0};

  bool passed = pass(&probe, look_at_owner);

  ck_assert(passed);
  ck_assert_ptr_eq(probe.owner, &mem);
  ck_assert_uint_eq(kr_zk_gate_ensemble(gate)->count, 2);
}
END_TEST

START_TEST(test_zk_gate__a_stopped_gate_hides_the_owner)
{
  struct probe_task stop = {0}, probe = {0};
  pass(&stop, stop_gate);

  bool passed = pass(&probe, look_at_owner);

  ck_assert(passed);
  ck_assert_ptr_null(probe.owner);
  ck_assert(kr_zk_gate_stopped(gate));
}
END_TEST

START_TEST(test_zk_gate__a_shut_gate_drops_tasks_and_lines)
{
  struct probe_task probe = {0};
  kr_zk_gate_shut(gate);

  bool passed = pass(&probe, look_at_owner);
  kr_zk_gate_log(gate, KEYROUTE_LOG_WARNING, "late");

  ck_assert(!passed);
  ck_assert_int_eq(lines, 0);
}
END_TEST

static void *log_slowly(void *arg)
{
  kr_zk_gate_log(arg, KEYROUTE_LOG_WARNING, "slow");
  return NULL;
}

static void *release_later(void *arg)
{
  usleep(100000);
  sem_post(&leave);
  return arg;
}

START_TEST(test_zk_gate__shut_waits_for_a_line_under_way)
{
  pthread_t logger, releaser;
  slow = true;
  pthread_create(&logger, NULL, log_slowly, gate);
  sem_wait(&entered);
  pthread_create(&releaser, NULL, release_later, NULL);

  kr_zk_gate_shut(gate);
  int seen = lines;

  ck_assert_int_eq(seen, 1);
  pthread_join(logger, NULL);
  pthread_join(releaser, NULL);
}
END_TEST

START_TEST(test_zk_log__a_line_comes_without_its_front_and_printable)
{
  int slot;
  kr_zk_log_cb log = kr_zk_log_take(gate, &slot);

  log("2026-11-30 06:00:00,000:12(0x7f):ZOO_ERROR@handle_error@2516: Socket: \x1b refused");
  kr_zk_log_release(slot);
  log("2026:ZOO_INFO@f@1: nobody listens");

  ck_assert_str_eq(last_line, "ZooKeeper's client: Socket: \\x1B refused");
  ck_assert_int_eq(last_level, KEYROUTE_LOG_WARNING);
  ck_assert_int_eq(lines, 1);
}
END_TEST

START_TEST(test_zk_log__what_ends_a_line_is_cut_off)
{
  int slot;
  kr_zk_log_cb log = kr_zk_log_take(gate, &slot);

  log("2026:ZOO_INFO@zookeeper_init@1: Initiating\tflags=0 \r\n \n");
  kr_zk_log_release(slot);

  ck_assert_str_eq(last_line, "ZooKeeper's client: Initiating\\x09flags=0");
}
END_TEST

START_TEST(test_zk_log__each_handle_has_its_own_function_until_none_is_left)
{
  kr_zk_log_cb first, second, extra;
  int slots[80], slot;
  first = kr_zk_log_take(gate, &slots[0]);
  second = kr_zk_log_take(gate, &slots[1]);
  int taken = 2;
  while (taken < 80 && (kr_zk_log_take(gate, &slots[taken]), slots[taken] >= 0)) {
    taken++;
  }

  extra = kr_zk_log_take(gate, &slot);
  extra("2026:ZOO_INFO@f@1: dropped");

  ck_assert(first != second);
  ck_assert_int_eq(taken, 64);
  ck_assert_int_eq(slot, -1);
  ck_assert_int_eq(lines, 0);
  for (int i = 0; i < taken; i++) {
    kr_zk_log_release(slots[i]);
  }
  kr_zk_log_release(slot);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("zk_gate");
  TCase *all = tcase_create("zk_gate");

  tcase_add_checked_fixture(all, setup, teardown);
  tcase_add_test(all, test_zk_gate__an_open_gate_lets_tasks_reach_the_owner);
  tcase_add_test(all, test_zk_gate__a_stopped_gate_hides_the_owner);
  tcase_add_test(all, test_zk_gate__a_shut_gate_drops_tasks_and_lines);
  tcase_add_test(all, test_zk_gate__shut_waits_for_a_line_under_way);
  tcase_add_test(all, test_zk_log__a_line_comes_without_its_front_and_printable);
  tcase_add_test(all, test_zk_log__what_ends_a_line_is_cut_off);
  tcase_add_test(all, test_zk_log__each_handle_has_its_own_function_until_none_is_left);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
