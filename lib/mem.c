/*
 * The allocator of one connection.
 *
 * The application hands it over at open; everything the connection makes, and everything that may
 * outlive the connection (a location somebody holds, a node that still waits for its readers),
 * carries a pointer to this object instead of a copy of three functions.
 *
 *  1. The object is made with the application's own functions and freed with them, last.
 *  2. Whatever was allocated through it holds a count on it if it may outlive the connection.
 *  3. Any thread may allocate; the counts are atomic.
 */
#include "lib/mem.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct kr_mem {
  struct keyroute_allocator allocator;
  atomic_size_t refs;
};

static void *libc_allocate(void *user, size_t size)
{
  (void)user;
  return malloc(size);
}

static void *libc_reallocate(void *user, void *old, size_t size)
{
  (void)user;
  return realloc(old, size);
}

static void libc_release(void *user, void *old)
{
  (void)user;
  free(old);
}

static const struct keyroute_allocator libc_allocator = {NULL, libc_allocate, libc_reallocate,
                                                         libc_release};

struct kr_mem *kr_mem_new(const struct keyroute_allocator *allocator)
{
  const struct keyroute_allocator *use = allocator != NULL ? allocator : &libc_allocator;
  struct kr_mem *mem = use->allocate(use->user, sizeof(*mem));

  if (mem == NULL) {
    return NULL;
  }
  mem->allocator = *use;
  atomic_init(&mem->refs, 1);
  return mem;
}

struct kr_mem *kr_mem_ref(struct kr_mem *mem)
{
  /* Relaxed: whoever takes a count already holds one, so nothing can be freed meanwhile. */
  atomic_fetch_add_explicit(&mem->refs, 1, memory_order_relaxed);
  return mem;
}

void kr_mem_release(struct kr_mem *mem)
{
  /* Acquire-release: the thread that frees sees all that others did before they let go. */
  if (mem != NULL && atomic_fetch_sub_explicit(&mem->refs, 1, memory_order_acq_rel) == 1) {
    struct keyroute_allocator allocator = mem->allocator;

    allocator.release(allocator.user, mem);
  }
}

void *kr_alloc(struct kr_mem *mem, size_t size)
{
  return mem->allocator.allocate(mem->allocator.user, size > 0 ? size : 1);
}

void *kr_calloc(struct kr_mem *mem, size_t size)
{
  void *made = kr_alloc(mem, size);

  if (made != NULL) {
    memset(made, 0, size);
  }
  return made;
}

void *kr_realloc(struct kr_mem *mem, void *old, size_t size)
{
  if (old == NULL) {
    return kr_alloc(mem, size);
  }
  return mem->allocator.reallocate(mem->allocator.user, old, size > 0 ? size : 1);
}

void kr_free(struct kr_mem *mem, void *old)
{
  if (old != NULL) {
    mem->allocator.release(mem->allocator.user, old);
  }
}

size_t kr_mem_taken(size_t size)
{
  enum { HEADER = 8, UNIT = 16, LEAST = 32 };
  size_t taken = (size + HEADER + UNIT - 1) / UNIT * UNIT;

  return taken > LEAST ? taken : LEAST;
}

char *kr_copy(struct kr_mem *mem, struct keyroute_bytes bytes)
{
  char *copy = kr_alloc(mem, bytes.len + 1);

  if (copy != NULL) {
    if (bytes.len > 0) {
      memcpy(copy, bytes.data, bytes.len);
    }
    copy[bytes.len] = '\0';
  }
  return copy;
}
