/*
 * What the library sends is noted by a relay between it and the server: a connection of ours is
 * opened with the relay as its root. All that is known of the protocol is how it is framed: 6
 * bytes, then messages with their length before them, of which the first says who speaks and gets
 * no answer.
 *
 *  1. The relay takes one connection and runs on a thread of its own until that ends.
 *  2. A request is sent again and again with the number that it had: each is answered before the
 *     next one goes.
 */
#include "test/bench/floor.h"

#include "keyroute/keyroute.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { NOTED_MAX = 1 << 20, PREAMBLE = 6, LOOKUPS = 20 };

struct floor {
  struct sockaddr_in server;
  int listening;
  pthread_t relay;
  size_t len; /* of what was noted; the relay's until it has ended */
  uint8_t noted[NOTED_MAX];
};

static int64_t now_ns(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- Sockets ---- */

static bool send_all(int to, const uint8_t *bytes, size_t len)
{
  while (len > 0) {
    ssize_t sent = send(to, bytes, len, MSG_NOSIGNAL);

    if (sent <= 0) {
      return false;
    }
    bytes += sent;
    len -= (size_t)sent;
  }
  return true;
}

/* to NULL = the bytes are thrown away. */
static bool read_all(int from, uint8_t *to, size_t len)
{
  uint8_t thrown[4096];

  while (len > 0) {
    size_t want = to != NULL || len < sizeof(thrown) ? len : sizeof(thrown);
    ssize_t got = recv(from, to != NULL ? to : thrown, want, 0);

    if (got <= 0) {
      return false;
    }
    to = to != NULL ? to + got : NULL;
    len -= (size_t)got;
  }
  return true;
}

static int connect_to(const struct sockaddr_in *server)
{
  int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

  if (fd >= 0 && (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0 ||
                  connect(fd, (const struct sockaddr *)server, sizeof(*server)) != 0)) {
    close(fd);
    return -1;
  }
  return fd;
}

/* ---- Noting ---- */

/* What has come in at one side goes out at the other. 0 = that side has ended. */
static size_t pass(struct floor *floor, int from, int to, bool note)
{
  uint8_t bytes[65536];
  ssize_t got = recv(from, bytes, sizeof(bytes), 0);

  if (got <= 0 || !send_all(to, bytes, (size_t)got)) {
    return 0;
  }
  if (note && floor->len + (size_t)got <= NOTED_MAX) {
    memcpy(floor->noted + floor->len, bytes, (size_t)got);
    floor->len += (size_t)got;
  }
  return (size_t)got;
}

static void *run_relay(void *arg)
{
  struct floor *floor = arg;
  int client = accept(floor->listening, NULL, NULL), server = connect_to(&floor->server);
  struct pollfd sides[2] = {{client, POLLIN, 0}, {server, POLLIN, 0}};

  while (client >= 0 && server >= 0 && poll(sides, 2, -1) > 0) {
    if ((sides[0].revents != 0 && pass(floor, client, server, true) == 0) ||
        (sides[1].revents != 0 && pass(floor, server, client, false) == 0)) {
      break;
    }
  }
  close(client);
  close(server);
  return NULL;
}

/* Returns its port; 0 = it could not be started. */
static int start_relay(struct floor *floor)
{
  struct sockaddr_in own = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t len = sizeof(own);

  floor->listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (floor->listening < 0 || bind(floor->listening, (struct sockaddr *)&own, len) != 0 ||
      listen(floor->listening, 1) != 0 ||
      getsockname(floor->listening, (struct sockaddr *)&own, &len) != 0 ||
      pthread_create(&floor->relay, NULL, run_relay, floor) != 0) {
    return 0;
  }
  return ntohs(own.sin_port);
}

/* As whoever measures misses does it. */
static int look_up(struct keyroute_connection *conn, const char *table)
{
  const struct keyroute_call call = {.size = sizeof(call), .flags = KEYROUTE_REFRESH};
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  int error = 0;

  for (int i = 0; i < LOOKUPS && error == 0; i++) {
    struct keyroute_location *location = NULL;
    uint8_t row[8];

    for (size_t j = 0; j < sizeof(row); j++) {
      row[j] = (uint8_t)random();
    }
    error = keyroute_locate(&location, conn, table, (struct keyroute_bytes){row, sizeof(row)},
                            &call, &detail);
    keyroute_location_release(location);
  }
  if (error != 0) {
    fprintf(stderr, "floor: %s\n", detail.message);
  }
  keyroute_detail_clear(&detail);
  return error;
}

static bool note_lookups(int relay_port, const char *table)
{
  struct keyroute_options *options = NULL;
  struct keyroute_connection *conn = NULL;
  char root[32];

  snprintf(root, sizeof(root), "127.0.0.1:%d", relay_port);
  bool good = keyroute_options_new(&options, NULL) == 0 &&
              keyroute_options_set(options, "keyroute.registry", "static", NULL) == 0 &&
              keyroute_options_set(options, "keyroute.registry.static.root", root, NULL) == 0 &&
              keyroute_open(&conn, options, NULL) == 0 && look_up(conn, table) == 0;

  keyroute_options_free(options);
  if (conn != NULL) {
    keyroute_close(conn);
  }
  return good;
}

struct floor *floor_record(const char *host, int port, const char *table)
{
  struct floor *floor = calloc(1, sizeof(*floor));

  if (floor == NULL) {
    return NULL;
  }
  floor->server = (struct sockaddr_in){
      .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = inet_addr(host)};
  int relay_port = start_relay(floor);
  bool good = relay_port != 0 && note_lookups(relay_port, table);

  if (relay_port != 0) {
    shutdown(floor->listening, SHUT_RDWR);
    pthread_join(floor->relay, NULL);
  }
  close(floor->listening);
  if (good) {
    return floor;
  }
  free(floor);
  return NULL;
}

void floor_free(struct floor *noted)
{
  free(noted);
}

/* ---- Sending it again ---- */

static size_t length_at(const uint8_t *at)
{
  return (size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3];
}

/* The message that begins there, its length included; 0 = it is not whole. */
static size_t message_at(const struct floor *noted, size_t at)
{
  if (at + 4 > noted->len || at + 4 + length_at(noted->noted + at) > noted->len) {
    return 0;
  }
  return 4 + length_at(noted->noted + at);
}

static bool exchange(int server, const uint8_t *request, size_t len)
{
  uint8_t head[4];

  return send_all(server, request, len) && read_all(server, head, sizeof(head)) &&
         read_all(server, NULL, length_at(head));
}

bool floor_replay(const struct floor *noted, int64_t *took_ns, int count)
{
  size_t first = PREAMBLE + message_at(noted, PREAMBLE), last = first, len = 0;
  int server = connect_to(&noted->server);

  for (size_t at = first, next; (next = message_at(noted, at)) > 0; at += next) {
    last = at;
    len = next;
  }
  bool good = server >= 0 && len > 0 && send_all(server, noted->noted, first);

  for (int i = 0; good && i < count; i++) {
    int64_t began = now_ns();

    good = exchange(server, noted->noted + last, len);
    took_ns[i] = now_ns() - began;
  }
  if (server >= 0) {
    close(server);
  }
  return good;
}
