/*
 * The fake gRPC server: gRPC's own, and the thread that its calls are played on.
 *
 *  1. One thread sits in the completion queue and does everything; the lock is for what other
 *     threads ask and set.
 *  2. gRPC's server cannot break a connection. So its sockets are looked for among all the process
 *     has open, by their ports, and shut down.
 */
#include "test/fake_grpc_server.h"

#include "test/fake_grpc_state.h"
#include "test/must.h"

#include <arpa/inet.h>
#include <grpc/grpc_security.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* ---- Breaking connections ------------------------------------------------------------------- */

/* gRPC's sockets are of IPv6, which holds IPv4's addresses as well. */
union address {
  struct sockaddr any;
  struct sockaddr_in in;
  struct sockaddr_in6 in6;
};

static int port_of(const union address *address)
{
  switch (address->any.sa_family) {
  case AF_INET:
    return ntohs(address->in.sin_port);
  case AF_INET6:
    return ntohs(address->in6.sin6_port);
  default:
    return -1;
  }
}

unsigned fake_grpc_visit_connections(int port, int peer_port, bool breaks)
{
  struct rlimit limit;
  unsigned count = 0;

  getrlimit(RLIMIT_NOFILE, &limit);
  for (int fd = 3; fd < (int)(limit.rlim_cur < 4096 ? limit.rlim_cur : 4096); fd++) {
    union address own, peer;
    socklen_t own_len = sizeof(own), peer_len = sizeof(peer);

    if (getsockname(fd, &own.any, &own_len) != 0 || getpeername(fd, &peer.any, &peer_len) != 0 ||
        port_of(&own) != port || (peer_port != 0 && port_of(&peer) != peer_port)) {
      continue;
    }
    count++;
    if (breaks) {
      shutdown(fd, SHUT_RDWR);
    }
  }
  return count;
}

/* ---- The thread ----------------------------------------------------------------------------- */

static bool is_over(struct fake_grpc_server *server)
{
  pthread_mutex_lock(&server->lock);
  bool has_calls = server->open > 0;

  pthread_mutex_unlock(&server->lock);
  return server->has_stopped && !has_calls && !server->awaits;
}

static void take_stop(struct fake_grpc_tag *tag, bool good)
{
  (void)tag;
  (void)good;
}

static void *run(void *arg)
{
  struct fake_grpc_server *server = arg;

  fake_grpc_await_call(server);
  while (!is_over(server)) {
    gpr_timespec until =
        gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                     gpr_time_from_millis(fake_grpc_play_due(server), GPR_TIMESPAN));
    grpc_event event = grpc_completion_queue_next(server->queue, until, NULL);
    struct fake_grpc_tag *tag = event.tag;

    if (event.type == GRPC_OP_COMPLETE) {
      tag->take(tag, event.success != 0);
      server->has_stopped = server->has_stopped || tag == &server->stopped;
    }
  }
  return NULL;
}

/* ---- Starting and stopping ------------------------------------------------------------------ */

static grpc_server_credentials *credentials(const struct fake_grpc_server *server)
{
  grpc_ssl_pem_key_cert_pair pair = {server->key, server->certificate};

  if (server->key == NULL) {
    return grpc_insecure_server_credentials_create();
  }
  return grpc_ssl_server_credentials_create_ex(
      server->client_roots, &pair, 1,
      server->client_roots != NULL ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                                   : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
      NULL);
}

static void listen_at(struct fake_grpc_server *server)
{
  grpc_arg args[] = {
      {.type = GRPC_ARG_INTEGER, .key = (char *)GRPC_ARG_ALLOW_REUSEPORT, .value.integer = 0},
      {.type = GRPC_ARG_INTEGER,
       .key = (char *)GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
       .value.integer = -1},
      {.type = GRPC_ARG_INTEGER,
       .key = (char *)GRPC_ARG_MAX_METADATA_SIZE,
       .value.integer = 1 << 20}};
  grpc_server_credentials *shown = credentials(server);
  char address[32];

  snprintf(address, sizeof(address), "127.0.0.1:%d", server->port);
  server->server = grpc_server_create(&(grpc_channel_args){3, args}, NULL);
  server->queue = grpc_completion_queue_create_for_next(NULL);
  grpc_server_register_completion_queue(server->server, server->queue, NULL);
  server->port = grpc_server_add_http2_port(server->server, address, shown);
  must_work(server->port > 0);
  grpc_server_credentials_release(shown);
  grpc_server_start(server->server);
}

void fake_grpc_server_restart(struct fake_grpc_server *server)
{
  sigset_t all, saved;

  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &saved);
  grpc_init();
  listen_at(server);
  server->has_stopped = false;
  must_work(pthread_create(&server->thread, NULL, run, server) == 0);
  pthread_sigmask(SIG_SETMASK, &saved, NULL);
}

