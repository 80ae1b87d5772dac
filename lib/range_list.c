/*
 * Descriptors that outlive what they were read from. Their hosts are texts, with a NUL behind.
 *
 * Threads: one at a time for each list.
 */
#include "lib/range_list.h"

#include "lib/bytes.h"

static size_t text_len(const struct kr_descriptor *range)
{
  size_t len = range->start_key.len + range->end_key.len;

  for (size_t i = 0; i < range->replica_count; i++) {
    len += range->replicas[i].host.len + 1;
  }
  return len;
}

struct kr_descriptor *kr_range_copy(struct kr_mem *mem, const struct kr_descriptor *range)
{
  size_t count = range->replica_count;
  struct kr_descriptor_replica *replicas;
  struct kr_descriptor *copy =
      kr_alloc(mem, sizeof(*copy) + count * sizeof(*replicas) + text_len(range));

  if (copy == NULL) {
    return NULL;
  }
  replicas = (struct kr_descriptor_replica *)(copy + 1);
  uint8_t *to = (uint8_t *)(replicas + count);

  *copy = *range;
  copy->start_key = kr_bytes_put(&to, range->start_key);
  copy->end_key = kr_bytes_put(&to, range->end_key);
  copy->replicas = replicas;
  for (size_t i = 0; i < count; i++) {
    replicas[i] = range->replicas[i];
    replicas[i].host = kr_bytes_put(&to, range->replicas[i].host);
    *to++ = '\0';
  }
  return copy;
}

static bool add_one(struct kr_range_list *list, const struct kr_descriptor *range)
{
  if (list->count == list->room) {
    size_t room = list->room > 0 ? 2 * list->room : 8;
    struct kr_descriptor **ranges = kr_realloc(list->mem, list->ranges, room * sizeof(*ranges));

    if (ranges == NULL) {
      return false;
    }
    list->ranges = ranges;
    list->room = room;
  }
  list->ranges[list->count] = kr_range_copy(list->mem, range);
  if (list->ranges[list->count] == NULL) {
    return false;
  }
  list->count++;
  return true;
}

bool kr_range_list_add(struct kr_range_list *list, const struct kr_descriptor *ranges, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    if (!add_one(list, &ranges[i])) {
      return false;
    }
  }
  return true;
}

void kr_range_list_clear(struct kr_range_list *list)
{
  for (size_t i = 0; i < list->count; i++) {
    kr_free(list->mem, list->ranges[i]);
  }
  kr_free(list->mem, list->ranges);
  *list = (struct kr_range_list){.mem = list->mem};
}
