#ifndef KR_LABEL_H
#define KR_LABEL_H

#include "lib/mem.h"

/* What all locations of a table share: the table's name, and the allocator that they come from.
 * Immutable and counted; any thread. */
struct kr_label;

/* NULL = out of memory. One count is the caller's. */
struct kr_label *kr_label_new(struct kr_mem *mem, struct keyroute_bytes table);
struct kr_label *kr_label_ref(struct kr_label *label);
void kr_label_release(struct kr_label *label); /* NULL is accepted */

struct keyroute_bytes kr_label_table(const struct kr_label *label);
struct kr_mem *kr_label_mem(const struct kr_label *label);

/* Memory that a label takes, the allocator's own included. */
size_t kr_label_size(const struct kr_label *label);

#endif
