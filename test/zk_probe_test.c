/* Which servers give sessions, and why the others do not. */
#include "lib/zk_probe.h"

#include "lib/clock.h"
#include "test/loopback.h"
#include "test/proxy.h"
#include "test/run_suite.h"

#include <arpa/inet.h>
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct kr_mem *mem;
static struct kr_connect_string *ensemble;
static struct kr_endpoints endpoints;
static struct proxy *proxy;
static bool stopped;

static void setup(void)
{
  mem = kr_mem_new(NULL);
  proxy = proxy_start(1);
}

static void teardown(void)
{
  proxy_stop(proxy);
  kr_endpoints_clear(&endpoints);
  kr_connect_string_free(ensemble);
  kr_mem_release(mem);
}

static bool is_stopped(void *arg)
{
  (void)arg;
  return stopped;
}

/* How long a silent server is waited for: long enough to tell from not waiting, or not long. */
enum { LONG_MS = 120000, SHORT_MS = 400, FAR_LESS_MS = LONG_MS / 2 };

/* Returns how long it took, in ms. */
static int64_t probe(const char *hosts, int silence_ms)
{
  struct kr_failure failure;

  ck_assert_int_eq(kr_connect_string_parse(&ensemble, mem, hosts, 2181, NULL, 0), 0);
  ck_assert_int_eq(kr_ensemble_resolve(&endpoints, ensemble, &failure, is_stopped, NULL), 0);
  int64_t start_us = kr_clock_us();
  kr_zk_probe(&endpoints, silence_ms, 10 * silence_ms, is_stopped, NULL);
  return (kr_clock_us() - start_us) / 1000;
}

static int64_t probe_port(const char *before, int port)
{
  char hosts[96];

  snprintf(hosts, sizeof(hosts), "%s127.0.0.1:%d", before, port);
  return probe(hosts, SHORT_MS);
}

/* A server of one connection: reads the request whole, then sends four bytes. */
struct answering {
  int listener, port;
  uint8_t request[49], goodbye[12];
  ssize_t request_len, goodbye_len;
};

static void *answer_one(void *arg)
{
  struct answering *answering = arg;
  int fd = accept(answering->listener, NULL, NULL);

  answering->request_len = recv(fd, answering->request, sizeof(answering->request), MSG_WAITALL);
  send(fd, "\0\0\0\x25", 4, MSG_NOSIGNAL);
  answering->goodbye_len = recv(fd, answering->goodbye, sizeof(answering->goodbye), MSG_WAITALL);
  close(fd);
  return NULL;
}

static void answering_start(struct answering *answering, pthread_t *thread)
{
  struct sockaddr_in address = loopback(0);
  socklen_t len = sizeof(address);

  answering->listener = socket(AF_INET, SOCK_STREAM, 0);
  ck_assert_int_eq(bind(answering->listener, (struct sockaddr *)&address, len), 0);
  ck_assert_int_eq(listen(answering->listener, 4), 0);
  getsockname(answering->listener, (struct sockaddr *)&address, &len);
  answering->port = ntohs(address.sin_port);
  ck_assert_int_eq(pthread_create(thread, NULL, answer_one, answering), 0);
}

START_TEST(test_zk_probe__a_server_that_answers_is_asked_for_a_session_and_given_it_back)
{
  static const uint8_t head[20] = {0, 0, 0, 45, [18] = 0x0f, [19] = 0xa0};
  static const uint8_t goodbye[12] = {0, 0, 0, 8, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xf5};
  struct answering answering;
  pthread_t thread;
  answering_start(&answering, &thread);

  probe_port("127.0.0.1:1,", answering.port);
  pthread_join(thread, NULL);
  close(answering.listener);

  ck_assert_int_eq(endpoints.list[0].state, KR_ENDPOINT_REFUSES);
  ck_assert_int_eq(endpoints.list[1].state, KR_ENDPOINT_ANSWERS);
  ck_assert_int_eq(answering.request_len, 49);
  ck_assert_mem_eq(answering.request, head, sizeof(head));
  ck_assert_int_eq(answering.goodbye_len, 12);
  ck_assert_mem_eq(answering.goodbye, goodbye, sizeof(goodbye));
}
END_TEST

START_TEST(test_zk_probe__all_that_refuse_is_unreachable)
{
  struct kr_failure failure;

  int64_t took_ms = probe("127.0.0.1:1,127.0.0.2:1", LONG_MS);
  kr_zk_probe_explain(&failure, &endpoints);

  ck_assert_int_eq(failure.code, KEYROUTE_E_UNREACHABLE);
  ck_assert_str_eq(failure.message, "ZooKeeper at 127.0.0.1:1 (127.0.0.1): Connection refused; "
                                    "127.0.0.2:1 (127.0.0.2): Connection refused");
  ck_assert_str_eq(failure.server, "127.0.0.1:1");
  ck_assert_int_lt(took_ms, FAR_LESS_MS);
}
END_TEST

START_TEST(test_zk_probe__one_that_closes_is_bootstrap)
{
  struct kr_failure failure;
  proxy_set(proxy, PROXY_CLOSE);

  probe_port("127.0.0.1:1,", proxy_port(proxy));
  kr_zk_probe_explain(&failure, &endpoints);

  ck_assert_int_eq(endpoints.list[1].state, KR_ENDPOINT_CLOSES);
  ck_assert_int_eq(failure.code, KEYROUTE_E_BOOTSTRAP);
}
END_TEST

START_TEST(test_zk_probe__one_that_is_silent_is_timeout_at_the_bound)
{
  struct kr_failure failure;
  proxy_set(proxy, PROXY_STALL);

  int64_t took_ms = probe_port("127.0.0.1:1,", proxy_port(proxy));
  kr_zk_probe_explain(&failure, &endpoints);

  ck_assert_int_eq(endpoints.list[1].state, KR_ENDPOINT_SILENT);
  ck_assert_int_eq(failure.code, KEYROUTE_E_TIMEOUT);
  ck_assert_int_ge(took_ms, 399);
  ck_assert_int_lt(took_ms, FAR_LESS_MS);
}
END_TEST

START_TEST(test_zk_probe__ends_early_when_nobody_waits)
{
  proxy_set(proxy, PROXY_STALL);
  struct kr_failure failure;
  char hosts[32];
  snprintf(hosts, sizeof(hosts), "127.0.0.1:%d", proxy_port(proxy));
  ck_assert_int_eq(kr_connect_string_parse(&ensemble, mem, hosts, 2181, NULL, 0), 0);
  ck_assert_int_eq(kr_ensemble_resolve(&endpoints, ensemble, &failure, is_stopped, NULL), 0);
  stopped = true;
  int64_t start_us = kr_clock_us();

  kr_zk_probe(&endpoints, LONG_MS, LONG_MS, is_stopped, NULL);

  ck_assert_int_lt((kr_clock_us() - start_us) / 1000, FAR_LESS_MS);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("zk_probe");
  TCase *all = tcase_create("zk_probe");

  tcase_set_timeout(all, 300);

  tcase_add_checked_fixture(all, setup, teardown);
  tcase_add_test(all,
                 test_zk_probe__a_server_that_answers_is_asked_for_a_session_and_given_it_back);
  tcase_add_test(all, test_zk_probe__all_that_refuse_is_unreachable);
  tcase_add_test(all, test_zk_probe__one_that_closes_is_bootstrap);
  tcase_add_test(all, test_zk_probe__one_that_is_silent_is_timeout_at_the_bound);
  tcase_add_test(all, test_zk_probe__ends_early_when_nobody_waits);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
