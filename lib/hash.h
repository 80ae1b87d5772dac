#ifndef KR_HASH_H
#define KR_HASH_H

/* uthash, with its memory from the connection's allocator. Where a table is changed, the enclosing
 * function has in scope `struct kr_mem *mem` and, for additions, `bool hash_failed = false`, which
 * becomes true when the element could not be added. */
#include "lib/mem.h"

#define HASH_NONFATAL_OOM 1
#define uthash_malloc(size) kr_alloc(mem, (size))
#define uthash_free(pointer, size) kr_free(mem, (pointer))
#define uthash_nonfatal_oom(element) (hash_failed = true)

/* Its macros convert between int and unsigned as they please. */
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include <uthash.h>

#endif
