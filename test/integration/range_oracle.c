/*
 * What Bigtable's Go client says of rows: it reads the whole directory, with a decoder of the
 * nodes' own, and then the row.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strsep */
#endif
#include "test/integration/range_oracle.h"

#include "test/integration/real_nodes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void assert_key(const char *what, struct keyroute_bytes ours, char **line)
{
  char theirs[RANGE_TEXT_MAX], *text = strsep(line, "\t");
  size_t len = 0;

  ck_assert_ptr_nonnull(text);
  ck_assert_int_eq(keyroute_unescape(theirs, &len, text), 0);
  ck_assert_msg(ours.len == len && memcmp(ours.data, theirs, len) == 0, "%s: not %s", what, text);
}

static void assert_text(const char *what, const char *ours, char **line)
{
  const char *theirs = strsep(line, "\t\n");

  ck_assert_ptr_nonnull(theirs);
  ck_assert_msg(strcmp(ours, theirs) == 0, "%s: %s, not %s", what, ours, theirs);
}

static void assert_number(const char *what, int64_t ours, char **line)
{
  char text[32];

  snprintf(text, sizeof(text), "%" PRId64, ours);
  assert_text(what, text, line);
}

/* A location is what the oracle says: row, range, generation, start, end, host, port, and perhaps a
 * value. */
static void assert_same(const struct range_key *key, const struct keyroute_location *location,
                        char *line)
{
  char encoded[32] = "";

  keyroute_location_encoded_name(location, 0, encoded, sizeof(encoded) - 1);
  assert_key("row", range_bytes(key), &line);
  assert_text("range", encoded, &line);
  assert_number("generation", keyroute_location_region_id(location), &line);
  assert_key("start", keyroute_location_start_key(location), &line);
  assert_key("end", keyroute_location_end_key(location), &line);
  assert_text("host", keyroute_location_host(location, 0), &line);
  assert_number("port", keyroute_location_port(location, 0), &line);
}

static FILE *ask(const struct range_key *keys, size_t count)
{
  char path[] = "/tmp/keyroute-oracle-XXXXXX", out_path[sizeof(path) + 4];
  char text[RANGE_TEXT_MAX];
  FILE *file = fdopen(mkstemp(path), "w");

  ck_assert_ptr_nonnull(file);
  for (size_t i = 0; i < count; i++) {
    fprintf(file, "%s\n", range_text(text, range_bytes(&keys[i])));
  }
  fclose(file);
  range_command("oracle-file 0 %s", path);
  snprintf(out_path, sizeof(out_path), "%s.out", path);
  file = fopen(out_path, "r");
  ck_assert_ptr_nonnull(file);
  unlink(path);
  unlink(out_path);
  return file;
}

void range_oracle_compare(struct keyroute_connection *conn, const struct range_key *keys,
                          size_t count)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  FILE *oracle = ask(keys, count);
  char *theirs = NULL;
  size_t room = 0;

  for (size_t i = 0; i < count; i++) {
    struct keyroute_location *location;

    ck_assert_int_gt(getline(&theirs, &room, oracle), 0);
    ck_assert_msg(keyroute_locate(&location, conn, "map", range_bytes(&keys[i]), NULL, &detail) ==
                      0,
                  "%s", detail.message);
    assert_same(&keys[i], location, theirs);
    keyroute_location_release(location);
  }
  free(theirs);
  fclose(oracle);
  keyroute_detail_clear(&detail);
}
