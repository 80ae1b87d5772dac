/*
 * What the tests against a real HBase share: the cluster, its commands, and the Java client as the
 * oracle, whose answers are compared field by field with ours.
 */
#include "test/integration/real.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cluster *real_cluster;

int real_run(Suite *suite, bool processes, unsigned seconds)
{
  struct cluster_options options = {.version = getenv("KEYROUTE_HBASE_VERSION"),
                                    .processes = processes};
  SRunner *runner = srunner_create(suite);

  alarm(seconds); /* nothing hangs for ever */
  enum cluster_result started = cluster_start(&real_cluster, &options);

  if (started != CLUSTER_OK) {
    fprintf(stderr, "%s: %s\n", started == CLUSTER_UNAVAILABLE ? "SKIPPED" : "FAILED",
            cluster_reason());
    srunner_free(runner);
    return started == CLUSTER_UNAVAILABLE ? 77 : 1;
  }
  /* One process: the cluster is driven through pipes that all tests share. */
  srunner_set_fork_status(runner, CK_NOFORK);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);

  srunner_free(runner);
  cluster_stop(real_cluster);
  return failed == 0 ? 0 : 1;
}

void real_command(const char *format, ...)
{
  static char command[1 << 20];
  va_list arguments;

  va_start(arguments, format);
  int len = vsnprintf(command, sizeof(command), format, arguments);

  va_end(arguments);
  ck_assert(len > 0 && (size_t)len < sizeof(command));
  ck_assert_msg(cluster_command(real_cluster, NULL, "%s", command) == 0, "%.200s: %s", command,
                cluster_answer(real_cluster));
}

void real_kill_another(void)
{
  char *servers, meta[300];

  real_command("meta-server");
  snprintf(meta, sizeof(meta), "%s", cluster_answer(real_cluster));
  ck_assert_int_eq(cluster_command(real_cluster, &servers, "servers"), 0);
  for (char *rest = servers, *line; (line = strsep(&rest, "\n")) != NULL && line[0] != '\0';) {
    if (strcmp(line, meta) != 0) {
      real_command("kill %s", line);
      free(servers);
      return;
    }
  }
  ck_abort_msg("there is no other server");
}

struct keyroute_connection *real_open(const char *const *settings)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_options *options;
  struct keyroute_connection *conn;

  ck_assert_int_eq(keyroute_options_new(&options, NULL), 0);
  ck_assert_int_eq(keyroute_options_set_zookeeper(options, cluster_zookeeper(real_cluster)), 0);
  ck_assert_int_eq(keyroute_options_set_parent(options, cluster_parent(real_cluster)), 0);
  for (; settings != NULL && *settings != NULL; settings++) {
    char name[128];
    const char *equals = strchr(*settings, '=');

    snprintf(name, sizeof(name), "%.*s", (int)(equals - *settings), *settings);
    ck_assert_int_eq(keyroute_options_set(options, name, equals + 1, &detail), 0);
  }
  ck_assert_msg(keyroute_open(&conn, options, &detail) == 0, "%s", detail.message);
  keyroute_options_free(options);
  return conn;
}

char *real_key_text(char *out, const void *key, size_t len)
{
  const unsigned char *bytes = key;
  char *to = out;

  if (len == 0) {
    return strcpy(out, "\"\"");
  }
  for (size_t i = 0; i < len; i++) {
    to += sprintf(to, isalnum(bytes[i]) ? "%c" : "\\x%02X", bytes[i]);
  }
  return out;
}

/* Bytes.toStringBinary's inverse; a lone backslash is itself. */
static size_t parse_java_key(unsigned char *out, const char *text)
{
  size_t len = 0;

  while (*text != '\0') {
    unsigned byte;

    if (text[0] == '\\' && text[1] == 'x' && sscanf(text + 2, "%2x", &byte) == 1) {
      out[len++] = (unsigned char)byte;
      text += 4;
    } else {
      out[len++] = (unsigned char)*text++;
    }
  }
  return len;
}

/* Cut the next field of a line at its tab. */
static char *next_field(char **line)
{
  char *field = strsep(line, "\t");

  return field != NULL ? field : "";
}

