#ifndef KR_LOCATION_H
#define KR_LOCATION_H

#include "lib/buf.h"
#include "lib/bytes.h"
#include "lib/label.h"
#include "lib/rcu.h"
#include "lib/server.h"

/* Where one replica is. */
struct kr_replica {
  struct kr_server *server; /* counted; NULL = on no server */
  int64_t seqnum;           /* -1 = unknown */
};

/* A region's state as the catalog names it; 0 = the catalog does not say. */
enum kr_region_state {
  KR_STATE_UNKNOWN,
  KR_STATE_OFFLINE,
  KR_STATE_OPENING,
  KR_STATE_OPEN,
  KR_STATE_CLOSING,
  KR_STATE_CLOSED,
  KR_STATE_SPLITTING,
  KR_STATE_SPLIT,
  KR_STATE_FAILED_OPEN,
  KR_STATE_FAILED_CLOSE,
  KR_STATE_MERGING,
  KR_STATE_MERGED,
  KR_STATE_SPLITTING_NEW,
  KR_STATE_MERGING_NEW,
  KR_STATE_ABNORMALLY_CLOSED,
  KR_STATE_OTHER /* a name that none of these is */
};

/* Names and numbers of states. An unknown name is KR_STATE_OTHER. */
enum kr_region_state kr_region_state_parse(struct keyroute_bytes name);
const char *kr_region_state_name(enum kr_region_state state); /* NULL for UNKNOWN */

/* Why a location is retired, or leaves the cache. */
enum kr_evicted {
  KR_NOT_EVICTED,
  KR_EVICTED_REPLACED, /* the catalog said something newer */
  KR_EVICTED_REPORTED, /* it turned out to be wrong where it was used */
  KR_EVICTED_SERVER,   /* all that was on its server was dropped */
  KR_EVICTED_EXPIRED,  /* the time to live was over */
  KR_EVICTED_IDLE,     /* nobody had hit it for long */
  KR_EVICTED_FULL,     /* room was needed */
  KR_EVICTED_CLEARED   /* somebody had the cache forget it */
};

/* A location; one allocation with the region's keys behind the replicas. Immutable once published,
 * but for refs, leaving and touched, and what the cache keeps in it. (Bit-fields share a byte only
 * with what is immutable too.) */
struct keyroute_location {
  struct kr_label *label; /* counted */
  int64_t region_id;
  union {
    struct {                       /* while it is in the cache; loop thread */
      uint32_t stored_low;         /* see kr_location_stored */
      uint32_t sent_before_stored; /* us, at most UINT32_MAX */
    };
    struct kr_rcu_link later; /* once it has left the cache */
  };
  uint32_t refs; /* atomic */
  uint16_t start_len, end_len;
  uint16_t stored_high;  /* loop thread */
  uint8_t one_name : 1;  /* all replicas are called as the primary */
  uint8_t is_spelt : 1;  /* a spelling of its own stands behind the keys */
  uint8_t leaving;       /* atomic: enum kr_evicted, and whether the handle was reported */
  bool touched;          /* atomic: hit since the mark was last taken */
  uint8_t replica_count; /* room in replicas[] */
  uint8_t state : 4;     /* enum kr_region_state */
  uint8_t hops : 4;      /* replicas' places taken from hints since the catalog was read */
  uint8_t used;          /* age.c: when it was last known to be in use; loop thread */
  struct kr_replica replicas[];
};

/* What fits a million times. */
_Static_assert(sizeof(struct keyroute_location) == 40, "a location's fixed part is small");

/* What `leaving` holds. */
enum { KR_LEAVING_REASON = 0x7f, KR_LEAVING_REPORTED = 0x80 };

/* More replicas than HBase allows anybody to want. */
#define KR_REPLICAS_MAX 255

/* No start or end key is longer: what a catalog says of one that is cannot be kept. (HBase's rows
 * have 32767 bytes at most, a range directory's 4094.) */
#define KR_LOCATION_KEY_MAX UINT16_MAX

/* What a location is made of; all copied, servers counted anew. */
struct kr_location_parts {
  struct keyroute_bytes name; /* region name as the catalog's row key spells it */
  size_t table_len;
  size_t start_len;
  struct keyroute_bytes encoded; /* a view into name, or text of its own where that lacks it */
  struct keyroute_bytes end_key;
  int64_t region_id;
  bool one_name; /* all replicas are called as the primary */
  enum kr_region_state state;
  const struct kr_replica *replicas;
  int replica_count; /* at least 1, at most KR_REPLICAS_MAX */
};

/* NULL = out of memory. One count is the caller's. */
struct keyroute_location *kr_location_new(struct kr_mem *mem,
                                          const struct kr_location_parts *parts);

/* Share a label, if it names the location's table. Only before the location is published: views of
 * its table's name end. */
void kr_location_relabel(struct keyroute_location *location, struct kr_label *label);

/* A copy that is neither retired nor reported, whose replicas may be changed until it is published.
 * NULL = out of memory. */
