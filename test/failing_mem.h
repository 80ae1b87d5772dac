#ifndef FAILING_MEM_H
#define FAILING_MEM_H

/* An allocator for tests: it counts what is not yet freed and can be told to fail. One a process;
 * Check runs each test in its own. Any thread may allocate. */

#include "lib/mem.h"

struct kr_buf;

extern const struct keyroute_allocator failing_allocator;

struct kr_mem *failing_mem_new(void);

/* Give the test's own count back; everything must be free then. */
void failing_mem_done(struct kr_mem *mem);

/* Have the n-th allocation from now on fail (1 = the next one); 0 = none any more. */
void mem_fail(long n);

/* The same, and all after it. */
void mem_fail_from(long n);

/* Has the allocation that was to fail been asked for? */
bool mem_has_failed(void);

/* Have fn called in the middle of the n-th allocation from now; 0 = in none any more. */
void mem_call(long n, void (*fn)(void));

/* Allocations not yet freed. */
long mem_live(void);

/* Have each allocation of something fail in turn, until it is made. A failure must be NO_MEMORY and
 * leave nothing behind; what is made is one allocation. Returns how many failed. */
int mem_fail_each(struct kr_mem *mem, int (*make)(void **out));

/* The same of bytes that are written: the buffer must tell. */
int mem_fail_each_write(struct kr_mem *mem, void (*write)(struct kr_buf *out));

#endif
