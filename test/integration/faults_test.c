/*
 * What goes wrong before and around a lookup, against real servers: every one must end within its
 * deadline, with the right code, in one line that names the thing; opening never blocks, closing
 * stays within its bound. Names that take long to resolve are made by a getaddrinfo of this
 * program.
 */
#include "test/integration/real.h"
#include "test/loopback.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Generous: machines here are shared. The header promises less, and what was seen is printed. */
enum { OPEN_MS = 100, CLOSE_MS = 3000, SLACK_MS = 1500 };

static double slowest_open_ms, slowest_close_ms;

/* The C library's resolver, but for names that end in ".slow": those take 5 s. */
int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                struct addrinfo **out)
{
  static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
  size_t len = host != NULL ? strlen(host) : 0;

  if (len > 5 && strcmp(host + len - 5, ".slow") == 0) {
    sleep(5);
    return EAI_AGAIN;
  }
  if (real == NULL) {
    *(void **)(&real) = dlsym(RTLD_NEXT, "getaddrinfo");
  }
  return real(host, service, hints, out);
}

static double now_ms(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* A lookup with a deadline, on a connection of its own to an ensemble and a parent. */
struct attempt {
  int error;
  struct keyroute_detail detail;
  double took_ms;
};

static struct attempt attempt(const char *ensemble, const char *parent, const char *table,
                              int deadline_ms)
{
  struct attempt attempt = {.detail = KEYROUTE_DETAIL_INIT};
  struct keyroute_call call = KEYROUTE_CALL_INIT;
  struct keyroute_location *location = NULL;
  struct keyroute_options *options;
  struct keyroute_connection *conn;

  ck_assert_int_eq(keyroute_options_new(&options, NULL), 0);
  ck_assert_int_eq(keyroute_options_set_zookeeper(options, ensemble), 0);
  ck_assert_int_eq(keyroute_options_set_parent(options, parent), 0);
  double began = now_ms();

  ck_assert_int_eq(keyroute_open(&conn, options, NULL), 0);
  double opened = now_ms();

  call.deadline_ms = deadline_ms;
  attempt.error =
      keyroute_locate(&location, conn, table, keyroute_string("a"), &call, &attempt.detail);
  double answered = now_ms();

  attempt.took_ms = answered - opened;
  ck_assert_int_eq(keyroute_close(conn), 0);
  double closed = now_ms();

  keyroute_options_free(options);
  keyroute_location_release(location);
  slowest_open_ms = opened - began > slowest_open_ms ? opened - began : slowest_open_ms;
  slowest_close_ms = closed - answered > slowest_close_ms ? closed - answered : slowest_close_ms;
  ck_assert_msg(opened - began < OPEN_MS, "open took %.1f ms", opened - began);
  ck_assert_msg(closed - answered < CLOSE_MS + SLACK_MS, "close took %.1f ms", closed - answered);
  ck_assert_msg(attempt.took_ms < deadline_ms + SLACK_MS, "the call took %.1f ms", attempt.took_ms);
  printf("  %s in %.0f ms: %s\n", keyroute_errname(attempt.error), attempt.took_ms,
         attempt.detail.message);
  return attempt;
}

static void expect(struct attempt got, int error, const char *words)
{
  ck_assert_msg(got.error == error, "%s: %s", keyroute_errname(got.error), got.detail.message);
  ck_assert_msg(strstr(got.detail.message, words) != NULL, "\"%s\" is not in \"%s\"", words,
                got.detail.message);
  ck_assert_ptr_null(strchr(got.detail.message, '\n'));
}

/* A port on which connecting gets no answer: its queue of one is full. fds to close: 3. */
static int black_hole(int fds[3])
{
  struct sockaddr_in address = {.sin_family = AF_INET};
  socklen_t len = sizeof(address);

  inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
  fds[0] = socket(AF_INET, SOCK_STREAM, 0);
  ck_assert_int_eq(bind(fds[0], (struct sockaddr *)&address, len), 0);
  ck_assert_int_eq(listen(fds[0], 0), 0);
  ck_assert_int_eq(getsockname(fds[0], (struct sockaddr *)&address, &len), 0);
  for (int i = 1; i < 3; i++) {
    fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    connect(fds[i], (struct sockaddr *)&address, len);
  }
  return ntohs(address.sin_port);
}

static void close_all(int fds[3])
{
  for (int i = 0; i < 3; i++) {
    close(fds[i]);
  }
}

START_TEST(test_faults__closed_zookeeper_port_is_unreachable)
{
  char ensemble[64], port[16];

  snprintf(port, sizeof(port), "%d", closed_port());
  snprintf(ensemble, sizeof(ensemble), "127.0.0.1:%s", port);
  struct attempt got = attempt(ensemble, "/hbase", "t", 1500);

  expect(got, KEYROUTE_E_UNREACHABLE, port);
  ck_assert(got.detail.deadline);
}
END_TEST

START_TEST(test_faults__black_holed_zookeeper_times_out)
{
  char ensemble[64], port[16];
  int fds[3];

  snprintf(port, sizeof(port), "%d", black_hole(fds));
  snprintf(ensemble, sizeof(ensemble), "127.0.0.1:%s", port);
  struct attempt got = attempt(ensemble, "/hbase", "t", 500);

  expect(got, KEYROUTE_E_TIMEOUT, port);
  close_all(fds);
}
END_TEST

START_TEST(test_faults__slow_resolver_blocks_neither_open_nor_close)
{
  struct attempt got = attempt("zk.slow:2181", "/hbase", "t", 500);

  expect(got, KEYROUTE_E_TIMEOUT, "zk.slow");
}
END_TEST

START_TEST(test_faults__name_that_does_not_resolve_is_named)
{
  expect(attempt("nosuch.invalid:2181", "/hbase", "t", 1000), KEYROUTE_E_RESOLVE, "nosuch.invalid");
}
END_TEST

START_TEST(test_faults__bad_names_do_not_spoil_the_good_one)
{
  char ensemble[128];

  snprintf(ensemble, sizeof(ensemble), "nosuch.invalid:2181,%s", cluster_zookeeper(real_cluster));
  ck_assert_int_eq(attempt(ensemble, "/hbase", "here", 20000).error, 0);
}
END_TEST

START_TEST(test_faults__wrong_parent_is_named)
{
  struct attempt got = attempt(cluster_zookeeper(real_cluster), "/hbase-unsecure", "t", 1000);

  expect(got, KEYROUTE_E_BOOTSTRAP, "/hbase-unsecure");
  ck_assert(got.detail.deadline);
}
END_TEST

START_TEST(test_faults__chroot_that_is_absent_is_named_with_the_full_path)
{
  char ensemble[128];

  snprintf(ensemble, sizeof(ensemble), "%s/prod", cluster_zookeeper(real_cluster));
  expect(attempt(ensemble, "/hbase/", "t", 1000), KEYROUTE_E_BOOTSTRAP, "/prod/hbase");
}
END_TEST

START_TEST(test_faults__chroot_and_trailing_slash_work)
{
  char ensemble[128];

  snprintf(ensemble, sizeof(ensemble), "%s/hbase", cluster_zookeeper(real_cluster));
  ck_assert_int_eq(attempt(ensemble, "/", "here", 10000).error, 0);
  ck_assert_int_eq(attempt(cluster_zookeeper(real_cluster), "/hbase/", "here", 10000).error, 0);
}
END_TEST

START_TEST(test_faults__missing_empty_and_garbage_znodes_are_told_apart)
{
  const char *zookeeper = cluster_zookeeper(real_cluster);

  real_command("znode-set /odd 00");
  expect(attempt(zookeeper, "/odd", "t", 700), KEYROUTE_E_BOOTSTRAP, "/odd/meta-region-server");
  real_command("znode-set /odd/meta-region-server \"\"");
  expect(attempt(zookeeper, "/odd", "t", 700), KEYROUTE_E_BOOTSTRAP, "/odd/meta-region-server");
  real_command("znode-set /odd/meta-region-server ff7fffffff00");
  expect(attempt(zookeeper, "/odd", "t", 700), KEYROUTE_E_BOOTSTRAP, "/odd/meta-region-server");
  real_command("znode-set /odd/meta-region-server 50425546ffffffff");
  expect(attempt(zookeeper, "/odd", "t", 700), KEYROUTE_E_BOOTSTRAP, "/odd/meta-region-server");
}
END_TEST

/* A znode of protobuf's bytes: MetaRegionServer{127.0.0.1:port, start code 1, state}. */
static void set_meta_znode(const char *parent, int port, int state)
{
  real_command("znode-set %s 00", parent);
  real_command("znode-set %s/meta-region-server "
               "504255460a110a093132372e302e302e3110%02x%02x%02x1801100018%02x",
               parent, (port & 0x7f) | 0x80, ((port >> 7) & 0x7f) | 0x80, port >> 14, state);
}

START_TEST(test_faults__meta_that_is_not_open_is_said_so)
{
  set_meta_znode("/opening", 16020, 2);
  expect(attempt(cluster_zookeeper(real_cluster), "/opening", "t", 700), KEYROUTE_E_BOOTSTRAP,
         "OPENING");
}
END_TEST

START_TEST(test_faults__closed_port_of_the_meta_server_is_unreachable)
{
  char port[16];
  int number = closed_port();

  snprintf(port, sizeof(port), "127.0.0.1:%d", number);
  set_meta_znode("/refused", number, 3);
  struct attempt got = attempt(cluster_zookeeper(real_cluster), "/refused", "t", 700);

  /* At first it is unreachable; from then on, known dead. Both name it. */
  ck_assert(got.error == KEYROUTE_E_UNREACHABLE || got.error == KEYROUTE_E_DEAD_SERVER);
  ck_assert_ptr_nonnull(strstr(got.detail.message, port));
}
END_TEST

START_TEST(test_faults__black_holed_meta_server_times_out)
{
  int fds[3];
  char port[16];
  int number = black_hole(fds);

  snprintf(port, sizeof(port), "127.0.0.1:%d", number);
  set_meta_znode("/hole", number, 3);
  expect(attempt(cluster_zookeeper(real_cluster), "/hole", "t", 900), KEYROUTE_E_TIMEOUT, port);
  close_all(fds);
}
END_TEST

START_TEST(test_faults__absent_table_is_not_found_at_once)
{
  struct attempt got = attempt(cluster_zookeeper(real_cluster), "/hbase", "nosuch", 20000);

  expect(got, KEYROUTE_E_TABLE_NOT_FOUND, "nosuch");
  ck_assert(!got.detail.deadline);
  ck_assert_uint_eq(got.detail.rpcs, 2);
}
END_TEST

/* ---- The command ---- */

/* Run the command in $KEYROUTE; returns its exit status and what it wrote on stderr. */
static int run(char *errors, size_t size, const char *arguments)
{
  const char *keyroute = getenv("KEYROUTE");
  char command[1024];

  snprintf(command, sizeof(command), "%s %s 2>&1 >/dev/null",
           keyroute != NULL ? keyroute : "./keyroute", arguments);
  FILE *pipe = popen(command, "r");

  ck_assert_ptr_nonnull(pipe);
  size_t len = fread(errors, 1, size - 1, pipe);

  errors[len] = '\0';
  int status = pclose(pipe);

  printf("  exit %d: %s", WEXITSTATUS(status), errors);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect_run(int status, const char *words, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void expect_run(int status, const char *words, const char *format, ...)
{
  char arguments[512], errors[2048];
  va_list list;

  va_start(list, format);
  vsnprintf(arguments, sizeof(arguments), format, list);
  va_end(list);
  ck_assert_msg(run(errors, sizeof(errors), arguments) == status, "%s: %s", arguments, errors);
  ck_assert_msg(strstr(errors, words) != NULL, "\"%s\" is not in \"%s\"", words, errors);
  char *newline = strchr(errors, '\n');

  ck_assert_msg(newline != NULL && newline[1] == '\0', "not one line: %s", errors);
}

START_TEST(test_faults__command_gives_one_line_and_the_right_status)
{
  const char *zookeeper = cluster_zookeeper(real_cluster);
  char path[] = "/tmp/keyroute-bad-XXXXXX";
  int fd = mkstemp(path);

  ck_assert_int_eq(write(fd, "<configuration><property>", 25), 25);
  close(fd);
  expect_run(3, "127.0.0.1:1", "locate -z 127.0.0.1:1 --deadline 700 t a");
  expect_run(3, "nosuch.invalid", "locate -z nosuch.invalid --deadline 700 t a");
  expect_run(3, "/wrong", "locate -z %s -D zookeeper.znode.parent=/wrong --deadline 700 t a",
             zookeeper);
  expect_run(1, "nosuch", "locate -z %s nosuch a", zookeeper);
  expect_run(2, "\\xZZ", "locate -z %s here '\\xZZ'", zookeeper);
  expect_run(2, path, "locate -z %s -c %s here a", zookeeper, path);
  expect_run(2, "range", "locate -z %s -l range here a", zookeeper);
  unlink(path);
}
END_TEST

static void create_table(void)
{
  real_command("create here m");
}

int main(void)
{
  Suite *suite = suite_create("hbase faults");
  TCase *cases = tcase_create("faults");

  tcase_set_timeout(cases, 0);
  tcase_add_unchecked_fixture(cases, create_table, NULL);
  tcase_add_test(cases, test_faults__closed_zookeeper_port_is_unreachable);
  tcase_add_test(cases, test_faults__black_holed_zookeeper_times_out);
  tcase_add_test(cases, test_faults__slow_resolver_blocks_neither_open_nor_close);
  tcase_add_test(cases, test_faults__name_that_does_not_resolve_is_named);
  tcase_add_test(cases, test_faults__bad_names_do_not_spoil_the_good_one);
  tcase_add_test(cases, test_faults__wrong_parent_is_named);
  tcase_add_test(cases, test_faults__chroot_that_is_absent_is_named_with_the_full_path);
  tcase_add_test(cases, test_faults__chroot_and_trailing_slash_work);
  tcase_add_test(cases, test_faults__missing_empty_and_garbage_znodes_are_told_apart);
  tcase_add_test(cases, test_faults__meta_that_is_not_open_is_said_so);
  tcase_add_test(cases, test_faults__closed_port_of_the_meta_server_is_unreachable);
  tcase_add_test(cases, test_faults__black_holed_meta_server_times_out);
  tcase_add_test(cases, test_faults__absent_table_is_not_found_at_once);
  tcase_add_test(cases, test_faults__command_gives_one_line_and_the_right_status);
  suite_add_tcase(suite, cases);
  int result = real_run(suite, false, 300);

  printf("slowest open %.2f ms, slowest close %.0f ms\n", slowest_open_ms, slowest_close_ms);
  return result;
}
