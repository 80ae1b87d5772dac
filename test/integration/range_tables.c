/*
 * The tables of ranges, by commands to the nodes: "r<id>" each.
 */
#include "test/integration/range_tables.h"

#include "test/integration/real_nodes.h"

#include <inttypes.h>

void range_create(const struct range *range, const char *family)
{
  range_command("create %d r%" PRIu64 " %s", range->node, range->id, family);
}

void range_drop(const struct range *range)
{
  range_command("drop %d r%" PRIu64, range->node, range->id);
}

void range_copy(const struct range *from, const struct range_key *start,
                const struct range_key *end, const struct range *to)
{
  char first[RANGE_TEXT_MAX], last[RANGE_TEXT_MAX];

  range_command("copy %d r%" PRIu64 " %s %s %d r%" PRIu64, from->node, from->id,
                range_text(first, range_bytes(start)), range_text(last, range_bytes(end)), to->node,
                to->id);
}