static char *copy(const char *text)
{
  return text != NULL ? must(strdup(text)) : NULL;
}

struct fake_grpc_server *fake_grpc_server_start_tls(int port, const char *certificate,
                                                    const char *key, const char *client_roots)
{
  struct fake_grpc_server *server = must(calloc(1, sizeof(*server)));

  pthread_mutex_init(&server->lock, NULL);
  pthread_cond_init(&server->changed, NULL);
  server->port = port;
  server->certificate = copy(certificate);
  server->key = copy(key);
  server->client_roots = copy(client_roots);
  server->stopped.take = take_stop;
  fake_grpc_server_restart(server);
  return server;
}

struct fake_grpc_server *fake_grpc_server_start(int port)
{
  return fake_grpc_server_start_tls(port, NULL, NULL, NULL);
}

int fake_grpc_server_port(const struct fake_grpc_server *server)
{
  return server->port;
}

void fake_grpc_server_drop_connections(struct fake_grpc_server *server)
{
  fake_grpc_visit_connections(server->port, 0, true);
}

void fake_grpc_server_stop(struct fake_grpc_server *server)
{
  if (server->server == NULL) {
    return;
  }
  grpc_server_shutdown_and_notify(server->server, server->queue, &server->stopped);
  fake_grpc_server_drop_connections(server);
  grpc_server_cancel_all_calls(server->server);
  pthread_join(server->thread, NULL);
  grpc_server_destroy(server->server);
  server->server = NULL;
  grpc_completion_queue_shutdown(server->queue);
  while (
      grpc_completion_queue_next(server->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL).type !=
      GRPC_QUEUE_SHUTDOWN) {
  }
  grpc_completion_queue_destroy(server->queue);
  grpc_shutdown();
}

void fake_grpc_server_free(struct fake_grpc_server *server)
{
  if (server == NULL) {
    return;
  }
  fake_grpc_server_stop(server);
  while (server->handlers != NULL) {
    struct fake_grpc_handled *handler = server->handlers;

    server->handlers = handler->next;
    free(handler->method);
    free(handler);
  }
  pthread_mutex_destroy(&server->lock);
  pthread_cond_destroy(&server->changed);
  free(server->certificate);
  free(server->key);
  free(server->client_roots);
  free(server);
}

/* ---- Told and asked ------------------------------------------------------------------------- */

void fake_grpc_server_handle(struct fake_grpc_server *server, const char *method,
                             fake_grpc_handler *handler, void *arg)
{
  struct fake_grpc_handled *made = must(calloc(1, sizeof(*made)));

  made->method = must(strdup(method));
  made->handler = handler;
  made->arg = arg;
  pthread_mutex_lock(&server->lock);
  made->next = server->handlers; /* before an older one of the method */
  server->handlers = made;
  pthread_mutex_unlock(&server->lock);
}

static unsigned read_count(struct fake_grpc_server *server, const unsigned *count)
{
  pthread_mutex_lock(&server->lock);
  unsigned value = *count;

  pthread_mutex_unlock(&server->lock);
  return value;
}

unsigned fake_grpc_server_seen(struct fake_grpc_server *server)
{
  return read_count(server, &server->seen);
}

unsigned fake_grpc_server_open_calls(struct fake_grpc_server *server)
{
  return read_count(server, &server->open);
}

unsigned fake_grpc_server_connections(struct fake_grpc_server *server)
{
  return fake_grpc_visit_connections(server->port, 0, false);
}

/* Wait until a count is within bounds. */
static bool await_count(struct fake_grpc_server *server, const unsigned *count, unsigned least,
                        unsigned most, int timeout_ms)
{
  struct timespec until;
  int error = 0;

  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += timeout_ms / 1000;
  until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
  if (until.tv_nsec >= 1000000000) {
    until.tv_sec++;
    until.tv_nsec -= 1000000000;
  }
  pthread_mutex_lock(&server->lock);
  while ((*count < least || *count > most) && error == 0) {
    error = pthread_cond_timedwait(&server->changed, &server->lock, &until);
  }
  bool is_within = *count >= least && *count <= most;

  pthread_mutex_unlock(&server->lock);
  return is_within;
}

bool fake_grpc_server_wait_seen(struct fake_grpc_server *server, unsigned calls, int timeout_ms)
{
  return await_count(server, &server->seen, calls, UINT32_MAX, timeout_ms);
}

bool fake_grpc_server_wait_open(struct fake_grpc_server *server, unsigned calls, int timeout_ms)
{
  return await_count(server, &server->open, 0, calls, timeout_ms);
}
