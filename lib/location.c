/*
 * Locations: where one region is.
 *
 * One allocation: the fixed part, the replicas, the end key, the region's name as the catalog's row
 * key spells it. Table, start key and encoded name are views into the name, so that nothing is
 * kept twice and a location of a 16-byte key stays small.
 *
 *  1. A location is immutable once it has been handed out. A region that moves gets a new one.
 *  2. refs counts its owners: the cache, and everybody who took a count. Taking one needs a count
 *     already held, or a read section in which the cache was still found to hold one.
 *  3. The cache gives its count back after a grace period, so 2 holds for readers.
 *  4. It counts its servers and the allocator, and so may outlive cache and connection.
 *  5. A location is retired for good: neither its own mark nor that of its primary's server is
 *     taken back. Another replica whose server was dropped is as good as on no server.
 *
 * The name of a replica other than the primary is made on demand (HBase RegionInfo: "_%04X" is put
 * behind the region id, before the MD5): hardly anybody asks for it. Ranges have one name each,
 * whoever is asked.
 */
#include "lib/location.h"

#include "lib/bytes.h"
#include "lib/region.h"

#include <assert.h>
#include <stdio.h>
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

/* What fits a location's bits for it. */
#define ENCODED_LEN_MAX ((1u << 30) - 1)

_Static_assert(KR_STATE_OTHER <= 0xf, "a location's four bits hold every state");

enum kr_region_state kr_region_state_parse(struct keyroute_bytes name)
{
  if (name.len == 0) {
    return KR_STATE_UNKNOWN;
  }
  for (int i = KR_STATE_OFFLINE; i < KR_STATE_OTHER; i++) {
    if (kr_bytes_equal(name, keyroute_string(state_names[i]))) {
      return (enum kr_region_state)i;
    }
  }
  return KR_STATE_OTHER;
}

const char *kr_region_state_name(enum kr_region_state state)
{
  return state_names[state];
}

/* The bytes behind the replicas: the end key, which every hit looks at, then the name. */
static uint8_t *text_of(const struct keyroute_location *location)
{
  return (uint8_t *)(uintptr_t)&location->replicas[location->replica_count];
}

static const uint8_t *name_of(const struct keyroute_location *location)
{
  return text_of(location) + location->end_len;
}

static struct keyroute_bytes name_view(const struct keyroute_location *location)
{
  return kr_bytes(name_of(location), location->name_len);
}

static size_t size_of(int replica_count, size_t text_len)
{
  return sizeof(struct keyroute_location) + (size_t)replica_count * sizeof(struct kr_replica) +
         text_len;
}

/* Is encoded the part of the name between its last comma's id and the closing dot? Catalog regions
 * have an encoded name that their name does not show; it is then kept behind the end key. */
static bool encoded_is_inside(const struct kr_location_parts *parts)
{
  const uint8_t *name = parts->name.data;
  const uint8_t *encoded = parts->encoded.data;

  return parts->encoded.len > 0 && encoded >= name && encoded < name + parts->name.len;
}

static void copy_bytes(uint8_t **to, struct keyroute_bytes bytes)
{
  if (bytes.len > 0) {
    memcpy(*to, bytes.data, bytes.len);
    *to += bytes.len;
  }
}

static void copy_text(struct keyroute_location *location, const struct kr_location_parts *parts)
{
  uint8_t *to = text_of(location);

  copy_bytes(&to, parts->end_key);
  copy_bytes(&to, parts->name);
  if (!location->encoded_inside) {
    copy_bytes(&to, parts->encoded);
  }
}

static void copy_replicas(struct keyroute_location *location, const struct kr_location_parts *parts)
{
  for (int i = 0; i < parts->replica_count; i++) {
    location->replicas[i] = parts->replicas[i];
    if (location->replicas[i].server != NULL) {
      kr_server_ref(location->replicas[i].server);
    }
  }
}

struct keyroute_location *kr_location_new(struct kr_mem *mem, const struct kr_location_parts *parts)
{
  bool inside = encoded_is_inside(parts);
  size_t text_len = parts->name.len + parts->end_key.len + (inside ? 0 : parts->encoded.len);
  struct keyroute_location *location = kr_alloc(mem, size_of(parts->replica_count, text_len));

