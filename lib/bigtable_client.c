/*
 * What all requests to Bigtable nodes share: the module's client, opened with the settings of the
 * connection, and how much is under way to each server.
 *
 *  1. The module allocates from the connection's memory, and copies what it is given.
 *  2. A server that takes in less than it is asked must not fill the memory. gRPC does not say what
 *     it has sent; so what counts against keyroute.server.queue.max.bytes are the requests that
 *     have no answer yet, which is more, never less.
 *  3. Servers that nothing is under way to are forgotten.
 *  4. The client is closed when the loop thread has ended: that waits for calls to end, which would
 *     keep the loop from its work. Nobody is told of them any more (bigtable_bundle.c).
 *
 * Threads: the loop, but for new and free.
 */
#include "lib/bigtable_client.h"

#include "lib/bigtable_tls.h"
#include "lib/bytes.h"
#include "lib/hash.h"

#include <stdio.h>
#include <string.h>

struct place {
  int port;
  char host[KR_HOST_MAX + 1];
};

struct kr_bigtable_queue {
  UT_hash_handle hh; /* by place */
  struct place place;
  size_t len;
  size_t requests;
};

/* ---- The module's memory --------------------------------------------------------------------- */

static void *allocate(void *user, size_t size)
{
  return kr_alloc(user, size);
}

static void *reallocate(void *user, void *old, size_t size)
{
  return kr_realloc(user, old, size);
}

static void release(void *user, void *old)
{
  kr_free(user, old);
}

/* ---- Opening and closing --------------------------------------------------------------------- */

static int open_module(struct kr_bigtable_client *client, const struct kr_bigtable_tls *tls,
                       struct keyroute_detail *detail)
{
  const struct kr_settings *from = client->settings;
  const char *reason = "";
  struct kr_grpc_settings settings = {
      .allocator = &client->allocator,
      .max_message_len = from->max_frame_len,
      .connect_timeout_ms = from->connect_timeout_ms,
      .idle_ms = from->connection_idle_ms,
      .keepalive_ms = from->grpc_keepalive_ms,
      .tls = from->grpc_tls,
      .tls_roots = tls->roots,
      .tls_key = tls->key,
      .tls_certificate = tls->certificate,
      .tls_server_name = from->grpc_tls_server_name,
  };
  int error = client->module->open(&client->grpc, &settings, &reason);

  if (error == KEYROUTE_E_INVALID_ARGUMENT) {
    kr_detail_fail(detail, error, "layout range: %s", reason);
  }
  return error;
}

/* Errors: INVALID_ARGUMENT, NO_MEMORY. */
static int open_with_files(struct kr_bigtable_client *client, struct keyroute_detail *detail)
{
  struct kr_bigtable_tls tls;
  int error = kr_bigtable_tls_read(&tls, client->settings, detail);

  if (error == 0) {
    error = open_module(client, &tls, detail);
    kr_bigtable_tls_clear(&tls, client->settings->mem);
  }
  return error;
}

int kr_bigtable_client_new(struct kr_bigtable_client **out, struct kr_mem *mem,
                           struct kr_loop *loop, const struct kr_settings *settings,
                           struct kr_stats *stats, const struct kr_grpc_module *module,
                           struct keyroute_detail *detail)
{
  struct kr_bigtable_client *client = kr_calloc(mem, sizeof(*client));

  if (client == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  client->mem = mem;
  client->loop = loop;
  client->settings = settings;
  client->stats = stats;
  client->module = module;
  client->allocator = (struct keyroute_allocator){mem, allocate, reallocate, release};
  int error = open_with_files(client, detail);

  if (error != 0) {
    kr_free(mem, client);
    return error;
  }
  pthread_mutex_init(&client->lock, NULL);
  kr_mem_ref(mem);
  *out = client;
  return 0;
}

void kr_bigtable_client_free(struct kr_bigtable_client *client)
{
  struct kr_mem *mem = client->mem;

  client->module->close(client->grpc);
  pthread_mutex_destroy(&client->lock);
  kr_free(mem, client);
  kr_mem_release(mem);
}

/* ---- What is under way ----------------------------------------------------------------------- */

/* NULL = out of memory. */
static struct kr_bigtable_queue *new_queue(struct kr_bigtable_client *client,
                                           const struct place *place)
{
  struct kr_mem *mem = client->mem;
  struct kr_bigtable_queue *queue = kr_calloc(mem, sizeof(*queue));
  bool hash_failed = false;

  if (queue == NULL) {
    return NULL;
  }
  queue->place = *place;
  HASH_ADD(hh, client->queues, place, sizeof(queue->place), queue);
  if (hash_failed) {
    kr_free(mem, queue);
    return NULL;
  }
  return queue;
}

struct kr_bigtable_queue *kr_bigtable_queue_enter(struct kr_bigtable_client *client,
                                                  const char *host, int port, size_t len,
                                                  bool *has_room)
{
  struct kr_bigtable_queue *queue;
  struct place place;

  memset(&place, 0, sizeof(place)); /* it is compared as bytes */
  place.port = port;
  snprintf(place.host, sizeof(place.host), "%s", host);
  HASH_FIND(hh, client->queues, &place, sizeof(place), queue);
  if (queue == NULL && (queue = new_queue(client, &place)) == NULL) {
    return NULL;
  }
  *has_room = queue->len == 0 || (len <= client->settings->max_queue_len &&
                                  queue->len <= client->settings->max_queue_len - len);
  queue->len += len;
  queue->requests++;
  return queue;
}

void kr_bigtable_queue_leave(struct kr_bigtable_client *client, struct kr_bigtable_queue *queue,
                             size_t len)
{
  struct kr_mem *mem = client->mem;

  queue->len -= len;
  if (--queue->requests == 0) {
    HASH_DEL(client->queues, queue);
    kr_free(mem, queue);
  }
}
