/*
 * Labels: what all locations of a table have in common, kept once.
 *
 * A table has thousands of locations, each of which may outlive the cache, the table and the
 * connection. Eight bytes in each lead to the table's name, and to the allocator that frees it.
 *
 *  1. A label is immutable: the name's bytes stay where they are as long as anybody counts it.
 *  2. It holds a count on its allocator, so whoever counts the label needs none of its own.
 *  3. Counts are atomic: a location is released on any thread.
 *
 * A location that has just been read has a label of its own; the cache gives it the table's
 * (kr_location_relabel) before anybody else can see it.
 */
#include "lib/label.h"

#include "lib/bytes.h"

#include <stdatomic.h>
#include <string.h>

struct kr_label {
  struct kr_mem *mem;
  atomic_size_t refs;
  size_t table_len;
  char table[];
};

struct kr_label *kr_label_new(struct kr_mem *mem, struct keyroute_bytes table)
{
  struct kr_label *label = kr_alloc(mem, sizeof(*label) + table.len);

  if (label == NULL) {
    return NULL;
  }
  label->mem = kr_mem_ref(mem);
  atomic_init(&label->refs, 1);
  label->table_len = table.len;
  if (table.len > 0) {
    memcpy(label->table, table.data, table.len);
  }
  return label;
}

struct kr_label *kr_label_ref(struct kr_label *label)
{
  /* Relaxed: whoever takes a count holds one, so it cannot be freed meanwhile. */
  atomic_fetch_add_explicit(&label->refs, 1, memory_order_relaxed);
  return label;
}

void kr_label_release(struct kr_label *label)
{
  /* Acquire-release: whoever frees sees that all others are done reading. */
  if (label != NULL && atomic_fetch_sub_explicit(&label->refs, 1, memory_order_acq_rel) == 1) {
    struct kr_mem *mem = label->mem;

    kr_free(mem, label);
    kr_mem_release(mem);
  }
}

struct keyroute_bytes kr_label_table(const struct kr_label *label)
{
  return kr_bytes(label->table, label->table_len);
}

struct kr_mem *kr_label_mem(const struct kr_label *label)
{
  return label->mem;
}

size_t kr_label_size(const struct kr_label *label)
{
  return kr_mem_taken(sizeof(*label) + label->table_len);
}
