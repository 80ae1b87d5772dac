#ifndef BLOCKING_H
#define BLOCKING_H

/* Blocking calls in one line, for tests of what is around them. */

#include "keyroute/keyroute.h"

#include <time.h>

static inline void pause_ms(int ms)
{
  nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
}

static inline struct keyroute_bytes row(const char *text)
{
  return keyroute_string(text);
}

/* The error of a lookup. detail may be NULL. */
static inline int locate(struct keyroute_connection *conn, const char *table, const char *key,
                         unsigned flags, struct keyroute_detail *detail)
{
  struct keyroute_call call = {sizeof(call), 0, flags, 0};
  struct keyroute_location *location = NULL;
  int error = keyroute_locate(&location, conn, table, row(key), &call, detail);

  keyroute_location_release(location);
  return error;
}

#endif
