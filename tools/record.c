/*
 * How is an answer written for programs? As one JSON object on one line.
 *
 *  1. The order of an object's fields is part of the contract: they are put in that order, and
 *     jansson keeps it.
 *  2. Text that turns out not to be UTF-8 is escaped, so that each line is JSON whatever a server
 *     sent.
 *  3. A struct record is jansson's json_t under a name of our own: this file alone knows that.
 */
#include "tools/record.h"

#include "tools/cli.h"
#include "tools/text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static json_t *json_of(struct record *record)
{
  return (json_t *)record;
}

/* jansson fails only where memory is short, but for text that is not UTF-8. */
static json_t *need(json_t *value)
{
  if (value == NULL) {
    cli_complain("out of memory");
    exit(CLI_TROUBLE);
  }
  return value;
}

struct record *record_new(void)
{
  return (struct record *)need(json_object());
}

struct record *record_list(void)
{
  return (struct record *)need(json_array());
}

void record_print(struct record *record)
{
  if (json_dumpf(json_of(record), stdout, JSON_COMPACT | JSON_REAL_PRECISION(6)) == 0) {
    putchar('\n');
  }
  json_decref(json_of(record));
}

static void put(struct record *record, const char *key, json_t *value)
{
  if (json_object_set_new(json_of(record), key, need(value)) != 0) {
    need(NULL);
  }
}

static void add(struct record *list, json_t *value)
{
  if (json_array_append_new(json_of(list), need(value)) != 0) {
    need(NULL);
  }
}

static json_t *text_json(const char *text)
{
  json_t *value = json_string(text);

  if (value == NULL) {
    char *safe = text_bytes(keyroute_string(text), false);

    value = json_string(safe);
    free(safe);
  }
  return value;
}

void record_put_text(struct record *record, const char *key, const char *text)
{
  put(record, key, text_json(text));
}

void record_put_own(struct record *record, const char *key, char *text)
{
  record_put_text(record, key, text);
  free(text);
}

void record_put_number(struct record *record, const char *key, long long number)
{
  put(record, key, json_integer(number));
}

void record_put_real(struct record *record, const char *key, double number)
{
  put(record, key, json_real(number));
}

void record_put_true(struct record *record, const char *key)
{
  put(record, key, json_true());
}

void record_put(struct record *record, const char *key, struct record *value)
{
  put(record, key, json_of(value));
}

void record_add(struct record *list, struct record *value)
{
  add(list, json_of(value));
}

void record_add_own(struct record *list, char *text)
{
  add(list, text_json(text));
  free(text);
}

/* ---- What several commands show ------------------------------------------------------------- */

struct record *record_region(const struct keyroute_location *location, int replica, bool hex)
{
  struct record *region = record_new();

  record_put_own(region, "name", text_region_name(location, replica));
  record_put_own(region, "encoded", text_encoded_name(location, replica));
  record_put_number(region, "id", keyroute_location_region_id(location));
  record_put_own(region, "start", text_bytes(keyroute_location_start_key(location), hex));
  record_put_own(region, "end", text_bytes(keyroute_location_end_key(location), hex));
  record_put_number(region, "replica", replica);
  return region;
}

void record_put_server(struct record *record, const struct keyroute_location *location, int replica)
{
  const char *host = keyroute_location_host(location, replica);
  int64_t start_code = keyroute_location_start_code(location, replica);
  int64_t seqnum = keyroute_location_seqnum(location, replica);

  if (host != NULL) {
    struct record *server = record_new();

    record_put_text(server, "host", host);
    record_put_number(server, "port", keyroute_location_port(location, replica));
    if (start_code != 0) {
      record_put_number(server, "start_code", start_code);
    }
    record_put(record, "server", server);
  }
  if (seqnum >= 0) {
    record_put_number(record, "seqnum", seqnum);
  }
}

void record_put_replicas(struct record *record, const struct keyroute_location *location)
{
  struct record *replicas = record_list();

  for (int i = 0; i < keyroute_location_replica_count(location); i++) {
    struct record *replica = record_new();

    record_put_number(replica, "replica", i);
    record_put_server(replica, location, i);
    record_add(replicas, replica);
  }
  record_put(record, "replicas", replicas);
}

void record_put_error(struct record *record, int error, const char *message, bool deadline)
{
  struct record *value = record_new();

  record_put_text(value, "code", keyroute_errname(error));
  record_put_text(value, "message", message);
  if (deadline) {
    record_put_true(value, "deadline");
  }
  record_put(record, "error", value);
}

static struct record *step_record(const struct outcome_step *from)
{
  struct record *step = record_new();

  record_put_text(step, "step", from->name);
  record_put_number(step, "at_us", from->at_us);
  record_put_number(step, "took_us", from->took_us);
  if (from->server[0] != '\0') {
    record_put_text(step, "server", from->server);
  }
  if (from->detail[0] != '\0') {
    record_put_text(step, "detail", from->detail);
  }
  return step;
}

void record_put_figures(struct record *record, const struct outcome *outcome, bool trace)
{
  record_put_number(record, "attempts", outcome->attempts);
  record_put_number(record, "rpcs", outcome->rpcs);
  record_put_number(record, "elapsed_us", outcome->elapsed_us);
  if (trace) {
    struct record *steps = record_list();

    for (size_t i = 0; i < outcome->step_count; i++) {
      record_add(steps, step_record(&outcome->steps[i]));
    }
    record_put(record, "trace", steps);
  }
}