  if (location == NULL) {
    return NULL;
  }
  *location = (struct keyroute_location){
      .refs = 1,
      .encoded_inside = inside,
      .one_name = parts->one_name,
      .state = parts->state & 0xf,
      .replica_count = (uint8_t)parts->replica_count,
      .table_len = (uint32_t)parts->table_len & 0xffffff,
      .start_len = (uint32_t)parts->start_len,
      .name_len = (uint32_t)parts->name.len,
      .encoded_len = (uint32_t)parts->encoded.len & ENCODED_LEN_MAX,
      .end_len = (uint32_t)parts->end_key.len,
      .region_id = parts->region_id,
      .mem = kr_mem_ref(mem),
  };
  copy_replicas(location, parts);
  copy_text(location, parts);
  return location;
}

/* The primary's encoded name as it was read. */
static struct keyroute_bytes primary_encoded(const struct keyroute_location *location)
{
  const uint8_t *name_end = name_of(location) + location->name_len;

  if (location->encoded_inside) {
    return kr_bytes(name_end - 1 - location->encoded_len, location->encoded_len);
  }
  return kr_bytes(name_end, location->encoded_len);
}

struct keyroute_location *kr_location_copy(const struct keyroute_location *location)
{
  struct kr_location_parts parts = {
      .name = name_view(location),
      .table_len = location->table_len,
      .start_len = location->start_len,
      .encoded = primary_encoded(location),
      .end_key = keyroute_location_end_key(location),
      .region_id = location->region_id,
      .one_name = location->one_name,
      .state = (enum kr_region_state)location->state,
      .replicas = location->replicas,
      .replica_count = location->replica_count,
  };
  struct keyroute_location *copy = kr_location_new(location->mem, &parts);

  if (copy != NULL) {
    copy->hops = location->hops;
  }
  return copy;
}

size_t kr_location_size(const struct keyroute_location *location)
{
  size_t outside_len = location->encoded_inside ? 0 : location->encoded_len;

  return kr_mem_taken(size_of(location->replica_count,
                              (size_t)location->name_len + location->end_len + outside_len));
}

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
  struct kr_mem *mem = location->mem;

  for (int i = 0; i < location->replica_count; i++) {
    kr_server_release(location->replicas[i].server);
  }
  kr_free(mem, location);
  kr_mem_release(mem);
}

static void release_now(struct kr_rcu_head *head)
{
  char *member = (char *)head;

  keyroute_location_release(
      (struct keyroute_location *)(void *)(member - offsetof(struct keyroute_location, rcu)));
}

void kr_location_release_later(struct keyroute_location *location)
{
  kr_rcu_defer(&location->rcu, release_now);
}

void kr_location_retire(struct keyroute_location *location, enum kr_evicted reason)
{
  uint8_t live = KR_NOT_EVICTED;

  /* Release, with the acquires below: who sees it retired also sees what led to it. Relaxed if
   * somebody was first: nothing is told then. */
  __atomic_compare_exchange_n(&location->retired, &live, (uint8_t)reason, false, __ATOMIC_RELEASE,
                              __ATOMIC_RELAXED);
}

enum kr_evicted kr_location_retired_why(const struct keyroute_location *location)
{
  enum kr_evicted own = (enum kr_evicted)__atomic_load_n(&location->retired, __ATOMIC_ACQUIRE);

  return own == KR_NOT_EVICTED && kr_location_retired(location) ? KR_EVICTED_SERVER : own;
}

bool kr_location_report(struct keyroute_location *location)
{
  /* Relaxed: it only says who is first. What the others need to see is that it is retired. */
  return __atomic_exchange_n(&location->reported, true, __ATOMIC_RELAXED);
}

bool kr_location_reported(const struct keyroute_location *location)
{
  return __atomic_load_n(&location->reported, __ATOMIC_RELAXED);
}

