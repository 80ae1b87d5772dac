/*
 * Locations: where one region is.
 *
 * One allocation: the fixed part, the replicas, the end key, the start key. The table's name is in
 * the label, which all locations of a table share, and the region's name is not kept where it can
 * be made anew: "table,start,id.encoded.", whose encoded name is the MD5 of what stands before it.
 * So says HBase of nearly all regions. Where the catalog spells what stands behind the last comma
 * in another way (ranges, catalog regions, what HBase before 0.92 made) that spelling is kept
 * behind the keys. So a location of a 16-byte key stays small; a cache has a million of them.
 *
 *  1. A location is immutable once it has been handed out. A region that moves gets a new one.
 *  2. refs counts its owners: the cache, and everybody who took a count. Taking one needs a count
 *     already held, or a read section in which the cache was still found to hold one.
 *  3. The cache gives its count back after a grace period, so 2 holds for readers.
 *  4. It counts its servers and its label, and so may outlive cache and connection.
 *  5. A location is retired for good: neither its own mark nor that of its primary's server is
 *     taken back. Another replica whose server was dropped is as good as on no server.
 *  6. Whatever the catalog calls a region it is called here, byte for byte: a name is left out only
 *     when making it anew has given the very same.
 *
 * What a region and its replicas are called: location_name.c.
 */
#include "lib/location.h"

#include "lib/bytes.h"
#include "lib/spelling.h"

#include <assert.h>
#include <string.h>

static const char *const state_names[] = {
    [KR_STATE_OFFLINE] = "OFFLINE",
    [KR_STATE_OPENING] = "OPENING",
    [KR_STATE_OPEN] = "OPEN",
    [KR_STATE_CLOSING] = "CLOSING",
    [KR_STATE_CLOSED] = "CLOSED",
    [KR_STATE_SPLITTING] = "SPLITTING",
    [KR_STATE_SPLIT] = "SPLIT",
    [KR_STATE_FAILED_OPEN] = "FAILED_OPEN",
    [KR_STATE_FAILED_CLOSE] = "FAILED_CLOSE",
    [KR_STATE_MERGING] = "MERGING",
    [KR_STATE_MERGED] = "MERGED",
    [KR_STATE_SPLITTING_NEW] = "SPLITTING_NEW",
    [KR_STATE_MERGING_NEW] = "MERGING_NEW",
    [KR_STATE_ABNORMALLY_CLOSED] = "ABNORMALLY_CLOSED",
    [KR_STATE_OTHER] = "OTHER",
};

_Static_assert(KR_STATE_OTHER <= 0xf, "a location's four bits hold every state");

enum kr_region_state kr_region_state_parse(struct keyroute_bytes name)
{
  if (name.len == 0) {
    return KR_STATE_UNKNOWN;
  }
  for (int i = KR_STATE_OFFLINE; i < KR_STATE_OTHER; i++) {
    if (kr_bytes_is(name, state_names[i])) {
      return (enum kr_region_state)i;
    }
  }
  return KR_STATE_OTHER;
}

const char *kr_region_state_name(enum kr_region_state state)
{
  return state_names[state];
}

/* ---- Text: what stands behind the replicas ------------------------------------------------- */

/* The end key, which every hit looks at, comes first; then the start key. */
static uint8_t *text_of(const struct keyroute_location *location)
{
  return (uint8_t *)(uintptr_t)&location->replicas[location->replica_count];
}

static uint8_t *behind_keys(const struct keyroute_location *location)
{
  return text_of(location) + location->end_len + location->start_len;
}

static size_t size_of(int replica_count, size_t text_len)
{
  return sizeof(struct keyroute_location) + (size_t)replica_count * sizeof(struct kr_replica) +
         text_len;
}

/* All of a location's one allocation. */
static size_t whole_size(const struct keyroute_location *location)
{
  size_t text_len = (size_t)location->end_len + location->start_len;

  if (location->is_spelt) {
    struct kr_spelling spelling = kr_spelling_kept(behind_keys(location));

    text_len += kr_spelling_kept_len(&spelling);
  }
  return size_of(location->replica_count, text_len);
}

/* ---- Making ---------------------------------------------------------------------------------- */

static struct keyroute_bytes start_key_of(const struct kr_location_parts *parts)
{
  return kr_bytes((const uint8_t *)parts->name.data + parts->table_len + 1, parts->start_len);
}

/* What the name holds behind the comma behind the start key. */
static struct kr_spelling spelling_of(const struct kr_location_parts *parts)
{
  size_t head_len = parts->table_len + 1 + parts->start_len + 1;

  return (struct kr_spelling){
      kr_bytes((const uint8_t *)parts->name.data + head_len, parts->name.len - head_len),
      parts->encoded};
}

static void write_text(struct keyroute_location *location, const struct kr_location_parts *parts,
                       const struct kr_spelling *spelling)
{
  uint8_t *to = text_of(location);

  kr_bytes_put(&to, parts->end_key);
  kr_bytes_put(&to, start_key_of(parts));
  if (location->is_spelt) {
    kr_spelling_keep(&to, spelling);
  }
}

