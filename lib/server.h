#ifndef KR_SERVER_H
#define KR_SERVER_H

#include "lib/mem.h"

/* One region server process: host, port and start code. Interned: equal names are one object, so a
 * comparison of pointers is enough while both come from the same table. Immutable and counted, but
 * for failed_until_us and doubted_us, which belong to the loop thread, and for dropped. */
struct kr_server {
  struct kr_mem *mem;
  size_t refs;             /* atomic, server.c only */
  int64_t failed_until_us; /* a connection to this very process failed: not to be asked before */
  int64_t doubted_us;      /* when its silence last cast doubt on what is known of it; 0 = never */
  int64_t start_code;      /* 0 = unknown */
  uint16_t port;
  bool dropped; /* atomic, never taken back */
  char host[];  /* as the catalog spells it */
};

struct kr_server *kr_server_ref(struct kr_server *server);
void kr_server_release(struct kr_server *server); /* any thread; NULL is accepted */

/* Are these names of one process? NULL is none. */
bool kr_server_same(const struct kr_server *a, const struct kr_server *b);

/* Drop a server: from now on everything that is known to be on it is so no longer. That is one step
 * for any number of locations, each of which asks its server. Any thread; the caller has a count.
 * The name's next kr_servers_get makes another object of it. */
void kr_server_drop(struct kr_server *server);
static inline bool kr_server_dropped(const struct kr_server *server)
{
  /* Acquire: see kr_server_drop. Each hit asks. All hits on the server share the line, which
   * changes only when locations on it come and go (refs), so that it stays in every cache. */
  return __atomic_load_n(&server->dropped, __ATOMIC_ACQUIRE);
}

/* How long a server is refused after a failure: so long if its start code is known; else a fixed
 * short time, for it may be another process by then. */
int64_t kr_server_refuse_ms(const struct kr_server *server, int64_t refuse_ms);

/* Write "host:port", an IPv6 address in brackets; printable, cut to fit. Returns out. */
char *kr_server_print(char *out, size_t size, const char *host, int port);

/* The table in which servers are interned. Loop thread only. */
struct kr_servers;

struct kr_servers *kr_servers_new(struct kr_mem *mem); /* NULL = out of memory */
void kr_servers_free(struct kr_servers *servers);      /* servers still counted live on */

/* The server of that name, made if it is new or was dropped (its marks stay then); a
 * count is the caller's. NULL = out of memory. */
struct kr_server *kr_servers_get(struct kr_servers *servers, struct keyroute_bytes host,
                                 uint16_t port, int64_t start_code);

/* The server of that name as it is known, dropped or not, borrowed; NULL = none is. */
struct kr_server *kr_servers_find(const struct kr_servers *servers, struct keyroute_bytes host,
                                  uint16_t port, int64_t start_code);

/* Forget those that only the table itself still counts, but for those marked as failed now. */
void kr_servers_purge(struct kr_servers *servers, int64_t now_us);
size_t kr_servers_count(const struct kr_servers *servers);

/* Memory that the table and the servers in it take, the allocator's own included. Any thread. */
size_t kr_servers_size(const struct kr_servers *servers);

#endif
