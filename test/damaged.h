#ifndef DAMAGED_H
#define DAMAGED_H

/* For tests of what reads bytes from outside: those that are good, damaged in every small way. */

#include "keyroute/keyroute.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Try every beginning of it, and then all of it with every value of every byte. What is tried is as
 * long as its memory, so that a sanitizer sees an over-read. */
static inline void damaged_each(struct keyroute_bytes whole, void (*attempt)(struct keyroute_bytes))
{
  for (size_t len = 0; len <= whole.len; len++) {
    uint8_t *piece = malloc(len > 0 ? len : 1);

    memcpy(piece, whole.data, len);
    attempt((struct keyroute_bytes){piece, len});
    free(piece);
  }
  for (size_t i = 0; i < whole.len * 256; i++) {
    uint8_t *copy = malloc(whole.len);

    memcpy(copy, whole.data, whole.len);
    copy[i / 256] = (uint8_t)i;
    attempt((struct keyroute_bytes){copy, whole.len});
    free(copy);
  }
}

#endif
