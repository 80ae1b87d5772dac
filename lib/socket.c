/*
 * One TCP connection on the loop: how a host name becomes bytes going to and fro.
 *
 * Life: starting -> resolving (names only) -> trying, one address after another -> open -> ended.
 * A try that fails makes way for the next address; the last one's reason is told. Addresses are not
 * tried side by side: a region server's name has one or two, and a black-holed one still leaves
 * the next its share of the time.
 *
 *  1. The owner is called from the loop only, never inside a call of its own: opening begins with a
 *     posted task, everything later with an event of libuv.
 *  2. libuv's handle lives in a `link`, which outlives the socket until libuv has let go of it; a
 *     link whose socket is NULL is on its way out and tells nobody anything. A socket has at most
 *     one link.
 *  3. The same holds for a resolution: `struct lookup` is made with malloc because it may outlive
 *     the whole connection, knows its socket only on the loop, and finds NULL there if the socket
 *     has gone. Sockets are closed before the worker is, so that no socket points to a dropped job.
 *  4. Each address gets an equal part of the time that is left, so that the sum holds. The time of
 *     a resolver that does not answer counts too.
 *
 * This is where TLS comes in: between `link_read` and events->received, and between kr_socket_write
 * and uv_try_write, with its handshake done before events->opened. SASL is bytes of the protocol:
 * it belongs above, between events->opened and the connection header (rpc.c, codec->hello), though
 * its wrapping of later frames (auth-int, auth-conf) takes the same two places as TLS.
 *
 * Threads: the loop; the getaddrinfo of a name runs on the worker. SIGPIPE is blocked on the loop.
 */
#include "lib/socket.h"

#include "lib/bytes.h"
#include "lib/clock.h"
#include "lib/server.h"

#include <assert.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#define READ_SIZE (64 * 1024)
#define KEEPALIVE_S 30

enum state { STARTING, RESOLVING, TRYING, OPEN };

/* One try of one address: what libuv holds. */
struct link {
  uv_tcp_t tcp;
  uv_connect_t connect;
  struct kr_mem *mem;       /* counted */
  struct kr_socket *socket; /* NULL = on its way out */
  char bytes[READ_SIZE];
};

/* A name being resolved; malloc, since it may outlive the socket and the allocator's owner. */
struct lookup {
  struct kr_job job;
  struct kr_socket *socket; /* the loop's; NULL = nobody waits */
  struct addrinfo *found;
  int result;   /* getaddrinfo's */
  bool at_home; /* it failed here, before a name server was asked */
  char port[8];
  char host[];
};

struct write {
  uv_write_t uv;
  struct kr_mem *mem; /* counted */
  uint8_t *data;
};

struct kr_socket {
  struct kr_mem *mem; /* counted */
  struct kr_loop *loop;
  struct kr_worker *resolver;
  const struct kr_socket_events *events;
  void *arg;
  enum state state;
  bool forgotten; /* closed while the first task was still to run: that frees it */
  struct kr_task start;
  struct link *link;      /* NULL = none */
  struct lookup *lookup;  /* NULL = none */
  struct kr_timer *timer; /* NULL = none */
  struct addrinfo *found; /* all addresses */
  struct addrinfo *next;  /* the next to try */
  int64_t deadline_us;
  int64_t timeout_ms;
  int port;
  char address[64]; /* the one being tried, as text */
  char server[272];
  char reason[256]; /* why the last address failed */
  bool at_home;     /* it failed here, before the server was asked */
  char host[];
};

static void try_next(struct kr_socket *socket);

static void link_closed(uv_handle_t *handle)
{
  struct link *link = handle->data;
  struct kr_mem *mem = link->mem;

  kr_free(mem, link);
  kr_mem_release(mem);
}

static void drop_link(struct kr_socket *socket)
{
  if (socket->link != NULL) {
    socket->link->socket = NULL;
    uv_close((uv_handle_t *)&socket->link->tcp, link_closed);
    socket->link = NULL;
  }
}

static void free_socket(struct kr_socket *socket)
{
  struct kr_mem *mem = socket->mem;

  kr_timer_stop(socket->timer);
  drop_link(socket);
  if (socket->lookup != NULL) {
    socket->lookup->socket = NULL;
  }
  if (socket->found != NULL) {
    freeaddrinfo(socket->found);
  }
  kr_free(mem, socket);
  kr_mem_release(mem);
}

