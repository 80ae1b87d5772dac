/*
 * Calls to one server, made side by side, whose answers are told together.
 *
 * A scan or a method is a bundle of one call; a read of rows has one for each region, for each has
 * a table of its own. The module tells of messages and ends on its own thread, where chunks are put
 * together as they come; the loop learns of all of them in one task, when the last call has ended.
 *
 *  1. A bundle is started with all its calls counted as running, so it cannot end before the last
 *     one is started. Whoever takes away the last of them, under the lock, has it to end.
 *  2. It ends in one of two ways. It is posted to the loop, by a task that is part of it, so that
 *     this cannot fail; or it was dropped before (cancelled, or shut down), and is freed there and
 *     then, on the module's thread. It is posted under the lock: after a shutdown nothing comes any
 *     more.
 *  3. Of what is posted and then dropped, the task finds that and does no more than free it.
 *  4. While calls run, their outcomes are the module's thread's; then the loop's.
 *  5. A call whose answer is nonsense or too large is cancelled at once. If that is found before
 *     start has given its name away, the loop cancels it instead.
 *  6. All answers of a bundle share the bound of one: keyroute.frame.max.bytes on the wire, and
 *     HELD_FACTOR times as much in memory, for rows of many small cells take more there.
 *
 * Threads: the loop; on_message and on_done the module's.
 */
#include "lib/bigtable_bundle.h"

#include "lib/bigtable_status.h"
#include "lib/bytes.h"
#include "lib/server.h"

#include <string.h>
#include <utlist.h>

enum { HELD_FACTOR = 4 };

/* FeatureFlags { reverse_scans: true }, without which servers refuse to read backwards. */
static const char features[] = "CAE=";

/* Of gRPC. */
enum { STATUS_OK = 0 };

struct part {
  struct kr_bigtable_bundle *bundle;
  struct kr_bigtable_call call;
  struct kr_buf texts;   /* what call points to: region, params */
  struct kr_buf message; /* until it is started */
  struct kr_bigtable_outcome outcome;
  struct kr_grpc_call *running; /* lock; NULL = it is not started, or its name not yet known */
  bool spoilt;                  /* lock: nothing more is wanted of it */
  bool answered;                /* a message has come */
};

struct kr_bigtable_bundle {
  struct kr_task task;
  struct kr_bigtable_client *client;
  struct kr_bigtable_bundle *prev, *next; /* of the client's, as long as it is not dropped */
  struct kr_bigtable_queue *queue;        /* NULL = not in one */
  size_t len;                             /* of all requests */
  kr_bigtable_cb cb;
  void *arg;
  struct kr_failure refused; /* code 0 = it was not */
  size_t running;            /* lock */
  bool dropped;              /* lock to write */
  size_t wire_len, held_len; /* of all answers so far */
  size_t count;
  size_t added;
  char *host;
  int port;
  char server[272];
  struct part parts[];
};

/* ---- Making one ------------------------------------------------------------------------------ */

struct kr_bigtable_bundle *kr_bigtable_bundle_new(struct kr_bigtable_client *client,
                                                  const char *host, int port, size_t count)
{
  struct kr_bigtable_bundle *bundle =
      kr_calloc(client->mem, sizeof(*bundle) + count * sizeof(bundle->parts[0]));

  if (bundle == NULL) {
    return NULL;
  }
  bundle->host = kr_copy(client->mem, keyroute_string(host));
  if (bundle->host == NULL) {
    kr_free(client->mem, bundle);
    return NULL;
  }
  bundle->client = client;
  bundle->count = count;
  bundle->port = port;
  kr_server_print(bundle->server, sizeof(bundle->server), host, port);
  for (size_t i = 0; i < count; i++) {
    struct part *part = &bundle->parts[i];

    part->bundle = bundle;
    kr_buf_init(&part->texts, client->mem);
    kr_buf_init(&part->message, client->mem);
    kr_buf_init(&part->outcome.reply, client->mem);
    kr_bigtable_chunks_init(&part->outcome.chunks, client->mem, &part->call.limits);
  }
  return bundle;
}

