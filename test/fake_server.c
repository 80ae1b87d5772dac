/*
 * The scripted region server: one thread, poll, plain sockets.
 *
 * The thread sleeps in poll until a socket has bytes, an answer is due, or a call here has written
 * to its wake pipe. Everything else happens under one lock: calls from the test and the thread's
 * work take turns.
 *
 *  1. Answers are made at once, by who knows the method, and wait in `answers` until they are due.
 *  2. A connection is known by its serial number; answers to one that has gone are dropped.
 *  3. Sending blocks, for two seconds at most where the client does not read.
 *
 * Of the library only the messages are used, so that its mistakes do not cancel out here.
 *
 * Source: HBase ipc.ServerRpcConnection
 */
#include "test/fake_server_state.h"

#include "test/loopback.h"
#include "test/must.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HELLO_FIXED_LEN 10 /* preamble and length */

int64_t fake_now_ms(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- Sending -------------------------------------------------------------------------------- */

static void remove_conn(struct fake_server *server, size_t index)
{
  struct fake_conn *conn = server->conns[index];

  if (conn->fd >= 0) {
    close(conn->fd);
  }
  server->multis -= conn->multis;
  free(conn->in);
  free(conn);
  server->conns[index] = server->conns[--server->conn_count];
  server->counts.connections = (unsigned)server->conn_count;
  pthread_cond_broadcast(&server->changed);
}

static size_t find_conn(const struct fake_server *server, unsigned serial)
{
  size_t index = 0;

  while (index < server->conn_count && server->conns[index]->serial != serial) {
    index++;
  }
  return index;
}

static void send_bytes(int fd, const uint8_t *data, size_t len, size_t piece)
{
  while (len > 0) {
    size_t now = len < piece ? len : piece;
    ssize_t sent = send(fd, data, now, MSG_NOSIGNAL);

    if (sent <= 0) {
      return; /* the client has gone; poll will tell */
    }
    data += sent;
    len -= (size_t)sent;
  }
}

/* An answer leaves: its request is no longer in flight. */
static void note_left(struct fake_server *server, const struct fake_answer *answer)
{
  size_t index = find_conn(server, answer->serial);

  server->unsent--;
  if (index < server->conn_count && answer->is_multi) {
    server->conns[index]->multis--;
    server->multis--;
  }
}

static void deliver(struct fake_server *server, struct fake_answer *answer)
{
  size_t index = find_conn(server, answer->serial);

  note_left(server, answer);
  if (index < server->conn_count) {
    int fd = server->conns[index]->fd;

    send_bytes(fd, answer->bytes.data, answer->bytes.len, answer->trickle ? 1 : SIZE_MAX);
    if (answer->after == FAKE_THEN_RESET) {
      struct linger at_once = {1, 0};

      setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    }
    if (answer->after != FAKE_KEEP_OPEN) {
      remove_conn(server, index);
    }
  }
  free(answer->bytes.data);
  free(answer);
}

void fake_queue_answer(struct fake_server *server, const struct fake_answer *from)
{
  struct fake_answer *answer = must(malloc(sizeof(*answer)));
  struct fake_answer **at = &server->answers;

  *answer = *from;
  while (*at != NULL && (*at)->due_ms <= answer->due_ms) {
    at = &(*at)->next;
  }
  answer->next = *at;
  *at = answer;
  server->unsent++;
  if (server->unsent > server->counts.most_unsent) {
    server->counts.most_unsent = server->unsent;
  }
}

static void send_due(struct fake_server *server)
{
  int64_t now = fake_now_ms();

  while (server->answers != NULL && server->answers->due_ms <= now) {
    struct fake_answer *answer = server->answers;

    server->answers = answer->next;
    deliver(server, answer);
  }
}

/* ---- Requests ------------------------------------------------------------------------------- */

void fake_note_text(char *to, size_t size, const char *from)
{
  snprintf(to, size, "%s", from != NULL ? from : "");
}

size_t fake_note_bytes(char *to, size_t size, ProtobufCBinaryData from)
{
  size_t len = from.len < size - 1 ? from.len : size - 1;

  if (len > 0) {
    memcpy(to, from.data, len);
  }
  to[len] = '\0';
  return len;
}

enum fake_encoding fake_encoding_for(const struct fake_server *server,
                                     const struct fake_request *request)
{
  return request->conn->has_codec ? server->encoding : FAKE_INLINE;
}

/* Hand a request to who knows its method. */
static void run_method(struct fake_server *server, struct fake_request *request)
{
  const char *method = request->header->method_name;

  fake_note_seen(server, method);
  if (strcmp(method, "Scan") == 0) {
    fake_run_scan(server, request);
  } else if (strcmp(method, "Get") == 0) {
    fake_run_get(server, request);
  } else if (strcmp(method, "Multi") == 0) {
    fake_run_multi(server, request);
  } else if (!fake_run_call(server, request)) {
    fake_refuse(server, request->conn, request->header->call_id,
                "org.apache.hadoop.hbase.DoNotRetryIOException", "method is not played");
  }
}

static void run_request(struct fake_server *server, struct fake_conn *conn, const uint8_t *frame,
                        size_t len)
{
  const uint8_t *at = frame;
  ProtobufCBinaryData head = fake_in_piece(&at, frame + len);
  Kr__Pb__RequestHeader *header = kr__pb__request_header__unpack(NULL, head.len, head.data);

  must_work(header != NULL && header->has_call_id && header->method_name != NULL &&
            header->request_param);
  struct fake_request request = {.conn = conn, .header = header};

  size_t cells_len = header->cell_block_meta != NULL ? header->cell_block_meta->length : 0;

  request.param = fake_in_piece(&at, frame + len);
  request.cells = (ProtobufCBinaryData){cells_len, (uint8_t *)(uintptr_t)at};
  must_work((size_t)(frame + len - at) == cells_len);
  server->counts.rpcs++;
  run_method(server, &request);
  kr__pb__request_header__free_unpacked(header, NULL);
  pthread_cond_broadcast(&server->changed);
}

static uint32_t in_length(const uint8_t *at)
{
  return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Read preamble and ConnectionHeader. Returns how many bytes they took, 0 if they are not there yet
 * or not to be believed. */
static size_t run_hello(struct fake_server *server, struct fake_conn *conn)
{
  if (conn->in_len < HELLO_FIXED_LEN) {
    return 0;
  }
  if (memcmp(conn->in, "HBas\0\x50", 6) != 0) {
    fake_refuse_conn(server, conn, "org.apache.hadoop.hbase.ipc.FatalConnectionException",
                     "Expected HEADER=HBas but received something else");
    conn->in_len = 0;
    return 0;
  }
  size_t len = in_length(conn->in + 6);

  if (conn->in_len < HELLO_FIXED_LEN + len) {
    return 0;
  }
  Kr__Pb__ConnectionHeader *header =
      kr__pb__connection_header__unpack(NULL, len, conn->in + HELLO_FIXED_LEN);

  must_work(header != NULL);
  fake_note_text(conn->user, sizeof(conn->user),
                 header->user_info != NULL ? header->user_info->effective_user : NULL);
  fake_note_text(conn->service, sizeof(conn->service), header->service_name);
  fake_note_text(conn->codec, sizeof(conn->codec), header->cell_block_codec_class);
  conn->has_codec = header->cell_block_codec_class != NULL;
  conn->greeted = true;
  server->counts.hellos++;
  kr__pb__connection_header__free_unpacked(header, NULL);
  return HELLO_FIXED_LEN + len;
}

/* One hello or request from the head of what was read; 0 = nothing whole is there. */
static size_t run_head(struct fake_server *server, struct fake_conn *conn, size_t taken)
{
  const uint8_t *at = conn->in + taken;
  size_t left = conn->in_len - taken;

  if (!conn->greeted) {
    return run_hello(server, conn);
  }
  if (left < 4 || left - 4 < in_length(at)) {
    return 0;
  }
  run_request(server, conn, at + 4, in_length(at));
  return 4 + (size_t)in_length(at);
}

static void run_input(struct fake_server *server, struct fake_conn *conn)
{
  size_t taken = 0;
  size_t len;

  do {
    len = run_head(server, conn, taken);
    taken += len;
  } while (len > 0);
  memmove(conn->in, conn->in + taken, conn->in_len - taken);
  conn->in_len -= taken;
}

static void make_room(struct fake_conn *conn, size_t len)
{
  if (conn->in_cap - conn->in_len < len) {
    conn->in_cap += len;
    conn->in = must(realloc(conn->in, conn->in_cap));
  }
}

/* Read what is there. False = the client has gone. */
static bool read_conn(struct fake_server *server, struct fake_conn *conn)
{
  make_room(conn, 65536);
  ssize_t len = recv(conn->fd, conn->in + conn->in_len, conn->in_cap - conn->in_len, MSG_DONTWAIT);

  if (len <= 0) {
    return len < 0 && (errno == EAGAIN || errno == EINTR);
  }
  conn->in_len += (size_t)len;
  run_input(server, conn);
  return true;
}

/* ---- The thread ----------------------------------------------------------------------------- */

static void add_conn(struct fake_server *server, struct fake_conn *conn)
{
  conn->serial = server->next_serial++;
  server->conns[server->conn_count++] = conn;
  server->counts.connects++;
  server->counts.connections = (unsigned)server->conn_count;
  pthread_cond_broadcast(&server->changed);
}

static void accept_conn(struct fake_server *server)
{
  struct timeval patience = {2, 0};
  int yes = 1;
  int fd = accept(server->listener, NULL, NULL);

  if (fd < 0) {
    return;
  }
  must_work(server->conn_count < FAKE_MAX_CONNS);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  struct fake_conn *conn = must(calloc(1, sizeof(*conn)));

  conn->fd = fd;
  add_conn(server, conn);
}

/* Fill in what to wait for: the pipe, the listener, then the connections. */
static nfds_t list_fds(const struct fake_server *server, struct pollfd *fds, unsigned *serials)
{
  nfds_t count = 2;

  fds[0] = (struct pollfd){.fd = server->wake[0], .events = POLLIN};
  fds[1] = (struct pollfd){.fd = server->listener, .events = POLLIN};
  for (size_t i = 0; !server->silent && i < server->conn_count; i++) {
    serials[count] = server->conns[i]->serial;
    fds[count++] = (struct pollfd){.fd = server->conns[i]->fd, .events = POLLIN};
  }
  return count;
}

static int wait_ms(const struct fake_server *server)
{
  if (server->answers == NULL) {
    return -1;
  }
  int64_t left = server->answers->due_ms - fake_now_ms();

  return left > 0 ? (int)left : 0;
}

static void handle(struct fake_server *server, const struct pollfd *fds, nfds_t count,
                   const unsigned *serials)
{
  char byte[64];

  if (fds[0].revents != 0) {
    must_work(read(server->wake[0], byte, sizeof(byte)) > 0);
  }
  if (fds[1].revents != 0 && fds[1].fd == server->listener) {
    accept_conn(server);
  }
  for (nfds_t i = 2; i < count && !server->silent; i++) {
    size_t index = find_conn(server, serials[i]);

    if (fds[i].revents != 0 && index < server->conn_count &&
        !read_conn(server, server->conns[index])) {
      remove_conn(server, index);
    }
  }
  send_due(server);
}

static void *serve(void *arg)
{
  struct fake_server *server = arg;
  struct pollfd fds[FAKE_MAX_CONNS + 2];
  unsigned serials[FAKE_MAX_CONNS + 2];

  pthread_mutex_lock(&server->lock);
  while (!server->ending) {
    nfds_t count = list_fds(server, fds, serials);
    int timeout_ms = wait_ms(server);

    pthread_mutex_unlock(&server->lock);
    int ready = poll(fds, count, timeout_ms);

    must_work(ready >= 0 || errno == EINTR);
    pthread_mutex_lock(&server->lock);
    if (ready >= 0) {
      handle(server, fds, count, serials);
    }
  }
  pthread_mutex_unlock(&server->lock);
  return NULL;
}

/* Without a thread nobody would read what is written here. */
void fake_wake_up(struct fake_server *server)
{
  ssize_t written = 1;

  if (server->runs) {
    do {
      written = write(server->wake[1], "w", 1);
    } while (written < 0 && errno == EINTR);
  }
  must_work(written == 1);
}

/* ---- Starting and stopping ------------------------------------------------------------------ */

static int listen_on(int *port, int backlog)
{
  struct sockaddr_in address = loopback(*port);
  socklen_t len = sizeof(address);
  int yes = 1;
  /* Not blocking: who was to be accepted may have gone again. */
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

  must_work(fd >= 0);
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  must_work(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
  must_work(listen(fd, backlog) == 0);
  must_work(getsockname(fd, (struct sockaddr *)&address, &len) == 0);
  if (*port == 0) { /* else it may be read meanwhile */
    *port = ntohs(address.sin_port);
  }
  return fd;
}

/* A server without a port. */
static struct fake_server *make_server(void)
{
  struct fake_server *server = must(calloc(1, sizeof(*server)));
  pthread_condattr_t monotonic;

  server->listener = -1;
  server->catalog = fake_catalog_new();
  server->rows = fake_rows_new();
  server->next_scanner = 1;
  must_work(pipe(server->wake) == 0);
  pthread_mutex_init(&server->lock, NULL);
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&server->changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  return server;
}

struct fake_server *fake_server_start(int port)
{
  struct fake_server *server = make_server();

  server->port = port;
  server->listener = listen_on(&server->port, 128);
  server->runs = true;
  must_work(pthread_create(&server->thread, NULL, serve, server) == 0);
  return server;
}

int fake_server_port(const struct fake_server *server)
{
  return server->port;
}

static void close_conns_locked(struct fake_server *server)
{
  while (server->conn_count > 0) {
    remove_conn(server, 0);
  }
}

void fake_server_drop_connections(struct fake_server *server)
{
  pthread_mutex_lock(&server->lock);
  close_conns_locked(server);
  fake_wake_up(server);
  pthread_mutex_unlock(&server->lock);
}

void fake_server_stop(struct fake_server *server)
{
  pthread_mutex_lock(&server->lock);
  if (server->listener >= 0) {
    /* A thread in poll holds on to the listener, so that closing it alone would not refuse. */
    shutdown(server->listener, SHUT_RDWR);
    close(server->listener);
    server->listener = -1;
  }
  close_conns_locked(server);
  fake_wake_up(server);
  pthread_mutex_unlock(&server->lock);
}

void fake_server_restart(struct fake_server *server)
{
  pthread_mutex_lock(&server->lock);
  if (server->listener < 0) {
    server->listener = listen_on(&server->port, 128);
  }
  fake_wake_up(server);
  pthread_mutex_unlock(&server->lock);
}

void fake_server_set_silent(struct fake_server *server, bool silent)
{
  pthread_mutex_lock(&server->lock);
  server->silent = silent;
  fake_wake_up(server);
  pthread_mutex_unlock(&server->lock);
}

void fake_free_answers(struct fake_answer *answer)
{
  while (answer != NULL) {
    struct fake_answer *next = answer->next;

    free(answer->bytes.data);
    free(answer);
    answer = next;
  }
}

void fake_server_free(struct fake_server *server)
{
  if (server == NULL) {
    return;
  }
  fake_server_stop(server);
  pthread_mutex_lock(&server->lock);
  server->ending = true;
  fake_wake_up(server);
  pthread_mutex_unlock(&server->lock);
  if (server->runs) {
    pthread_join(server->thread, NULL);
  }
  fake_clear_turns(server);
  fake_free_answers(server->answers);
  fake_free_answers(server->held);
  fake_clear_hosted(server);
  fake_clear_methods(server);
  fake_catalog_free(server->catalog);
  fake_rows_release(server->rows);
  close(server->wake[0]);
  close(server->wake[1]);
  pthread_cond_destroy(&server->changed);
  pthread_mutex_destroy(&server->lock);
  free(server);
}

/* ---- What it holds, how it behaves ---------------------------------------------------------- */

void fake_server_put_region(struct fake_server *server, const struct fake_region *region)
{
  pthread_mutex_lock(&server->lock);
  fake_catalog_put_region(server->catalog, region);
  pthread_mutex_unlock(&server->lock);
}

void fake_server_delete_region(struct fake_server *server, const struct fake_region *region)
{
  struct keyroute_bytes name = fake_region_name(region);

  fake_server_delete_row(server, name);
  free((void *)name.data);
}

void fake_server_put_cell(struct fake_server *server, struct keyroute_bytes row, const char *family,
                          const char *qualifier, struct keyroute_bytes value)
{
  pthread_mutex_lock(&server->lock);
  fake_catalog_put_cell(server->catalog, row, family, qualifier, value);
  pthread_mutex_unlock(&server->lock);
}

void fake_server_delete_cell(struct fake_server *server, struct keyroute_bytes row,
                             const char *family, const char *qualifier)
{
  pthread_mutex_lock(&server->lock);
  fake_catalog_delete_cell(server->catalog, row, family, qualifier);
  pthread_mutex_unlock(&server->lock);
}

void fake_server_delete_row(struct fake_server *server, struct keyroute_bytes row)
{
  pthread_mutex_lock(&server->lock);
  fake_catalog_delete_row(server->catalog, row);
  pthread_mutex_unlock(&server->lock);
}

void fake_server_clear_catalog(struct fake_server *server)
{
  pthread_mutex_lock(&server->lock);
  fake_catalog_clear(server->catalog);
  pthread_mutex_unlock(&server->lock);
}

void fake_server_put_table_state(struct fake_server *server, const char *table, int state)
{
  uint8_t value[2] = {1 << 3, (uint8_t)state};

  fake_server_put_cell(server, keyroute_string(table), "table", "state",
                       (struct keyroute_bytes){value, sizeof(value)});
}

void fake_server_set_rows(struct fake_server *server, struct fake_rows *rows)
{
  pthread_mutex_lock(&server->lock);
  struct fake_rows *old = server->rows;

  server->rows = fake_rows_ref(rows);
  fake_rows_release(old);
  pthread_mutex_unlock(&server->lock);
}

struct fake_rows *fake_server_rows(struct fake_server *server)
{
  pthread_mutex_lock(&server->lock);
  struct fake_rows *rows = server->rows;

  pthread_mutex_unlock(&server->lock);
  return rows;
}

void fake_server_put_row_cell(struct fake_server *server, const char *table,
                              struct keyroute_bytes row, const char *family, const char *qualifier,
                              int64_t timestamp, struct keyroute_bytes value)
{
  fake_rows_put(fake_server_rows(server), table, row, family, qualifier, timestamp, value);
}

void fake_server_set_encoding(struct fake_server *server, enum fake_encoding encoding)
{
  pthread_mutex_lock(&server->lock);
  server->encoding = encoding;
  pthread_mutex_unlock(&server->lock);
}

/* ---- What it saw ---------------------------------------------------------------------------- */

struct fake_counts fake_server_counts(struct fake_server *server)
{
  pthread_mutex_lock(&server->lock);
  struct fake_counts counts = server->counts;

  pthread_mutex_unlock(&server->lock);
  return counts;
}

struct fake_seen fake_server_last_scan(struct fake_server *server)
{
  pthread_mutex_lock(&server->lock);
  struct fake_seen seen = server->seen;

  pthread_mutex_unlock(&server->lock);
  return seen;
}

struct fake_seen_get fake_server_last_get(struct fake_server *server)
{
  pthread_mutex_lock(&server->lock);
  struct fake_seen_get seen = server->seen_get;

  pthread_mutex_unlock(&server->lock);
  return seen;
}

struct fake_seen_multi fake_server_last_multi(struct fake_server *server)
{
  pthread_mutex_lock(&server->lock);
  struct fake_seen_multi seen = server->seen_multi;

  pthread_mutex_unlock(&server->lock);
  return seen;
}

struct fake_seen_call fake_server_last_call(struct fake_server *server)
{
  pthread_mutex_lock(&server->lock);
  struct fake_seen_call seen = server->seen_call;

  pthread_mutex_unlock(&server->lock);
  return seen;
}

/* Wait until *count is at least (or, with `at_most`, at most) so many. */
static bool wait_count(struct fake_server *server, const unsigned *count, unsigned wanted_count,
                       bool at_most, int timeout_ms)
{
  struct timespec until;
  bool good;

  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += timeout_ms / 1000;
  until.tv_nsec += timeout_ms % 1000 * 1000000L;
  until.tv_sec += until.tv_nsec / 1000000000L;
  until.tv_nsec %= 1000000000L;
  pthread_mutex_lock(&server->lock);
  int error = 0;

  while (!(good = at_most ? *count <= wanted_count : *count >= wanted_count) && error == 0) {
    error = pthread_cond_timedwait(&server->changed, &server->lock, &until);
  }
  pthread_mutex_unlock(&server->lock);
  return good;
}

bool fake_server_wait_scans(struct fake_server *server, unsigned scans, int timeout_ms)
{
  return wait_count(server, &server->counts.scans, scans, false, timeout_ms);
}

bool fake_server_wait_gets(struct fake_server *server, unsigned gets, int timeout_ms)
{
  return wait_count(server, &server->counts.gets, gets, false, timeout_ms);
}

bool fake_server_wait_multis(struct fake_server *server, unsigned multis, int timeout_ms)
{
  return wait_count(server, &server->counts.multis, multis, false, timeout_ms);
}

bool fake_server_wait_calls(struct fake_server *server, unsigned calls, int timeout_ms)
{
  return wait_count(server, &server->counts.calls, calls, false, timeout_ms);
}

bool fake_server_wait_connects(struct fake_server *server, unsigned connects, int timeout_ms)
{
  return wait_count(server, &server->counts.connects, connects, false, timeout_ms);
}

bool fake_server_wait_closed(struct fake_server *server, unsigned connections, int timeout_ms)
{
  return wait_count(server, &server->counts.connections, connections, true, timeout_ms);
}

/* ---- Without a socket ----------------------------------------------------------------------- */

struct fake_server *fake_server_new(void)
{
  struct fake_server *server = make_server();

  server->next_serial = 1;
  return server;
}

unsigned fake_server_accept(struct fake_server *server)
{
  struct fake_conn *conn = must(calloc(1, sizeof(*conn)));

  must_work(server->conn_count < FAKE_MAX_CONNS);
  conn->fd = -1;
  add_conn(server, conn);
  return conn->serial;
}

void fake_server_hang_up(struct fake_server *server, unsigned number)
{
  size_t index = find_conn(server, number);

  if (index < server->conn_count) {
    remove_conn(server, index);
  }
}

/* The first answer to a connection, unlinked; NULL = none. */
static struct fake_answer *take_answer(struct fake_server *server, unsigned serial)
{
  struct fake_answer **at = &server->answers;

  while (*at != NULL && (*at)->serial != serial) {
    at = &(*at)->next;
  }
  struct fake_answer *answer = *at;

  if (answer != NULL) {
    *at = answer->next;
    note_left(server, answer);
  }
  return answer;
}

struct keyroute_bytes fake_server_exchange(struct fake_server *server, unsigned number,
                                           struct keyroute_bytes bytes, bool *closes)
{
  size_t index = find_conn(server, number);

  if (index < server->conn_count && bytes.len > 0) {
    struct fake_conn *conn = server->conns[index];

    make_room(conn, bytes.len);
    memcpy(conn->in + conn->in_len, bytes.data, bytes.len);
    conn->in_len += bytes.len;
    run_input(server, conn);
  }
  struct fake_answer *answer = take_answer(server, number);
  struct keyroute_bytes out = {NULL, 0};

  *closes = answer != NULL && answer->after != FAKE_KEEP_OPEN;
  if (*closes) {
    fake_server_hang_up(server, number);
  }
  if (answer != NULL) {
    out.len = answer->bytes.len;
    out.data = answer->bytes.data != NULL ? answer->bytes.data : must(malloc(1));
    free(answer);
  }
  return out;
}

/* ---- Ports where nobody answers ------------------------------------------------------------- */

#define FILLERS 8

struct fake_black_hole {
  int listener;
  int port;
  int fillers[FILLERS];
};

/* With a full queue Linux drops the handshakes of those who come later. */
struct fake_black_hole *fake_black_hole_open_at(int port)
{
  struct fake_black_hole *hole = must(calloc(1, sizeof(*hole)));

  hole->port = port;
  hole->listener = listen_on(&hole->port, 0);
  for (unsigned i = 0; i < FILLERS; i++) {
    struct sockaddr_in address = loopback(hole->port);

    hole->fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    must_work(hole->fillers[i] >= 0);
    must_work(connect(hole->fillers[i], (struct sockaddr *)&address, sizeof(address)) == 0 ||
              errno == EINPROGRESS);
  }
  return hole;
}

struct fake_black_hole *fake_black_hole_open(int *port)
{
  struct fake_black_hole *hole = fake_black_hole_open_at(0);

  *port = hole->port;
  return hole;
}

void fake_black_hole_close(struct fake_black_hole *hole)
{
  for (unsigned i = 0; i < FILLERS; i++) {
    close(hole->fillers[i]);
  }
  close(hole->listener);
  free(hole);
}
