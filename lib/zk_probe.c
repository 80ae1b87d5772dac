/*
 * Finds out why there is no ZooKeeper session, and which servers would give one.
 *
 * ZooKeeper's client tries one address after another, waits up to two thirds of the session timeout
 * for each (a minute, with HBase's default) and tells nobody why. So when a session does not come,
 * this asks all addresses for one at the same time and says what each did. It opens a connection,
 * sends a ConnectRequest, and gives the session back with a CloseSession if one comes.
 *
 *  1. A server that takes the connection but has no quorum closes it without an answer: that is
 *     told apart from one that refuses, and from one that says nothing.
 *  2. Never longer than its bound, and looks at `stop` every 50 ms.
 *  3. No byte the server sends is interpreted: that some come is all that is asked.
 *
 * Blocking; on a worker.  Source: zookeeper.jute (ConnectRequest, RequestHeader), ZooDefs.OpCode
 */
#include "lib/zk_probe.h"

#include "lib/clock.h"
#include "lib/server.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How soon it is noticed that nobody waits any more. */
#define SLICE_MS 50
/* How long the others get once one has answered. */
#define GRACE_MS 50

struct probe {
  struct kr_endpoint *endpoint;
  bool asked; /* connected, and the request is sent */
};

static void put_u32(uint8_t *at, uint32_t value)
{
  for (int i = 0; i < 4; i++) {
    at[i] = (uint8_t)(value >> (24 - 8 * i));
  }
}

/* Length, protocol version 0, last zxid seen 0, timeout, session id 0, password of 16 zeros, not
 * read-only. A new socket takes so few bytes at once or not at all. */
static bool send_connect_request(int fd, int session_timeout_ms)
{
  uint8_t request[49] = {0};

  put_u32(request, sizeof(request) - 4);
  put_u32(request + 16, (uint32_t)session_timeout_ms);
  put_u32(request + 28, 16);
  return send(fd, request, sizeof(request), MSG_NOSIGNAL) == (ssize_t)sizeof(request);
}

/* Length, xid 1, type -11. Best effort: the session would expire by itself. */
static void send_close_session(int fd)
{
  uint8_t request[12];

  put_u32(request, 8);
  put_u32(request + 4, 1);
  put_u32(request + 8, (uint32_t)-11);
  (void)send(fd, request, sizeof(request), MSG_NOSIGNAL);
}

static void settle(struct pollfd *slot, struct probe *probe, enum kr_endpoint_state state,
                   int error)
{
  probe->endpoint->state = state;
  probe->endpoint->error = error;
  if (slot->fd >= 0) {
    close(slot->fd);
  }
  slot->fd = -1;
}

static void begin(struct pollfd *slot, struct probe *probe)
{
  struct kr_endpoint *endpoint = probe->endpoint;
  int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

  endpoint->state = KR_ENDPOINT_SILENT;
  slot->events = POLLOUT;
  slot->fd = socket(endpoint->address.any.sa_family, type, 0);
  if (slot->fd < 0 || (connect(slot->fd, &endpoint->address.any, endpoint->address_len) != 0 &&
                       errno != EINPROGRESS)) {
    settle(slot, probe, KR_ENDPOINT_REFUSES, errno);
  }
}

