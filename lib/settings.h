#ifndef KR_SETTINGS_H
#define KR_SETTINGS_H

#include "lib/log.h"
#include "lib/mem.h"

/* What a connection runs with: the options, read once at open into typed fields. property.c has
 * range, default and reason of the property behind each field. Strings are owned. */
struct kr_settings {
  struct kr_mem *mem; /* counted */
  struct kr_log log;

  char *layout;      /* "auto", "meta", "root" or "range" */
  char *registry;    /* "zookeeper" or "static" */
  char *static_root; /* "host:port" where registry is "static", else NULL */
  char *zookeeper;   /* "host:port,host:port", every port filled in; no chroot */
  char *chroot;      /* "" or "/prod", no trailing slash */
  char *parent;      /* "/hbase", no trailing slash; "" for the root znode itself; of the layout */
  char *meta_znode;  /* "meta-region-server"; NULL = the layout has none */
  char *root_znode;  /* "root-region-server", of older clusters; NULL = the layout has none */
  char *range_znode; /* "meta1", of range directories; NULL = the layout has none */
  char *range_instance; /* "projects/PROJECT/instances/INSTANCE"; NULL as well */
  int64_t session_timeout_ms;
  int64_t session_idle_ms; /* end the ZooKeeper session after so long without a read; 0 = keep */

  bool grpc_tls;              /* of range directories, as all that begin with grpc */
  char *grpc_tls_roots;       /* paths of files; NULL = none */
  char *grpc_tls_certificate; /* with a key */
  char *grpc_tls_key;
  char *grpc_tls_server_name; /* NULL = the host */
  int64_t grpc_keepalive_ms;  /* 0 = never */

  char *user; /* effective user sent to servers */
  int64_t connect_timeout_ms;
  int64_t rpc_timeout_ms;     /* of one request */
  int64_t connection_idle_ms; /* close a server's connection after so long without a call */
  size_t max_frame_len;       /* bytes; a longer reply is TOO_LARGE */
  size_t max_queue_len;       /* bytes that wait to be sent to one server */

  /* Where callbacks run: on the loop if neither is set. */
  keyroute_post_cb post;
  void *post_payload;
  bool drain;

  int64_t deadline_ms;  /* of calls that name none */
  uint64_t max_pending; /* calls under way; 0 = no bound */
  int retries;
  int64_t pause_ms;
  int64_t pause_overloaded_ms;
  int64_t pause_max_ms; /* cap of one wait */
  int prefetch;         /* rows of a catalog scan when misses come close together */
  int scans_per_table;
  int scans_max; /* of the connection */
  int64_t failed_server_ms;

  size_t cache_max_regions; /* 0 = no bound */
  size_t cache_max_bytes;   /* 0 = no bound */
  int64_t cache_ttl_ms;     /* 0 = no bound */
  int64_t cache_idle_ms;    /* 0 = no bound */
  int64_t cache_sweep_ms;
};

struct kr_property;
struct kr_property_set;
struct kr_property_value;

/* Read a set of properties, every value checked. out  give back with kr_settings_free.
 * Errors: INVALID_ARGUMENT a value, or something asked for that is not built (detail names property
 * and value); NO_MEMORY. */
int kr_settings_read(struct kr_settings **out, struct kr_mem *mem,
                     const struct kr_property_set *set, const struct kr_log *log,
                     struct keyroute_detail *detail);
void kr_settings_free(struct kr_settings *settings); /* NULL is accepted */

/* Will this value, which stands under this name, do for its property? Errors as above. */
int kr_setting_check(struct kr_mem *mem, const struct kr_property *property, const char *name,
                     const struct kr_property_value *value, struct keyroute_detail *detail);

#endif
