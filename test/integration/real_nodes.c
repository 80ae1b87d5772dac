/*
 * What the tests against real Bigtable nodes share: nodes and ZooKeeper, which live as long as the
 * program, and connections to the directories that tests make on them. Each test takes a znode, and
 * with it a directory, of its own.
 */
#include "test/integration/real_nodes.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct nodes *range_nodes;
struct zookeeper *range_zookeeper;

static int start(void)
{
  if (zookeeper_jars() == NULL) {
    fprintf(stderr, "SKIPPED: ZooKeeper cannot be had\n");
    return 77;
  }
  enum fixture_result started = nodes_start(&range_nodes, RANGE_NODES);

  if (started != FIXTURE_OK) {
    fprintf(stderr, "%s: %s\n", started == FIXTURE_UNAVAILABLE ? "SKIPPED" : "FAILED",
            fixture_reason());
    return started == FIXTURE_UNAVAILABLE ? 77 : 1;
  }
  range_zookeeper = zookeeper_start();
  return 0;
}

int range_run(Suite *suite, unsigned seconds)
{
  SRunner *runner = srunner_create(suite);

  alarm(seconds); /* nothing hangs for ever */
  setenv("KEYROUTE_MODULE_DIR", BUILT_MODULE_DIR, 0);
  int result = start();

  if (result == 0) {
    /* One process: the nodes are driven through pipes that all tests share. */
    srunner_set_fork_status(runner, CK_NOFORK);
    srunner_run_all(runner, CK_ENV);
    result = srunner_ntests_failed(runner) == 0 ? 0 : 1;
    zookeeper_stop(range_zookeeper);
    nodes_stop(range_nodes);
  }
  srunner_free(runner);
  return result;
}

void range_command(const char *format, ...)
{
  char command[4096];
  va_list arguments;

  va_start(arguments, format);
  int len = vsnprintf(command, sizeof(command), format, arguments);
  va_end(arguments);
  ck_assert(len > 0 && (size_t)len < sizeof(command));
  ck_assert_msg(nodes_command(range_nodes, NULL, "%s", command) == 0, "%.200s: %s", command,
                nodes_answer(range_nodes));
}

static void set(struct keyroute_options *options, const char *name, const char *value)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

  ck_assert_msg(keyroute_options_set(options, name, value, &detail) == 0, "%s", detail.message);
}

struct keyroute_connection *range_open(const char *znode, const char *const *settings)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_options *options;
  struct keyroute_connection *conn;
  char ensemble[32];

  snprintf(ensemble, sizeof(ensemble), "127.0.0.1:%d", zookeeper_port(range_zookeeper));
  ck_assert_int_eq(keyroute_options_new(&options, NULL), 0);
  ck_assert_int_eq(keyroute_options_set_zookeeper(options, ensemble), 0);
  set(options, "keyroute.layout", "range");
  set(options, "keyroute.range.znode", znode);
  for (; settings != NULL && *settings != NULL; settings++) {
    char name[128];
    const char *equals = strchr(*settings, '=');

    snprintf(name, sizeof(name), "%.*s", (int)(equals - *settings), *settings);
    set(options, name, equals + 1);
  }
  ck_assert_msg(keyroute_open(&conn, options, &detail) == 0, "%s", detail.message);
  keyroute_options_free(options);
  return conn;
}

char *range_text(char out[RANGE_TEXT_MAX], struct keyroute_bytes bytes)
{
  const unsigned char *from = bytes.data;
  char *to = out;

  if (bytes.len == 0) {
    return strcpy(out, "\"\"");
  }
  ck_assert_uint_lt(bytes.len * 4, RANGE_TEXT_MAX);
  for (size_t i = 0; i < bytes.len; i++) {
    to += sprintf(to, isalnum(from[i]) ? "%c" : "\\x%02X", from[i]);
  }
  return out;
}

struct keyroute_stats range_stats(struct keyroute_connection *conn)
{
  struct keyroute_stats stats = {.size = sizeof(stats)};

  ck_assert_int_eq(keyroute_stats(conn, &stats), 0);
  return stats;
}

int64_t range_now_ms(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
