#ifndef KR_SWEEPER_H
#define KR_SWEEPER_H

#include "lib/cache.h"
#include "lib/loop.h"

/* Has the cache take out what is retired, and what has been there for too long, a few at a time. */
struct kr_sweeper;

/* every_ms  how often it looks while there is something whose time may be over
 * Watches the cache, whose limits are set; all borrowed. NULL = out of memory. */
struct kr_sweeper *kr_sweeper_new(struct kr_mem *mem, struct kr_loop *loop, struct kr_cache *cache,
                                  struct kr_servers *servers, int64_t every_ms);

/* Something has been retired: go round the whole cache, soon and without a pause. Any thread. */
void kr_sweeper_wake(struct kr_sweeper *sweeper);

/* On the loop: look no more. What has been posted may still run. */
void kr_sweeper_shutdown(struct kr_sweeper *sweeper);

/* After shutdown and the loop's end, before the cache goes. NULL is accepted. */
void kr_sweeper_free(struct kr_sweeper *sweeper);

#endif
