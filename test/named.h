#ifndef NAMED_H
#define NAMED_H

/* Is a location's region called like that? */

#include "lib/bytes.h"
#include "lib/location.h"

#include <stdlib.h>

static inline bool is_named(const struct keyroute_location *location, struct keyroute_bytes want)
{
  char *name = malloc(want.len + 1);
  size_t len = keyroute_location_region_name(location, 0, name, want.len);
  bool is_same = kr_bytes_equal(kr_bytes(name, want.len), want) && len == want.len;

  free(name);
  return is_same;
}

#endif
