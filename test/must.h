#ifndef MUST_H
#define MUST_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* What the doubles need and cannot go on without. */

static inline void *must(void *memory)
{
  if (memory == NULL) {
    abort();
  }
  return memory;
}

static inline void must_work(bool good)
{
  if (!good) {
    perror("a double");
    abort();
  }
}

#endif
