/*
 * Sockets by the hand of a peer.
 *
 *  1. As in lib/socket.c the owner is called from the loop only, never inside a call of its own.
 *  2. Events of one socket happen in the order in which they were asked for, none before its time.
 *     One timer runs for the first of them.
 *  3. A socket whose connection is not made within its timeout ends with UNREACHABLE.
 *  4. A socket and what is written come from the connection's memory, as there; what the peer says
 *     does not.
 */
#include "test/fuzz/fake_socket.h"

#include "lib/bytes.h"
#include "lib/clock.h"
#include "lib/server.h"
#include "test/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum what { OPENS, ARRIVES, ENDS };

struct event {
  struct event *next;
  enum what what;
  int64_t due_us;
  size_t len;
  uint8_t bytes[];
};

struct kr_socket {
  struct kr_mem *mem; /* counted */
  struct kr_loop *loop;
  const struct kr_socket_events *events;
  void *arg;
  struct event *first;
  struct kr_timer *timer; /* for the first event */
  struct kr_timer *limit; /* of connecting */
  bool open;
  bool started;
  unsigned number;
  int port;
  char host[];
};

static const struct fake_peer *peer;
static size_t sockets;

void fake_socket_set_peer(const struct fake_peer *to)
{
  peer = to;
}

unsigned *fake_socket_number(struct kr_socket *socket)
{
  return &socket->number;
}

size_t fake_socket_count(void)
{
  return sockets;
}

static void free_socket(struct kr_socket *socket)
{
  struct kr_mem *mem = socket->mem;

  peer->forgets(socket);
  kr_timer_stop(socket->timer);
  kr_timer_stop(socket->limit);
  while (socket->first != NULL) {
    struct event *event = socket->first;

    LL_DELETE(socket->first, event);
    free(event);
  }
  sockets--;
  kr_free(mem, socket);
  kr_mem_release(mem);
}

/* The last call: the owner forgets the socket inside it. */
static void end(struct kr_socket *socket, int code, const char *reason)
{
  const struct kr_socket_events *events = socket->events;
  void *arg = socket->arg;
  struct kr_failure failure;
  char server[272];

  kr_server_print(server, sizeof(server), socket->host, socket->port);
  kr_fail(&failure, code, "server %s: %s", server, reason);
  memcpy(failure.server, server, sizeof(server));
  failure.connecting = !socket->open;
  free_socket(socket);
  events->closed(arg, &failure);
}

/* ---- Events --------------------------------------------------------------------------------- */

static void fire(void *arg);

static void arm(struct kr_socket *socket)
{
  if (socket->first != NULL && socket->timer == NULL) {
    int64_t left_us = socket->first->due_us - kr_clock_us();

    socket->timer = kr_timer_start(socket->loop, left_us > 0 ? left_us / 1000 : 0, fire, socket);
    /* Without memory the event is lost, as if the network had lost it. */
  }
}

/* Tell the owner of one event. The socket may be gone afterwards. */
static void tell(struct kr_socket *socket, const struct event *event)
{
  if (event->what == OPENS && !socket->open) {
    kr_timer_stop(socket->limit);
    socket->limit = NULL;
    socket->open = true;
    socket->events->opened(socket->arg);
  } else if (event->what == ARRIVES && socket->open && event->len > 0) {
    socket->events->received(socket->arg, kr_bytes(event->bytes, event->len));
  } else if (event->what == ENDS) {
    end(socket, KEYROUTE_E_UNREACHABLE, "ended by the peer");
  }
}

static void fire(void *arg)
{
  struct kr_socket *socket = arg;
  struct event *event = socket->first;

  socket->timer = NULL;
  LL_DELETE(socket->first, event);
  arm(socket);
  tell(socket, event);
  free(event);
}

static void queue(struct kr_socket *socket, enum what what, int64_t after_ms,
                  struct keyroute_bytes bytes)
{
  struct event *event = malloc(sizeof(*event) + bytes.len);

  FUZZ_CHECK(event != NULL);
  event->what = what;
  event->due_us = kr_clock_us() + after_ms * 1000;
  event->len = bytes.len;
  if (bytes.len > 0) {
    memcpy(event->bytes, bytes.data, bytes.len);
  }
  LL_APPEND(socket->first, event);
  arm(socket);
}

void fake_socket_open_later(struct kr_socket *socket, int64_t after_ms)
{
  queue(socket, OPENS, after_ms, kr_bytes(NULL, 0));
}

void fake_socket_send_later(struct kr_socket *socket, int64_t after_ms, struct keyroute_bytes bytes)
{
  queue(socket, ARRIVES, after_ms, bytes);
}

void fake_socket_end_later(struct kr_socket *socket, int64_t after_ms)
{
  queue(socket, ENDS, after_ms, kr_bytes(NULL, 0));
}

/* ---- What socket.h says --------------------------------------------------------------------- */

static void too_late(void *arg)
{
  struct kr_socket *socket = arg;

  socket->limit = NULL;
  end(socket, KEYROUTE_E_UNREACHABLE, "no connection in time");
}

struct kr_socket *kr_socket_open(struct kr_mem *mem, struct kr_loop *loop,
                                 struct kr_worker *resolver, const char *host, int port,
                                 int64_t timeout_ms, const struct kr_socket_events *events,
                                 void *arg)
{
  struct kr_socket *socket = kr_calloc(mem, sizeof(*socket) + strlen(host) + 1);

  (void)resolver;
  if (socket == NULL) {
    return NULL;
  }
  strcpy(socket->host, host);
  socket->loop = loop;
  socket->port = port;
  socket->events = events;
  socket->arg = arg;
  socket->limit = kr_timer_start(loop, timeout_ms, too_late, socket);
  if (socket->limit == NULL) {
    kr_free(mem, socket);
    return NULL;
  }
  socket->mem = kr_mem_ref(mem);
  sockets++;
  peer->connects(socket, host, port);
  return socket;
}

int kr_socket_write(struct kr_socket *socket, struct kr_buf *buf)
{
  FUZZ_CHECK(socket->open);
  if (buf->failed) {
    return KEYROUTE_E_NO_MEMORY;
  }
  peer->receives(socket, kr_buf_view(buf));
  kr_buf_clear(buf);
  return 0;
}

size_t kr_socket_waiting(const struct kr_socket *socket)
{
  FUZZ_CHECK(socket->open);
  return 0;
}

void kr_socket_close(struct kr_socket *socket)
{
  if (socket != NULL) {
    free_socket(socket);
  }
}
