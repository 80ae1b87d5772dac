/*
 * What becomes of a report, on the loop: the handle that it is about was retired by whoever
 * reported (feedback.c); here the cache's entry goes, or is replaced.
 *
 * An *answer* is what the catalog said of a replica: region, server, start code, sequence number.
 * The same answer may come in many handles.
 *
 *  1. The entry goes only while it is the reported answer, whichever handle holds it. What is newer
 *     stays, however old the handle that is reported.
 *  2. An answer that is repeated is believed, and given out in a new handle; but how often it may
 *     be read again because of reports is limited (limiter.c). Where it may not, a copy takes the
 *     entry's place: the application gets what there is to have, and the catalog has its peace.
 *  3. A read that was sent before the report says nothing against it. So the time of the report is
 *     noted by its answer, or its server, and flights ask (kr_reports_doubt).
 *  4. A named place (a hint) replaces the entry if it comes from the entry's own server, or has
 *     a higher sequence number than the entry; or if nothing is cached there. In a range directory
 *     a number that is not higher is an older place, which may hold old rows, whoever names it.
 *     Places that were named, not read, count hops; after HOPS_MAX of them the catalog is asked.
 *  5. Dropping a server is one step, limited like a read: each drop costs as many reads as there
 *     are regions on it. Where it may not, only the region of the report is looked at.
 *  6. What was dropped from outside, before the report (the reason why it is retired tells) or
 *     meanwhile (the cache's epoch), is not brought back.
 *
 * Without memory to remember a report (a note, a copy), the entry merely goes: the next lookup
 * reads the catalog. A location of another connection has servers of that one, which are neither
 * dropped nor marked here.
 *
 * Source: HBase AsyncRegionLocatorHelper, MetaCache; the limits are keyroute's own.
 */
#include "lib/report.h"

#include "lib/buf.h"
#include "lib/bytes.h"
#include "lib/clock.h"
#include "lib/limiter.h"

/* Places taken from hints, one after another, before the catalog is asked. */
enum { HOPS_MAX = 5 }; /* a location has four bits for them */

/* What is remembered of reports: some ten thousand answers with short keys. */
enum { MEMORY_BYTES = 4 << 20 };

struct kr_reports {
  struct kr_reports_means means;
  struct kr_limiter *limiter;
};

struct kr_reports *kr_reports_new(const struct kr_reports_means *means)
{
  struct kr_reports *reports = kr_calloc(means->mem, sizeof(*reports));

  if (reports == NULL) {
    return NULL;
  }
  reports->means = *means;
  reports->limiter = kr_limiter_new(means->mem, MEMORY_BYTES);
  if (reports->limiter == NULL) {
    kr_free(means->mem, reports);
    return NULL;
  }
  return reports;
}

void kr_reports_free(struct kr_reports *reports)
{
  if (reports != NULL) {
    kr_limiter_free(reports->limiter);
    kr_free(reports->means.mem, reports);
  }
}

/* ---- Answers -------------------------------------------------------------------------------- */

static void put_u64(struct kr_buf *key, uint64_t value)
{
  kr_buf_u32(key, (uint32_t)(value >> 32));
  kr_buf_u32(key, (uint32_t)value);
}

/* A server's key. The host comes last: what stands behind it is told apart by its NUL. */
static void server_key(struct kr_buf *key, const struct kr_server *server)
{
  put_u64(key, (uint64_t)server->start_code);
  kr_buf_u32(key, server->port);
  kr_buf_text(key, server->host);
  kr_buf_u8(key, 0);
}

/* An answer's key: longer than its server's, so the two are never the same. */
static void answer_key(struct kr_buf *key, const struct keyroute_location *location, int replica)
{
  server_key(key, location->replicas[replica].server);
  put_u64(key, (uint64_t)location->replicas[replica].seqnum);
  kr_buf_u32(key, (uint32_t)replica);
  kr_location_replica_name(location, 0, key);
}

