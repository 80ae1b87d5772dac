#ifndef KR_RCU_ORDER_H
#define KR_RCU_ORDER_H

#include "lib/tsan.h"

/* What rcu.c, and nobody else, tells the thread sanitizer, which does not know what a grace period
 * is. Nothing in other builds. */
#ifdef KR_TSAN
#include <sanitizer/tsan_interface.h>

/* In the sanitizer's library, though not in its header: what this thread does between the two is
 * not taken down. */
void __tsan_ignore_thread_begin(void);
void __tsan_ignore_thread_end(void);

/* All that was done before is over for who acquires the same address. */
static inline void kr_order_release(void *address)
{
  __tsan_release(address);
}

static inline void kr_order_acquire(void *address)
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

/* Around what liburcu does alone: none of our code runs meanwhile on this thread. */
static inline void kr_order_ignore_begin(void)
{
  __tsan_ignore_thread_begin();
}

static inline void kr_order_ignore_end(void)
{
  __tsan_ignore_thread_end();
}
#else
static inline void kr_order_release(void *address)
{
  (void)address;
}

static inline void kr_order_acquire(void *address)
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

static inline void kr_order_ignore_begin(void)
{
}

static inline void kr_order_ignore_end(void)
{
}
#endif

#endif
