/*
 * The fake gRPC server: gRPC's own, each call played by the script that a handler wrote.
 *
 *  1. One thread sits in the completion queue and does everything; the lock is for what other
 *     threads ask and set.
 *  2. A call has at most two batches out: the one that tells when the client has gone, and one of
 *     reading the request or of a step. It is over when both are back and nothing is to follow.
 *  3. gRPC's server cannot break a connection. So its sockets are looked for among all the process
 *     has open, by their ports, and shut down.
 */
#include "test/fake_grpc_server.h"

#include "test/fake_grpc_script.h"
#include "test/must.h"

#include <arpa/inet.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LONG_MS 86400000

struct handler {
  struct handler *next;
  char *method;
  fake_grpc_handler *handler;
  void *arg;
};

/* Which batch of a call is back. */
struct tag {
  void (*take)(struct tag *tag, bool good);
  struct played *played;
};

/* A call, from the wait for it to its end. */
struct played {
  struct played *next; /* in the server's list of paused ones */
  struct fake_grpc_server *server;
  grpc_call *call;
  grpc_call_details details;
  grpc_metadata_array metadata;
  grpc_byte_buffer *request;
  struct fake_grpc_call script;
  struct tag arrival, reading, step, leaving;
  bool has_script, has_headers, has_ended, is_gone;
  unsigned batches;
  size_t at; /* the next step */
  int64_t due_ms;
  int cancelled;
};

struct fake_grpc_server {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct handler *handlers; /* lock */
  unsigned seen, open;      /* lock */

  int port;
  char *certificate, *key; /* NULL = no TLS */
  char *client_roots;      /* NULL = asks clients for nothing */
  grpc_server *server;     /* while it runs, as what follows */
  grpc_completion_queue *queue;
  pthread_t thread;
  struct tag stopped;
  bool has_stopped;      /* thread */
  bool awaits;           /* thread; gRPC is to tell of the next call */
  struct played *paused; /* thread */
};

static int64_t now_ms(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

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

/* Count the connections of a server's port to a client's, or to any for 0, and break them. */
static unsigned visit_connections(int port, int peer_port, bool breaks)
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

static void break_connection(struct played *played)
{
  char *peer = grpc_call_get_peer(played->call);
  const char *port = strrchr(peer, ':');

  if (port != NULL) {
    visit_connections(played->server->port, atoi(port + 1), true);
  }
  gpr_free(peer);
}

/* ---- One call ------------------------------------------------------------------------------- */

static grpc_slice slice(struct keyroute_bytes bytes)
{
  return grpc_slice_from_copied_buffer(bytes.data, bytes.len);
}

static struct keyroute_bytes bytes(const grpc_slice *slice)
{
  return (struct keyroute_bytes){GRPC_SLICE_START_PTR(*slice), GRPC_SLICE_LENGTH(*slice)};
}

static void start(struct played *played, const grpc_op *ops, size_t count, struct tag *tag)
{
  played->batches++;
  must_work(grpc_call_start_batch(played->call, ops, count, tag, NULL) == GRPC_CALL_OK);
}

static void count_over(struct fake_grpc_server *server)
{
  pthread_mutex_lock(&server->lock);
  server->open--;
  pthread_cond_broadcast(&server->changed);
  pthread_mutex_unlock(&server->lock);
}

static void free_played(struct played *played)
{
  if (played->call != NULL) {
    grpc_call_unref(played->call);
  }
  grpc_call_details_destroy(&played->details);
  grpc_metadata_array_destroy(&played->metadata);
  grpc_byte_buffer_destroy(played->request);
  if (played->has_script) {
    fake_grpc_script_clear(&played->script);
  }
  free(played);
}

static void unpause(struct played *played)
{
  for (struct played **at = &played->server->paused; *at != NULL; at = &(*at)->next) {
    if (*at == played) {
      *at = played->next;
      return;
    }
  }
}

static void end_if_over(struct played *played)
{
  if (played->batches == 0 && played->is_gone) {
    struct fake_grpc_server *server = played->server;

    unpause(played);
    free_played(played);
    count_over(server);
  }
}

/* The first thing that is sent brings the headers with it. */
static size_t put_headers(struct played *played, grpc_op *ops)
{
  if (played->has_headers) {
    return 0;
  }
  ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
  played->has_headers = true;
  return 1;
}

static void send_message(struct played *played, struct keyroute_bytes message)
{
  grpc_op ops[2] = {{0}};
  size_t count = put_headers(played, ops);
  grpc_slice content = slice(message);
  grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&content, 1);

  ops[count].op = GRPC_OP_SEND_MESSAGE;
  ops[count++].data.send_message.send_message = buffer;
  start(played, ops, count, &played->step);
  grpc_byte_buffer_destroy(buffer);
  grpc_slice_unref(content);
}

