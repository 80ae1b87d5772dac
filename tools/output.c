/*
 * How is an answer written? As one line of a table for people, or as one JSON object for programs.
 *
 *  1. One row asked is one line (with --replica all, the table has one for each replica), also if
 *     there is no answer. Whoever counts lines is never wrong.
 *  2. Nothing that a server sent reaches stdout as it is: keys go through keyroute_escape or
 *     hexadecimal, and so does every other text that turns out not to be UTF-8.
 *  3. The table has a fixed number of columns, none of them empty and none with a blank in it: an
 *     empty key is "", a missing value is -, a blank in a key is \x20. Columns are padded to fixed
 *     widths, since rows come one by one and nobody knows the widest; a longer value moves the rest
 *     of its line. The header is for terminals only, so that scripts see nothing but answers.
 *  4. The order of a JSON object's fields is part of the contract: they are set in that order, and
 *     jansson keeps it.
 */
#include "tools/output.h"

#include "tools/cli.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Texts ---------------------------------------------------------------------------------- */

static char *escaped(struct keyroute_bytes bytes)
{
  size_t size = keyroute_escape(NULL, 0, bytes) + 1;
  char *text = cli_alloc(size);

  keyroute_escape(text, size, bytes);
  return text;
}

static char *hexadecimal(struct keyroute_bytes bytes)
{
  const unsigned char *data = bytes.data;
  char *text = cli_alloc(2 * bytes.len + 1);

  for (size_t i = 0; i < bytes.len; i++) {
    snprintf(text + 2 * i, 3, "%02x", data[i]);
  }
  return text;
}

char *output_row(const struct output *output, struct keyroute_bytes row)
{
  return output->hex ? hexadecimal(row) : escaped(row);
}

typedef size_t name_writer(const struct keyroute_location *location, int replica, void *out,
                           size_t size);

/* A region's name or encoded name as text. */
static char *region_text(const struct keyroute_location *location, int replica, name_writer *write)
{
  size_t len = write(location, replica, NULL, 0);
  char *bytes = cli_alloc(len + 1);

  write(location, replica, bytes, len);
  char *text = escaped((struct keyroute_bytes){bytes, len});
  free(bytes);
  return text;
}

/* "host:port"; an IPv6 address has brackets. NULL if the replica is on no server. */
static char *server_text(const struct keyroute_location *location, int replica)
{
  const char *host = keyroute_location_host(location, replica);

  if (host == NULL) {
    return NULL;
  }
  char *shown = escaped(keyroute_string(host));
  size_t size = strlen(shown) + 16;
  char *text = cli_alloc(size);
  const char *format = strchr(shown, ':') != NULL ? "[%s]:%d" : "%s:%d";
  snprintf(text, size, format, shown, keyroute_location_port(location, replica));
  free(shown);
  return text;
}

