#ifndef KR_LIMITER_H
#define KR_LIMITER_H

#include "lib/mem.h"

/* Says how often something that can be named by bytes may be done. One thread at a time. */
struct kr_limiter;

/* max_bytes bounds what it remembers. NULL = out of memory. */
struct kr_limiter *kr_limiter_new(struct kr_mem *mem, size_t max_bytes);
void kr_limiter_free(struct kr_limiter *limiter); /* NULL is accepted */

/* May it be done now? True counts as done. */
bool kr_limiter_allow(struct kr_limiter *limiter, struct keyroute_bytes key, int64_t now_us);

/* Keep a number beside a key, whether or not it is ever asked about; 0 = none is kept. */
void kr_limiter_note(struct kr_limiter *limiter, struct keyroute_bytes key, uint64_t note,
                     int64_t now_us);
uint64_t kr_limiter_noted(const struct kr_limiter *limiter, struct keyroute_bytes key);

/* How many keys are remembered, and the memory that takes. */
size_t kr_limiter_count(const struct kr_limiter *limiter);
size_t kr_limiter_bytes(const struct kr_limiter *limiter);

#endif
