/*
 * What has to be known of the whole directory before something in it is changed?
 *
 * Which range holds a key, and which are beside it; whether an id is free; where a node is that is
 * named by its number alone. All ranges are looked at once, in the order of levels and keys. That
 * is a read of some ms for each thousand of them, and the one price of ids that nobody hands out.
 *
 * Threads: the one that publishes.
 */
#include "lib/publish_census.h"

#include "lib/bytes.h"
#include "lib/range_list.h"

#include <inttypes.h>

/* ---- Nodes ----------------------------------------------------------------------------------- */

/* Copy the request's nodes, whose hosts may have to be found. */
static bool copy_nodes(struct kr_census *census)
{
  const struct kr_nodes *given = census->request->nodes;
  size_t count = given[0].count + given[1].count, at = 0;

  census->places = kr_calloc(census->mem, count * sizeof(*census->places));
  census->hosts = kr_calloc(census->mem, count * sizeof(*census->hosts));
  if (census->places == NULL || census->hosts == NULL) {
    return false;
  }
  census->place_count = count;
  for (size_t i = 0; i < 2; i++) {
    census->nodes[i] = (struct kr_nodes){census->places + at, given[i].count};
    for (size_t j = 0; j < given[i].count; j++) {
      census->places[at++] = given[i].list[j];
    }
  }
  return true;
}

static bool find_places(struct kr_census *census, const struct kr_descriptor *range)
{
  for (size_t i = 0; i < census->place_count; i++) {
    struct kr_descriptor_replica *place = &census->places[i];

    for (size_t j = 0; j < range->replica_count && place->host.len == 0; j++) {
      const struct kr_descriptor_replica *known = &range->replicas[j];

      if (known->node_id == place->node_id) {
        census->hosts[i] = kr_copy(census->mem, known->host);
        if (census->hosts[i] == NULL) {
          return false;
        }
        place->host = kr_bytes(census->hosts[i], known->host.len);
        place->port = known->port;
      }
    }
  }
  return true;
}

static int check_places(const struct kr_census *census, struct kr_failure *failure)
{
  for (size_t i = 0; i < census->place_count; i++) {
    if (census->places[i].host.len == 0) {
      return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT,
                     "no range is on a node %" PRIu64 ": name it with its host and port",
                     census->places[i].node_id);
    }
  }
  return 0;
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

static bool replace(struct kr_census *census, struct kr_descriptor **kept,
                    const struct kr_descriptor *range)
{
  kr_free(census->mem, *kept);
  *kept = kr_range_copy(census->mem, range);
  return *kept != NULL;
}

/* Where is it, seen from the key? They come by start key. */
static bool place_range(struct kr_census *census, const struct kr_descriptor *range)
{
  struct keyroute_bytes key = census->request->key;

  if (kr_bytes_compare(range->start_key, key) > 0) {
    return census->next != NULL || replace(census, &census->next, range);
  }
  if (range->end_key.len > 0 && kr_bytes_compare(range->end_key, key) <= 0) {
    return replace(census, &census->before, range);
  }
  census->overlaps = census->overlaps || census->holder != NULL;
  return (census->holder != NULL && census->holder->generation > range->generation) ||
         replace(census, &census->holder, range);
}

static bool count_range(struct kr_census *census, enum kr_level level,
                        const struct kr_descriptor *range)
{
  for (size_t i = 0; i < 2; i++) {
    if (range->id == census->request->ids[i]) {
      census->used_id = range->id;
      census->used_by = level;
    }
  }
  if (range->id > census->top_id) {
    census->top_id = range->id;
  }
  return find_places(census, range) &&
         (level != census->request->level || place_range(census, range));
}

static int visit_map(void *arg, const struct kr_descriptor *range, struct kr_failure *failure)
{
  return count_range(arg, KR_MAP, range) ? KR_VISIT_ON
                                         : kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
}

int kr_census_take(struct kr_census *out, struct kr_directory *directory,
                   const struct kr_publish_request *request, struct kr_failure *failure)
{
  *out = (struct kr_census){
      .request = request, .mem = directory->means->mem, .top_id = KR_RANGE_ID_MAX};
  bool good = copy_nodes(out) && count_range(out, KR_META1, directory->root);

  for (size_t i = 0; i < directory->meta2_count && good; i++) {
    good = count_range(out, KR_META2, directory->meta2[i]);
  }
  if (!good) {
    return kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  }
  int error = kr_directory_walk(directory, kr_bytes(NULL, 0), visit_map, out, failure);

  return error != 0 ? error : check_places(out, failure);
}

void kr_census_clear(struct kr_census *census)
{
  for (size_t i = 0; i < census->place_count; i++) {
    kr_free(census->mem, census->hosts[i]);
  }
  kr_free(census->mem, census->hosts);
  kr_free(census->mem, census->places);
  kr_free(census->mem, census->before);
  kr_free(census->mem, census->holder);
  kr_free(census->mem, census->next);
}
