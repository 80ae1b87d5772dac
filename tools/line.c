/*
 * What does the command line of "keyroute locate" say?
 *
 * One table of options: from it come what getopt_long is told, --help, and, by test/man_test.c, the
 * list in keyroute(1). Options may stand anywhere before "--"; one that is given twice counts as
 * given last, but for -D, -z and -l, which set properties in the order they come, -c and -v, which
 * add up, and --rows-from, which is refused, since half of the rows would not be asked. Whether a
 * property's value will do is the library's to say.
 */
#include "tools/line.h"

#include "tools/cli.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  OPTION_BEFORE = 256,
  OPTION_AFTER,
  OPTION_REPLICA,
  OPTION_REFRESH,
  OPTION_CACHE_ONLY,
  OPTION_DEADLINE,
  OPTION_JOBS,
  OPTION_ROWS_FROM,
  OPTION_HEX,
  OPTION_TRACE
};

/* An option. Its argument and help are one word and one line of --help. */
struct option_row {
  int key; /* the short option, where that is a character */
  const char *name;
  const char *argument;
  const char *help;
};

static const struct option_row option_rows[] = {
    {'z', "zookeeper", "HOST:PORT[,...][/CHROOT]", "the ensemble; else from the configuration"},
    {'c', "config", "FILE", "an hbase-site.xml, instead of $HBASE_CONF_DIR/hbase-site.xml"},
    {'D', NULL, "NAME=VALUE", "any property, see libkeyroute(3); beats the file"},
    {'l', "layout", "auto|meta|root|range", "auto finds out; root and range are not built yet"},
    {OPTION_BEFORE, "before", NULL, "locate the region before the row"},
    {OPTION_AFTER, "after", NULL, "locate the region of the first key after the row"},
    {OPTION_REPLICA, "replica", "N|all", "that replica (default 0), or every one"},
    {OPTION_REFRESH, "refresh", NULL, "read the catalog for every row, whatever the cache has"},
    {OPTION_CACHE_ONLY, "cache-only", NULL, "answer from the cache or not at all"},
    {OPTION_DEADLINE, "deadline", "MS", "for each row, everything included (default 30000)"},
    {OPTION_JOBS, "jobs", "N", "look up N rows at once (default 1); they print in order"},
    {OPTION_ROWS_FROM, "rows-from", "FILE", "one row a line, instead of ROW...; - is stdin"},
    {OPTION_HEX, "hex", NULL, "read and write rows and keys as plain hexadecimal"},
    {'o', "output", "table|json", "table for people (default), json for programs"},
    {OPTION_TRACE, "trace", NULL, "add the steps that led to each answer, with times"},
    {'v', "verbose", NULL, "the library's log on stderr; twice: all of it"},
    {'q', "quiet", NULL, "no line on stderr for a row that was not found"},
    {'h', "help", NULL, "print this help and exit"},
    {'V', "version", NULL, "print the version and exit"},
};
enum { OPTION_ROWS = sizeof(option_rows) / sizeof(option_rows[0]) };

/* How wide the options of --help are before their help begins. */
enum { HELP_COLUMN = 26 };

static void print_help(void)
{
  puts("Usage: keyroute locate [OPTION]... TABLE ROW...\n"
       "Tell which server holds these rows of a table.\n"
       "\n"
       "Rows are written as HBase writes them: printable ASCII as it is, everything else, and\n"
       "the backslash itself, as \\xHH. An empty ROW is the first row. -- ends the options.\n"
       "\n"
       "Options:");
  for (int i = 0; i < OPTION_ROWS; i++) {
    const struct option_row *row = &option_rows[i];
    char left[80] = "";

    if (row->key < 256 && row->name != NULL) {
      snprintf(left, sizeof(left), "-%c, --%s", row->key, row->name);
    } else if (row->name != NULL) {
      snprintf(left, sizeof(left), "    --%s", row->name);
    } else {
      snprintf(left, sizeof(left), "-%c", row->key);
    }
    if (row->argument != NULL) {
      snprintf(left + strlen(left), sizeof(left) - strlen(left), " %s", row->argument);
    }
    if (strlen(left) > HELP_COLUMN) {
      printf("  %s\n%*s%s\n", left, HELP_COLUMN + 4, "", row->help);
    } else {
      printf("  %-*s  %s\n", HELP_COLUMN, left, row->help);
    }
  }
  puts("\n"
       "Exit status: 0 all found, 1 some not found, 2 wrong usage, 3 nothing could be asked.");
}