static void copy_replicas(struct keyroute_location *location, const struct kr_replica *replicas)
{
  for (int i = 0; i < location->replica_count; i++) {
    location->replicas[i] = replicas[i];
    if (location->replicas[i].server != NULL) {
      kr_server_ref(location->replicas[i].server);
    }
  }
}

/* The label becomes the location's. */
static struct keyroute_location *new_labelled(struct kr_label *label,
                                              const struct kr_location_parts *parts)
{
  struct kr_spelling spelling = spelling_of(parts);
  bool is_spelt = !kr_spelling_is_usual(&spelling, parts->name, parts->region_id);
  size_t text_len =
      parts->end_key.len + parts->start_len + (is_spelt ? kr_spelling_kept_len(&spelling) : 0);
  struct keyroute_location *location =
      kr_alloc(kr_label_mem(label), size_of(parts->replica_count, text_len));

  if (location == NULL) {
    return NULL;
  }
  *location = (struct keyroute_location){
      .label = label,
      .region_id = parts->region_id,
      .refs = 1,
      .start_len = (uint16_t)parts->start_len,
      .end_len = (uint16_t)parts->end_key.len,
      .one_name = parts->one_name,
      .is_spelt = is_spelt,
      .replica_count = (uint8_t)parts->replica_count,
      .state = parts->state & 0xf,
  };
  copy_replicas(location, parts->replicas);
  write_text(location, parts, &spelling);
  return location;
}

struct keyroute_location *kr_location_new(struct kr_mem *mem, const struct kr_location_parts *parts)
{
  struct kr_label *label = kr_label_new(mem, kr_bytes(parts->name.data, parts->table_len));
  struct keyroute_location *location = NULL;

  assert(parts->start_len <= KR_LOCATION_KEY_MAX && parts->end_key.len <= KR_LOCATION_KEY_MAX);
  if (label != NULL) {
    location = new_labelled(label, parts);
  }
  if (location == NULL) {
    kr_label_release(label);
  }
  return location;
}

void kr_location_relabel(struct keyroute_location *location, struct kr_label *label)
{
  if (kr_bytes_equal(keyroute_location_table(location), kr_label_table(label))) {
    kr_label_ref(label);
    kr_label_release(location->label);
    location->label = label;
  }
}

struct keyroute_location *kr_location_copy(const struct keyroute_location *location)
{
  size_t size = whole_size(location);
  struct keyroute_location *copy = kr_alloc(kr_label_mem(location->label), size);

  if (copy == NULL) {
    return NULL;
  }
  *copy = (struct keyroute_location){
      .label = kr_label_ref(location->label),
      .region_id = location->region_id,
      .refs = 1,
      .start_len = location->start_len,
      .end_len = location->end_len,
      .one_name = location->one_name,
      .is_spelt = location->is_spelt,
      .replica_count = location->replica_count,
      .state = location->state,
      .hops = location->hops,
  };
  copy_replicas(copy, location->replicas);
  memcpy(text_of(copy), text_of(location), size - size_of(location->replica_count, 0));
  return copy;
}

size_t kr_location_size(const struct keyroute_location *location)
{
  return kr_mem_taken(whole_size(location));
}

/* ---- Counts and marks ------------------------------------------------------------------------ */

struct keyroute_location *keyroute_location_ref(const struct keyroute_location *location)
{
  struct keyroute_location *counted = (struct keyroute_location *)(uintptr_t)location;

  /* Relaxed: somebody else's count keeps it alive meanwhile (invariant 2). */
  __atomic_fetch_add(&counted->refs, 1, __ATOMIC_RELAXED);
  return counted;
}

void keyroute_location_release(struct keyroute_location *location)
{
  /* Acquire-release: whoever frees sees all that others did before they let go. */
  if (location == NULL || __atomic_fetch_sub(&location->refs, 1, __ATOMIC_ACQ_REL) > 1) {
    return;
  }
  struct kr_label *label = location->label;

  for (int i = 0; i < location->replica_count; i++) {
    kr_server_release(location->replicas[i].server);
  }
  kr_free(kr_label_mem(label), location);
  kr_label_release(label);
}

static void release_now(struct kr_rcu_link *link)
{
  char *member = (char *)link;

  keyroute_location_release(
      (struct keyroute_location *)(void *)(member - offsetof(struct keyroute_location, later)));
}

void kr_location_release_later(struct keyroute_location *location)
{
  static struct kr_rcu_queue gone = {.free = release_now};

  kr_rcu_enqueue(&gone, &location->later);
}

uint64_t kr_location_stored(const struct keyroute_location *location)
{
  return (uint64_t)location->stored_high << 32 | location->stored_low;
}

uint64_t kr_location_sent(const struct keyroute_location *location)
{
  return kr_location_stored(location) - location->sent_before_stored;
}

void kr_location_set_times(struct keyroute_location *location, uint64_t stored, uint64_t sent)
{
  uint64_t before = sent < stored ? stored - sent : 0;

  location->stored_low = (uint32_t)stored;
  location->stored_high = (uint16_t)(stored >> 32);
  location->sent_before_stored = before < UINT32_MAX ? (uint32_t)before : UINT32_MAX;
}

