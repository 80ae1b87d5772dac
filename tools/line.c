/*
 * What does the command line of a command say?
 *
 * Options may stand anywhere before "--"; one that is given twice counts as given last, but for -D,
 * -z and -l, which set properties in the order they come, -c, -C and -v, which add up, and
 * --rows-from, which is refused, since half of the rows would not be asked. Whether a property's
 * value will do is the library's to say.
 */
#include "tools/line.h"

#include "keyroute/range.h"

#include "tools/cli.h"

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail_usage(const struct line *line, const char *text, const char *about)
{
  cli_complain("%s%s. Try 'keyroute %s --help'.", text, about, options_command(line->command));
  return CLI_USAGE;
}

static void add_setting(struct line *line, char option, const char *name, size_t name_len,
                        const char *value)
{
  size_t size = (line->setting_count + 1) * sizeof(*line->settings);
  char *copy = cli_copy(name);

  copy[name_len] = '\0';
  line->settings = cli_realloc(line->settings, size);
  line->settings[line->setting_count++] = (struct setting){option, copy, cli_copy(value)};
}

/* ---- Options: each function returns an exit status, or -1 for go on ------------------------- */

static int read_setting(struct line *line, const char *argument)
{
  const char *equals = strchr(argument, '=');

  if (equals == NULL || equals == argument) {
    return fail_usage(line, "-D takes NAME=VALUE, not ", argument);
  }
  add_setting(line, 'D', argument, (size_t)(equals - argument), equals + 1);
  return -1;
}

/* An option that stands for one property. */
static int read_property(struct line *line, int key, const char *name, const char *argument)
{
  add_setting(line, (char)key, name, strlen(name), argument);
  return -1;
}

static int read_config(struct line *line, const char *argument)
{
  line->configs = cli_realloc(line->configs, (line->config_count + 1) * sizeof(*line->configs));
  line->configs[line->config_count++] = argument;
  return -1;
}

static int read_replica(struct line *line, const char *argument)
{
  long long number = 0;
  bool locates = line->command == COMMAND_LOCATE;
  bool any = strcmp(argument, locates ? "all" : "any") == 0;

  if (!any && !cli_number(&number, argument, 0, 254)) {
    const char *takes =
        locates ? "--replica takes 0 to 254 or all, not " : "--replica takes 0 to 254 or any, not ";

    return fail_usage(line, takes, argument);
  }
  line->output.all_replicas = locates && any;
  line->output.replica = (int)number;
  line->call.replica = any ? KEYROUTE_REPLICA_ANY : (int)number;
  return -1;
}

/* A whole number; takes is what is said if it is none, or out of bounds. */
static int read_number(struct line *line, long long *out, const char *argument, long long min,
                       long long max, const char *takes)
{
  return cli_number(out, argument, min, max) ? -1 : fail_usage(line, takes, argument);
}

static int read_deadline(struct line *line, const char *argument)
{
  long long number = 0;
  int status =
      read_number(line, &number, argument, 1, 86400000, "--deadline takes 1 to 86400000 ms, not ");

  line->call.deadline_ms = number;
  return status;
}

static int read_versions(struct line *line, const char *argument)
{
  long long number = 0;
  int status =
      read_number(line, &number, argument, 1, INT_MAX, "--versions takes 1 to 2147483647, not ");

  line->read.max_versions = (int)number;
  return status;
}

static int read_time(struct line *line, int64_t *out, const char *argument, const char *takes)
{
  long long number = 0;
  int status = read_number(line, &number, argument, out == &line->read.to_ms, INT64_MAX, takes);

  *out = number;
  return status;
}

static int read_max_bytes(struct line *line, const char *argument)
{
  long long number = 0;
  int status =
      read_number(line, &number, argument, 1, INT_MAX, "--max-bytes takes 1 to 2147483647, not ");

  line->read.max_result_bytes = (size_t)number;
  return status;
}

static int read_columns(struct line *line, const char *argument)
{
  const char *reason = columns_add(&line->columns, argument);

  if (reason != NULL) {
    cli_complain("-C %s: %s. Try 'keyroute get --help'.", argument, reason);
    return CLI_USAGE;
  }
  line->read.columns = line->columns.list;
  line->read.column_count = line->columns.count;
  return -1;
}

static int read_output(struct line *line, const char *argument)
{
  line->output.json = strcmp(argument, "json") == 0;
  if (!line->output.json && strcmp(argument, "table") != 0) {
    return fail_usage(line, "--output takes table or json, not ", argument);
  }
  return -1;
}

static int read_rows_from(struct line *line, const char *argument)
{
  if (line->rows_from != NULL) {
    return fail_usage(line, "--rows-from", " is given twice");
  }
  line->rows_from = argument;
  return -1;
}

static int read_flag(struct line *line, unsigned flag)
{
  line->call.flags |= flag;
  line->output.trace = (line->call.flags & KEYROUTE_TRACE) != 0;
  return -1;
}

