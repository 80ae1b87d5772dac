/*
 * What a flight found, and what becomes of it in the cache.
 *
 *  1. Nothing is stored that a hit should not give out, for a hit looks at neither clock nor marks:
 *     no region on no server, and none on a server that is not to be asked now.
 *  2. Nothing is stored that was read before somebody said that it is wrong: by a report
 *     (report.c), or by having the cache forget things (its epoch).
 *  3. The region that holds the row is stored first, so that none of those met beside it stands in
 *     its way.
 */
#include "lib/findings.h"

#include "lib/bytes.h"
#include "lib/clock.h"

/* Invariant 1. Of a server that never failed the clock is not asked. */
bool kr_findings_usable(const struct keyroute_location *location)
{
  const struct kr_server *primary = kr_location_server(location, 0);

  return kr_location_placed(location) && (primary == NULL || primary->failed_until_us == 0 ||
                                          primary->failed_until_us <= kr_clock_us());
}

/* Store a region that is usable, unless another epoch has begun (invariant 2). *kept is what to
 * answer with, counted; NULL = it is not to be kept. False = out of memory. */
static bool keep(struct kr_flight *flight, struct keyroute_location *location,
                 struct keyroute_location **kept)
{
  struct kr_cache *cache = flight->means->cache;
  int error = 0;

  *kept = NULL;
  if (kr_findings_usable(location) && kr_cache_begin_store(cache, flight->epoch)) {
    error = kr_cache_store(cache, flight->table, location, flight->sent, kept);
    kr_cache_end_store(cache);
  }
  return error == 0;
}

bool kr_findings_doubtful(const struct kr_flight *flight, const struct keyroute_location *location)
{
  const struct kr_reports *reports = flight->means->reports;

  return reports != NULL && kr_reports_doubt(reports, location, flight->sent);
}

void kr_findings_store_others(struct kr_flight *flight, const struct keyroute_location *wanted)
{
  for (size_t i = 0; i < flight->row_count; i++) {
    const struct kr_catalog_row *row = &flight->rows[i];
    struct keyroute_location *kept;

    if (kr_check_live(row) && row->location != wanted &&
        !kr_findings_doubtful(flight, row->location) && keep(flight, row->location, &kept)) {
      keyroute_location_release(kept);
    }
  }
}

void kr_findings_forget_row(struct kr_flight *flight)
{
  kr_cache_remove_row(flight->means->cache, flight->table, kr_bytes(flight->row, flight->row_len),
                      flight->position);
}

/* A newer region that was read meanwhile kept the one found here out of the cache. If it holds the
 * row it is the answer; else this read is too old to be one. */
static void give_way(struct kr_flight *flight)
{
  struct keyroute_location *found = flight->location;
  struct keyroute_location *newer;
  char name[KR_FLIGHT_KEY_TEXT + 64];

  kr_rcu_read_begin();
  newer = kr_table_find(flight->table, kr_bytes(flight->row, flight->row_len), flight->position);
  flight->location = newer != NULL ? keyroute_location_ref(newer) : NULL;
  kr_rcu_read_end();
  if (newer == NULL) {
    kr_fail(&flight->failure, KEYROUTE_E_OVERLAP,
            "region %s was read while a newer one that overlaps it was found",
            kr_location_print(name, sizeof(name), found));
  }
  keyroute_location_release(found);
}

bool kr_findings_store(struct kr_flight *flight, struct keyroute_location *location)
{
  if (!keep(flight, location, &flight->location)) {
    return false;
  }
  if (flight->location == NULL) {
    /* Whoever asked is told what it lacks. */
    kr_findings_forget_row(flight);
    flight->location = keyroute_location_ref(location);
  } else if (kr_location_stored(flight->location) == 0) {
    give_way(flight);
  }
  kr_findings_store_others(flight, location);
  return true;
}
