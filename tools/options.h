#ifndef OPTIONS_H
#define OPTIONS_H

#include <getopt.h>

/* The commands, as a set. */
enum command {
  COMMAND_LOCATE = 1,
  COMMAND_GET = 2,
  COMMAND_GROUP = 4,
  COMMAND_REGIONS = 8,
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
  OPTION_LIMIT
};

enum { OPTIONS_MAX = 48 };

/* The word of a command. */
const char *options_command(enum command command);

/* Print a command's --help. */
void options_print_help(enum command command);

/* What getopt_long is told of a command's options. */
void options_getopt(enum command command, struct option names[OPTIONS_MAX],
                    char letters[2 * OPTIONS_MAX]);

#endif