/* Options that cannot be wrong. */
static int read_plain(struct line *line, int key)
{
  switch (key) {
  case OPTION_HEX:
    line->output.hex = true;
    return -1;
  case 'v':
    line->verbose++;
    return -1;
  case 'q':
    line->quiet = true;
    return -1;
  case 'V':
    printf("keyroute %s\n", keyroute_version());
    return CLI_FOUND;
  default:
    options_print_help(line->command);
    return CLI_FOUND;
  }
}

/* "N", or "N,N" where two ranges come of it. */
static int read_ids(struct line *line, const char *argument)
{
  bool two = line->command == COMMAND_RANGE_SPLIT;
  char first[24] = "";
  const char *comma = two ? strchr(argument, ',') : NULL;
  size_t len = comma != NULL ? (size_t)(comma - argument) : strlen(argument);
  long long ids[2] = {0, 0};

  snprintf(first, sizeof(first), "%.*s", (int)(len < sizeof(first) ? len : sizeof(first) - 1),
           argument);
  if ((two && comma == NULL) || !cli_number(&ids[0], first, 2, KEYROUTE_RANGE_ID_MAX) ||
      (two && !cli_number(&ids[1], comma + 1, 2, KEYROUTE_RANGE_ID_MAX))) {
    return fail_usage(line,
                      two ? "--id takes two numbers from 2 to 999999999999, not "
                          : "--id takes a number from 2 to 999999999999, not ",
                      argument);
  }
  line->ids[0] = (unsigned long long)ids[0];
  line->ids[1] = (unsigned long long)ids[1];
  return -1;
}

static int read_family(struct line *line, const char *argument)
{
  if (argument[0] == '\0') {
    return fail_usage(line, "--family", " has no name");
  }
  line->families = cli_realloc(line->families, (line->family_count + 1) * sizeof(*line->families));
  line->families[line->family_count++] = argument;
  return -1;
}

/* Options of range commands. */
static int read_range_option(struct line *line, int key, const char *argument)
{
  switch (key) {
  case 'n':
    line->nodes = argument;
    return -1;
  case OPTION_RIGHT_NODE:
    line->right_nodes = argument;
    return -1;
  case OPTION_META1:
    line->meta1 = argument;
    return -1;
  case OPTION_META2:
    line->meta2 = argument;
    return -1;
  case OPTION_ID:
    return read_ids(line, argument);
  case OPTION_FAMILY:
    return read_family(line, argument);
  default:
    return read_plain(line, key);
  }
}

/* Options of reading and listing. */
static int read_own_option(struct line *line, int key, const char *argument)
{
  switch (key) {
  case 'C':
    return read_columns(line, argument);
  case OPTION_VERSIONS:
    return read_versions(line, argument);
  case OPTION_FROM:
    return read_time(line, &line->read.from_ms, argument, "--from takes ms from 0 on, not ");
  case OPTION_TO:
    return read_time(line, &line->read.to_ms, argument, "--to takes ms from 1 on, not ");
  case OPTION_MAX_BYTES:
    return read_max_bytes(line, argument);
  case OPTION_START:
    line->start_text = argument;
    return -1;
  case OPTION_END:
    line->end_text = argument;
    return -1;
  case OPTION_LIMIT:
    return read_number(line, &line->limit, argument, 1, LLONG_MAX,
                       "--limit takes a number from 1 on, not ");
  default:
    return read_range_option(line, key, argument);
  }
}

/* One option. Returns an exit status, or -1 for go on. */
static int read_option(struct line *line, int key, const char *argument)
{
  switch (key) {
  case 'z':
    return read_property(line, key, "hbase.zookeeper.quorum", argument);
  case 'l':
    return read_property(line, key, "keyroute.layout", argument);
  case 'D':
    return read_setting(line, argument);
  case 'c':
    return read_config(line, argument);
  case OPTION_BEFORE:
    return read_flag(line, KEYROUTE_BEFORE);
  case OPTION_AFTER:
    return read_flag(line, KEYROUTE_AFTER);
  case OPTION_REFRESH:
    return read_flag(line, KEYROUTE_REFRESH);
  case OPTION_CACHE_ONLY:
    return read_flag(line, KEYROUTE_CACHE_ONLY);
  case OPTION_TRACE:
    return read_flag(line, KEYROUTE_TRACE);
  case OPTION_REPLICA:
    return read_replica(line, argument);
  case OPTION_DEADLINE:
    return read_deadline(line, argument);
  case OPTION_JOBS:
    return read_number(line, &line->jobs, argument, 1, 1024, "--jobs takes 1 to 1024, not ");
  case OPTION_ROWS_FROM:
    return read_rows_from(line, argument);
  case 'o':
    return read_output(line, argument);
  default:
    return read_own_option(line, key, argument);
  }
}

/* ---- Once all options are read: what contradicts itself, or is missing ---------------------- */