static const char *source_name(enum keyroute_source source)
{
  switch (source) {
  case KEYROUTE_SOURCE_CACHE:
    return "cache";
  case KEYROUTE_SOURCE_CATALOG:
    return "catalog";
  case KEYROUTE_SOURCE_REGISTRY:
    return "registry";
  case KEYROUTE_SOURCE_NONE:
    break;
  }
  return "none";
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* jansson fails only where memory is short, but for text that is not UTF-8. */
static json_t *need(json_t *value)
{
  if (value == NULL) {
    cli_complain("out of memory");
    exit(CLI_TROUBLE);
  }
  return value;
}

static void put(json_t *object, const char *key, json_t *value)
{
  if (json_object_set_new(object, key, need(value)) != 0) {
    need(NULL);
  }
}

static void put_text(json_t *object, const char *key, const char *text)
{
  json_t *value = json_string(text);

  if (value == NULL) {
    char *safe = escaped(keyroute_string(text));

    value = json_string(safe);
    free(safe);
  }
  put(object, key, value);
}

/* The same for text that was made for this. */
static void put_own(json_t *object, const char *key, char *text)
{
  put_text(object, key, text);
  free(text);
}

static json_t *region_json(const struct output *output, const struct keyroute_location *location)
{
  json_t *region = need(json_object());
  int replica = output->replica;

  put_own(region, "name", region_text(location, replica, keyroute_location_region_name));
  put_own(region, "encoded", region_text(location, replica, keyroute_location_encoded_name));
  put(region, "id", json_integer(keyroute_location_region_id(location)));
  put_own(region, "start", output_row(output, keyroute_location_start_key(location)));
  put_own(region, "end", output_row(output, keyroute_location_end_key(location)));
  put(region, "replica", json_integer(replica));
  return region;
}

/* Add a replica's server and sequence number, as far as the catalog has them. */
static void put_server(json_t *object, const struct keyroute_location *location, int replica)
{
  const char *host = keyroute_location_host(location, replica);
  int64_t seqnum = keyroute_location_seqnum(location, replica);

  if (host != NULL) {
    json_t *server = need(json_object());

    put_text(server, "host", host);
    put(server, "port", json_integer(keyroute_location_port(location, replica)));
    if (keyroute_location_start_code(location, replica) != 0) {
      put(server, "start_code", json_integer(keyroute_location_start_code(location, replica)));
    }
    put(object, "server", server);
  }
  if (seqnum >= 0) {
    put(object, "seqnum", json_integer(seqnum));
  }
}

static json_t *replicas_json(const struct keyroute_location *location)
{
  json_t *replicas = need(json_array());

  for (int i = 0; i < keyroute_location_replica_count(location); i++) {
    json_t *replica = need(json_object());

    put(replica, "replica", json_integer(i));
    put_server(replica, location, i);
    if (json_array_append_new(replicas, replica) != 0) {
      need(NULL);
    }
  }
  return replicas;
}

static json_t *trace_json(const struct answer *answer)
{
  json_t *trace = need(json_array());

  for (size_t i = 0; i < answer->step_count; i++) {
    const struct answer_step *from = &answer->steps[i];
    json_t *step = need(json_object());

    put_text(step, "step", from->name);
    put(step, "at_us", json_integer(from->at_us));
    put(step, "took_us", json_integer(from->took_us));
    if (from->server[0] != '\0') {
      put_text(step, "server", from->server);
    }
    if (from->detail[0] != '\0') {
      put_text(step, "detail", from->detail);
    }
    if (json_array_append_new(trace, step) != 0) {
      need(NULL);
    }
  }
  return trace;
}

static json_t *error_json(const struct answer *answer)
{
  json_t *error = need(json_object());

  put_text(error, "code", keyroute_errname(answer->error));
  put_text(error, "message", answer->message);
  if (answer->deadline) {
    put(error, "deadline", json_true());
  }
  return error;
}

static void print_json(const struct output *output, const struct answer *answer)
{
  json_t *line = need(json_object());

  put_text(line, "table", answer->table);
  put_own(line, "row", output_row(output, answer->row));
  if (answer->error != 0) {
    put(line, "error", error_json(answer));
  } else {
    put(line, "region", region_json(output, answer->location));
    put_server(line, answer->location, output->replica);
    if (output->all_replicas) {
      put(line, "replicas", replicas_json(answer->location));
    }
    put_text(line, "source", source_name(answer->source));
  }
  put(line, "attempts", json_integer(answer->attempts));
  put(line, "rpcs", json_integer(answer->rpcs));
  put(line, "elapsed_us", json_integer(answer->elapsed_us));
  if (output->trace) {
    put(line, "trace", trace_json(answer));
  }
  if (json_dumpf(line, stdout, JSON_COMPACT) == 0) {
    putchar('\n');
  }
  json_decref(line);
}

/* ---- The table ------------------------------------------------------------------------------ */

/* Columns but for the first, whose width the output knows; the last one is not padded. */
enum { COLUMNS = 7 };
static const char *const column_names[COLUMNS] = {"ROW", "REPLICA", "SERVER", "START",
                                                  "END", "REGION",  "RESULT"};
static const size_t column_widths[COLUMNS] = {16, 7, 24, 16, 16, 32, 0};

static void print_columns(const struct output *output, const char *const texts[COLUMNS])
{
  for (int i = 0; i < COLUMNS; i++) {
    size_t width = i == 0 && output->row_width > 0 ? output->row_width : column_widths[i];

    printf("%-*s%s", (int)width, texts[i], i + 1 < COLUMNS ? "  " : "\n");
  }
}

void output_header(const struct output *output)
{
  if (!output->json && isatty(STDOUT_FILENO)) {
    print_columns(output, column_names);
  }
}

/* A key as one word. "" itself, written by a row of two quotes, stays apart from the empty key. */
static char *key_word(const struct output *output, struct keyroute_bytes key)
{
  char *text = output_row(output, key);
  size_t len = strlen(text);
  char *word = cli_alloc(4 * len + 9);
  char *to = word;

  if (len == 0 || strcmp(text, "\"\"") == 0 || strcmp(text, "-") == 0) {
    strcpy(word, len == 0 ? "\"\"" : len == 1 ? "\\x2D" : "\\x22\\x22");
    free(text);
    return word;
  }
  for (const char *from = text; *from != '\0'; from++) {
    if (*from == ' ') {
      memcpy(to, "\\x20", 4);
      to += 4;
    } else {
      *to++ = *from;
    }
  }
  free(text);
  return word;
}

static void print_replica(const struct output *output, const struct answer *answer, int replica)
{
  char number[16];
  char *row = key_word(output, answer->row);
  char *start = key_word(output, keyroute_location_start_key(answer->location));
  char *end = key_word(output, keyroute_location_end_key(answer->location));
  char *server = server_text(answer->location, replica);
  char *region = region_text(answer->location, replica, keyroute_location_encoded_name);
  const char *texts[COLUMNS] = {row,
                                number,
                                server != NULL ? server : "-",
                                start,
                                end,
                                region[0] != '\0' ? region : "-",
                                source_name(answer->source)};

  snprintf(number, sizeof(number), "%d", replica);
  print_columns(output, texts);
  free(row);
  free(start);
  free(end);
  free(server);
  free(region);
}

static void print_failure(const struct output *output, const struct answer *answer)
{
  char number[16] = "-";
  char *row = key_word(output, answer->row);
  const char *texts[COLUMNS] = {row, number, "-", "-", "-", "-", keyroute_errname(answer->error)};

  if (!output->all_replicas) {
    snprintf(number, sizeof(number), "%d", output->replica);
  }
  print_columns(output, texts);
  free(row);
}

static void print_steps(const struct answer *answer)
{
  for (size_t i = 0; i < answer->step_count; i++) {
    const struct answer_step *step = &answer->steps[i];

    printf("  %8lld us  %8lld us  %-10s  %-24s  %s\n", step->at_us, step->took_us, step->name,
           step->server[0] != '\0' ? step->server : "-", step->detail);
  }
}

static void print_table(const struct output *output, const struct answer *answer)
{
  if (answer->error != 0) {
    print_failure(output, answer);
  } else if (output->all_replicas) {
    for (int i = 0; i < keyroute_location_replica_count(answer->location); i++) {
      print_replica(output, answer, i);
    }
  } else {
    print_replica(output, answer, output->replica);
  }
  if (output->trace) {
    print_steps(answer);
  }
}

void output_answer(const struct output *output, const struct answer *answer)
{
  if (output->json) {
    print_json(output, answer);
  } else {
    print_table(output, answer);
  }
}