/* Does the cache's entry say of that replica what the reported location said? */
static bool same_answer(const struct keyroute_location *entry,
                        const struct keyroute_location *reported, int replica)
{
  return kr_location_same_name(entry, reported) &&
         kr_server_same(kr_location_server(entry, replica),
                        kr_location_server(reported, replica)) &&
         keyroute_location_seqnum(entry, replica) == keyroute_location_seqnum(reported, replica);
}

/* May it be done now? Done or not, the key is one that was reported. */
static bool allow(struct kr_reports *reports, const struct kr_buf *key)
{
  bool allowed = key->failed || kr_limiter_allow(reports->limiter, kr_buf_view(key), kr_clock_us());

  if (!allowed) {
    kr_stats_add(reports->means.stats, KR_COUNT_REFRESHES_LIMITED, 1);
  }
  return allowed;
}

/* From now on only reads that are yet to be sent are believed about it (invariant 3). */
static void note(struct kr_reports *reports, const struct kr_buf *key)
{
  if (!key->failed) {
    kr_limiter_note(reports->limiter, kr_buf_view(key), kr_cache_tick(reports->means.cache),
                    kr_clock_us());
  }
}

static bool noted_since(const struct kr_reports *reports, struct kr_buf *key, uint64_t sent)
{
  return !key->failed && kr_limiter_noted(reports->limiter, kr_buf_view(key)) >= sent;
}

static bool doubt_replica(const struct kr_reports *reports,
                          const struct keyroute_location *location, int replica, uint64_t sent)
{
  struct kr_buf key;

  kr_buf_init(&key, reports->means.mem);
  server_key(&key, location->replicas[replica].server);
  bool doubtful = noted_since(reports, &key, sent);

  key.len = 0;
  answer_key(&key, location, replica);
  doubtful = doubtful || noted_since(reports, &key, sent);
  kr_buf_clear(&key);
  return doubtful;
}

bool kr_reports_doubt(const struct kr_reports *reports, const struct keyroute_location *location,
                      uint64_t sent)
{
  bool doubtful = false;

  if (kr_limiter_count(reports->limiter) > 0) {
    for (int i = 0; i < location->replica_count && !doubtful; i++) {
      doubtful = location->replicas[i].server != NULL && doubt_replica(reports, location, i, sent);
    }
  }
  return doubtful;
}

/* ---- One region ----------------------------------------------------------------------------- */

/* A report with what the cache holds where its region starts. */
struct matter {
  const struct kr_report *report;
  struct keyroute_table *table;    /* counted; NULL = no memory to make it */
  struct keyroute_location *entry; /* the cache's; NULL = nothing starts there */
  bool is_entry;                   /* the entry is the reported answer */
};

/* Put fresh in the entry's place, unless something was dropped since the report, or the entry was
 * before it and fresh has no news (invariant 6). */
static bool replace(struct kr_reports *reports, const struct matter *matter,
                    struct keyroute_location *fresh, bool has_news)
{
  struct kr_cache *cache = reports->means.cache;

  if (!kr_cache_begin_store(cache, matter->report->epoch)) {
    return false;
  }
  bool replaced = (has_news || kr_location_own_reason(matter->entry) == KR_EVICTED_REPORTED) &&
                  kr_cache_replace(cache, matter->table, matter->entry, fresh);

  kr_cache_end_store(cache);
  return replaced;
}

/* Give the same answer out again, without a read: in a new handle, for the old one is retired. */
static void renew(struct kr_reports *reports, const struct matter *matter)
{
  struct kr_cache *cache = reports->means.cache;

  if (!kr_location_retired(matter->entry)) {
    return; /* it is in a new handle already */
  }
  struct keyroute_location *copy = kr_location_copy(matter->entry);

  if (copy == NULL || !replace(reports, matter, copy, false)) {
    kr_cache_remove(cache, matter->table, matter->entry);
  }
  keyroute_location_release(copy);
}

