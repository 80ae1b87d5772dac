#ifndef KR_MEM_H
#define KR_MEM_H

#include "keyroute/keyroute.h"

/* The allocator of one connection, counted: everything made with it holds a count. */
struct kr_mem;

/* Make one from the application's allocator, or the C library's for NULL. NULL = out of memory. */
struct kr_mem *kr_mem_new(const struct keyroute_allocator *allocator);
struct kr_mem *kr_mem_ref(struct kr_mem *mem);
void kr_mem_release(struct kr_mem *mem);

/* All return NULL when memory is short. Size 0 is taken as 1. */
void *kr_alloc(struct kr_mem *mem, size_t size);
void *kr_calloc(struct kr_mem *mem, size_t size);
void *kr_realloc(struct kr_mem *mem, void *old, size_t size);
void kr_free(struct kr_mem *mem, void *old); /* NULL is accepted */

/* What an allocation of so many bytes takes of the machine's memory: that of glibc, which puts a
 * header before it and rounds up. Other allocators are near it. */
size_t kr_mem_taken(size_t size);

/* A copy with a NUL behind it, so that text stays text. */
char *kr_copy(struct kr_mem *mem, struct keyroute_bytes bytes);

#endif
