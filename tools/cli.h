#ifndef CLI_H
#define CLI_H

#include "keyroute/keyroute.h"

#include <stdbool.h>
#include <stddef.h>

/* How the program ends; keyroute(1) promises it to scripts. */
enum cli_exit {
  CLI_FOUND = 0,     /* everything was found */
  CLI_NOT_FOUND = 1, /* some rows have no answer */
  CLI_USAGE = 2,     /* the command line, or a row of a stream, cannot be read */
  CLI_TROUBLE = 3    /* nothing could be asked, or the answers could not be written */
};

/* The commands' entries: arguments begin with their own name. They return the program's exit
 * status. */
int cmd_locate(int argc, char **argv);
int cmd_get(int argc, char **argv);
int cmd_group(int argc, char **argv);
int cmd_regions(int argc, char **argv);
int cmd_range(int argc, char **argv);

/* "keyroute: MESSAGE" on stderr, printf-like; one line. */
void cli_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Write out what stdout holds. Returns 0, or the errno of the first write to it that failed; to be
 * exact it is to be called right after a write that may have. Main thread. */
int cli_flush(void);

/* Memory, or the end of the program with CLI_TROUBLE. Released with free. */
void *cli_alloc(size_t size);
void *cli_realloc(void *old, size_t size);
char *cli_copy(const char *text);
char *cli_copy_bytes(struct keyroute_bytes bytes);

/* A whole decimal number between two bounds; false for anything else. */
bool cli_number(long long *out, const char *text, long long min, long long max);

#endif