/* row, encoded, name, start, end, host, port, start code, seqnum */
static void parse_answer(struct real_answer *answer, char *line)
{
  memset(answer, 0, sizeof(*answer));
  next_field(&line);
  char *encoded = next_field(&line);

  if (strcmp(encoded, "ERROR") == 0) {
    snprintf(answer->error, sizeof(answer->error), "%s", next_field(&line));
    return;
  }
  answer->found = true;
  snprintf(answer->encoded, sizeof(answer->encoded), "%s", encoded);
  next_field(&line);
  answer->start_len = parse_java_key(answer->start, next_field(&line));
  answer->end_len = parse_java_key(answer->end, next_field(&line));
  snprintf(answer->host, sizeof(answer->host), "%s", next_field(&line));
  answer->port = atoi(next_field(&line));
  answer->start_code = atoll(next_field(&line));
  answer->seqnum = atoll(next_field(&line));
}

void real_oracle(struct real_answer *answers, const struct real_row *rows, size_t count)
{
  char path[] = "/tmp/keyroute-oracle-XXXXXX";
  char out_path[sizeof(path) + 4];
  int fd = mkstemp(path);
  FILE *file = fdopen(fd, "w");
  char key[4 * 1100 + 3];
  char *line = NULL;
  size_t room = 0;

  ck_assert_ptr_nonnull(file);
  for (size_t i = 0; i < count; i++) {
    fprintf(file, "%s\t%s\n", rows[i].table, real_key_text(key, rows[i].key, rows[i].len));
  }
  fclose(file);
  real_command("oracle-file %s", path);
  snprintf(out_path, sizeof(out_path), "%s.out", path);
  file = fopen(out_path, "r");
  ck_assert_ptr_nonnull(file);
  for (size_t i = 0; i < count; i++) {
    ssize_t len = getline(&line, &room, file);

    ck_assert_int_gt(len, 0);
    line[len - 1] = '\0';
    char *rest = line;

    ck_assert_str_eq(next_field(&rest), rows[i].table);
    parse_answer(&answers[i], rest);
  }
  free(line);
  fclose(file);
  unlink(path);
  unlink(out_path);
}

size_t real_all_locations(struct real_answer *answers, size_t max, const char *table)
{
  char *reply, *line;
  size_t count = 0;

  ck_assert_int_eq(cluster_command(real_cluster, &reply, "all-locations %s", table), 0);
  for (char *rest = reply; (line = strsep(&rest, "\n")) != NULL && line[0] != '\0';) {
    ck_assert_uint_lt(count, max);
    next_field(&line);
    parse_answer(&answers[count++], line);
  }
  free(reply);
  return count;
}

static size_t copy_key(unsigned char *out, struct keyroute_bytes key)
{
  memcpy(out, key.data, key.len);
  return key.len;
}

void real_describe(struct real_answer *answer, const struct keyroute_location *location,
                   int replica)
{
  memset(answer, 0, sizeof(*answer));
  answer->found = true;
  keyroute_location_encoded_name(location, replica, answer->encoded, sizeof(answer->encoded) - 1);
  answer->start_len = copy_key(answer->start, keyroute_location_start_key(location));
  answer->end_len = copy_key(answer->end, keyroute_location_end_key(location));
  snprintf(answer->host, sizeof(answer->host), "%s", keyroute_location_host(location, replica));
  answer->port = keyroute_location_port(location, replica);
  answer->start_code = keyroute_location_start_code(location, replica);
  answer->seqnum = keyroute_location_seqnum(location, replica);
}

const char *real_difference(const struct real_answer *ours, const struct real_answer *theirs)
{
  static char text[1024];

  if (ours->found != theirs->found) {
    snprintf(text, sizeof(text), "found: %d, Java %d (%s)", ours->found, theirs->found,
             theirs->error);
  } else if (!ours->found) {
    return "";
  } else if (strcmp(ours->encoded, theirs->encoded) != 0) {
    snprintf(text, sizeof(text), "region: %s, Java %s", ours->encoded, theirs->encoded);
  } else if (ours->start_len != theirs->start_len || ours->end_len != theirs->end_len ||
             memcmp(ours->start, theirs->start, ours->start_len) != 0 ||
             memcmp(ours->end, theirs->end, ours->end_len) != 0) {
    return "bounds";
  } else if (strcmp(ours->host, theirs->host) != 0 || ours->port != theirs->port ||
             ours->start_code != theirs->start_code) {
    snprintf(text, sizeof(text), "server: %s:%d,%lld, Java %s:%d,%lld", ours->host, ours->port,
             ours->start_code, theirs->host, theirs->port, theirs->start_code);
  } else if (ours->seqnum != theirs->seqnum) {
    snprintf(text, sizeof(text), "seqnum: %lld, Java %lld", ours->seqnum, theirs->seqnum);
  } else {
    return "";
  }
  return text;
}