void kr_socket_close(struct kr_socket *socket)
{
  if (socket == NULL) {
    return;
  }
  if (socket->state == STARTING) {
    socket->forgotten = true;
  } else {
    free_socket(socket);
  }
}

/* Tell the owner, then go: the last thing that happens to a socket. */
static void end_socket(struct kr_socket *socket, struct kr_failure *failure)
{
  const struct kr_socket_events *events = socket->events;
  void *arg = socket->arg;

  snprintf(failure->server, sizeof(failure->server), "%s", socket->server);
  free_socket(socket);
  events->closed(arg, failure);
}

static void end_no_memory(struct kr_socket *socket)
{
  struct kr_failure failure;

  kr_fail(&failure, KEYROUTE_E_NO_MEMORY, "connect to %s: out of memory", socket->server);
  end_socket(socket, &failure);
}

/* ---- Open ----------------------------------------------------------------------------------- */

static void link_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
  struct link *link = handle->data;

  (void)suggested;
  *buf = uv_buf_init(link->bytes, sizeof(link->bytes));
}

static void end_lost(struct kr_socket *socket, int error)
{
  struct kr_failure failure;

  if (error == UV_EOF) {
    kr_fail(&failure, KEYROUTE_E_UNREACHABLE, "connection to %s closed by the server",
            socket->server);
  } else {
    kr_fail(&failure, KEYROUTE_E_UNREACHABLE, "connection to %s: %s", socket->server,
            strerror(-error));
  }
  end_socket(socket, &failure);
}

static void link_read(uv_stream_t *stream, ssize_t len, const uv_buf_t *buf)
{
  struct link *link = stream->data;
  struct kr_socket *socket = link->socket;

  if (socket == NULL || len == 0) { /* 0 = nothing to read after all */
    return;
  }
  if (len < 0) {
    end_lost(socket, (int)len);
    return;
  }
  socket->events->received(socket->arg, (struct keyroute_bytes){buf->base, (size_t)len});
}

static void become_open(struct kr_socket *socket)
{
  struct link *link = socket->link;

  kr_timer_stop(socket->timer);
  socket->timer = NULL;
  socket->state = OPEN;
  /* Requests are small and waited for; a peer that has silently gone is found out by keepalive.
   * Neither is worth failing for. */
  uv_tcp_nodelay(&link->tcp, 1);
  uv_tcp_keepalive(&link->tcp, 1, KEEPALIVE_S);
  int error = uv_read_start((uv_stream_t *)&link->tcp, link_alloc, link_read);

  if (error != 0) {
    end_lost(socket, error);
    return;
  }
  socket->events->opened(socket->arg);
}

static void write_done(uv_write_t *uv, int status)
{
  struct write *write = uv->data;
  struct link *link = uv->handle->data;
  struct kr_mem *mem = write->mem;

  kr_free(mem, write->data);
  kr_free(mem, write);
  kr_mem_release(mem);
  if (status < 0 && link->socket != NULL) {
    end_lost(link->socket, status);
  }
}

/* Have libuv send what the kernel did not take. The memory goes with it. */
static int write_later(struct kr_socket *socket, struct write *write, struct kr_buf *buf,
                       size_t sent)
{
  uv_buf_t out = uv_buf_init((char *)buf->data + sent, (unsigned)(buf->len - sent));

  write->mem = socket->mem;
  write->data = buf->data;
  write->uv.data = write;
  /* It refuses synchronously only for want of memory, and what is in one piece needs none; a dead
   * connection is told to write_done. */
  if (uv_write(&write->uv, (uv_stream_t *)&socket->link->tcp, &out, 1, write_done) != 0) {
    kr_free(socket->mem, write);
    return KEYROUTE_E_NO_MEMORY;
  }
  kr_mem_ref(socket->mem);
  kr_buf_init(buf, buf->mem);
  return 0;
}

