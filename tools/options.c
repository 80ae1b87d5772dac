/*
 * Which options does each command have?
 *
 * One table: from it come what getopt_long is told, --help, and, by test/man_test.c, the lists in
 * keyroute(1). An option that means the same to several commands is one row; where words differ
 * there is a row for each meaning.
 */
#include "tools/options.h"

#include <stdio.h>
#include <string.h>

enum {
  CHANGES = COMMAND_RANGE_INIT | COMMAND_RANGE_SPLIT | COMMAND_RANGE_MERGE | COMMAND_RANGE_MOVE,
  RANGES = CHANGES | COMMAND_RANGE_SHOW,
  KEYED = COMMAND_RANGE_SPLIT | COMMAND_RANGE_MERGE | COMMAND_RANGE_MOVE | COMMAND_RANGE_SHOW,
  ALL = COMMAND_LOCATE | COMMAND_GET | COMMAND_GROUP | COMMAND_REGIONS | RANGES,
  ROWS = COMMAND_LOCATE | COMMAND_GET | COMMAND_GROUP,
  READS = COMMAND_GET | COMMAND_GROUP
};

/* An option. Its argument and help are one word and one line of --help. */
struct option_row {
  int key; /* the short option, where that is a character */
  const char *name;
  const char *argument;
  const char *help;
  int commands;
};

