/*
 * Trust in servers: what a failed scan says about the place where it was sent, and when a server
 * that failed may be asked again.
 *
 *  1. A failure that speaks against the parent's place has the cache forget it, so that the next
 *     try finds out anew. Load and want of memory do not; silence does, but not over and over.
 *  2. A server that cannot be connected to is refused for a while, and all that the cache has on it
 *     is retired: the mark is what keeps those who read it anew from storing it.
 *  3. News of the root that are younger than a server's mark, and name it, end the mark.
 */
#include "lib/trust.h"

#include "lib/clock.h"

/* How often silence may cast doubt on the place of the parent's region: who has little time hears
 * silence where others only wait. */
enum { DOUBT_US = 1000000 };

static int64_t refuse_ms_of(const struct kr_flight *flight, const struct kr_server *server)
{
  return kr_server_refuse_ms(server, flight->means->failed_server_ms);
}

static void drop_server(struct kr_flight *flight, struct kr_server *server)
{
  const struct kr_means *means = flight->means;
  int64_t refuse_ms = refuse_ms_of(flight, server);
  char address[300];

  if (server->failed_until_us > kr_clock_us()) {
    return; /* another flight has just seen to it */
  }
  server->failed_until_us = kr_clock_us() + refuse_ms * 1000;
  kr_log_line(means->log, KEYROUTE_LOG_WARNING,
              "server %s, start code %lld, cannot be connected to: not asked for %lld ms",
              kr_server_print(address, sizeof(address), server->host, server->port),
              (long long)server->start_code, (long long)refuse_ms);
  kr_cache_new_epoch(means->cache);
  kr_server_drop(server);
  kr_sweeper_wake(means->sweeper);
}

/* Does a failure speak against the place where the parent was asked? */
static bool speaks_against(const struct kr_failure *failure, struct kr_server *server)
{
  int64_t now = kr_clock_us();

  if (failure->kind == KEYROUTE_KIND_KEEP || failure->code == KEYROUTE_E_NO_MEMORY) {
    return false;
  }
  if (failure->code == KEYROUTE_E_TIMEOUT && server != NULL) {
    if (server->doubted_us != 0 && now - server->doubted_us < DOUBT_US) {
      return false;
    }
    server->doubted_us = now;
  }
  return true;
}

void kr_trust_lose(struct kr_flight *flight, const struct kr_failure *failure)
{
  struct kr_server *server = kr_location_server(flight->at, 0);

  if (!speaks_against(failure, server)) {
    return;
  }
  kr_cache_remove(flight->means->cache, flight->parent.table, flight->at);
  if (failure->connecting && server != NULL) {
    drop_server(flight, server);
  }
}

void kr_trust_restore(struct kr_flight *flight, const struct keyroute_location *root)
{
  struct kr_server *server = kr_location_server(root, 0);
  int64_t changed_us = flight->means->root_changed_us;

  if (server != NULL &&
      server->failed_until_us - 1000 * refuse_ms_of(flight, server) < changed_us) {
    server->failed_until_us = 0;
  }
}
