#ifndef OUTCOME_H
#define OUTCOME_H

#include "keyroute/keyroute.h"

/* One step of a call, its texts copied. */
struct outcome_step {
  char *name;
  char *server;
  char *detail;
  long long at_us;
  long long took_us;
};

/* How a call went: what its detail said. All zero is a call that nothing is known about. */
struct outcome {
  int error;
  char *message; /* NULL = none of its own */
  enum keyroute_source source;
  bool deadline;
  unsigned attempts;
  unsigned rpcs;
  long long elapsed_us;
  struct outcome_step *steps;
  size_t step_count;
};

/* Copy what a detail says into an outcome that is all zero. Any thread. */
void outcome_copy(struct outcome *outcome, int error, const struct keyroute_detail *detail);
void outcome_clear(struct outcome *outcome);

/* One line about an error: what it said, or else what its code means. */
const char *outcome_message(const struct outcome *outcome);

/* Does an error say that nobody could be asked? */
bool outcome_unasked(int error);

#endif