/* Does a reason take the place of one that there is? */
static bool is_stronger(enum kr_evicted reason, enum kr_evicted than)
{
  return than == KR_NOT_EVICTED || (than == KR_EVICTED_REPORTED && reason != KR_EVICTED_REPORTED);
}

void kr_location_retire(struct keyroute_location *location, enum kr_evicted reason)
{
  uint8_t now = __atomic_load_n(&location->leaving, __ATOMIC_RELAXED);

  /* Release, with the acquires below: who sees it retired also sees what led to it. Relaxed if
   * somebody was first: nothing is told then. */
  while (is_stronger(reason, (enum kr_evicted)(now & KR_LEAVING_REASON)) &&
         !__atomic_compare_exchange_n(&location->leaving, &now,
                                      (uint8_t)((now & ~KR_LEAVING_REASON) | (int)reason), true,
                                      __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
  }
}

enum kr_evicted kr_location_retired_why(const struct keyroute_location *location)
{
  enum kr_evicted own = kr_location_own_reason(location);

  return own == KR_NOT_EVICTED && kr_location_retired(location) ? KR_EVICTED_SERVER : own;
}

bool kr_location_report(struct keyroute_location *location)
{
  /* Relaxed: it only says who is first. What the others need to see is that it is retired. */
  return (__atomic_fetch_or(&location->leaving, KR_LEAVING_REPORTED, __ATOMIC_RELAXED) &
          KR_LEAVING_REPORTED) != 0;
}

bool kr_location_reported(const struct keyroute_location *location)
{
  return (__atomic_load_n(&location->leaving, __ATOMIC_RELAXED) & KR_LEAVING_REPORTED) != 0;
}

struct keyroute_bytes keyroute_location_table(const struct keyroute_location *location)
{
  return kr_label_table(location->label);
}

struct keyroute_bytes keyroute_location_start_key(const struct keyroute_location *location)
{
  return kr_location_start(location);
}

struct keyroute_bytes keyroute_location_end_key(const struct keyroute_location *location)
{
  return kr_location_end(location);
}

int64_t keyroute_location_region_id(const struct keyroute_location *location)
{
  return location->region_id;
}

const char *keyroute_location_state(const struct keyroute_location *location)
{
  return kr_region_state_name((enum kr_region_state)location->state);
}

struct kr_server *kr_location_server(const struct keyroute_location *location, int replica)
{
  return replica >= 0 && replica < location->replica_count ? location->replicas[replica].server
                                                           : NULL;
}

struct kr_server *kr_location_live_server(const struct keyroute_location *location, int replica)
{
  struct kr_server *server = kr_location_server(location, replica);

  return server != NULL && !kr_server_dropped(server) ? server : NULL;
}

bool kr_location_placed(const struct keyroute_location *location)
{
  for (int i = 0; i < location->replica_count; i++) {
    if (kr_location_live_server(location, i) != NULL) {
      return true;
    }
  }
  return false;
}

int keyroute_location_replica_count(const struct keyroute_location *location)
{
  return location->replica_count;
}

const char *keyroute_location_host(const struct keyroute_location *location, int replica)
{
  struct kr_server *server = kr_location_server(location, replica);

  return server != NULL ? server->host : NULL;
}

int keyroute_location_port(const struct keyroute_location *location, int replica)
{
  struct kr_server *server = kr_location_server(location, replica);

  return server != NULL ? server->port : 0;
}

int64_t keyroute_location_start_code(const struct keyroute_location *location, int replica)
{
  struct kr_server *server = kr_location_server(location, replica);

  return server != NULL ? server->start_code : 0;
}

int64_t keyroute_location_seqnum(const struct keyroute_location *location, int replica)
{
  return replica >= 0 && replica < location->replica_count ? location->replicas[replica].seqnum
                                                           : -1;
}

bool kr_location_reaches(const struct keyroute_location *location, struct keyroute_bytes row,
                         enum kr_position position)
{
  struct keyroute_bytes end = keyroute_location_end_key(location);

  if (position == KR_AT) {
    return kr_location_ends_above(location, row);
  }
  return end.len == 0 || (row.len > 0 && kr_bytes_compare(row, end) <= 0);
}

bool kr_location_covers(const struct keyroute_location *location, struct keyroute_bytes row,
                        enum kr_position position)
{
  struct keyroute_bytes start = keyroute_location_start_key(location);
  bool below_all = position == KR_BEFORE && row.len == 0; /* the last region is meant */

  return (below_all || kr_bytes_compare(start, row) < (position == KR_AT ? 1 : 0)) &&
         kr_location_reaches(location, row, position);
}

/* Does a span that ends at end reach beyond start? */
static bool ends_above(struct keyroute_bytes end, struct keyroute_bytes start)
{
  return end.len == 0 || kr_bytes_compare(end, start) > 0;
}

bool kr_location_overlaps(const struct keyroute_location *a, const struct keyroute_location *b)
{
  return ends_above(keyroute_location_end_key(a), keyroute_location_start_key(b)) &&
         ends_above(keyroute_location_end_key(b), keyroute_location_start_key(a));
}
