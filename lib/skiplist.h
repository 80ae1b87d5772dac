#ifndef KR_SKIPLIST_H
#define KR_SKIPLIST_H

#include "lib/mem.h"

/* A sorted map from keys (unsigned bytes) to pointers. One writer; any number of readers, each
 * inside a read section (rcu.h). A value holds its own key, and a value taken out must stay
 * readable until the readers of that moment are gone. */
struct kr_skiplist;

/* key_of gives a value's key, which never changes. NULL = out of memory. */
struct kr_skiplist *kr_skiplist_new(struct kr_mem *mem,
                                    struct keyroute_bytes (*key_of)(const void *value));
/* The same with blocks of so few values, at least 4: a test meets all that happens to blocks. */
struct kr_skiplist *kr_skiplist_new_of(struct kr_mem *mem,
                                       struct keyroute_bytes (*key_of)(const void *value),
                                       size_t block_max);
/* No readers any more. Values are not freed. NULL is accepted. */
void kr_skiplist_free(struct kr_skiplist *list);
/* The same, and free_value takes each value. */
void kr_skiplist_free_with(struct kr_skiplist *list, void (*free_value)(void *value));

/* Writer. Put a value in; *replaced gets the value of the same key that stood there, or NULL.
 * Errors: NO_MEMORY, nothing has changed then; not if one is replaced. */
int kr_skiplist_put(struct kr_skiplist *list, void *value, void **replaced);
/* Writer. Take a key out; returns its value, NULL if there was none. Cannot fail. */
void *kr_skiplist_take(struct kr_skiplist *list, struct keyroute_bytes key);

/* Writer. Put sorted values in that fall into one gap: nothing that is there is between them, or at
 * one. A reader finds all or none. Errors: NO_MEMORY, nothing has changed then. */
int kr_skiplist_put_many(struct kr_skiplist *list, void *const *values, size_t count);

/* Writer. Take all out that is above one key and below another (NULL = there is no such end), in
 * order; `taken` gets each, and may read the list, not change it. Returns how many. Cannot fail. */
size_t kr_skiplist_take_between(struct kr_skiplist *list, const struct keyroute_bytes *low,
                                const struct keyroute_bytes *high,
                                void (*taken)(void *value, void *arg), void *arg);

/* Writer of both. Move all values of a list into an empty one of the same key_of, block size and
 * allocator. Cannot fail, and takes no longer for many than for one. No value is found in both. Who
 * was reading `list` before may be answered as `into` is; who begins later finds nothing. */
void kr_skiplist_detach(struct kr_skiplist *list, struct kr_skiplist *into);

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

/* floor for many keys: values[i] is that of keys[i] or NULL. Much quicker than one by one. */
void kr_skiplist_floor_many(const struct kr_skiplist *list, void **values,
                            const struct keyroute_bytes *keys, size_t count);

/* The values above a key (NULL = all), in order, as many as can be had at one look: at least one if
 * there is any, at most max. Returns how many. */
size_t kr_skiplist_above(const struct kr_skiplist *list, void **values,
                         const struct keyroute_bytes *key, size_t max);

/* The same behind a value (NULL = all), which need not be in the list. */
size_t kr_skiplist_behind(const struct kr_skiplist *list, void **values, const void *value,
                          size_t max);
/* And below a key, the highest first. */
size_t kr_skiplist_below(const struct kr_skiplist *list, void **values, struct keyroute_bytes key,
                         size_t max);

#endif
