#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

/* How answers are printed. */
struct output {
  bool json;
  bool hex;          /* rows, keys and values as plain hexadecimal */
  bool trace;        /* the steps too */
  bool all_replicas; /* each replica */
  int replica;       /* the one asked about */
  size_t row_width;  /* of the table's first column; 0 = some default */
};

#endif
