/*
 * Judging catalog rows: which region holds the row, or what is wrong.
 *
 * A reversed scan gives the rows at or below the search key, nearest first. On a healthy catalog
 * the first one is the answer. The rest of this file is about the others. The order of the checks
 * is the one in which each next one makes sense:
 *
 *  1. No row: the table has no region at or below the row (the caller asks forward whether it has
 *     any at all).
 *  2. A row that cannot be believed, met before any live one, hides the answer: CORRUPT. Further
 *     down it matters to nobody.
 *  3. Split parents and offline regions are passed over; if one of them covers the row and no live
 *     region does: OFFLINE. (That the whole table is disabled takes another read to tell.)
 *  4. The nearest live region that covers the row is the answer, unless the next live one below it
 *     covers the row too: then the larger region id is the newer and answers; equal ids: OVERLAP.
 *     Only the rows at hand are looked at. If the answer is the last of them (two split parents
 *     above it in a scan of three), an overlap below it goes unseen: to look would cost every
 *     lookup beside a fresh split a second request, in order to find what only a broken catalog
 *     holds, and the answer without is the one that HBase's own client gives.
 *  5. No live region at all among the rows: the caller looks below once more. So it does where
 *     fewer rows are at hand than a scan asks for at least: of a daughter that is in the catalog
 *     before the other the parent may stand below, and not have been sent yet.
 *  6. Else there is a hole above the live region nearest to the row.
 *
 * Pure functions. The catalog's layout is not known here: rows come parsed. Source: HBase
 * ConnectionImplementation.locateRegionInMeta, CatalogReplicaLoadBalanceSelector aside
 */
#include "lib/check.h"

#include "lib/bytes.h"

#include <stdio.h>

/* Rows of a scan that nobody cut short. */
enum { ENOUGH = 3 };

/* Room for a printed key in a message that names up to three of them. */
enum { KEY_TEXT = 160 };

bool kr_check_live(const struct kr_catalog_row *row)
{
  return row->location != NULL && !row->offline && !row->split;
}

static bool covers(const struct kr_catalog_row *row, const struct kr_question *question)
{
  return kr_location_covers(row->location, question->row, question->position);
}

/* The next live row at or behind index that covers, or at all; count if there is none. */
static size_t find_live(const struct kr_catalog_row *rows, size_t index, size_t count,
                        const struct kr_question *question)
{
  for (; index < count; index++) {
    if (kr_check_live(&rows[index]) && (question == NULL || covers(&rows[index], question))) {
      return index;
    }
  }
  return count;
}

static void fail_overlap(struct kr_failure *failure, const struct kr_question *question,
                         const struct keyroute_location *a, const struct keyroute_location *b)
{
  char row[KEY_TEXT], first[KEY_TEXT + 64], second[KEY_TEXT + 64];

  kr_fail(failure, KEYROUTE_E_OVERLAP, "regions %s and %s both cover row %s and have one id",
          kr_location_print(first, sizeof(first), a), kr_location_print(second, sizeof(second), b),
          kr_bytes_print(row, sizeof(row), question->row));
}

static void fail_offline(struct kr_failure *failure, const struct kr_question *question,
                         const struct kr_catalog_row *found)
{
  char row[KEY_TEXT], name[KEY_TEXT + 64];

  kr_fail(failure, KEYROUTE_E_OFFLINE, "region %s, which covers row %s, is %s",
          kr_location_print(name, sizeof(name), found->location),
          kr_bytes_print(row, sizeof(row), question->row),
          found->split ? "split, and its daughters are not in the catalog" : "offline");
}

/* Step 4: the covering region at `index` against the next live one below. */
static void judge_covering(struct kr_checked *out, const struct kr_question *question,
                           const struct kr_catalog_row *rows, size_t index, size_t count)
{
  size_t below = find_live(rows, index + 1, count, NULL);
  struct keyroute_location *found = rows[index].location;

  if (below < count && covers(&rows[below], question)) {
    struct keyroute_location *other = rows[below].location;

    if (other->region_id == found->region_id) {
      fail_overlap(&out->failure, question, found, other);
      return;
    }
    found = other->region_id > found->region_id ? other : found;
  }
  out->verdict = KR_VERDICT_FOUND;
  out->location = found;
}

/* Steps 3, 5 and 6, when no live region covers the row. */
static void judge_uncovered(struct kr_checked *out, const struct kr_question *question,
                            const struct kr_catalog_row *rows, size_t count, bool complete)
{
  size_t live = find_live(rows, 0, count, NULL);

  if (live == count && !complete) {
    out->verdict = KR_VERDICT_BELOW;
    return;
  }
  for (size_t i = 0; i < count; i++) {
    if (rows[i].location != NULL && covers(&rows[i], question)) {
      fail_offline(&out->failure, question, &rows[i]);
      return;
    }
  }
  out->verdict = !complete && count < ENOUGH ? KR_VERDICT_BELOW : KR_VERDICT_BEHIND;
  if (live < count) {
    out->hole_start = keyroute_location_end_key(rows[live].location);
  }
}

/* Raise the reach to a key, unless it is above the row. */
static void raise_reach(struct kr_checked *out, const struct kr_question *question,
                        struct keyroute_bytes key)
{
  if (kr_bytes_compare(key, question->row) <= 0 && kr_bytes_compare(key, out->reach) > 0) {
    out->reach = key;
  }
}

/* Down to which row the rows at hand say the same: to where the next of them begins that covers the
 * row, or ends that does not. One that cannot be believed and hides what is below it is taken to
 * cover it. */