static const struct option_row option_rows[] = {
    {'z', "zookeeper", "HOST:PORT[,...][/CHROOT]", "the ensemble; else from the configuration",
     ALL},
    {'c', "config", "FILE", "an hbase-site.xml, instead of $HBASE_CONF_DIR/hbase-site.xml", ALL},
    {'D', NULL, "NAME=VALUE", "any property, see libkeyroute(3); beats the file", ALL},
    {'l', "layout", "auto|meta|root|range", "auto tells HBase's apart; range is none of them",
     ALL & ~RANGES},
    {'l', "layout", "range", "what it is in any case; no other has ranges", RANGES},
    {'n', "node", "ID=HOST:PORT[,...]", "where all three are, the leaseholder first",
     COMMAND_RANGE_INIT},
    {'n', "node", "ID[=HOST:PORT][,...]", "where the left range is to be (default: stays)",
     COMMAND_RANGE_SPLIT},
    {'n', "node", "ID[=HOST:PORT][,...]", "where it is to be (default: where the left one is)",
     COMMAND_RANGE_MERGE},
    {'n', "node", "ID[=HOST:PORT][,...]", "where it is to be, the leaseholder first",
     COMMAND_RANGE_MOVE},
    {OPTION_RIGHT_NODE, "right-node", "ID[=HOST:PORT][,...]", "where the right range is to be",
     COMMAND_RANGE_SPLIT},
    {OPTION_META1, "meta1", "ID=HOST:PORT[,...]", "where meta1 is, if elsewhere",
     COMMAND_RANGE_INIT},
    {OPTION_META2, "meta2", "ID=HOST:PORT[,...]", "where meta2 is, if elsewhere",
     COMMAND_RANGE_INIT},
    {OPTION_ID, "id", "N", "the id of the range of map (default 2)", COMMAND_RANGE_INIT},
    {OPTION_ID, "id", "N,N", "of map: the ids of the left and the right range",
     COMMAND_RANGE_SPLIT},
    {OPTION_ID, "id", "N", "of map: the id of the new range", COMMAND_RANGE_MERGE},
    {OPTION_ID, "id", "N", "of map: a new id, which it needs to come back to a node",
     COMMAND_RANGE_MOVE},
    {OPTION_FAMILY, "family", "F", "make map's table, with this family; may be repeated",
     COMMAND_RANGE_INIT},
    {'C', "columns", "F[:Q][,...]", "these columns, or families, only; may be repeated",
     COMMAND_GET},
    {OPTION_VERSIONS, "versions", "N", "the newest N versions of each column (default 1)",
     COMMAND_GET},
    {OPTION_FROM, "from", "MS", "cells with this timestamp, or a later one", COMMAND_GET},
    {OPTION_TO, "to", "MS", "cells with a timestamp below this one", COMMAND_GET},
    {OPTION_MAX_BYTES, "max-bytes", "N", "a row with more bytes of cells is TOO_LARGE",
     COMMAND_GET},
    {OPTION_START, "start", "KEY", "begin with the region that holds KEY", COMMAND_REGIONS},
    {OPTION_END, "end", "KEY", "end before KEY", COMMAND_REGIONS},
    {OPTION_LIMIT, "limit", "N", "list N regions at most", COMMAND_REGIONS},
    {OPTION_START, "start", "KEY", "only ranges that begin at KEY or above", COMMAND_RANGE_SHOW},
    {OPTION_BEFORE, "before", NULL, "locate the region before the row", COMMAND_LOCATE},
    {OPTION_AFTER, "after", NULL, "locate the region of the first key after the row",
     COMMAND_LOCATE},
    {OPTION_REPLICA, "replica", "N|all", "that replica (default 0), or every one", COMMAND_LOCATE},
    {OPTION_REPLICA, "replica", "N|any", "read that replica, or any: the row may be old",
     COMMAND_GET},
    {OPTION_REPLICA, "replica", "N|any", "group by the servers of that replica, or of any",
     COMMAND_GROUP},
    {OPTION_REFRESH, "refresh", NULL, "read the catalog for every row, whatever the cache has",
     COMMAND_LOCATE},
    {OPTION_REFRESH, "refresh", NULL, "read the catalog for every call, whatever the cache has",
     READS},
    {OPTION_CACHE_ONLY, "cache-only", NULL, "answer from the cache or not at all", COMMAND_LOCATE},
    {OPTION_CACHE_ONLY, "cache-only", NULL, "take servers from the cache or not at all", READS},
    {OPTION_DEADLINE, "deadline", "MS", "for each row, everything included (default 30000)",
     COMMAND_LOCATE},
    {OPTION_DEADLINE, "deadline", "MS", "for each row, or batch of a file (default 30000)",
     COMMAND_GET},
    {OPTION_DEADLINE, "deadline", "MS", "for each batch of rows (default 30000)", COMMAND_GROUP},
    {OPTION_DEADLINE, "deadline", "MS", "for each page of regions (default 30000)",
     COMMAND_REGIONS},
    {OPTION_DEADLINE, "deadline", "MS", "everything included (default 30000)", RANGES},
    {OPTION_JOBS, "jobs", "N", "look up N rows at once (default 1); they print in order",
     COMMAND_LOCATE},
    {OPTION_JOBS, "jobs", "N", "read N rows, or batches of a file, at once (default 1, 2)",
     COMMAND_GET},
    {OPTION_JOBS, "jobs", "N", "group N batches at once (default 2)", COMMAND_GROUP},
    {OPTION_ROWS_FROM, "rows-from", "FILE", "one row a line, instead of ROW...; - is stdin", ROWS},
    {OPTION_HEX, "hex", NULL, "read and write rows and keys as plain hexadecimal",
     ROWS & ~COMMAND_GET},
    {OPTION_HEX, "hex", NULL, "read and write rows and keys as plain hexadecimal", COMMAND_REGIONS},
    {OPTION_HEX, "hex", NULL, "read and write keys as plain hexadecimal", KEYED},
    {OPTION_HEX, "hex", NULL, "read and write rows, keys and values as hexadecimal", COMMAND_GET},
    {'o', "output", "table|json", "table for people (default), json for programs", ALL},
    {OPTION_TRACE, "trace", NULL, "add the steps that led to each answer, with times",
     COMMAND_LOCATE},
    {OPTION_TRACE, "trace", NULL, "add the steps; rows of a file are read one by one then",
     COMMAND_GET},
    {OPTION_TRACE, "trace", NULL, "add the steps that led to each page, with times",
     COMMAND_REGIONS},
    {'v', "verbose", NULL, "the library's log on stderr; twice: all of it", ALL},
    {'q', "quiet", NULL, "no line on stderr for a row that failed, and no progress", ROWS},
    {'q', "quiet", NULL, "no line on stderr for what is wrong, and no progress", COMMAND_REGIONS},
    {'q', "quiet", NULL, "no line on stderr for what is wrong", RANGES},
    {'h', "help", NULL, "print this help and exit", ALL},
    {'V', "version", NULL, "print the version and exit", ALL},
};
enum { OPTION_ROWS = sizeof(option_rows) / sizeof(option_rows[0]) };