struct kr_buf *kr_bigtable_bundle_message(struct kr_bigtable_bundle *bundle)
{
  return &bundle->parts[bundle->added].message;
}

void kr_bigtable_bundle_add(struct kr_bigtable_bundle *bundle, const struct kr_bigtable_call *call)
{
  struct part *part = &bundle->parts[bundle->added++];
  struct kr_bigtable_limits limits = call->limits;

  kr_buf_bytes(&part->texts, call->region);
  if (call->params != NULL) {
    kr_buf_text(&part->texts, call->params);
  }
  part->call = *call;
  part->call.region = kr_bytes(part->texts.data, call->region.len);
  bundle->len += part->message.len;
  limits.max_len = HELD_FACTOR * bundle->client->settings->max_frame_len;
  kr_bigtable_chunks_init(&part->outcome.chunks, bundle->client->mem, &limits);
}

const char *kr_bigtable_bundle_server(const struct kr_bigtable_bundle *bundle)
{
  return bundle->server;
}

const struct kr_bigtable_outcome *kr_bigtable_bundle_outcome(
    const struct kr_bigtable_bundle *bundle, size_t index)
{
  return &bundle->parts[index].outcome;
}

/* Any thread, when nothing of it runs. */
static void free_bundle(struct kr_bigtable_bundle *bundle)
{
  struct kr_mem *mem = bundle->client->mem;

  for (size_t i = 0; i < bundle->count; i++) {
    kr_buf_clear(&bundle->parts[i].texts);
    kr_buf_clear(&bundle->parts[i].message);
    kr_buf_clear(&bundle->parts[i].outcome.reply);
    kr_bigtable_chunks_clear(&bundle->parts[i].outcome.chunks);
  }
  kr_free(mem, bundle->host);
  kr_free(mem, bundle);
}

/* ---- On the module's thread ------------------------------------------------------------------ */

/* Nothing more is wanted of a call, which has not ended. */
static void spoil(struct part *part)
{
  struct kr_bigtable_client *client = part->bundle->client;

  pthread_mutex_lock(&client->lock);
  struct kr_grpc_call *running = part->running;

  part->spoilt = true;
  pthread_mutex_unlock(&client->lock);
  if (running != NULL) {
    client->module->cancel(client->grpc, running);
  }
}

static void fail_too_large(struct part *part)
{
  struct kr_failure *failure = &part->outcome.failure;
  size_t len = part->bundle->wire_len;

  kr_fail(failure, KEYROUTE_E_TOO_LARGE,
          "an answer of %zu bytes or more, over the limit of %zu (keyroute.frame.max.bytes)", len,
          part->bundle->client->settings->max_frame_len);
  failure->answer_len = len;
}

static void take_rows(struct part *part, struct keyroute_bytes message)
{
  struct kr_bigtable_chunks *chunks = &part->outcome.chunks;
  struct kr_failure *failure = &part->outcome.failure;
  size_t held_len = kr_bigtable_chunks_held(chunks);
  int error = kr_bigtable_chunks_take(chunks, message);

  part->bundle->held_len += kr_bigtable_chunks_held(chunks) - held_len;
  if (error == KEYROUTE_E_TOO_LARGE) {
    fail_too_large(part);
  } else if (error == KEYROUTE_E_NO_MEMORY) {
    kr_fail(failure, error, "answer to ReadRows: out of memory");
  } else if (error != 0) {
    kr_fail(failure, error, "answer to ReadRows: %s", chunks->trouble);
  }
}

static void take_reply(struct part *part, struct keyroute_bytes message)
{
  struct kr_failure *failure = &part->outcome.failure;

  if (part->answered) {
    kr_fail(failure, KEYROUTE_E_PROTOCOL, "two messages where one was to come");
    return;
  }
  kr_buf_bytes(&part->outcome.reply, message);
  if (part->outcome.reply.failed) {
    kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  }
}