int kr_socket_write(struct kr_socket *socket, struct kr_buf *buf)
{
  /* First of all, for where a part has been sent the rest has to follow. */
  struct write *write = buf->failed ? NULL : kr_calloc(socket->mem, sizeof(*write));

  assert(socket->state == OPEN);
  if (write == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  uv_buf_t out = uv_buf_init((char *)buf->data, (unsigned)buf->len);
  /* Nearly always the kernel takes it all, and libuv need not watch for room. Errors come again. */
  int sent = uv_try_write((uv_stream_t *)&socket->link->tcp, &out, 1);

  if (sent < 0 || (size_t)sent < buf->len) {
    return write_later(socket, write, buf, sent > 0 ? (size_t)sent : 0);
  }
  kr_free(socket->mem, write);
  kr_buf_clear(buf);
  return 0;
}

size_t kr_socket_waiting(const struct kr_socket *socket)
{
  assert(socket->state == OPEN);
  return uv_stream_get_write_queue_size((const uv_stream_t *)&socket->link->tcp);
}

/* ---- Trying addresses ----------------------------------------------------------------------- */

static void note_reason(struct kr_socket *socket, const char *what)
{
  if (strcmp(socket->address, socket->host) == 0) {
    snprintf(socket->reason, sizeof(socket->reason), ": %s", what);
  } else {
    snprintf(socket->reason, sizeof(socket->reason), " (%s): %s", socket->address, what);
  }
}

static void link_connected(uv_connect_t *connect, int status)
{
  struct link *link = connect->data;
  struct kr_socket *socket = link->socket;

  if (socket == NULL) {
    return;
  }
  if (status == 0) {
    become_open(socket);
    return;
  }
  note_reason(socket, strerror(-status));
  try_next(socket);
}

static void try_timed_out(void *arg)
{
  struct kr_socket *socket = arg;
  char what[64];

  socket->timer = NULL;
  snprintf(what, sizeof(what), "no answer to connect within %lld ms",
           (long long)socket->timeout_ms);
  note_reason(socket, what);
  try_next(socket);
}

static int64_t left_ms(const struct kr_socket *socket)
{
  int64_t left_us = socket->deadline_us - kr_clock_us();

  return left_us > 0 ? left_us / 1000 : 0;
}

/* This address' part of the time that is left. */
static int64_t share_ms(const struct kr_socket *socket)
{
  int64_t addresses = 1;

  for (const struct addrinfo *at = socket->next; at != NULL; at = at->ai_next) {
    addresses++;
  }
  return left_ms(socket) / addresses;
}

/* NULL = out of memory. */
static struct link *new_link(struct kr_socket *socket)
{
  struct link *link = kr_alloc(socket->mem, sizeof(*link));

  if (link == NULL) {
    return NULL;
  }
  if (uv_tcp_init(kr_loop_uv(socket->loop), &link->tcp) != 0) {
    kr_free(socket->mem, link);
    return NULL;
  }
  link->mem = kr_mem_ref(socket->mem);
  link->socket = socket;
  link->tcp.data = link;
  link->connect.data = link;
  return link;
}

/* Did connecting fail for want of something here? That says nothing about the server. */
static bool is_shortage(int error)
{
  return error == UV_EMFILE || error == UV_ENFILE || error == UV_ENOBUFS || error == UV_ENOMEM;
}

/* Try the next address, or tell that the last has failed. */
static void try_next(struct kr_socket *socket)
{
  int error = 0;

  socket->state = TRYING;
  do {
    const struct addrinfo *address = socket->next;

    drop_link(socket);
    kr_timer_stop(socket->timer);
    socket->timer = NULL;
    if (address == NULL) {
      struct kr_failure failure;

      kr_fail(&failure, KEYROUTE_E_UNREACHABLE, "connect to %s%s", socket->server, socket->reason);
      failure.connecting = !socket->at_home;
      end_socket(socket, &failure);
      return;
    }
    socket->next = address->ai_next;
    socket->at_home = false;
    getnameinfo(address->ai_addr, address->ai_addrlen, socket->address, sizeof(socket->address),
                NULL, 0, NI_NUMERICHOST);
    socket->link = new_link(socket);
    socket->timer = kr_timer_start(socket->loop, share_ms(socket), try_timed_out, socket);
    if (socket->link == NULL || socket->timer == NULL) {
      end_no_memory(socket);
      return;
    }
    error = uv_tcp_connect(&socket->link->connect, &socket->link->tcp, address->ai_addr,
                           link_connected);
    if (error != 0) {
      socket->at_home = is_shortage(error);
      note_reason(socket, strerror(-error));
    }
  } while (error != 0);
}

/* ---- Resolving ------------------------------------------------------------------------------ */

static int find_addresses(const char *host, const char *port, int flags, struct addrinfo **found)
{
  struct addrinfo wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags};

  return getaddrinfo(host, port, &wanted, found);
}

static void free_lookup(struct kr_job *job)
{
  struct lookup *lookup = (struct lookup *)job;

  if (lookup->found != NULL) {
    freeaddrinfo(lookup->found);
  }
  free(lookup);
}

