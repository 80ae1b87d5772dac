/*
 * A list of ranges as applications get it: what there is to ask about it.
 *
 * Threads: any, once it has been given out.
 */
#include "lib/ranges.h"

#include "lib/bytes.h"

#include <string.h>

struct keyroute_ranges *kr_ranges_new(struct kr_mem *mem, enum kr_level level)
{
  struct keyroute_ranges *ranges = kr_calloc(mem, sizeof(*ranges));

  if (ranges != NULL) {
    ranges->mem = kr_mem_ref(mem);
    ranges->list.mem = mem;
    ranges->level = level;
    ranges->new_from = SIZE_MAX;
  }
  return ranges;
}

bool kr_ranges_set_next(struct keyroute_ranges *ranges, struct keyroute_bytes next)
{
  ranges->next = (uint8_t *)kr_copy(ranges->mem, next);
  ranges->next_len = next.len;
  return ranges->next != NULL;
}

void keyroute_ranges_free(struct keyroute_ranges *ranges)
{
  if (ranges != NULL) {
    struct kr_mem *mem = ranges->mem;

    kr_range_list_clear(&ranges->list);
    kr_free(mem, ranges->next);
    kr_free(mem, ranges);
    kr_mem_release(mem);
  }
}

size_t keyroute_ranges_count(const struct keyroute_ranges *ranges)
{
  return ranges != NULL ? ranges->list.count : 0;
}

int keyroute_ranges_get(const struct keyroute_ranges *ranges, size_t index,
                        struct keyroute_range *range)
{
  if (range == NULL || range->size == 0 || index >= keyroute_ranges_count(ranges)) {
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  const struct kr_descriptor *found = ranges->list.ranges[index];
  struct keyroute_range whole = {
      .size = range->size,
      .table = kr_level_name(ranges->each_level ? (enum kr_level)index : ranges->level),
      .id = found->id,
      .generation = found->generation,
      .start = found->start_key,
      .end = found->end_key,
      .node_count = found->replica_count,
      .is_new = index >= ranges->new_from,
  };

  memcpy(range, &whole, range->size < sizeof(whole) ? range->size : sizeof(whole));
  return 0;
}

int keyroute_ranges_node(const struct keyroute_ranges *ranges, size_t index, size_t number,
                         struct keyroute_range_node *node)
{
  if (node == NULL || index >= keyroute_ranges_count(ranges) ||
      number >= ranges->list.ranges[index]->replica_count) {
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  const struct kr_descriptor_replica *found = &ranges->list.ranges[index]->replicas[number];

  *node = (struct keyroute_range_node){found->node_id, found->host.data, found->port};
  return 0;
}

bool keyroute_ranges_next(const struct keyroute_ranges *ranges, struct keyroute_bytes *start)
{
  if (ranges == NULL || ranges->next == NULL || start == NULL) {
    return false;
  }
  *start = kr_bytes(ranges->next, ranges->next_len);
  return true;
}