static void on_message(void *arg, struct keyroute_bytes message)
{
  struct part *part = arg;
  struct kr_bigtable_bundle *bundle = part->bundle;
  size_t max_len = bundle->client->settings->max_frame_len;

  if (part->outcome.failure.code != 0) {
    return;
  }
  bundle->wire_len += message.len;
  if (part->call.rows) {
    take_rows(part, message);
  } else {
    take_reply(part, message);
  }
  part->answered = true;
  if (part->outcome.failure.code == 0 &&
      (bundle->wire_len > max_len || bundle->held_len / HELD_FACTOR > max_len)) {
    fail_too_large(part);
  }
  if (part->outcome.failure.code != 0) {
    spoil(part);
  }
}

/* A call has ended: is what came of it whole? */
static void judge(struct part *part, const struct kr_grpc_status *status)
{
  struct kr_bigtable_chunks *chunks = &part->outcome.chunks;
  struct kr_failure *failure = &part->outcome.failure;

  if (failure->code == 0 && status->code != STATUS_OK) {
    kr_bigtable_status_map(failure, part->bundle->client->mem, status, part->call.region);
  } else {
    if (failure->code == 0 && part->call.rows && kr_bigtable_chunks_end(chunks) != 0) {
      kr_fail(failure, KEYROUTE_E_PROTOCOL, "answer to ReadRows: %s", chunks->trouble);
    } else if (failure->code == 0 && !part->call.rows && !part->answered) {
      kr_fail(failure, KEYROUTE_E_PROTOCOL, "no message where one was to come");
    }
    failure->sent = true;
  }
  if (failure->code != 0) {
    kr_fail_name_server(failure, part->bundle->server);
  }
}

/* So many calls of a bundle do not run any more. Who took the last one away ends it, or leaves it
 * to the loop. */
static void end_running(struct kr_bigtable_bundle *bundle, size_t count)
{
  struct kr_bigtable_client *client = bundle->client;

  pthread_mutex_lock(&client->lock);
  bundle->running -= count;
  bool over = bundle->running == 0;
  bool dropped = bundle->dropped;

  if (over && !dropped) {
    kr_loop_post(client->loop, &bundle->task);
  }
  pthread_mutex_unlock(&client->lock);
  if (over && dropped) {
    free_bundle(bundle);
  }
}

static void on_done(void *arg, const struct kr_grpc_status *status)
{
  struct part *part = arg;

  judge(part, status);
  end_running(part->bundle, 1);
}

static const struct kr_grpc_events events = {.message = on_message, .done = on_done};

/* ---- On the loop ----------------------------------------------------------------------------- */

/* A bundle is nobody's any more but its calls'. */
static void unlist(struct kr_bigtable_bundle *bundle)
{
  DL_DELETE(bundle->client->bundles, bundle);
  if (bundle->queue != NULL) {
    kr_bigtable_queue_leave(bundle->client, bundle->queue, bundle->len);
  }
}

/* Have it end without a word. It may be gone afterwards. */
static void drop(struct kr_bigtable_bundle *bundle)
{
  struct kr_bigtable_client *client = bundle->client;

  unlist(bundle);
  pthread_mutex_lock(&client->lock);
  bundle->running++; /* so that it is there until all have been cancelled */
  bool posted = bundle->running == 1;

  bundle->dropped = true;
  pthread_mutex_unlock(&client->lock);
  if (posted) {
    return; /* its task frees it */
  }
  for (size_t i = 0; i < bundle->count; i++) {
    if (bundle->parts[i].running != NULL) {
      client->module->cancel(client->grpc, bundle->parts[i].running);
    }
  }
  end_running(bundle, 1);
}

static void ended(struct kr_task *task)
{
  struct kr_bigtable_bundle *bundle = (struct kr_bigtable_bundle *)task;

  if (!bundle->dropped) {
    unlist(bundle);
    bundle->cb(bundle->arg, &bundle->refused, bundle, bundle->count);
  }
  free_bundle(bundle);
}

