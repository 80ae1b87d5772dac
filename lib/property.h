#ifndef KR_PROPERTY_H
#define KR_PROPERTY_H

#include "keyroute/keyroute.h"

/* Every property that keyroute knows. */
enum kr_property_id {
  KR_PROPERTY_QUORUM,
  KR_PROPERTY_CLIENT_PORT,
  KR_PROPERTY_PARENT,
  KR_PROPERTY_META_ZNODE,
  KR_PROPERTY_ROOT_ZNODE,
  KR_PROPERTY_SESSION_TIMEOUT,
  KR_PROPERTY_SESSION_IDLE,
  KR_PROPERTY_LAYOUT,
  KR_PROPERTY_RANGE_ZNODE,
  KR_PROPERTY_RANGE_INSTANCE,
  KR_PROPERTY_GRPC_TLS,
  KR_PROPERTY_GRPC_TLS_ROOTS,
  KR_PROPERTY_GRPC_TLS_CERTIFICATE,
  KR_PROPERTY_GRPC_TLS_KEY,
  KR_PROPERTY_GRPC_TLS_SERVER_NAME,
  KR_PROPERTY_GRPC_KEEPALIVE,
  KR_PROPERTY_REGISTRY,
  KR_PROPERTY_STATIC_ROOT,
  KR_PROPERTY_USER,
  KR_PROPERTY_DEADLINE,
  KR_PROPERTY_META_OPERATION_TIMEOUT,
  KR_PROPERTY_OPERATION_TIMEOUT,
  KR_PROPERTY_RETRIES,
  KR_PROPERTY_PAUSE,
  KR_PROPERTY_PAUSE_OVERLOADED,
  KR_PROPERTY_PAUSE_MAX,
  KR_PROPERTY_CONNECT_TIMEOUT,
  KR_PROPERTY_RPC_TIMEOUT,
  KR_PROPERTY_CONNECTION_IDLE,
  KR_PROPERTY_FAILED_SERVER,
  KR_PROPERTY_PREFETCH,
  KR_PROPERTY_SCANS_PER_TABLE,
  KR_PROPERTY_SCANS_MAX,
  KR_PROPERTY_FRAME_MAX,
  KR_PROPERTY_PENDING_MAX,
  KR_PROPERTY_SERVER_QUEUE_MAX,
  KR_PROPERTY_CACHE_MAX_REGIONS,
  KR_PROPERTY_CACHE_MAX_BYTES,
  KR_PROPERTY_CACHE_TTL,
  KR_PROPERTY_CACHE_IDLE,
  KR_PROPERTY_CACHE_SWEEP,
  KR_PROPERTY_AUTHENTICATION,
  KR_PROPERTY_TLS,
  KR_PROPERTY_REGISTRY_IMPL,
  KR_PROPERTY_COUNT
};

/* Room for the range of a property as text. */
#define KR_PROPERTY_RANGE_MAX 160

/* One property: what it may be, and why it has the default it has. */
struct kr_property {
  const char *name;     /* as HBase calls it, where HBase does */
  const char *other;    /* a further name, which `name` beats; NULL = none */
  const char *unit;     /* of a number: "ms", "bytes", "", ...; NULL = not a number */
  int64_t min, max;     /* of a number */
  const char *fallback; /* the default as it would be set; NULL = none, or only computed */
  const char *accepts;  /* what a text may be, in words */
  const char *computed; /* how the default is found where that takes a sentence */
  const char *reason;   /* one sentence for the manual */
  bool at_open;         /* a value refused is refused by keyroute_open, not when it is set */
  /* Of a text: NULL if the value (trimmed) will do, else why not, static. */
  const char *(*check)(const char *value);
};

const struct kr_property *kr_property_get(enum kr_property_id id);

/* The property of this name, also by its further one; NULL if it is not known. */
const struct kr_property *kr_property_find(const char *name);

/* Names that begin with keyroute. are ours alone: is this one that we do not know? */
bool kr_property_misspelt(const char *name);

/* Room for a trimmed value; a longer one is refused. */
#define KR_PROPERTY_VALUE_MAX 4096

/* Is this value, which was set under this name, one of the property's? Source: Configuration.getInt
 * trims, takes 0x for hexadecimal and no units.  Errors: INVALID_ARGUMENT, detail names name, value
 * and range; where is put in front of it ("" or "FILE:LINE: "). */
int kr_property_check(const struct kr_property *property, const char *name, const char *value,
                      const char *where, struct keyroute_detail *detail);

/* The number that a value checked before stands for. */
int64_t kr_property_number(const char *value);

/* Copy a value, blanks cut off both ends. False if it does not fit. */
bool kr_property_trim(char out[KR_PROPERTY_VALUE_MAX], const char *value);

/* What the property may be, for messages and the manual: "1 to 60000 ms". */
void kr_property_range(char out[KR_PROPERTY_RANGE_MAX], const struct kr_property *property);

#endif