static int check_options(const struct line *line)
{
  const unsigned both_ways = KEYROUTE_BEFORE | KEYROUTE_AFTER;
  const unsigned both_uses = KEYROUTE_REFRESH | KEYROUTE_CACHE_ONLY;

  if ((line->call.flags & both_ways) == both_ways) {
    return fail_usage(line, "--before and --after", " exclude each other");
  }
  if ((line->call.flags & both_uses) == both_uses) {
    return fail_usage(line, "--refresh and --cache-only", " exclude each other");
  }
  if (line->read.to_ms != 0 && line->read.from_ms >= line->read.to_ms) {
    return fail_usage(line, "--from", " is not below --to");
  }
  return -1;
}

/* The words of range commands. */
static int check_range_words(const struct line *line)
{
  static const char *const tables[] = {"map", "meta2", "meta1"};
  bool changes = line->command != COMMAND_RANGE_INIT && line->command != COMMAND_RANGE_SHOW;
  bool known = line->table == NULL;

  for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !known; i++) {
    known = strcmp(line->table, tables[i]) == 0;
  }
  if (line->command == COMMAND_RANGE_INIT && line->table != NULL) {
    return fail_usage(line, "one word too many: ", line->table);
  }
  if (!known) {
    return fail_usage(line, "TABLE is map, meta2 or meta1, not ", line->table);
  }
  if (changes && line->table == NULL) {
    return fail_usage(line, "no TABLE", " is given");
  }
  if (changes && line->row_count == 0) {
    return fail_usage(line, "no KEY", " is given");
  }
  if (line->row_count > (changes ? 1 : 0)) {
    return fail_usage(line, "one word too many: ", line->rows[changes ? 1 : 0]);
  }
  return -1;
}

static int check_words(const struct line *line)
{
  if (line->command >= COMMAND_RANGE_INIT) {
    return check_range_words(line);
  }
  if (line->table == NULL) {
    return fail_usage(line, "no TABLE", " is given");
  }
  if (line->command == COMMAND_REGIONS) {
    return line->row_count == 0 ? -1 : fail_usage(line, "one word too many: ", line->rows[0]);
  }
  if (line->rows_from != NULL && line->row_count > 0) {
    return fail_usage(line, "ROW... and --rows-from", " exclude each other");
  }
  if (line->rows_from == NULL && line->row_count == 0) {
    return fail_usage(line, "no ROW", " is given");
  }
  return -1;
}

static int read_key(struct line *line, struct row *out, const char *option, const char *text)
{
  if (text == NULL) {
    return -1;
  }
  *out = row_parse(text, (struct row_rules){.hex = line->output.hex});
  if (out->reason != NULL) {
    cli_complain("%s %s: %s. Try 'keyroute %s --help'.", option, text, out->reason,
                 options_command(line->command));
    return CLI_USAGE;
  }
  return -1;
}

/* The keys of a span; whether they are hexadecimal is known only now. */
static int read_keys(struct line *line)
{
  int status = read_key(line, &line->start, "--start", line->start_text);

  if (status == -1) {
    status = read_key(line, &line->end, "--end", line->end_text);
  }
  if (status == -1 && line->end.len > 0 &&
      row_compare(row_bytes(&line->start), row_bytes(&line->end)) >= 0) {
    status = fail_usage(line, "--start", " is not below --end");
  }
  return status;
}

/* getopt's own messages would name the program as it was called; these are ours. */
static int fail_option(const struct line *line, int result, char **argv)
{
  char letter[3] = {'-', (char)optopt, '\0'};
  const char *last = argv[optind - 1];

  if (result == ':') {
    return fail_usage(line, strncmp(last, "--", 2) == 0 ? last : letter, " needs an argument");
  }
  return fail_usage(line, "no such option: ", optopt > 0 && optopt < 256 ? letter : last);
}

int line_parse(struct line *line, enum command command, int argc, char **argv)
{
  struct option names[OPTIONS_MAX];
  char letters[2 * OPTIONS_MAX];
  int status = -1;

  *line = (struct line){.command = command, .call = KEYROUTE_CALL_INIT, .read = KEYROUTE_READ_INIT};
  options_getopt(command, names, letters);
  opterr = 0;
  for (int key; status == -1 && (key = getopt_long(argc, argv, letters, names, NULL)) != -1;) {
    status =
        key == '?' || key == ':' ? fail_option(line, key, argv) : read_option(line, key, optarg);
  }
  if (status == -1 && optind < argc) {
    line->table = argv[optind];
    line->rows = argv + optind + 1;
    line->row_count = (size_t)(argc - optind - 1);
  }
  if (status == -1) {
    status = check_options(line);
  }
  if (status == -1) {
    status = check_words(line);
  }
  return status == -1 ? read_keys(line) : status;
}

void line_free(struct line *line)
{
  for (size_t i = 0; i < line->setting_count; i++) {
    free(line->settings[i].name);
    free(line->settings[i].value);
  }
  free(line->settings);
  free(line->configs);
  free(line->families);
  columns_free(&line->columns);
  free(line->start.data);
  free(line->end.data);
}
