#ifndef MADE_LOCATION_H
#define MADE_LOCATION_H

/* Locations for tests, made from a table, bounds, an id and a server. */

#include "lib/bytes.h"
#include "lib/location.h"
#include "lib/region.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

/* What a test wants to say about a region; NULL host = on no server. */
struct made {
  const char *table, *start, *end;
  int64_t id;
  const char *host;
  uint16_t port;
  int64_t start_code, seqnum;
};

/* Write "table,start,id.encoded." and give its length. */
static inline size_t made_name(char *out, size_t size, const struct made *made)
{
  char encoded[33];

  kr_region_encoded_name(encoded, keyroute_string(made->table), keyroute_string(made->start),
                         made->id, 0);
  return (size_t)snprintf(out, size, "%s,%s,%lld.%s.", made->table, made->start,
                          (long long)made->id, encoded);
}

/* A location; one count is the caller's. */
static inline struct keyroute_location *make_location(struct kr_mem *mem,
                                                      struct kr_servers *servers,
                                                      const struct made *made)
{
  char name[512];
  size_t len = made_name(name, sizeof(name), made);
  struct kr_replica replica = {NULL, made->seqnum};

  if (made->host != NULL) {
    replica.server =
        kr_servers_get(servers, keyroute_string(made->host), made->port, made->start_code);
    ck_assert_ptr_nonnull(replica.server);
  }
  struct kr_location_parts parts = {
      .name = kr_bytes(name, len),
      .table_len = strlen(made->table),
      .start_len = strlen(made->start),
      .encoded = kr_bytes(name + len - 33, 32),
      .end_key = keyroute_string(made->end),
      .region_id = made->id,
      .state = KR_STATE_OPEN,
      .replicas = &replica,
      .replica_count = 1,
  };
  struct keyroute_location *location = kr_location_new(mem, &parts);

  kr_server_release(replica.server);
  return location;
}

#endif
