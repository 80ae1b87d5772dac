#ifndef DISPATCHER_HARNESS_H
#define DISPATCHER_HARNESS_H

/* An application that keeps what was posted to it. */

#include <check.h>
#include <stdbool.h>
#include <stddef.h>

enum { DEPTH = 10000, PATIENCE_MS = 30000 };

extern size_t post_count; /* pieces of work so far */

/* A post function: keeps the work. */
void keep_post(void *payload, void (*run)(void *arg), void *arg);

/* Wait for a piece of work. */
void await_post(void);

/* Do the oldest piece of work, if there is one. */
bool run_post(void);

bool is_readable(int fd, int timeout_ms);

#endif