static const struct {
  enum command command;
  const char *name;
  const char *arguments;
  const char *about;
} commands[] = {
    {COMMAND_LOCATE, "locate", "TABLE ROW...",
     "Tell which server holds these rows of a table.\n"
     "\n"
     "Rows are written as HBase writes them: printable ASCII as it is, everything else, and\n"
     "the backslash itself, as \\xHH. An empty ROW is the first row. -- ends the options.\n"},
    {COMMAND_GET, "get", "TABLE ROW...",
     "Read these rows of a table, each from the server that holds it.\n"
     "\n"
     "Rows, qualifiers and values are written as HBase writes them: printable ASCII as it is,\n"
     "everything else, and the backslash itself, as \\xHH. No ROW is empty.\n"
     "-- ends the options.\n"},
    {COMMAND_GROUP, "group", "TABLE ROW...",
     "Tell how these rows of a table are spread over servers and regions.\n"
     "\n"
     "Rows are written as HBase writes them: printable ASCII as it is, everything else, and\n"
     "the backslash itself, as \\xHH. An empty ROW is the first row. -- ends the options.\n"},
    {COMMAND_REGIONS, "regions", "TABLE",
     "List the regions of a table in the order of their keys, and what is wrong with them.\n"
     "\n"
     "Keys are written as HBase writes them: printable ASCII as it is, everything else, and\n"
     "the backslash itself, as \\xHH. -- ends the options.\n"},
    {COMMAND_RANGE_INIT, "range init", "",
     "Make a range directory: meta1, one range of meta2, and one of map, which holds all keys.\n"},
    {COMMAND_RANGE_SPLIT, "range split", "TABLE KEY",
     "Split the range of map or meta2 that holds KEY: the right one begins there.\n"
     "\n"
     "The tables of map's new ranges, \"r<id>\", stand and are filled beforehand. Those of meta2\n"
     "are made. Keys of meta2 begin with \\x02. Keys are written as \\xHH where they do not "
     "print.\n"},
    {COMMAND_RANGE_MERGE, "range merge", "TABLE KEY",
     "Merge the range of map or meta2 that holds KEY with the one behind it.\n"
     "\n"
     "The table of map's new range, \"r<id>\", stands and is filled beforehand. That of meta2 is\n"
     "made. Keys of meta2 begin with \\x02. Keys are written as \\xHH where they do not print.\n"},
    {COMMAND_RANGE_MOVE, "range move", "TABLE KEY",
     "Move the range of map, meta2 or meta1 that holds KEY to other nodes.\n"
     "\n"
     "The table of map's range, \"r<id>\", stands there and is filled beforehand. Those of meta1\n"
     "and meta2 are made. Keys are written as \\xHH where they do not print.\n"},
    {COMMAND_RANGE_SHOW, "range show", "[TABLE]",
     "List the ranges of meta1, meta2 and map, or of one of them, as their nodes have them now;\n"
     "holes, overlaps, and a change that was interrupted, too.\n"},
};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

/* How wide the options of --help are before their help begins. */
enum { HELP_COLUMN = 26 };

static int index_of(enum command command)
{
  int i = 0;

  while (i + 1 < COMMANDS && commands[i].command != command) {
    i++;
  }
  return i;
}

const char *options_command(enum command command)
{
  return commands[index_of(command)].name;
}

static void print_option(const struct option_row *row)
{
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

void options_print_help(enum command command)
{
  int at = index_of(command);

  printf("Usage: keyroute %s [OPTION]...%s%s\n%s\nOptions:\n", commands[at].name,
         commands[at].arguments[0] != '\0' ? " " : "", commands[at].arguments, commands[at].about);
  for (int i = 0; i < OPTION_ROWS; i++) {
    if ((option_rows[i].commands & (int)command) != 0) {
      print_option(&option_rows[i]);
    }
  }
  if (command == COMMAND_RANGE_SHOW) {
    puts("\nExit status: 0 all whole, 1 a hole, an overlap or an interrupted change, 2 wrong "
         "usage,\n"
         "3 nothing could be asked.");
  } else if (((int)command & CHANGES) != 0) {
    puts("\nExit status: 0 made, or there already, 1 refused, or not made whole, 2 wrong usage,\n"
         "3 nothing could be asked.");
  } else if (command == COMMAND_REGIONS) {
    puts("\nExit status: 0 all whole, 1 a hole, an overlap or a corrupt row, or the listing broke\n"
         "off, 2 wrong usage, 3 nothing could be asked.");
  } else {
    puts("\nExit status: 0 all found, 1 some not found, 2 wrong usage, 3 nothing could be asked.");
  }
}

void options_getopt(enum command command, struct option names[OPTIONS_MAX],
                    char letters[2 * OPTIONS_MAX])
{
  int next = 0;
  size_t len = 1;

  letters[0] = ':';
  for (int i = 0; i < OPTION_ROWS; i++) {
    const struct option_row *row = &option_rows[i];
    int has_argument = row->argument != NULL ? required_argument : no_argument;

    if ((row->commands & (int)command) == 0) {
      continue;
    }
    if (row->name != NULL) {
      names[next++] = (struct option){row->name, has_argument, NULL, row->key};
    }
    if (row->key < 256) {
      letters[len++] = (char)row->key;
      if (has_argument == required_argument) {
        letters[len++] = ':';
      }
    }
  }
  names[next] = (struct option){NULL, 0, NULL, 0};
  letters[len] = '\0';
}
