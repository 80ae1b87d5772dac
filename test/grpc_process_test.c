/*
 * What the gRPC client leaves of itself in a process: threads, memory, signals, output; and what a
 * fork makes of it.
 *
 * A child tells what it saw by its exit code, and never returns to Check: it ends in _exit. None of
 * it runs under the sanitizers' own restrictions: the thread sanitizer ends a process that starts
 * threads after a fork, and memory is theirs to keep.
 */
#include "test/blocking.h"
#include "test/child.h"
#include "test/failing_mem.h"
#include "test/fake_grpc_server.h"
#include "test/grpc_harness.h"
#include "test/loopback.h"
#include "test/run_suite.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define UNDER_SANITIZER true
#else
#define UNDER_SANITIZER false
#endif

#define ALL_SIGNALS UINT64_C(0xfffffffe7ffbfeff) /* but SIGKILL, SIGSTOP and glibc's own two */

static void echo(void *arg, struct fake_grpc_call *call)
{
  (void)arg;
  fake_grpc_message(call, fake_grpc_request(call));
}

/* ---- Looking at the process ----------------------------------------------------------------- */

static uint64_t read_mask(const char *thread)
{
  char path[64], line[256];
  uint64_t mask = UINT64_MAX; /* for one that ends meanwhile */

  snprintf(path, sizeof(path), "/proc/self/task/%.20s/status", thread);
  FILE *file = fopen(path, "r");

  while (file != NULL && fgets(line, sizeof(line), file) != NULL &&
         sscanf(line, "SigBlk: %" SCNx64, &mask) != 1) {
  }
  if (file != NULL) {
    fclose(file);
  }
  return mask;
}

/* Count the threads, and those but this one that have signals open. */
static int count_threads(int *open)
{
  DIR *folder = opendir("/proc/self/task");
  int count = 0;

  *open = 0;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    if (entry->d_name[0] == '.') {
      continue;
    }
    count++;
    if (atoi(entry->d_name) != getpid() &&
        (read_mask(entry->d_name) & ALL_SIGNALS) != ALL_SIGNALS) {
      (*open)++;
    }
  }
  closedir(folder);
  return count;
}

static int threads(void)
{
  int open;

  return count_threads(&open);
}

static long resident_kib(void)
{
  FILE *file = fopen("/proc/self/statm", "r");
  long pages = 0;

  ck_assert_int_eq(fscanf(file, "%*d %ld", &pages), 1);
  fclose(file);
  return pages * sysconf(_SC_PAGESIZE) / 1024;
}

static int ask(struct kr_grpc *client, int port)
{
  struct grpc_result result = GRPC_RESULT_INIT;
  struct kr_grpc_request asked = grpc_request(port, "hello");

  return grpc_ask(client, &asked, &result);
}

static void open_ask_close(int port, int code)
{
  const struct kr_grpc_settings settings = grpc_settings();
  struct kr_grpc *client = grpc_open(&settings);

  ck_assert_int_eq(ask(client, port), code);
  grpc_module()->close(client);
}

/* ---- Threads and memory --------------------------------------------------------------------- */

/* spare: threads that others may have gRPC start meanwhile. */
static void go_round(int port, int code, int spare)
{
  enum { WARM = 50, CYCLES = 200, SPARE_KIB = 1024 };
  for (int i = 0; i < WARM; i++) {
    open_ask_close(port, code);
  }
  int before = threads();
  long resident = resident_kib();

  for (int i = 0; i < CYCLES; i++) {
    open_ask_close(port, code);
  }

  time_t until = time(NULL) + 20;
  while (threads() > before + spare && time(NULL) < until) {
    pause_ms(1);
  }
  ck_assert_int_le(threads(), before + spare);
  ck_assert_int_eq(mem_live(), 0);
  if (!UNDER_SANITIZER) {
    ck_assert_int_le(resident_kib(), resident + SPARE_KIB);
  }
}

START_TEST(test_grpc_process__nothing_is_left_of_200_clients_that_came_and_went)
{
  int before = threads();

  go_round(closed_port(), 14, 0);

  if (!UNDER_SANITIZER) { /* they have a thread of their own */
    ck_assert_int_eq(threads(), before);
  }
}
END_TEST

START_TEST(test_grpc_process__nothing_is_left_of_200_clients_where_others_use_grpc_too)
{
  struct fake_grpc_server *server = fake_grpc_server_start(0);
  fake_grpc_server_handle(server, GRPC_METHOD, echo, NULL);

  go_round(fake_grpc_server_port(server), 0, 4);

  fake_grpc_server_free(server);
}
END_TEST

