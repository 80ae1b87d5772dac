/*
 * The addresses behind the hosts of a ZooKeeper ensemble.
 *
 * ZooKeeper's client could resolve names itself, but does so inside calls that hold its locks,
 * gives up altogether when one of them fails, and keeps the addresses it got first. So names are
 * looked up here, and it is given numbers only.
 *
 *  1. A host that does not resolve costs only itself. What went wrong with it is kept for messages.
 *  2. Numbers need no resolver and are never held up: they are taken in with AI_NUMERICHOST.
 *  3. AI_ADDRCONFIG is not used: on a machine with loopback only it would hide 127.0.0.1.
 *  4. Everything is malloc'ed, since a resolver that hangs outlives the connection.
 *
 * Blocking; on a worker. Hosts are asked one after another, so a slow name delays those behind it;
 * `stop` is asked in between.
 */
#include "lib/ensemble.h"

#include "lib/server.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More addresses than any ensemble has; a bound for what a broken name server may send. */
#define ENDPOINTS_MAX 64

static int look_up(const char *host, int flags, struct addrinfo **found)
{
  struct addrinfo hints = {0};

  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  return getaddrinfo(host, NULL, &hints, found);
}

/* Leaves out what cannot be written as a number, which cannot happen with the two families. */
static void add(struct kr_endpoints *out, const struct kr_host_port *host,
                const struct addrinfo *info)
{
  struct kr_endpoint *endpoint;

  if (out->count == ENDPOINTS_MAX || info->ai_addrlen > sizeof(endpoint->address) ||
      (info->ai_family != AF_INET && info->ai_family != AF_INET6)) {
    return;
  }
  endpoint = &out->list[out->count];
  memset(endpoint, 0, sizeof(*endpoint));
  memcpy(&endpoint->address, info->ai_addr, info->ai_addrlen);
  endpoint->address_len = info->ai_addrlen;
  endpoint->host = host;
  if (getnameinfo(info->ai_addr, info->ai_addrlen, endpoint->numeric,
                  (socklen_t)sizeof(endpoint->numeric), NULL, 0, NI_NUMERICHOST) != 0) {
    return;
  }
  if (info->ai_family == AF_INET) {
    endpoint->address.v4.sin_port = htons((uint16_t)host->port);
  } else {
    endpoint->address.v6.sin6_port = htons((uint16_t)host->port);
  }
  out->count++;
}

static void add_failure(struct kr_failure *failure, const struct kr_host_port *host, int error)
{
  const char *why = error == EAI_SYSTEM ? "system error" : gai_strerror(error);

  if (failure->code == 0) {
    kr_fail(failure, KEYROUTE_E_RESOLVE, "ZooKeeper's host does not resolve: %s (%s)", host->host,
            why);
    kr_server_print(failure->server, sizeof(failure->server), host->host, host->port);
    return;
  }
  size_t len = strlen(failure->message);
  snprintf(failure->message + len, sizeof(failure->message) - len, ", %s (%s)", host->host, why);
}

static void resolve_host(struct kr_endpoints *out, const struct kr_host_port *host,
                         struct kr_failure *failure)
{
  struct addrinfo *found = NULL;
  int error = look_up(host->host, AI_NUMERICHOST, &found);

  if (error != 0) {
    error = look_up(host->host, 0, &found);
  }
  if (error != 0) {
    add_failure(failure, host, error);
    return;
  }
  for (const struct addrinfo *info = found; info != NULL; info = info->ai_next) {
    add(out, host, info);
  }
  freeaddrinfo(found);
}

int kr_ensemble_resolve(struct kr_endpoints *out, const struct kr_connect_string *ensemble,
                        struct kr_failure *failure, kr_ensemble_stop_cb stop, void *arg)
{
  memset(failure, 0, sizeof(*failure));
  out->count = 0;
  out->list = calloc(ENDPOINTS_MAX, sizeof(*out->list));
  if (out->list == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  for (size_t i = 0; i < ensemble->count; i++) {
    if (stop(arg)) {
      return KEYROUTE_E_CANCELLED;
    }
    resolve_host(out, &ensemble->hosts[i], failure);
  }
  return out->count > 0 ? 0 : KEYROUTE_E_RESOLVE;
}

void kr_endpoints_clear(struct kr_endpoints *endpoints)
{
  free(endpoints->list);
  endpoints->list = NULL;
  endpoints->count = 0;
}

bool kr_endpoints_any(const struct kr_endpoints *endpoints, enum kr_endpoint_state state)
{
  for (size_t i = 0; i < endpoints->count; i++) {
    if (endpoints->list[i].state == state) {
      return true;
    }
  }
  return false;
}

char *kr_endpoints_format(const struct kr_endpoints *endpoints, enum kr_endpoint_state state)
{
  size_t size = 1 + endpoints->count * (sizeof(endpoints->list->numeric) + sizeof("[]:65535,"));
  char *text = malloc(size);
  size_t len = 0;

  if (text == NULL) {
    return NULL;
  }
  text[0] = '\0';
  for (size_t i = 0; i < endpoints->count; i++) {
    const struct kr_endpoint *endpoint = &endpoints->list[i];
    if (state != KR_ENDPOINT_SILENT && endpoint->state != state) {
      continue;
    }
    const char *form = endpoint->address.any.sa_family == AF_INET6 ? "%s[%s]:%d" : "%s%s:%d";
    len += (size_t)snprintf(text + len, size - len, form, len > 0 ? "," : "", endpoint->numeric,
                            endpoint->host->port);
  }
  return text;
}