static bool start_part(struct part *part, int64_t timeout_ms)
{
  struct kr_bigtable_bundle *bundle = part->bundle;
  struct kr_bigtable_client *client = bundle->client;
  size_t region_len = part->call.region.len;
  struct kr_grpc_metadata metadata[] = {
      {"bigtable-features", keyroute_string(features)},
      {"x-goog-request-params",
       kr_bytes(part->texts.data + region_len, part->texts.len - region_len)},
  };
  struct kr_grpc_request request = {
      .host = bundle->host,
      .port = bundle->port,
      .method = part->call.method,
      .metadata = metadata,
      .metadata_count = part->call.params != NULL ? 2 : 1,
      .message = kr_buf_view(&part->message),
      .timeout_ms = timeout_ms,
  };
  uint64_t connects = 0;
  struct kr_grpc_call *running =
      client->module->start(client->grpc, &request, &events, part, &connects);

  kr_stats_add(client->stats, KR_COUNT_CONNECTS, connects);
  if (running == NULL) {
    return false;
  }
  kr_stats_add(client->stats, KR_COUNT_RPCS, 1);
  pthread_mutex_lock(&client->lock);
  part->running = running;
  bool spoilt = part->spoilt;

  pthread_mutex_unlock(&client->lock);
  if (spoilt) {
    client->module->cancel(client->grpc, running);
  }
  return true;
}

/* Start the calls. False = out of memory: the bundle is dropped. */
static bool start_parts(struct kr_bigtable_bundle *bundle, int64_t timeout_ms)
{
  size_t started = 0;

  bundle->running = bundle->count + 1;
  while (started < bundle->count && start_part(&bundle->parts[started], timeout_ms)) {
    started++;
  }
  if (started < bundle->count) {
    drop(bundle);
    end_running(bundle, bundle->count + 1 - started);
    return false;
  }
  for (size_t i = 0; i < bundle->count; i++) {
    kr_buf_clear(&bundle->parts[i].message);
  }
  end_running(bundle, 1);
  return true;
}

static bool is_written(const struct kr_bigtable_bundle *bundle)
{
  for (size_t i = 0; i < bundle->count; i++) {
    if (bundle->parts[i].message.failed || bundle->parts[i].texts.failed) {
      return false;
    }
  }
  return true;
}

static void refuse(struct kr_bigtable_bundle *bundle)
{
  kr_fail(&bundle->refused, KEYROUTE_E_OVERLOADED,
          "more than %zu bytes wait to be sent (keyroute.server.queue.max.bytes)",
          bundle->client->settings->max_queue_len);
  kr_fail_name_server(&bundle->refused, bundle->server);
}

bool kr_bigtable_bundle_start(struct kr_bigtable_bundle *bundle, int64_t timeout_ms,
                              kr_bigtable_cb cb, void *arg)
{
  struct kr_bigtable_client *client = bundle->client;
  bool has_room = true;

  if (!client->shut && is_written(bundle)) {
    bundle->queue =
        kr_bigtable_queue_enter(client, bundle->host, bundle->port, bundle->len, &has_room);
  }
  if (bundle->queue == NULL) {
    free_bundle(bundle);
    return false;
  }
  bundle->task.run = ended;
  bundle->cb = cb;
  bundle->arg = arg;
  DL_APPEND(client->bundles, bundle);
  if (!has_room) {
    refuse(bundle);
  }
  if (!has_room || bundle->count == 0) {
    kr_loop_post(client->loop, &bundle->task);
    return true;
  }
  return start_parts(bundle, timeout_ms);
}

bool kr_bigtable_bundle_cancel(struct kr_bigtable_bundle *bundle)
{
  bool started = bundle->count > 0 && bundle->parts[0].running != NULL;

  if (bundle->cb == NULL) {
    free_bundle(bundle);
  } else {
    drop(bundle);
  }
  return started;
}

void kr_bigtable_bundle_shutdown(struct kr_bigtable_client *client)
{
  struct kr_failure failure;

  client->shut = true;
  while (client->bundles != NULL) {
    struct kr_bigtable_bundle *bundle = client->bundles;
    kr_bigtable_cb cb = bundle->cb;
    void *arg = bundle->arg;

    kr_fail(&failure, KEYROUTE_E_CLOSED, "the connection is being closed");
    kr_fail_name_server(&failure, bundle->server);
    drop(bundle);
    cb(arg, &failure, NULL, 0);
  }
}
