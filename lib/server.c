/*
 * Servers, each known once.
 *
 * A cluster has thousands of regions on tens of servers, so a location holds a pointer and the name
 * is kept here. It also makes "drop everything on that server" one mark.
 *
 *  1. The table and the marks of failure belong to the loop thread; the counts are atomic, for a
 *     location may be released anywhere and outlive the table.
 *  2. A server is (host, port, start code). A process that is started again is another server.
 *     One that was dropped and is named again is another object: what was known to be on it stays
 *     dropped with the old one.
 *  3. The table holds one count; kr_servers_purge drops those nobody else counts.
 */
#include "lib/server.h"

#include "lib/bytes.h"
#include "lib/error.h"
#include "lib/hash.h"

#include <stdio.h>
#include <string.h>

/* How long a server without a start code is refused. */
enum { UNNAMED_REFUSE_MS = 300 };

/* What two names are compared by: fixed fields first, so that one run of bytes is the key. */
struct server_key {
  int64_t start_code;
  uint16_t port;
  char host[];
};

struct entry {
  UT_hash_handle hh;
  struct kr_server *server;
  struct server_key *key;
};

struct kr_servers {
  struct kr_mem *mem;
  struct entry *entries;
  size_t entries_size; /* memory that entries, keys and servers take */
  size_t size;         /* atomic: the same, the hash table included */
};

struct kr_server *kr_server_ref(struct kr_server *server)
{
  /* Relaxed: the caller holds a count already. */
  __atomic_fetch_add(&server->refs, 1, __ATOMIC_RELAXED);
  return server;
}

void kr_server_release(struct kr_server *server)
{
  /* Acquire-release: whoever frees sees all that others did before they let go. */
  if (server != NULL && __atomic_fetch_sub(&server->refs, 1, __ATOMIC_ACQ_REL) == 1) {
    struct kr_mem *mem = server->mem;

    kr_free(mem, server);
    kr_mem_release(mem);
  }
}

bool kr_server_same(const struct kr_server *a, const struct kr_server *b)
{
  return a != NULL && b != NULL && a->start_code == b->start_code && a->port == b->port &&
         strcmp(a->host, b->host) == 0;
}

void kr_server_drop(struct kr_server *server)
{
  /* Release, with the acquire of kr_server_dropped: who sees it dropped also sees why (the cache's
   * new epoch). */
  __atomic_store_n(&server->dropped, true, __ATOMIC_RELEASE);
}

int64_t kr_server_refuse_ms(const struct kr_server *server, int64_t refuse_ms)
{
  return server->start_code != 0 ? refuse_ms : UNNAMED_REFUSE_MS;
}

char *kr_server_print(char *out, size_t size, const char *host, int port)
{
  bool bare_ipv6 = strchr(host, ':') != NULL && host[0] != '[';
  char shown[256];

  kr_bytes_print(shown, sizeof(shown), keyroute_string(host));
  snprintf(out, size, bare_ipv6 ? "[%s]:%d" : "%s:%d", shown, port);
  return out;
}

struct kr_servers *kr_servers_new(struct kr_mem *mem)
{
  struct kr_servers *servers = kr_calloc(mem, sizeof(*servers));

  if (servers != NULL) {
    servers->mem = mem;
  }
  return servers;
}

static size_t entry_size(const struct entry *entry)
{
  size_t host_len = strlen(entry->server->host);

  return kr_mem_taken(sizeof(*entry)) + kr_mem_taken(sizeof(*entry->key) + host_len) +
         kr_mem_taken(sizeof(*entry->server) + host_len + 1);
}

static void publish_size(struct kr_servers *servers)
{
  size_t size = servers->entries_size;

  if (servers->entries != NULL) {
    const UT_hash_table *table = servers->entries->hh.tbl;

    size +=
        kr_mem_taken(sizeof(*table)) + kr_mem_taken(table->num_buckets * sizeof(table->buckets[0]));
  }
  /* Relaxed: a figure for people, which orders nothing. */
  __atomic_store_n(&servers->size, size, __ATOMIC_RELAXED);
}

size_t kr_servers_size(const struct kr_servers *servers)
{
  return __atomic_load_n(&servers->size, __ATOMIC_RELAXED);
}

static void remove_entry(struct kr_servers *servers, struct entry *entry)
{
  struct kr_mem *mem = servers->mem;

  servers->entries_size -= entry_size(entry);
  HASH_DEL(servers->entries, entry);
  publish_size(servers);
  kr_server_release(entry->server);
  kr_free(mem, entry->key);
  kr_free(mem, entry);
}