/* The connection is made, or is not. */
static void connected(struct pollfd *slot, struct probe *probe, int session_timeout_ms)
{
  int error = 0;
  socklen_t len = sizeof(error);

  if (getsockopt(slot->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0) {
    error = errno;
  }
  if (error != 0) {
    settle(slot, probe, KR_ENDPOINT_REFUSES, error);
  } else if (!send_connect_request(slot->fd, session_timeout_ms)) {
    settle(slot, probe, KR_ENDPOINT_CLOSES, errno);
  } else {
    probe->asked = true;
    slot->events = POLLIN;
  }
}

static void hear(struct pollfd *slot, struct probe *probe)
{
  uint8_t answer[4];
  ssize_t len = recv(slot->fd, answer, sizeof(answer), 0);

  if (len < 0 && (errno == EAGAIN || errno == EINTR)) {
    return;
  }
  if (len > 0) {
    send_close_session(slot->fd);
    settle(slot, probe, KR_ENDPOINT_ANSWERS, 0);
  } else {
    settle(slot, probe, KR_ENDPOINT_CLOSES, len < 0 ? errno : 0);
  }
}

/* One round of poll. Returns how many have still said nothing. */
static size_t turn(struct pollfd *slots, struct probe *probes, size_t count, int wait_ms,
                   int session_timeout_ms)
{
  size_t open = 0;

  if (poll(slots, (nfds_t)count, wait_ms) < 0) {
    return count;
  }
  for (size_t i = 0; i < count; i++) {
    if (slots[i].fd >= 0 && slots[i].revents != 0) {
      if (probes[i].asked) {
        hear(&slots[i], &probes[i]);
      } else {
        connected(&slots[i], &probes[i], session_timeout_ms);
      }
    }
    open += slots[i].fd >= 0;
  }
  return open;
}

/* Until all have said something, or the time is up, which one that answers cuts short. */
static void run(struct pollfd *slots, struct probe *probes, const struct kr_endpoints *endpoints,
                int64_t until_us, int session_timeout_ms, kr_ensemble_stop_cb stop, void *arg)
{
  size_t open = endpoints->count;
  bool answered = false;

  for (int64_t now_us = kr_clock_us(); open > 0 && now_us < until_us && !stop(arg);
       now_us = kr_clock_us()) {
    int64_t left_ms = (until_us - now_us) / 1000 + 1;
    int wait_ms = left_ms < SLICE_MS ? (int)left_ms : SLICE_MS;
    open = turn(slots, probes, endpoints->count, wait_ms, session_timeout_ms);
    if (!answered && kr_endpoints_any(endpoints, KR_ENDPOINT_ANSWERS)) {
      answered = true;
      int64_t grace_us = kr_clock_us() + GRACE_MS * 1000;
      until_us = grace_us < until_us ? grace_us : until_us;
    }
  }
}

void kr_zk_probe(struct kr_endpoints *endpoints, int bound_ms, int session_timeout_ms,
                 kr_ensemble_stop_cb stop, void *arg)
{
  size_t count = endpoints->count;
  int64_t until_us = kr_clock_us() + (int64_t)bound_ms * 1000;
  struct pollfd *slots = calloc(count, sizeof(*slots));
  struct probe *probes = calloc(count, sizeof(*probes));

  /* Short of memory: nobody has said anything, which is how the caller sees it too. */
  if (slots == NULL || probes == NULL) {
    goto end;
  }
  for (size_t i = 0; i < count; i++) {
    probes[i].endpoint = &endpoints->list[i];
    begin(&slots[i], &probes[i]);
  }
  run(slots, probes, endpoints, until_us, session_timeout_ms, stop, arg);
  for (size_t i = 0; i < count; i++) {
    if (slots[i].fd >= 0) {
      close(slots[i].fd);
    }
  }

end:
  free(probes);
  free(slots);
}

static void add_reason(struct kr_failure *failure, const struct kr_endpoint *endpoint)
{
  size_t len = strlen(failure->message);
  const char *why = "does not answer";
  char server[sizeof(failure->server)];

  if (endpoint->state == KR_ENDPOINT_REFUSES) {
    why = strerrordesc_np(endpoint->error);
  } else if (endpoint->state == KR_ENDPOINT_CLOSES) {
    why = "closes the connection instead of giving a session";
  }
  kr_server_print(server, sizeof(server), endpoint->host->host, endpoint->host->port);
  snprintf(failure->message + len, sizeof(failure->message) - len, "%s%s (%s): %s",
           failure->server[0] == '\0' ? "" : "; ", server, endpoint->numeric,
           why != NULL ? why : "unknown error");
  if (failure->server[0] == '\0') {
    memcpy(failure->server, server, sizeof(server));
  }
}

void kr_zk_probe_explain(struct kr_failure *failure, const struct kr_endpoints *endpoints)
{
  int code = KEYROUTE_E_UNREACHABLE;

  for (size_t i = 0; i < endpoints->count; i++) {
    enum kr_endpoint_state state = endpoints->list[i].state;
    if (state == KR_ENDPOINT_SILENT) {
      code = KEYROUTE_E_TIMEOUT;
    } else if (state == KR_ENDPOINT_CLOSES && code == KEYROUTE_E_UNREACHABLE) {
      code = KEYROUTE_E_BOOTSTRAP;
    }
  }
  kr_fail(failure, code, "ZooKeeper at ");
  for (size_t i = 0; i < endpoints->count; i++) {
    add_reason(failure, &endpoints->list[i]);
  }
}
