#ifndef FAILING_MEM_H
#define FAILING_MEM_H

/* An allocator for tests: it counts what is not yet freed and can be told to fail. One a process;
 * Check runs each test in its own. */

#include "lib/mem.h"

#include <check.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Allocations so far, those still held, which one fails (0 = none), and whether all after it do. */
static atomic_long mem_calls, mem_live, mem_fail_at;
static atomic_bool mem_fail_on;

static inline bool mem_refuses(void)
{
  long call = atomic_fetch_add(&mem_calls, 1) + 1;
  long fail_at = atomic_load(&mem_fail_at);

  return fail_at > 0 && (call == fail_at || (call > fail_at && atomic_load(&mem_fail_on)));
}

static inline void *failing_allocate(void *user, size_t size)
{
  (void)user;
  if (mem_refuses()) {
    return NULL;
  }
  atomic_fetch_add(&mem_live, 1);
  return malloc(size);
}

static inline void *failing_reallocate(void *user, void *old, size_t size)
{
  (void)user;
  return mem_refuses() ? NULL : realloc(old, size);
}

static inline void failing_release(void *user, void *old)
{
  (void)user;
  atomic_fetch_sub(&mem_live, 1);
  free(old);
}

static const struct keyroute_allocator failing_allocator = {NULL, failing_allocate,
                                                            failing_reallocate, failing_release};

static inline struct kr_mem *failing_mem_new(void)
{
  struct kr_mem *mem = kr_mem_new(&failing_allocator);

  ck_assert_ptr_nonnull(mem);
  return mem;
}

/* Have the n-th allocation from now on fail (1 = the next one); 0 = none any more. */
static inline void mem_fail(long n)
{
  atomic_store(&mem_fail_on, false);
  atomic_store(&mem_fail_at, n > 0 ? atomic_load(&mem_calls) + n : 0);
}

/* The same, and all after it. */
static inline void mem_fail_from(long n)
{
  mem_fail(n);
  atomic_store(&mem_fail_on, n > 0);
}

/* Has the allocation that was to fail been asked for? */
static inline bool mem_has_failed(void)
{
  long fail_at = atomic_load(&mem_fail_at);

  return fail_at > 0 && atomic_load(&mem_calls) >= fail_at;
}

/* Give the test's own count back; everything must be free then. */
static inline void failing_mem_done(struct kr_mem *mem)
{
  kr_mem_unref(mem);
  ck_assert_int_eq(atomic_load(&mem_live), 0);
}

#endif
