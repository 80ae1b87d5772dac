#ifndef LINE_H
#define LINE_H

#include "keyroute/keyroute.h"
#include "tools/columns.h"
#include "tools/options.h"
#include "tools/output.h"
#include "tools/rows.h"

/* A property to be set, in the order of the command line. */
struct setting {
  char option; /* the letter of the option that says so */
  char *name;
  char *value;
};

/* What the command line says. */
struct line {
  enum command command;
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
  long long jobs; /* 0 = the command's default */
  struct keyroute_read read;
  struct columns columns;
  const char *start_text, *end_text;
  struct row start, end;                           /* what they say */
  long long limit;                                 /* 0 = none */
  const char *nodes, *right_nodes, *meta1, *meta2; /* of range commands, as they are written */
  unsigned long long ids[2];                       /* 0 = not given */
  const char **families;
  size_t family_count;
  int verbose;
  bool quiet;
};

/* Read a command's arguments into a line. Returns an exit status if the program is to end here, or
 * -1 for go on. Release with line_free either way. */
int line_parse(struct line *line, enum command command, int argc, char **argv);
void line_free(struct line *line);

#endif