/* Did resolving fail for want of something here? glibc may say that there is no such name when it
 * finds no descriptor to read its files and to ask with: so see whether there is one. */
static bool failed_at_home(int result)
{
  if (result == 0) {
    return false;
  }
  if (result == EAI_MEMORY || result == EAI_SYSTEM) {
    return true;
  }
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

  if (fd >= 0) {
    close(fd);
  }
  return fd < 0;
}

static void lookup_run(struct kr_job *job)
{
  struct lookup *lookup = (struct lookup *)job;

  lookup->result = find_addresses(lookup->host, lookup->port, AI_NUMERICSERV, &lookup->found);
  lookup->at_home = failed_at_home(lookup->result);
}

static void end_unresolved(struct kr_socket *socket, const char *why)
{
  struct kr_failure failure;
  char name[256];

  kr_bytes_print(name, sizeof(name), keyroute_string(socket->host));
  kr_fail(&failure, KEYROUTE_E_RESOLVE, "host name \"%s\" of server %s: %s", name, socket->server,
          why);
  failure.connecting = !socket->at_home;
  end_socket(socket, &failure);
}

static void lookup_done(struct kr_job *job)
{
  struct lookup *lookup = (struct lookup *)job;
  struct kr_socket *socket = lookup->socket;
  int result = lookup->result;

  if (socket != NULL) {
    socket->lookup = NULL;
    socket->at_home = lookup->at_home;
    socket->found = lookup->found;
    socket->next = lookup->found;
    lookup->found = NULL;
  }
  free_lookup(job);
  if (socket == NULL) {
    return;
  }
  if (result != 0) {
    end_unresolved(socket, gai_strerror(result));
  } else {
    try_next(socket);
  }
}

static void resolve_timed_out(void *arg)
{
  struct kr_socket *socket = arg;
  char why[64];

  socket->timer = NULL;
  snprintf(why, sizeof(why), "no answer from the resolver within %lld ms",
           (long long)socket->timeout_ms);
  end_unresolved(socket, why);
}

static void resolve(struct kr_socket *socket, const char *port)
{
  size_t host_size = strlen(socket->host) + 1;
  struct lookup *lookup = calloc(1, sizeof(*lookup) + host_size);

  socket->state = RESOLVING;
  socket->timer = kr_timer_start(socket->loop, left_ms(socket), resolve_timed_out, socket);
  if (lookup == NULL || socket->timer == NULL) {
    free(lookup);
    end_no_memory(socket);
    return;
  }
  lookup->job.run = lookup_run;
  lookup->job.done = lookup_done;
  lookup->job.drop = free_lookup;
  lookup->socket = socket;
  memcpy(lookup->host, socket->host, host_size);
  memcpy(lookup->port, port, sizeof(lookup->port));
  socket->lookup = lookup;
  kr_worker_submit(socket->resolver, &lookup->job);
}

/* ---- Opening -------------------------------------------------------------------------------- */

static void run_start(struct kr_task *task)
{
  struct kr_socket *socket = (struct kr_socket *)((char *)task - offsetof(struct kr_socket, start));
  char port[8];

  if (socket->forgotten) {
    free_socket(socket);
    return;
  }
  snprintf(port, sizeof(port), "%u", (unsigned)socket->port & 0xffff);
  if (find_addresses(socket->host, port, AI_NUMERICHOST | AI_NUMERICSERV, &socket->found) == 0) {
    socket->next = socket->found;
    try_next(socket);
  } else {
    socket->found = NULL;
    resolve(socket, port);
  }
}

struct kr_socket *kr_socket_open(struct kr_mem *mem, struct kr_loop *loop,
                                 struct kr_worker *resolver, const char *host, int port,
                                 int64_t timeout_ms, const struct kr_socket_events *events,
                                 void *arg)
{
  size_t host_size = strlen(host) + 1;
  struct kr_socket *socket = kr_calloc(mem, sizeof(*socket) + host_size);

  if (socket == NULL) {
    return NULL;
  }
  socket->mem = kr_mem_ref(mem);
  socket->loop = loop;
  socket->resolver = resolver;
  socket->events = events;
  socket->arg = arg;
  socket->port = port;
  socket->timeout_ms = timeout_ms;
  socket->deadline_us = kr_clock_us() + timeout_ms * 1000;
  memcpy(socket->host, host, host_size);
  kr_server_print(socket->server, sizeof(socket->server), host, port);
  socket->start.run = run_start;
  kr_loop_post(loop, &socket->start);
  return socket;
}
