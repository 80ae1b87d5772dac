/* A relay on loopback that can be told to misbehave: one thread, poll, a bounded set of pairs. */
#include "test/proxy.h"

#include "test/loopback.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAIRS 64

struct pair {
  int client, server; /* -1 = free */
  int sent;           /* how often the client has */
};

struct proxy {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t seen; /* changed is false again */
  int listener;
  int port, target;
  enum proxy_mode mode; /* these: under the lock */
  bool changed, stop;
  int accepted;
  const char *watched; /* NULL = nothing */
  int seen_count;
  struct pair pairs[PAIRS]; /* the thread's */
};

static void drop(struct pair *pair)
{
  if (pair->client >= 0) {
    close(pair->client);
  }
  if (pair->server >= 0) {
    close(pair->server);
  }
  pair->client = pair->server = -1;
}

static void drop_all(struct proxy *proxy)
{
  for (int i = 0; i < PAIRS; i++) {
    drop(&proxy->pairs[i]);
  }
}

static void take(struct proxy *proxy, enum proxy_mode mode)
{
  struct sockaddr_in address = loopback(proxy->target);
  int client = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC);

  if (client < 0) {
    return;
  }
  pthread_mutex_lock(&proxy->lock);
  proxy->accepted++;
  pthread_mutex_unlock(&proxy->lock);
  for (int i = 0; i < PAIRS && mode != PROXY_CLOSE; i++) {
    struct pair *pair = &proxy->pairs[i];
    if (pair->client >= 0) {
      continue;
    }
    pair->client = client;
    pair->sent = 0;
    if (mode != PROXY_STALL) {
      pair->server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (connect(pair->server, (struct sockaddr *)&address, sizeof(address)) != 0) {
        drop(pair);
      }
    }
    return;
  }
  close(client);
}

/* The client sends its ConnectRequest in two pieces, so its first message is read as a whole:
 * length, version, zxid, timeout, session id, ... */
static ssize_t take_first(int from, char *bytes, size_t size, enum proxy_mode mode)
{
  static const char none[8];

  if (recv(from, bytes, 4, MSG_WAITALL) != 4) {
    return -1;
  }
  size_t len = (size_t)(unsigned char)bytes[3];
  if (4 + len > size || recv(from, bytes + 4, len, MSG_WAITALL) != (ssize_t)len) {
    return -1;
  }
  if (mode == PROXY_FORGET && len >= 28 && memcmp(bytes + 20, none, sizeof(none)) != 0) {
    bytes[27] = (char)(bytes[27] ^ 0x55);
  }
  return (ssize_t)(4 + len);
}

/* Of a Scan as the library writes it: small = true, reversed = true, and the tag of caching. */
static void turn_up(char *bytes, size_t len)
{
  static const char down[] = "\x70\x01\x78\x01\x88\x01";
  char *at = memmem(bytes, len, down, sizeof(down) - 1);

  while (at != NULL) {
    at[3] = 0;
    at = memmem(at, len - (size_t)(at - bytes), down, sizeof(down) - 1);
  }
}

/* Of a ScanResponse without rows: more_results_in_region, its last field, becomes one that nobody
 * knows. */
static void forget_more(char *bytes, size_t len)
{
  if (len >= 2 && bytes[len - 2] == 0x40 && (bytes[len - 1] == 0 || bytes[len - 1] == 1)) {
    bytes[len - 2] = 0x78;
  }
}

/* What is watched for is short, and clients send a request in one piece: it is not cut in two. */
static void count_watched(struct proxy *proxy, const char *bytes, size_t len)
{
  pthread_mutex_lock(&proxy->lock);
  size_t watched = proxy->watched != NULL ? strlen(proxy->watched) : 0;
  const char *end = bytes + len;
  const char *at = watched > 0 ? memmem(bytes, len, proxy->watched, watched) : NULL;

  while (at != NULL) {
    proxy->seen_count++;
    at = memmem(at + watched, (size_t)(end - at) - watched, proxy->watched, watched);
  }
  pthread_mutex_unlock(&proxy->lock);
}

/* sent  NULL = from the server */
static bool relay(struct proxy *proxy, int from, int to, enum proxy_mode mode, int *sent)
{
  char bytes[4096];
  ssize_t len;

  if (sent != NULL && (*sent)++ == 0 && mode != PROXY_PASS && mode != PROXY_UPWARD) {
    len = take_first(from, bytes, sizeof(bytes), mode);
  } else if (sent != NULL && *sent > 1 && mode == PROXY_FLAP) {
    return false;
  } else {
    len = recv(from, bytes, sizeof(bytes), MSG_DONTWAIT);
  }
  if (mode == PROXY_UPWARD && len > 0) {
    (sent != NULL ? turn_up : forget_more)(bytes, (size_t)len);
  }
  if (sent != NULL && len > 0) {
    count_watched(proxy, bytes, (size_t)len);
  }
  return len > 0 && send(to, bytes, (size_t)len, MSG_NOSIGNAL) == len;
}