/* The region's place may be wrong: it is to be read again, unless that was done just now. */
static void refresh(struct kr_reports *reports, const struct matter *matter)
{
  struct kr_buf key;

  kr_buf_init(&key, reports->means.mem);
  answer_key(&key, matter->report->location, matter->report->replica);
  if (matter->entry != NULL && !matter->is_entry) {
    /* Something newer is known. */
  } else if (matter->entry == NULL) {
    note(reports, &key); /* the next lookup reads anyway */
  } else if (allow(reports, &key)) {
    note(reports, &key);
    kr_cache_remove(reports->means.cache, matter->table, matter->entry);
  } else {
    renew(reports, matter);
  }
  kr_buf_clear(&key);
}

/* What this connection calls by that name now, borrowed; NULL = nothing. */
static const struct kr_server *known_server(const struct kr_reports *reports, const char *host,
                                            uint16_t port, int64_t start_code)
{
  return kr_servers_find(reports->means.servers, keyroute_string(host), port, start_code);
}

/* ---- Hints ---------------------------------------------------------------------------------- */

/* Is the named place the one that was asked? */
static bool names_itself(const struct kr_report *report)
{
  const struct kr_server *asked = kr_location_server(report->location, report->replica);

  return asked->port == report->port &&
         (report->start_code == 0 || report->start_code == asked->start_code) &&
         kr_bytes_equal(keyroute_string(asked->host), keyroute_string(report->host));
}

/* Is the named place one that the range has left, by what is known of it? Only generations tell:
 * one_name says that these are a range directory's. Without a number it is not known. */
static bool is_left(const struct keyroute_location *known, const struct kr_report *report)
{
  return known->one_name && report->seqnum >= 0 &&
         report->seqnum <= keyroute_location_seqnum(known, report->replica);
}

/* Would the named place be news to the cache (invariant 4)? Where nothing is cached, the location
 * itself has to be one of this connection's. */
static bool is_news(struct kr_reports *reports, const struct matter *matter)
{
  const struct kr_report *report = matter->report;
  const struct kr_server *asked = kr_location_server(report->location, report->replica);

  if (is_left(matter->entry != NULL ? matter->entry : report->location, report)) {
    return false;
  }
  if (matter->entry == NULL) {
    return known_server(reports, asked->host, asked->port, asked->start_code) == asked;
  }
  return kr_location_same_name(matter->entry, report->location) &&
         report->replica < matter->entry->replica_count &&
         (kr_server_same(kr_location_server(matter->entry, report->replica), asked) ||
          keyroute_location_seqnum(matter->entry, report->replica) < report->seqnum);
}

/* The named server, counted; NULL = it is known not to be there, or memory is short. */
static struct kr_server *hinted_server(struct kr_reports *reports, const struct kr_report *report)
{
  const struct kr_server *known =
      known_server(reports, report->host, report->port, report->start_code);

  if (known != NULL && (kr_server_dropped(known) || known->failed_until_us > kr_clock_us())) {
    return NULL;
  }
  return kr_servers_get(reports->means.servers, keyroute_string(report->host), report->port,
                        report->start_code);
}

/* The region as it is if the hint is right: what is known, but for one replica. */
static struct keyroute_location *follow(struct kr_reports *reports, const struct matter *matter)
{
  const struct kr_report *report = matter->report;
  const struct keyroute_location *known = matter->entry != NULL ? matter->entry : report->location;
  struct kr_server *server = hinted_server(reports, report);
  struct keyroute_location *moved = server != NULL ? kr_location_copy(known) : NULL;

  if (moved == NULL) {
    kr_server_release(server);
    return NULL;
  }
  struct kr_replica *replica = &moved->replicas[report->replica];

  kr_server_release(replica->server);
  *replica = (struct kr_replica){server, report->seqnum};
  moved->hops = (report->location->hops + 1) & 0xf;
  return moved;
}

