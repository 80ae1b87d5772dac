#ifndef KR_RETRY_H
#define KR_RETRY_H

#include "lib/error.h"

/* How patient a connection is. */
struct kr_retry_policy {
  int retries;                 /* tries after the first */
  int64_t pause_ms;            /* unit of the table in retry.c */
  int64_t pause_overloaded_ms; /* the same after OVERLOADED */
  int64_t pause_max_ms;        /* no wait of ours is longer; a server's own wait may be */
};

/* After a try: how many ms to wait before the next one, or -1 to give up.
 *  tries         made so far, at least 1
 *  remaining_ms  until the deadline
 *  random        any 64 bits */
int64_t kr_retry_wait_ms(const struct kr_retry_policy *policy, unsigned tries,
                         const struct kr_failure *failure, int64_t remaining_ms, uint64_t random);

/* The same after a try to send a request to the server of its region, before the region is looked
 * up again. */
int64_t kr_retry_hop_wait_ms(const struct kr_retry_policy *policy, unsigned tries,
                             const struct kr_failure *failure, int64_t remaining_ms,
                             uint64_t random);

/* How long one try may take: a third of the whole, so that a silent server leaves time for more. */
int64_t kr_retry_try_ms(int64_t whole_ms, int64_t remaining_ms, int64_t limit_ms);

/* Whole ms from now until a deadline; not above 0 = it has passed. Rounded up: a wait that ends
 * just before the deadline would be followed by one more try. */
int64_t kr_retry_remaining_ms(int64_t deadline_us, int64_t now_us);

#endif
