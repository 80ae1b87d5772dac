#ifndef OPTIONS_H
#define OPTIONS_H

#include <getopt.h>

/* The commands, as a set. */
enum command {
  COMMAND_LOCATE = 1,
  COMMAND_GET = 2,
  COMMAND_GROUP = 4,
  COMMAND_REGIONS = 8,
  COMMAND_RANGE_INIT = 16,
  COMMAND_RANGE_SPLIT = 32,
  COMMAND_RANGE_MERGE = 64,
  COMMAND_RANGE_MOVE = 128,
  COMMAND_RANGE_SHOW = 256,
};

/* Options without a letter. */
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
  OPTION_TRACE,
  OPTION_VERSIONS,
  OPTION_FROM,
  OPTION_TO,
  OPTION_MAX_BYTES,
  OPTION_START,
  OPTION_END,
  OPTION_LIMIT,
  OPTION_ID,
  OPTION_RIGHT_NODE,
  OPTION_META1,
  OPTION_META2,
  OPTION_FAMILY
};

enum { OPTIONS_MAX = 48 };

/* The word of a command, or its words: "range split". */
const char *options_command(enum command command);

/* Print a command's --help. */
void options_print_help(enum command command);

/* What getopt_long is told of a command's options. */
void options_getopt(enum command command, struct option names[OPTIONS_MAX],
                    char letters[2 * OPTIONS_MAX]);

#endif
