/*
 * The gRPC client as a module: opening and closing one, and the thread that all happens on.
 *
 *  1. One thread sits in grpc_completion_queue_next as long as the client lives: sockets are read
 *     and written, connections made and names resolved inside it. Were nobody there, gRPC would
 *     look after them once in five seconds.
 *  2. It is the thread of all events. What closes idle channels is it too, between two of them.
 *  3. close ends in this order: calls, channels, queue, thread, gRPC. Each needs those behind it.
 *  4. gRPC's threads and this one have all signals blocked.
 *  5. After a fork, close in the child leaves everything alone: the thread it would wait for is not
 *     there.
 *
 * gRPC core has no answer to a failed allocation and ends the process. What is allocated here may
 * fail: open or start says so.
 *
 * Source: gRPC core's grpc.h, its doc/core/epoll-polling-engine.md
 */
#include "lib/grpc_module.h"

#include "module/grpc_channel.h"
#include "module/grpc_credentials.h"
#include "module/grpc_library.h"
#include "module/grpc_stream.h"

#include "lib/signals.h"

#include <string.h>
#include <unistd.h>

/* ---- The thread ----------------------------------------------------------------------------- */

static void *run(void *arg)
{
  struct kr_grpc *grpc = arg;
  int64_t sweep_at = 0;

  for (;;) {
    if (kr_grpc_now_ms() >= sweep_at) {
      sweep_at = kr_grpc_channel_sweep(grpc);
    }
    grpc_event event = grpc_completion_queue_next(grpc->queue, kr_grpc_time(sweep_at), NULL);

    if (event.type == GRPC_QUEUE_SHUTDOWN) {
      return NULL;
    }
    if (event.type == GRPC_OP_COMPLETE) {
      kr_grpc_stream_take(event.tag, event.success != 0);
    }
  }
}

/* ---- Opening and closing -------------------------------------------------------------------- */

static void forget_texts(struct kr_grpc_settings *settings)
{
  settings->allocator = NULL;
  settings->tls_roots = settings->tls_key = NULL;
  settings->tls_certificate = settings->tls_server_name = NULL;
}

static struct kr_grpc *make(const struct kr_grpc_settings *settings)
{
  struct kr_mem *mem = kr_mem_new(settings->allocator);
  struct kr_grpc *grpc = mem != NULL ? kr_calloc(mem, sizeof(*grpc)) : NULL;
  const char *name = settings->tls_server_name;

  if (grpc == NULL) {
    kr_mem_release(mem);
    return NULL;
  }
  grpc->mem = mem;
  grpc->settings = *settings;
  forget_texts(&grpc->settings);
  grpc->process = getpid();
  pthread_mutex_init(&grpc->lock, NULL);
  pthread_cond_init(&grpc->quiet, NULL);
  if (settings->tls && name != NULL) {
    grpc->server_name = kr_copy(mem, (struct keyroute_bytes){name, strlen(name)});
  }
  return grpc;
}

static void destroy(struct kr_grpc *grpc)
{
  struct kr_mem *mem = grpc->mem;

  pthread_mutex_destroy(&grpc->lock);
  pthread_cond_destroy(&grpc->quiet);
  kr_free(mem, grpc->server_name);
  kr_free(mem, grpc);
  kr_mem_release(mem);
}

static void destroy_queue(grpc_completion_queue *queue)
{
  grpc_completion_queue_shutdown(queue);
  while (grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL).type !=
         GRPC_QUEUE_SHUTDOWN) {
  }
  grpc_completion_queue_destroy(queue);
}

/* What gRPC makes, and the thread. gRPC runs. */
static int equip(struct kr_grpc *grpc, const struct kr_grpc_settings *settings, const char **reason)
{
  grpc->credentials = kr_grpc_credentials_new(settings, reason);
  if (grpc->credentials == NULL) {
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  grpc->queue = grpc_completion_queue_create_for_next(NULL);
  if (pthread_create(&grpc->thread, NULL, run, grpc) != 0) {
    destroy_queue(grpc->queue);
    grpc_channel_credentials_release(grpc->credentials);
    return KEYROUTE_E_NO_MEMORY;
  }
  return 0;
}

static int set_up(struct kr_grpc *grpc, const struct kr_grpc_settings *settings,
                  const char **reason)
{
  if (settings->tls && settings->tls_server_name != NULL && grpc->server_name == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  if (!kr_grpc_library_enter()) {
    *reason = "gRPC ran when this process was forked, and cannot be used in it";
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  int error = equip(grpc, settings, reason);

  if (error != 0) {
    kr_grpc_library_leave();
  }
  return error;
}

static int open_client(struct kr_grpc **out, const struct kr_grpc_settings *settings,
                       const char **reason)
{
  struct kr_grpc *grpc = make(settings);
  sigset_t saved;

  if (grpc == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  kr_signals_block(&saved);
  int error = set_up(grpc, settings, reason);

  kr_signals_restore(&saved);
  if (error != 0) {
    destroy(grpc);
    return error;
  }
  *out = grpc;
  return 0;
}

static void close_client(struct kr_grpc *grpc)
{
  sigset_t saved;

  if (grpc->process != getpid()) {
    return;
  }
  kr_signals_block(&saved);
  kr_grpc_stream_end_all(grpc);
  kr_grpc_channel_close_all(grpc);
  grpc_completion_queue_shutdown(grpc->queue);
  pthread_join(grpc->thread, NULL);
  grpc_completion_queue_destroy(grpc->queue);
  grpc_channel_credentials_release(grpc->credentials);
  kr_grpc_library_leave();
  kr_signals_restore(&saved);
  destroy(grpc);
}

static struct kr_grpc_call *start(struct kr_grpc *grpc, const struct kr_grpc_request *request,
                                  const struct kr_grpc_events *events, void *arg,
                                  uint64_t *connects)
{
  return grpc->process == getpid() ? kr_grpc_stream_start(grpc, request, events, arg, connects)
                                   : NULL;
}

static void cancel(struct kr_grpc *grpc, struct kr_grpc_call *call)
{
  if (grpc->process == getpid()) {
    kr_grpc_stream_cancel(grpc, call);
  }
}

KEYROUTE_EXTERN const struct kr_grpc_module keyroute_grpc_module = {
    .version = KR_GRPC_MODULE_VERSION,
    .open = open_client,
    .start = start,
    .cancel = cancel,
    .close = close_client,
};