static void find_reach(struct kr_checked *out, const struct kr_question *question,
                       const struct kr_catalog_row *rows, size_t count)
{
  bool live = false;

  for (size_t i = 0; i < count; i++) {
    const struct kr_catalog_row *row = &rows[i];

    if (row->location == NULL && !live) {
      raise_reach(out, question, row->start_key.data != NULL ? row->start_key : question->row);
      return;
    }
    if (row->location != NULL) {
      raise_reach(out, question,
                  covers(row, question) ? keyroute_location_start_key(row->location)
                                        : keyroute_location_end_key(row->location));
      live = live || kr_check_live(row);
    }
  }
}

void kr_check_rows(struct kr_checked *out, const struct kr_question *question,
                   const struct kr_catalog_row *rows, size_t count, bool complete)
{
  *out = (struct kr_checked){.verdict = KR_VERDICT_FAILED};
  find_reach(out, question, rows, count);
  if (count == 0) {
    out->verdict = KR_VERDICT_EMPTY;
    return;
  }
  for (size_t i = 0; i < count && !kr_check_live(&rows[i]); i++) {
    if (rows[i].location == NULL) {
      out->failure = rows[i].failure;
      return;
    }
  }
  size_t covering = find_live(rows, 0, count, question);

  if (covering < count) {
    judge_covering(out, question, rows, covering, count);
  } else {
    judge_uncovered(out, question, rows, count, complete);
  }
}

/* A bound of a hole; empty ones are spelled out. */
static const char *print_bound(char *out, size_t size, struct keyroute_bytes key,
                               const char *unbounded)
{
  return key.len > 0 ? kr_bytes_print(out, size, key) : unbounded;
}

void kr_check_hole(struct kr_failure *failure, const struct kr_question *question,
                   struct keyroute_bytes start, const struct keyroute_location *next, bool known)
{
  char row[KEY_TEXT], table[KEY_TEXT], from[KEY_TEXT], to[KEY_TEXT];
  struct keyroute_bytes end = next != NULL ? keyroute_location_start_key(next) : kr_bytes(NULL, 0);

  kr_fail(failure, KEYROUTE_E_HOLE, "no region of table %s covers row %s: hole from %s to %s",
          kr_bytes_print(table, sizeof(table), question->table),
          kr_bytes_print(row, sizeof(row), question->row),
          print_bound(from, sizeof(from), start, "the table's first row"),
          print_bound(to, sizeof(to), end, known ? "the table's end" : "where was not looked"));
}

void kr_check_no_table(struct kr_failure *failure, const struct kr_question *question)
{
  char table[KEY_TEXT];

  kr_fail(failure, KEYROUTE_E_TABLE_NOT_FOUND, "table %s is not in the catalog",
          kr_bytes_print(table, sizeof(table), question->table));
}

void kr_check_table_state(struct kr_failure *failure, const struct kr_question *question,
                          const char *state)
{
  char table[KEY_TEXT];

  kr_fail(failure, KEYROUTE_E_OFFLINE, "table %s is %s",
          kr_bytes_print(table, sizeof(table), question->table), state);
}

/* "table t: nothing does it for row r", in so many words. */
static void fail_unread(struct kr_failure *failure, int code, const char *what,
                        const struct kr_question *question)
{
  char table[KEY_TEXT], row[KEY_TEXT];

  kr_fail(failure, code, "table %s: %s row %s",
          kr_bytes_print(table, sizeof(table), question->table), what,
          kr_bytes_print(row, sizeof(row), question->row));
}

void kr_check_not_cached(struct kr_failure *failure, const struct kr_question *question)
{
  fail_unread(failure, KEYROUTE_E_NOT_CACHED, "no cached region holds", question);
}

void kr_check_no_answer(struct kr_failure *failure, const struct kr_question *question)
{
  fail_unread(failure, KEYROUTE_E_TIMEOUT, "nothing answered for", question);
}

static bool can_be_asked(const struct kr_server *server, int64_t now_us)
{
  return server != NULL && !kr_server_dropped(server) && server->failed_until_us <= now_us;
}

/* The replica asked about, or for "any" the first that can be asked. */
static struct kr_server *pick_server(const struct keyroute_location *location, int replica,
                                     int64_t now_us)
{
  struct kr_server *any = NULL;

  if (replica != KEYROUTE_REPLICA_ANY) {
    return kr_location_server(location, replica);
  }
  for (int i = 0; i < location->replica_count; i++) {
    struct kr_server *server = location->replicas[i].server;

    if (can_be_asked(server, now_us)) {
      return server;
    }
    any = any != NULL ? any : server;
  }
  return any;
}

bool kr_check_replica(struct kr_failure *failure, const struct keyroute_location *location,
                      int replica, int64_t now_us)
{
  char name[KEY_TEXT + 64], address[300];
  struct kr_server *server = pick_server(location, replica, now_us);

  if (can_be_asked(server, now_us)) {
    return true;
  }
  kr_location_print(name, sizeof(name), location);
  if (server != NULL) {
    kr_server_print(address, sizeof(address), server->host, server->port);
    kr_fail(
        failure, KEYROUTE_E_DEAD_SERVER,
        "region %s is on %s, start code %lld, which could not be connected to or was reported dead",
        name, address, (long long)server->start_code);
    kr_server_print(failure->server, sizeof(failure->server), server->host, server->port);
  } else if (replica > 0) {
    kr_fail(failure, KEYROUTE_E_NO_SERVER, "replica %d of region %s is on no server", replica,
            name);
  } else {
    kr_fail(failure, KEYROUTE_E_NO_SERVER, "region %s is on no server", name);
  }
  return false;
}
