#ifndef LINE_H
#define LINE_H

#include "keyroute/keyroute.h"
#include "tools/output.h"

/* A property to be set, in the order of the command line. */
struct setting {
  char option; /* the letter of the option that says so */
  char *name;
  char *value;
};

/* What the command line says. */
struct line {
  struct output output;
  struct keyroute_call call;
  const char **configs;
  size_t config_count;
  struct setting *settings;
  size_t setting_count;
  const char *rows_from;
  const char *table;
  char **rows;
  size_t row_count;
  long long jobs;
  int verbose;
  bool quiet;
};

/* Read the arguments into a line that holds the defaults. Returns an exit status if the program is
 * to end here, or -1 for go on. Release with line_free either way. */
int line_parse(struct line *line, int argc, char **argv);
void line_free(struct line *line);

#endif
