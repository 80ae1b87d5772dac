#ifndef KR_NAME_MAP_H
#define KR_NAME_MAP_H

#include "lib/bytes.h"
#include "lib/mem.h"

#include <stdatomic.h>

/* A map from names to pointers. Writers hold a lock of their owner's; any number of readers without
 * one, each inside a read section (rcu.h). Names are borrowed: they live as long as their value
 * does, and a value taken out must stay readable until the readers of that moment are gone. */
enum { KR_NAME_MAP_SHARDS = 256 };

struct kr_name_shard;

struct kr_name_map {
  struct kr_mem *mem;
  size_t size; /* memory that the shards take, not what waits for readers; writers */
  _Atomic(struct kr_name_shard *) shards[KR_NAME_MAP_SHARDS];
};

void kr_name_map_init(struct kr_name_map *map, struct kr_mem *mem);
/* No readers any more. Values are not freed. */
void kr_name_map_clear(struct kr_name_map *map);

unsigned kr_name_map_hash(struct keyroute_bytes name);

/* Reader, or writer. The hash is the name's. NULL = not there. */
void *kr_name_map_find(const struct kr_name_map *map, struct keyroute_bytes name, unsigned hash);

/* Writer. The name must not be there yet. Errors: NO_MEMORY, nothing has changed then. */
int kr_name_map_put(struct kr_name_map *map, struct keyroute_bytes name, unsigned hash,
                    void *value);

/* Writer. Take out a value that is there. Errors: NO_MEMORY, nothing has changed then. */
int kr_name_map_take(struct kr_name_map *map, const void *value, unsigned hash);

/* Reader, or writer: visit each value that is there now. `visit` may put and take. */
void kr_name_map_visit(const struct kr_name_map *map, void (*visit)(void *value, void *arg),
                       void *arg);

#endif
