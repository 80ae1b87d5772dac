#ifndef OUTPUT_H
#define OUTPUT_H

#include "keyroute/keyroute.h"

/* How answers are printed. */
struct output {
  bool json;
  bool hex;          /* rows and keys as plain hexadecimal */
  bool trace;        /* the steps too */
  bool all_replicas; /* each replica */
  int replica;       /* the one asked about */
  size_t row_width;  /* of the table's first column; 0 = some default */
};

/* One step of an answer, its texts copied. */
struct answer_step {
  char *name;
  char *server;
  char *detail;
  long long at_us;
  long long took_us;
};

/* What came out for one row. */
struct answer {
  const char *table; /* canonical */
  struct keyroute_bytes row;
  int error;
  struct keyroute_location *location; /* NULL on error */
  const char *message;                /* on error */
  enum keyroute_source source;
  bool deadline;
  unsigned attempts;
  unsigned rpcs;
  long long elapsed_us;
  const struct answer_step *steps;
  size_t step_count;
};

/* The table's header, if stdout is a terminal. */
void output_header(const struct output *output);

/* Print one answer on stdout. Failed writes show in ferror(stdout). */
void output_answer(const struct output *output, const struct answer *answer);

/* A row as text, by the rules of output; free() it. */
char *output_row(const struct output *output, struct keyroute_bytes row);

#endif
