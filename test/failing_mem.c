/*
 * The allocator of tests: malloc, with a count of what is held and a number that says which call
 * fails. Atomic throughout, for tests with threads use it too.
 */
#include "test/failing_mem.h"

#include "lib/buf.h"

#include <check.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_long calls, live;
static atomic_long fail_at; /* 0 = none */
static atomic_bool fail_on; /* and all after it */

static atomic_long call_at; /* 0 = never */
static void (*to_call)(void);

static bool refuses(void)
{
  long call = atomic_fetch_add(&calls, 1) + 1;
  long at = atomic_load(&fail_at);

  if (call == atomic_load(&call_at)) {
    to_call();
  }
  return at > 0 && (call == at || (call > at && atomic_load(&fail_on)));
}

static void *allocate(void *user, size_t size)
{
  (void)user;
  if (refuses()) {
    return NULL;
  }
  atomic_fetch_add(&live, 1);
  return malloc(size);
}

static void *reallocate(void *user, void *old, size_t size)
{
  (void)user;
  return refuses() ? NULL : realloc(old, size);
}

static void release(void *user, void *old)
{
  (void)user;
  atomic_fetch_sub(&live, 1);
  free(old);
}

const struct keyroute_allocator failing_allocator = {NULL, allocate, reallocate, release};

struct kr_mem *failing_mem_new(void)
{
  struct kr_mem *mem = kr_mem_new(&failing_allocator);

  ck_assert_ptr_nonnull(mem);
  return mem;
}

void failing_mem_done(struct kr_mem *mem)
{
  kr_mem_release(mem);
  ck_assert_int_eq(mem_live(), 0);
}

void mem_fail(long n)
{
  atomic_store(&fail_on, false);
  atomic_store(&fail_at, n > 0 ? atomic_load(&calls) + n : 0);
}

void mem_fail_from(long n)
{
  mem_fail(n);
  atomic_store(&fail_on, n > 0);
}

void mem_call(long n, void (*fn)(void))
{
  to_call = fn;
  atomic_store(&call_at, n > 0 ? atomic_load(&calls) + n : 0);
}

bool mem_has_failed(void)
{
  long at = atomic_load(&fail_at);

  return at > 0 && atomic_load(&calls) >= at;
}

long mem_live(void)
{
  return atomic_load(&live);
}

int mem_fail_each(struct kr_mem *mem, int (*make)(void **out))
{
  void *made = NULL;
  long before = mem_live();
  int error = KEYROUTE_E_NO_MEMORY;
  int failures = -1;

  for (long n = 1; error != 0; n++) {
    mem_fail(n);
    error = make(&made);
    failures++;
    ck_assert(error == 0 || error == KEYROUTE_E_NO_MEMORY);
    ck_assert_int_eq(mem_live(), error != 0 ? before : before + 1);
  }
  mem_fail(0);
  kr_free(mem, made);
  return failures;
}

int mem_fail_each_write(struct kr_mem *mem, void (*write)(struct kr_buf *out))
{
  bool failed = true;
  int failures = -1;

  for (long n = 1; failed; n++) {
    struct kr_buf out;

    kr_buf_init(&out, mem);
    mem_fail(n);
    write(&out);
    failed = mem_has_failed();
    failures++;
    ck_assert(out.failed == failed);
    kr_buf_clear(&out);
  }
  mem_fail(0);
  return failures;
}