static void send_status(struct played *played)
{
  const struct fake_grpc_entries *trailers = &played->script.trailers;
  grpc_metadata *metadata = must(calloc(trailers->count + 1, sizeof(*metadata)));
  grpc_slice text =
      grpc_slice_from_copied_string(played->script.text != NULL ? played->script.text : "");
  grpc_op ops[2] = {{0}};
  size_t count = put_headers(played, ops);

  for (size_t i = 0; i < trailers->count; i++) {
    metadata[i].key = grpc_slice_from_copied_string(trailers->entries[i].key);
    metadata[i].value = slice(trailers->entries[i].value);
  }
  ops[count].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
  ops[count].data.send_status_from_server.status = (grpc_status_code)played->script.code;
  ops[count].data.send_status_from_server.status_details = &text;
  ops[count].data.send_status_from_server.trailing_metadata_count = trailers->count;
  ops[count++].data.send_status_from_server.trailing_metadata = metadata;
  played->has_ended = true;
  start(played, ops, count, &played->step);
  for (size_t i = 0; i < trailers->count; i++) {
    grpc_slice_unref(metadata[i].key);
    grpc_slice_unref(metadata[i].value);
  }
  grpc_slice_unref(text);
  free(metadata);
}

static void pause_call(struct played *played, int ms)
{
  played->due_ms = now_ms() + ms;
  played->next = played->server->paused;
  played->server->paused = played;
}

/* Do the next step; what follows it is done when it is. */
static void play(struct played *played)
{
  if (played->is_gone || played->has_ended) {
    end_if_over(played);
    return;
  }
  if (played->at == played->script.step_count) {
    send_status(played);
    return;
  }
  const struct fake_grpc_step *step = &played->script.steps[played->at++];

  switch (step->what) {
  case FAKE_GRPC_MESSAGE:
    send_message(played, step->message);
    break;
  case FAKE_GRPC_PAUSE:
    pause_call(played, step->ms);
    break;
  case FAKE_GRPC_HANG:
    break;
  case FAKE_GRPC_BREAK:
    break_connection(played);
    break;
  }
}

static void take_step(struct tag *tag, bool good)
{
  (void)good;
  tag->played->batches--;
  play(tag->played);
}

/* The client has gone, or has all there is. */
static void take_leaving(struct tag *tag, bool good)
{
  (void)good;
  tag->played->batches--;
  tag->played->is_gone = true;
  end_if_over(tag->played);
}

static void handle(struct played *played)
{
  struct fake_grpc_server *server = played->server;
  struct handler *found;

  pthread_mutex_lock(&server->lock);
  for (found = server->handlers; found != NULL; found = found->next) {
    if (strcmp(found->method, played->script.method) == 0) {
      break;
    }
  }
  fake_grpc_handler *handler = found != NULL ? found->handler : NULL;
  void *arg = found != NULL ? found->arg : NULL;

  pthread_mutex_unlock(&server->lock);
  if (handler != NULL) {
    handler(arg, &played->script);
  } else {
    fake_grpc_status(&played->script, GRPC_STATUS_UNIMPLEMENTED, "no such method here");
  }
}