struct keyroute_location *kr_location_copy(const struct keyroute_location *location);

/* Write the region name of a replica (0 = the primary) behind what room holds, and give it. Empty
 * where room failed. */
struct keyroute_bytes kr_location_replica_name(const struct keyroute_location *location,
                                               int replica, struct kr_buf *room);

/* The primary's region name for messages, as kr_bytes_print does it. size is at most
 * KR_LOCATION_PRINT_MAX. */
#define KR_LOCATION_PRINT_MAX 512
char *kr_location_print(char *out, size_t size, const struct keyroute_location *location);

/* Have two regions one name? */
bool kr_location_same_name(const struct keyroute_location *a, const struct keyroute_location *b);

/* The server of a replica; NULL if it is on none. */
struct kr_server *kr_location_server(const struct keyroute_location *location, int replica);

/* The same, but NULL too if that server was dropped. */
struct kr_server *kr_location_live_server(const struct keyroute_location *location, int replica);

/* Does any replica have a server that was not dropped? */
bool kr_location_placed(const struct keyroute_location *location);

/* Which of a row's neighbours is meant. */
enum kr_position {
  KR_AT,    /* the region that holds the row */
  KR_BEFORE /* the last region that starts below the row; below an empty row: the last of all */
};

bool kr_location_covers(const struct keyroute_location *location, struct keyroute_bytes row,
                        enum kr_position position);

/* The same of a region that is known to start where it must, at the row or below: does its end lie
 * beyond? */
bool kr_location_reaches(const struct keyroute_location *location, struct keyroute_bytes row,
                         enum kr_position position);

/* Do the spans of two regions share a row? */
bool kr_location_overlaps(const struct keyroute_location *a, const struct keyroute_location *b);

/* Mark as reported. True = it was so already. Any thread. */
bool kr_location_report(struct keyroute_location *location);
bool kr_location_reported(const struct keyroute_location *location);

/* Retire: from now on no hit gives it out. Once retired, its reason stays, but for that of a
 * report: what was reported may be given out again, what is dropped may not. Any thread. */
void kr_location_retire(struct keyroute_location *location, enum kr_evicted reason);
/* Was it retired, or its primary's server dropped? And if so, why? */
enum kr_evicted kr_location_retired_why(const struct keyroute_location *location);

/* ---- What each hit asks of a location and does to it: without a call ---- */

/* Why it was retired itself. Acquire: see kr_location_retire. */
static inline enum kr_evicted kr_location_own_reason(const struct keyroute_location *location)
{
  return (enum kr_evicted)(__atomic_load_n(&location->leaving, __ATOMIC_ACQUIRE) &
                           KR_LEAVING_REASON);
}

static inline bool kr_location_retired(const struct keyroute_location *location)
{
  const struct kr_server *primary = location->replicas[0].server;

  return kr_location_own_reason(location) != KR_NOT_EVICTED ||
         (primary != NULL && kr_server_dropped(primary));
}

/* The end key is right behind the replicas, and the start key behind that. */
static inline struct keyroute_bytes kr_location_end(const struct keyroute_location *location)
{
  return kr_bytes(&location->replicas[location->replica_count], location->end_len);
}

static inline struct keyroute_bytes kr_location_start(const struct keyroute_location *location)
{
  struct keyroute_bytes end = kr_location_end(location);

  return kr_bytes((const uint8_t *)end.data + end.len, location->start_len);
}

/* As kr_location_reaches at the row. */
static inline bool kr_location_ends_above(const struct keyroute_location *location,
                                          struct keyroute_bytes row)
{
  struct keyroute_bytes end = kr_location_end(location);

  return end.len == 0 || kr_bytes_below(row, end);
}

/* Relaxed: the mark orders nothing. Written only if clear, so that hits share the line. */
static inline void kr_location_touch(struct keyroute_location *location)
{
  if (!__atomic_load_n(&location->touched, __ATOMIC_RELAXED)) {
    __atomic_store_n(&location->touched, true, __ATOMIC_RELAXED);
  }
}

/* The cache's logical times (kr_cache_tick) when it was stored, 0 = never, and when the last read
 * that found it so was sent. The former has 48 bits, which last for nine years of one cache. Of the
 * latter it is kept how long before the former it was, up to 71 minutes: what was sent earlier
 * seems sent then. They are compared with reads that are under way, and none takes so long. Only
 * while it is in the cache, or before. Loop thread. */
uint64_t kr_location_stored(const struct keyroute_location *location);
uint64_t kr_location_sent(const struct keyroute_location *location);
void kr_location_set_times(struct keyroute_location *location, uint64_t stored, uint64_t sent);

/* Give the cache's count back once the readers of this moment are gone. Once in its life. */
void kr_location_release_later(struct keyroute_location *location);

/* Memory that a location takes, the allocator's own included; without its label. */
size_t kr_location_size(const struct keyroute_location *location);

#endif