START_TEST(test_grpc_process__all_its_threads_have_signals_blocked)
{
  const struct kr_grpc_settings settings = grpc_settings();
  struct kr_grpc *client = grpc_open(&settings);
  int open;

  for (int i = 0; i < 20; i++) {
    ck_assert_int_eq(ask(client, closed_port()), 14);
    ck_assert_int_ge(count_threads(&open), 2);
    ck_assert_int_eq(open, 0);
  }

  grpc_module()->close(client);
}
END_TEST

START_TEST(test_grpc_process__mask_of_the_caller_is_left_alone)
{
  sigset_t before, after;
  sigemptyset(&before);
  sigaddset(&before, SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &before, NULL);

  open_ask_close(closed_port(), 14);

  pthread_sigmask(SIG_SETMASK, NULL, &after);
  ck_assert_int_eq(sigismember(&after, SIGUSR1), 1);
  ck_assert_int_eq(sigismember(&after, SIGUSR2), 0);
}
END_TEST

START_TEST(test_grpc_process__nothing_is_printed)
{
  const struct kr_grpc_metadata wrong = {"key", {"a\nb", 3}};
  const struct kr_grpc_settings settings = grpc_settings();
  struct kr_grpc_request asked = grpc_request(closed_port(), "");
  struct grpc_result result = GRPC_RESULT_INIT;
  struct stat printed;
  FILE *file = tmpfile();
  int out = dup(STDERR_FILENO);
  asked.metadata = &wrong;
  asked.metadata_count = 1;
  dup2(fileno(file), STDERR_FILENO);

  struct kr_grpc *client = grpc_open(&settings);
  int code = grpc_ask(client, &asked, &result);
  grpc_module()->close(client);

  dup2(out, STDERR_FILENO);
  close(out);
  ck_assert_int_eq(code, 3);
  ck_assert_int_eq(fstat(fileno(file), &printed), 0);
  ck_assert_int_eq(printed.st_size, 0);
  fclose(file);
}
END_TEST

/* ---- Forks ---------------------------------------------------------------------------------- */

START_TEST(test_grpc_process__forked_child_is_told_and_does_not_hang)
{
  const struct kr_grpc_module *module = grpc_module();
  const struct kr_grpc_settings settings = grpc_settings();
  struct kr_grpc *client = grpc_open(&settings);
  int port = closed_port();
  ck_assert_int_eq(ask(client, port), 14);

  pid_t child = fork();

  if (child == 0) {
    struct kr_grpc_request asked = grpc_request(port, "");
    struct kr_grpc *other = NULL;
    const char *reason = "";
    uint64_t connects = 0;

    EXPECT(module->start(client, &asked, &grpc_events, NULL, &connects) == NULL);
    module->cancel(client, NULL);
    module->close(client);
    EXPECT(module->open(&other, &settings, &reason) == KEYROUTE_E_INVALID_ARGUMENT);
    EXPECT(strstr(reason, "forked") != NULL);
    _exit(0);
  }
  child_await(child);
  ck_assert_int_eq(ask(client, port), 14);
  module->close(client);
}
END_TEST

START_TEST(test_grpc_process__child_of_a_process_that_is_done_with_it_may_use_it)
{
  int port = closed_port();
  open_ask_close(port, 14);

  pid_t child = UNDER_SANITIZER ? -1 : fork();

  if (child == 0) {
    struct grpc_result result = GRPC_RESULT_INIT;
    struct kr_grpc_request asked = grpc_request(port, "");
    const struct kr_grpc_settings settings = grpc_settings();
    struct kr_grpc *client = NULL;
    const char *reason = "";
    uint64_t connects = 0;

    EXPECT(grpc_module()->open(&client, &settings, &reason) == 0);
    EXPECT(grpc_module()->start(client, &asked, &grpc_events, &result, &connects) != NULL);
    grpc_module()->close(client);
    EXPECT(result.dones == 1);
    _exit(0);
  }
  if (!UNDER_SANITIZER) {
    child_await(child);
  }
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("grpc_process");
  TCase *tests = tcase_create("process");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_grpc_process__nothing_is_left_of_200_clients_that_came_and_went);
  tcase_add_test(tests,
                 test_grpc_process__nothing_is_left_of_200_clients_where_others_use_grpc_too);
  tcase_add_test(tests, test_grpc_process__all_its_threads_have_signals_blocked);
  tcase_add_test(tests, test_grpc_process__mask_of_the_caller_is_left_alone);
  tcase_add_test(tests, test_grpc_process__nothing_is_printed);
  tcase_add_test(tests, test_grpc_process__forked_child_is_told_and_does_not_hang);
  tcase_add_test(tests, test_grpc_process__child_of_a_process_that_is_done_with_it_may_use_it);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
