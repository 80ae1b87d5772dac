#ifndef KR_LOG_H
#define KR_LOG_H

#include "keyroute/keyroute.h"

/* Where a connection's lines go; embedded by value, never changed after open. */
struct kr_log {
  enum keyroute_log_level level;
  keyroute_log_cb cb; /* NULL = nowhere */
  void *payload;
};

/* One line, printf-like, cut at 1023 bytes. Bytes of keys and servers go through kr_bytes_print
 * first: a line holds printable ASCII only. Any thread. */
void kr_log_line(const struct kr_log *log, enum keyroute_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
