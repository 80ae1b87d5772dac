#ifndef KR_RCU_READ_H
#define KR_RCU_READ_H

#include "lib/rcu.h"
#include "lib/tsan.h"

#include <stddef.h>

/*
 * Read sections without a call: the same as kr_rcu_read_begin and kr_rcu_read_end, for the few
 * places where a section takes little longer than a call does.
 *
 * A thread's own entry in liburcu's books says whether it is inside a section, how deep, and in
 * which phase of the grace periods the outermost one began. To begin is to load the phase and to
 * store it there, to end is to count down: no line is written that another thread writes. The
 * barriers between them and what is read are the compiler's only, where the kernel has membarrier:
 * whoever waits for readers has the machine's made on every processor.
 *
 * liburcu's own inline functions ask for the entry anew at each step, which in a shared library is
 * a call each time; here it is asked for once. Entry and phase are part of the ABI that the soname
 * stands for, since programs have them inlined.
 */
#ifdef KR_TSAN /* which has to be told of sections: rcu.c */
static inline void kr_rcu_enter(void)
{
  kr_rcu_read_begin();
}

static inline void kr_rcu_leave(void)
{
  kr_rcu_read_end();
}

static inline bool kr_rcu_inside(void)
{
  return kr_rcu_reading();
}
#else
#include <urcu/static/urcu-bp.h>

/* Of an entry readers use its first field only. It is not asked for by its struct: that demands an
 * alignment which liburcu's own entries have not. */
_Static_assert(offsetof(struct urcu_bp_reader, ctr) == 0, "depth and phase come first");

/* The thread's own; NULL = it has none yet. */
static inline unsigned long *kr_rcu_own(void)
{
  return (unsigned long *)(void *)URCU_TLS(urcu_bp_reader);
}

/* As kr_rcu_reading; a thread that has not read yet is not registered for being asked. */
static inline bool kr_rcu_inside(void)
{
  const unsigned long *own = kr_rcu_own();

  return own != NULL && (*own & URCU_BP_GP_CTR_NEST_MASK) != 0;
}

static inline void kr_rcu_enter(void)
{
  unsigned long *own = kr_rcu_own();

  if (__builtin_expect(own == NULL || (*own & URCU_BP_GP_CTR_NEST_MASK) != 0, 0)) {
    kr_rcu_read_begin(); /* the thread's first, or one inside another */
    return;
  }
  CMM_STORE_SHARED(*own, CMM_LOAD_SHARED(urcu_bp_gp.ctr));
  urcu_bp_smp_mb_slave(); /* what is read is read behind the store */
}

static inline void kr_rcu_leave(void)
{
  unsigned long *own = kr_rcu_own();

  if (__builtin_expect(own == NULL, 0)) {
    kr_rcu_read_end(); /* not liburcu's section: a fuzzer has a kr_rcu_read_begin of its own */
    return;
  }
  urcu_bp_smp_mb_slave(); /* what was read was read before the store */
  CMM_STORE_SHARED(*own, *own - URCU_BP_GP_COUNT);
}
#endif

#endif
