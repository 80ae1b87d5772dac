#ifndef KR_RCU_ORDER_H
#define KR_RCU_ORDER_H

#include "lib/tsan.h"

/* What rcu.c, and nobody else, tells the thread sanitizer, which does not know what a grace period
 * is. Nothing in other builds. */
#ifdef KR_TSAN
#include <sanitizer/tsan_interface.h>

/* All that was done in sections is over that have told their end at the same address. */
static inline void kr_order_sections_ended(void *address)
{
  __tsan_acquire(address);
}

/* How deep this thread's sections nest. Only the end of the outermost one is told: at an inner end
 * the reader still reads. */
static _Thread_local unsigned kr_order_depth;

static inline void kr_order_section_begin(void)
{
  kr_order_depth++;
}

static inline void kr_order_section_end(void *address)
{
  if (--kr_order_depth == 0) {
    __tsan_release(address);
  }
}
#else
static inline void kr_order_sections_ended(void *address)
{
  (void)address;
}

static inline void kr_order_section_begin(void)
{
}

static inline void kr_order_section_end(void *address)
{
  (void)address;
}
#endif

#endif