static void turn(struct proxy *proxy, enum proxy_mode mode)
{
  struct pollfd slots[1 + 2 * PAIRS];

  slots[0] = (struct pollfd){proxy->listener, POLLIN, 0};
  for (int i = 0; i < PAIRS; i++) {
    bool open = mode != PROXY_STALL && proxy->pairs[i].server >= 0;
    slots[1 + 2 * i] = (struct pollfd){open ? proxy->pairs[i].client : -1, POLLIN, 0};
    slots[2 + 2 * i] = (struct pollfd){open ? proxy->pairs[i].server : -1, POLLIN, 0};
  }
  if (poll(slots, 1 + 2 * PAIRS, 10) <= 0) {
    return;
  }
  for (int i = 0; i < PAIRS; i++) {
    struct pair *pair = &proxy->pairs[i];
    if ((slots[1 + 2 * i].revents != 0 &&
         !relay(proxy, pair->client, pair->server, mode, &pair->sent)) ||
        (slots[2 + 2 * i].revents != 0 && !relay(proxy, pair->server, pair->client, mode, NULL))) {
      drop(pair);
    }
  }
  if (slots[0].revents != 0) {
    take(proxy, mode);
  }
}

static void *run(void *arg)
{
  struct proxy *proxy = arg;

  for (;;) {
    pthread_mutex_lock(&proxy->lock);
    bool stop = proxy->stop;
    bool changed = proxy->changed;
    enum proxy_mode mode = proxy->mode;
    proxy->changed = false;
    pthread_cond_broadcast(&proxy->seen);
    pthread_mutex_unlock(&proxy->lock);
    if (stop || (changed && mode != PROXY_STALL)) {
      drop_all(proxy);
    }
    if (stop) {
      return NULL;
    }
    turn(proxy, mode);
  }
}

struct proxy *proxy_start(int target_port)
{
  struct proxy *proxy = calloc(1, sizeof(*proxy));
  struct sockaddr_in address = loopback(0);
  socklen_t len = sizeof(address);

  if (proxy == NULL) {
    abort();
  }
  proxy->target = target_port;
  pthread_mutex_init(&proxy->lock, NULL);
  pthread_cond_init(&proxy->seen, NULL);
  for (int i = 0; i < PAIRS; i++) {
    proxy->pairs[i] = (struct pair){-1, -1, 0};
  }
  proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(proxy->listener, (struct sockaddr *)&address, len) != 0 ||
      listen(proxy->listener, 64) != 0 ||
      getsockname(proxy->listener, (struct sockaddr *)&address, &len) != 0 ||
      pthread_create(&proxy->thread, NULL, run, proxy) != 0) {
    abort();
  }
  proxy->port = ntohs(address.sin_port);
  return proxy;
}

int proxy_port(const struct proxy *proxy)
{
  return proxy->port;
}

void proxy_set(struct proxy *proxy, enum proxy_mode mode)
{
  pthread_mutex_lock(&proxy->lock);
  proxy->mode = mode;
  proxy->changed = true;
  while (proxy->changed) {
    pthread_cond_wait(&proxy->seen, &proxy->lock);
  }
  pthread_mutex_unlock(&proxy->lock);
}

void proxy_watch(struct proxy *proxy, const char *text)
{
  pthread_mutex_lock(&proxy->lock);
  proxy->watched = text;
  proxy->seen_count = 0;
  pthread_mutex_unlock(&proxy->lock);
}

int proxy_seen(struct proxy *proxy)
{
  pthread_mutex_lock(&proxy->lock);
  int count = proxy->seen_count;

  pthread_mutex_unlock(&proxy->lock);
  return count;
}

int proxy_accepted(struct proxy *proxy)
{
  pthread_mutex_lock(&proxy->lock);
  int accepted = proxy->accepted;
  pthread_mutex_unlock(&proxy->lock);
  return accepted;
}

void proxy_stop(struct proxy *proxy)
{
  pthread_mutex_lock(&proxy->lock);
  proxy->stop = true;
  pthread_mutex_unlock(&proxy->lock);
  pthread_join(proxy->thread, NULL);
  close(proxy->listener);
  pthread_cond_destroy(&proxy->seen);
  pthread_mutex_destroy(&proxy->lock);
  free(proxy);
}