void kr_servers_free(struct kr_servers *servers)
{
  struct entry *entry, *next;

  if (servers == NULL) {
    return;
  }
  HASH_ITER (hh, servers->entries, entry, next) {
    remove_entry(servers, entry);
  }
  kr_free(servers->mem, servers);
}

static struct kr_server *new_server(struct kr_mem *mem, struct keyroute_bytes host, uint16_t port,
                                    int64_t start_code)
{
  struct kr_server *server = kr_alloc(mem, sizeof(*server) + host.len + 1);

  if (server != NULL) {
    *server = (struct kr_server){.mem = kr_mem_ref(mem), .refs = 1};
    server->start_code = start_code;
    server->port = port;
    memcpy(server->host, host.data, host.len);
    server->host[host.len] = '\0';
  }
  return server;
}

static struct server_key *new_key(struct kr_mem *mem, struct keyroute_bytes host, uint16_t port,
                                  int64_t start_code)
{
  /* Cleared, for the padding is compared too. */
  struct server_key *key = kr_calloc(mem, sizeof(*key) + host.len);

  if (key != NULL) {
    key->start_code = start_code;
    key->port = port;
    memcpy(key->host, host.data, host.len);
  }
  return key;
}

/* Take over key and server, both of which are released if it fails. */
static struct entry *add_entry(struct kr_servers *servers, struct server_key *key, size_t key_len,
                               struct kr_server *server)
{
  struct kr_mem *mem = servers->mem;
  struct entry *entry = server != NULL ? kr_calloc(mem, sizeof(*entry)) : NULL;
  bool hash_failed = entry == NULL;

  if (entry != NULL) {
    entry->server = server;
    entry->key = key;
    HASH_ADD_KEYPTR(hh, servers->entries, key, (unsigned)key_len, entry);
  }
  if (hash_failed) {
    kr_server_release(server);
    kr_free(mem, key);
    kr_free(mem, entry);
    return NULL;
  }
  servers->entries_size += entry_size(entry);
  publish_size(servers);
  return entry;
}

/* Have an entry name a new object in place of its dropped one. False = out of memory. */
static bool renew(struct kr_servers *servers, struct entry *entry)
{
  struct kr_server *old = entry->server;
  struct kr_server *server =
      new_server(servers->mem, keyroute_string(old->host), old->port, old->start_code);

  if (server == NULL) {
    return false;
  }
  server->failed_until_us = old->failed_until_us;
  server->doubted_us = old->doubted_us;
  entry->server = server;
  kr_server_release(old);
  return true;
}

struct kr_server *kr_servers_get(struct kr_servers *servers, struct keyroute_bytes host,
                                 uint16_t port, int64_t start_code)
{
  size_t key_len = sizeof(struct server_key) + host.len;
  struct server_key *key = new_key(servers->mem, host, port, start_code);
  struct entry *entry = NULL;

  if (key == NULL) {
    return NULL;
  }
  HASH_FIND(hh, servers->entries, key, (unsigned)key_len, entry);
  if (entry != NULL) {
    kr_free(servers->mem, key);
    if (kr_server_dropped(entry->server) && !renew(servers, entry)) {
      return NULL;
    }
  } else {
    entry = add_entry(servers, key, key_len, new_server(servers->mem, host, port, start_code));
  }
  return entry != NULL ? kr_server_ref(entry->server) : NULL;
}

struct kr_server *kr_servers_find(const struct kr_servers *servers, struct keyroute_bytes host,
                                  uint16_t port, int64_t start_code)
{
  _Alignas(struct server_key) uint8_t room[sizeof(struct server_key) + KR_HOST_MAX] = {0};
  struct server_key *key = (struct server_key *)(void *)room;
  struct entry *entry = NULL;

  if (host.len <= KR_HOST_MAX) {
    key->start_code = start_code;
    key->port = port;
    memcpy(key->host, host.data, host.len);
    HASH_FIND(hh, servers->entries, key, (unsigned)(sizeof(*key) + host.len), entry);
  }
  return entry != NULL ? entry->server : NULL;
}

void kr_servers_purge(struct kr_servers *servers, int64_t now_us)
{
  struct entry *entry, *next;

  HASH_ITER (hh, servers->entries, entry, next) {
    /* Acquire: pairs with the release of a count; whoever held it is done with the server. */
    bool unused = __atomic_load_n(&entry->server->refs, __ATOMIC_ACQUIRE) == 1;

    if (unused && entry->server->failed_until_us <= now_us) {
      remove_entry(servers, entry);
    }
  }
}

size_t kr_servers_count(const struct kr_servers *servers)
{
  return HASH_COUNT(servers->entries);
}