bool kr_location_retired(const struct keyroute_location *location)
{
  const struct kr_server *primary = location->replicas[0].server;

  return __atomic_load_n(&location->retired, __ATOMIC_ACQUIRE) != KR_NOT_EVICTED ||
         (primary != NULL && kr_server_dropped(primary));
}

struct keyroute_bytes keyroute_location_table(const struct keyroute_location *location)
{
  return kr_bytes(name_of(location), location->table_len);
}

struct keyroute_bytes keyroute_location_start_key(const struct keyroute_location *location)
{
  return kr_bytes(name_of(location) + location->table_len + 1, location->start_len);
}

struct keyroute_bytes keyroute_location_end_key(const struct keyroute_location *location)
{
  return kr_bytes(text_of(location), location->end_len);
}

int64_t keyroute_location_region_id(const struct keyroute_location *location)
{
  return location->region_id;
}

const char *keyroute_location_state(const struct keyroute_location *location)
{
  return kr_region_state_name((enum kr_region_state)location->state);
}

static size_t copy_out(void *out, size_t size, struct keyroute_bytes bytes)
{
  size_t len = bytes.len < size ? bytes.len : size;

  if (len > 0) {
    memcpy(out, bytes.data, len);
  }
  return bytes.len;
}

static bool has_primary_name(const struct keyroute_location *location, int replica)
{
  return replica <= 0 || location->one_name;
}

size_t keyroute_location_encoded_name(const struct keyroute_location *location, int replica,
                                      void *out, size_t size)
{
  char encoded[33];

  if (has_primary_name(location, replica)) {
    return copy_out(out, size, primary_encoded(location));
  }
  if (!location->encoded_inside) {
    return 0; /* a catalog region's: a hash of another kind, which nothing here needs */
  }
  kr_region_encoded_name(encoded, keyroute_location_table(location),
                         keyroute_location_start_key(location), location->region_id, replica);
  return copy_out(out, size, keyroute_string(encoded));
}

size_t keyroute_location_region_name(const struct keyroute_location *location, int replica,
                                     void *out, size_t size)
{
  char tail[64];
  size_t head_len = (size_t)location->table_len + location->start_len + 2;

  if (has_primary_name(location, replica)) {
    return copy_out(out, size, name_view(location));
  }
  int tail_len =
      snprintf(tail, sizeof(tail), "%lld_%04X", (long long)location->region_id, (unsigned)replica);

  if (location->encoded_inside) {
    tail[tail_len] = '.';
    keyroute_location_encoded_name(location, replica, tail + tail_len + 1, 32);
    memcpy(tail + tail_len + 33, ".", 2);
  }
  copy_out(out, size, kr_bytes(name_of(location), head_len));
  if (size > head_len) {
    copy_out((uint8_t *)out + head_len, size - head_len, keyroute_string(tail));
  }
  return head_len + strlen(tail);
}

struct keyroute_bytes kr_location_replica_name(const struct keyroute_location *location,
                                               int replica, struct kr_buf *room)
{
  size_t at = room->len;
  size_t len = keyroute_location_region_name(location, replica, NULL, 0);
  uint8_t *to = kr_buf_extend(room, len);

  if (to == NULL) {
    return kr_bytes(NULL, 0);
  }
  keyroute_location_region_name(location, replica, to, len);
  return kr_bytes(room->data + at, len);
}

char *kr_location_print(char *out, size_t size, const struct keyroute_location *location)
{
  char name[KR_LOCATION_PRINT_MAX];

  assert(size <= sizeof(name));
  /* No byte takes less than its own room: a name that is cut here does not fit out either. */
  size_t len = keyroute_location_region_name(location, 0, name, size);

  return kr_bytes_print(out, size, kr_bytes(name, len < size ? len : size));
}

bool kr_location_same_name(const struct keyroute_location *a, const struct keyroute_location *b)
{
  return kr_bytes_equal(name_view(a), name_view(b));
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

  if (end.len == 0) {
    return true;
  }
  if (position == KR_AT) {
    return kr_bytes_compare(row, end) < 0;
  }
  return row.len > 0 && kr_bytes_compare(row, end) <= 0;
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
