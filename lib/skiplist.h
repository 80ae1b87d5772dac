#ifndef KR_SKIPLIST_H
#define KR_SKIPLIST_H

#include "lib/mem.h"

/* A sorted map from keys (unsigned bytes) to pointers. One writer; any number of readers, each
 * inside a read section (rcu.h). Keys are borrowed: they live as long as their value does, and a
 * value taken out must stay readable until the readers of that moment are gone. */
struct kr_skiplist;

struct kr_skiplist *kr_skiplist_new(struct kr_mem *mem); /* NULL = out of memory */
/* No readers any more. Values are not freed. NULL is accepted. */
void kr_skiplist_free(struct kr_skiplist *list);

/* Writer. Put a value under a key; *replaced gets the value that stood there, or NULL.
 * Errors: NO_MEMORY, nothing has changed then. */
int kr_skiplist_put(struct kr_skiplist *list, struct keyroute_bytes key, void *value,
                    void **replaced);
/* Writer. Take a key out; returns its value, NULL if there was none. Cannot fail. */
void *kr_skiplist_take(struct kr_skiplist *list, struct keyroute_bytes key);

/* Readers, and the writer. NULL = none. */
void *kr_skiplist_find(const struct kr_skiplist *list, struct keyroute_bytes key);
void *kr_skiplist_floor(const struct kr_skiplist *list, struct keyroute_bytes key);  /* <= key */
void *kr_skiplist_lower(const struct kr_skiplist *list, struct keyroute_bytes key);  /* <  key */
void *kr_skiplist_higher(const struct kr_skiplist *list, struct keyroute_bytes key); /* >  key */
void *kr_skiplist_first(const struct kr_skiplist *list);
void *kr_skiplist_last(const struct kr_skiplist *list);
size_t kr_skiplist_count(const struct kr_skiplist *list);

/* Writer. Memory that the list takes, the allocator's own included; not what waits for readers. */
size_t kr_skiplist_size(const struct kr_skiplist *list);
size_t kr_skiplist_empty_size(void); /* of one with nothing in it; any thread */

/* floor for many keys: values[i] is that of keys[i] or NULL. */
void kr_skiplist_floor_many(const struct kr_skiplist *list, void **values,
                            const struct keyroute_bytes *keys, size_t count);

#endif