/* Put the named place into the cache. False = it is not worth that. */
static bool take_hint(struct kr_reports *reports, const struct matter *matter)
{
  const struct kr_report *report = matter->report;

  if (matter->table == NULL || report->host == NULL || report->location->hops >= HOPS_MAX ||
      names_itself(report) || !is_news(reports, matter)) {
    return false;
  }
  struct keyroute_location *moved = follow(reports, matter);
  bool taken = moved != NULL && replace(reports, matter, moved, true);

  keyroute_location_release(moved);
  return taken;
}

static void move(struct kr_reports *reports, const struct matter *matter)
{
  struct kr_buf key;

  if (!take_hint(reports, matter)) {
    refresh(reports, matter);
    return;
  }
  kr_stats_add(reports->means.stats, KR_COUNT_HINTS_TAKEN, 1);
  kr_buf_init(&key, reports->means.mem);
  answer_key(&key, matter->report->location, matter->report->replica);
  note(reports, &key);
  kr_buf_clear(&key);
}

/* ---- Servers -------------------------------------------------------------------------------- */

static void drop(struct kr_reports *reports, struct kr_server *server, enum keyroute_fault fault)
{
  bool dead = fault == KEYROUTE_FAULT_SERVER_DEAD;
  char address[300];

  kr_log_line(reports->means.log, KEYROUTE_LOG_WARNING,
              "server %s, start code %lld, was reported %s: what is on it is dropped",
              kr_server_print(address, sizeof(address), server->host, server->port),
              (long long)server->start_code, dead ? "dead" : "out of reach");
  if (dead) {
    server->failed_until_us =
        kr_clock_us() + 1000 * kr_server_refuse_ms(server, reports->means.failed_server_ms);
  }
  kr_server_drop(server);
}

/* True = dropped. */
static bool drop_server(struct kr_reports *reports, const struct matter *matter)
{
  struct kr_server *server = kr_location_server(matter->report->location, matter->report->replica);
  struct kr_buf key;

  if (known_server(reports, server->host, server->port, server->start_code) != server ||
      kr_server_dropped(server)) {
    /* Another report has seen to it; what is cached by now to be there was read since. */
    if (matter->entry == matter->report->location) {
      kr_cache_remove(reports->means.cache, matter->table, matter->entry);
    }
    return false;
  }
  kr_buf_init(&key, reports->means.mem);
  server_key(&key, server);
  bool allowed = allow(reports, &key);

  if (allowed) {
    note(reports, &key);
    drop(reports, server, matter->report->fault);
    if (matter->is_entry) {
      kr_cache_remove(reports->means.cache, matter->table, matter->entry);
    }
  } else {
    refresh(reports, matter);
  }
  kr_buf_clear(&key);
  return allowed;
}

/* ---- The whole ------------------------------------------------------------------------------ */

bool kr_reports_take(struct kr_reports *reports, const struct kr_report *report)
{
  struct keyroute_location *location = report->location;
  struct matter matter = {
      .report = report,
      .table = kr_cache_table(reports->means.cache, keyroute_location_table(location)),
  };
  bool dropped = false;

  /* The caller's thread is about to, and may be late: what is the cache's entry still is told from
   * a newer handle by this. */
  kr_location_retire(location, KR_EVICTED_REPORTED);
  if (matter.table != NULL) {
    matter.entry = kr_table_entry(matter.table, keyroute_location_start_key(location));
  }
  matter.is_entry = matter.entry != NULL && same_answer(matter.entry, location, report->replica);
  switch (keyroute_fault_kind(report->fault)) {
  case KEYROUTE_KIND_DROP_SERVER:
    dropped = drop_server(reports, &matter);
    break;
  case KEYROUTE_KIND_HINT:
    move(reports, &matter);
    break;
  default:
    refresh(reports, &matter);
    break;
  }
  if (matter.table != NULL) {
    kr_table_release(matter.table);
  }
  return dropped;
}