static void write_script(struct played *played)
{
  grpc_slice request = grpc_empty_slice();
  char *method = grpc_slice_to_c_string(played->details.method);
  grpc_byte_buffer_reader reader;

  if (played->request != NULL && grpc_byte_buffer_reader_init(&reader, played->request)) {
    request = grpc_byte_buffer_reader_readall(&reader);
    grpc_byte_buffer_reader_destroy(&reader);
  }
  fake_grpc_script_init(&played->script, method, bytes(&request));
  for (size_t i = 0; i < played->metadata.count; i++) {
    fake_grpc_script_add_metadata(&played->script, bytes(&played->metadata.metadata[i].key),
                                  bytes(&played->metadata.metadata[i].value));
  }
  played->has_script = true;
  handle(played);
  gpr_free(method);
  grpc_slice_unref(request);
}

static void take_request(struct tag *tag, bool good)
{
  struct played *played = tag->played;

  played->batches--;
  if (good && !played->is_gone) {
    write_script(played);
    play(played);
  } else {
    end_if_over(played);
  }
}

/* ---- The calls that come -------------------------------------------------------------------- */

static void take_arrival(struct tag *tag, bool good);

static void await_call(struct fake_grpc_server *server)
{
  struct played *played = must(calloc(1, sizeof(*played)));

  played->server = server;
  played->arrival = (struct tag){take_arrival, played};
  played->reading = (struct tag){take_request, played};
  played->step = (struct tag){take_step, played};
  played->leaving = (struct tag){take_leaving, played};
  grpc_call_details_init(&played->details);
  grpc_metadata_array_init(&played->metadata);
  server->awaits = true;
  must_work(grpc_server_request_call(server->server, &played->call, &played->details,
                                     &played->metadata, server->queue, server->queue,
                                     &played->arrival) == GRPC_CALL_OK);
}

static void count_arrival(struct fake_grpc_server *server)
{
  pthread_mutex_lock(&server->lock);
  server->seen++;
  server->open++;
  pthread_cond_broadcast(&server->changed);
  pthread_mutex_unlock(&server->lock);
}

static void take_arrival(struct tag *tag, bool good)
{
  struct played *played = tag->played;
  grpc_op read = {.op = GRPC_OP_RECV_MESSAGE}, leave = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER};

  played->server->awaits = false;
  if (!good) {
    free_played(played);
    return;
  }
  await_call(played->server);
  count_arrival(played->server);
  leave.data.recv_close_on_server.cancelled = &played->cancelled;
  start(played, &leave, 1, &played->leaving);
  read.data.recv_message.recv_message = &played->request;
  start(played, &read, 1, &played->reading);
}

/* ---- The thread ----------------------------------------------------------------------------- */

/* Go on with the calls whose time has come. Returns the ms until the next one's. */
static int64_t play_due(struct fake_grpc_server *server)
{
  int64_t now = now_ms(), wait = LONG_MS;

  for (struct played *played = server->paused, *next; played != NULL; played = next) {
    next = played->next;
    if (played->due_ms <= now) {
      unpause(played);
      play(played);
      wait = 0; /* it may pause again */
    } else if (played->due_ms - now < wait) {
      wait = played->due_ms - now;
    }
  }
  return wait;
}

static bool is_over(struct fake_grpc_server *server)
{
  pthread_mutex_lock(&server->lock);
  bool has_calls = server->open > 0;

  pthread_mutex_unlock(&server->lock);
  return server->has_stopped && !has_calls && !server->awaits;
}

static void take_stop(struct tag *tag, bool good)
{
  (void)tag;
  (void)good;
}

static void *run(void *arg)
{
  struct fake_grpc_server *server = arg;

  await_call(server);
  while (!is_over(server)) {
    gpr_timespec until = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                                      gpr_time_from_millis(play_due(server), GPR_TIMESPAN));
    grpc_event event = grpc_completion_queue_next(server->queue, until, NULL);
    struct tag *tag = event.tag;

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
  visit_connections(server->port, 0, true);
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
    struct handler *handler = server->handlers;

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
  struct handler *made = must(calloc(1, sizeof(*made)));

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
  return visit_connections(server->port, 0, false);
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