static int fail_usage(const char *text, const char *about)
{
  cli_complain("%s%s. Try 'keyroute locate --help'.", text, about);
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
    return fail_usage("-D takes NAME=VALUE, not ", argument);
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
  bool all = strcmp(argument, "all") == 0;

  if (!all && !cli_number(&number, argument, 0, 254)) {
    return fail_usage("--replica takes 0 to 254 or all, not ", argument);
  }
  line->output.all_replicas = all;
  line->output.replica = (int)number;
  line->call.replica = all ? KEYROUTE_REPLICA_ANY : (int)number;
  return -1;
}

static int read_deadline(struct line *line, const char *argument)
{
  long long number = 0;

  if (!cli_number(&number, argument, 1, 86400000)) {
    return fail_usage("--deadline takes 1 to 86400000 ms, not ", argument);
  }
  line->call.deadline_ms = number;
  return -1;
}

static int read_jobs(struct line *line, const char *argument)
{
  if (!cli_number(&line->jobs, argument, 1, 1024)) {
    return fail_usage("--jobs takes 1 to 1024, not ", argument);
  }
  return -1;
}

static int read_output(struct line *line, const char *argument)
{
  line->output.json = strcmp(argument, "json") == 0;
  if (!line->output.json && strcmp(argument, "table") != 0) {
    return fail_usage("--output takes table or json, not ", argument);
  }
  return -1;
}

static int read_rows_from(struct line *line, const char *argument)
{
  if (line->rows_from != NULL) {
    return fail_usage("--rows-from", " is given twice");
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
    print_help();
    return CLI_FOUND;
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
    return read_jobs(line, argument);
  case OPTION_ROWS_FROM:
    return read_rows_from(line, argument);
  case 'o':
    return read_output(line, argument);
  default:
    return read_plain(line, key);
  }
}

/* What contradicts itself, or is missing, once all options are read. */
static int check_line(const struct line *line)
{
  const unsigned both_ways = KEYROUTE_BEFORE | KEYROUTE_AFTER;
  const unsigned both_uses = KEYROUTE_REFRESH | KEYROUTE_CACHE_ONLY;

  if ((line->call.flags & both_ways) == both_ways) {
    return fail_usage("--before and --after", " exclude each other");
  }
  if ((line->call.flags & both_uses) == both_uses) {
    return fail_usage("--refresh and --cache-only", " exclude each other");
  }
  if (line->table == NULL) {
    return fail_usage("no TABLE", " is given");
  }
  if (line->rows_from != NULL && line->row_count > 0) {
    return fail_usage("ROW... and --rows-from", " exclude each other");
  }
  if (line->rows_from == NULL && line->row_count == 0) {
    return fail_usage("no ROW", " is given");
  }
  return -1;
}

/* getopt's own messages would name the program as it was called; these are ours. */
static int fail_option(int result, char **argv)
{
  char letter[3] = {'-', (char)optopt, '\0'};
  const char *last = argv[optind - 1];

  if (result == ':') {
    return fail_usage(strncmp(last, "--", 2) == 0 ? last : letter, " needs an argument");
  }
  return fail_usage("no such option: ", optopt > 0 && optopt < 256 ? letter : last);
}

int line_parse(struct line *line, int argc, char **argv)
{
  struct option names[OPTION_ROWS + 1] = {0};
  char letters[2 * OPTION_ROWS + 2] = ":";
  int status = -1;

  for (int i = 0, next = 0; i < OPTION_ROWS; i++) {
    const struct option_row *row = &option_rows[i];
    int has_argument = row->argument != NULL ? required_argument : no_argument;

    if (row->name != NULL) {
      names[next++] = (struct option){row->name, has_argument, NULL, row->key};
    }
    if (row->key < 256) {
      size_t len = strlen(letters);

      letters[len] = (char)row->key;
      letters[len + 1] = has_argument == required_argument ? ':' : '\0';
    }
  }
  opterr = 0;
  for (int key; status == -1 && (key = getopt_long(argc, argv, letters, names, NULL)) != -1;) {
    status = key == '?' || key == ':' ? fail_option(key, argv) : read_option(line, key, optarg);
  }
  if (status != -1) {
    return status;
  }
  if (optind < argc) {
    line->table = argv[optind];
    line->rows = argv + optind + 1;
    line->row_count = (size_t)(argc - optind - 1);
  }
  return check_line(line);
}

void line_free(struct line *line)
{
  for (size_t i = 0; i < line->setting_count; i++) {
    free(line->settings[i].name);
    free(line->settings[i].value);
  }
  free(line->settings);
  free(line->configs);
}
