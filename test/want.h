#ifndef WANT_H
#define WANT_H

/* What must hold, asked often: ck_assert writes to a file each time. */

#include <check.h>

#define WANT(condition, ...)                                                                       \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      ck_abort_msg(__VA_ARGS__);                                                                   \
    }                                                                                              \
  } while (0)

#endif
