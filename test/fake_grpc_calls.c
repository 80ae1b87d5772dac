/*
 * The calls of the fake gRPC server, each played by the script that a handler wrote.
 *
 *  1. A call has at most two batches out: the one that tells when the client has gone, and one of
 *     reading the request or of a step. It is over when both are back and nothing is to follow.
 *  2. A step is started when the one before it is done; a pause is a place in the list of those
 *     that wait.
 *
 * Server's thread.
 */
#include "test/fake_grpc_script.h"
#include "test/fake_grpc_state.h"
#include "test/must.h"

#include <grpc/byte_buffer_reader.h>
#include <grpc/support/alloc.h>
#include <string.h>
#include <time.h>

#define LONG_MS 86400000

/* A call, from the wait for it to its end. */
struct fake_grpc_played {
  struct fake_grpc_played *next; /* in the server's list of paused ones */
  struct fake_grpc_server *server;
  grpc_call *call;
  grpc_call_details details;
  grpc_metadata_array metadata;
  grpc_byte_buffer *request;
  struct fake_grpc_call script;
  struct fake_grpc_tag arrival, reading, step, leaving;
  bool has_script, has_headers, has_ended, is_gone;
  unsigned batches;
  size_t at; /* the next step */
  int64_t due_ms;
  int cancelled;
};

static int64_t now_ms(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void break_connection(struct fake_grpc_played *played)
{
  char *peer = grpc_call_get_peer(played->call);
  const char *port = strrchr(peer, ':');

  if (port != NULL) {
    fake_grpc_visit_connections(played->server->port, atoi(port + 1), true);
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

static void start(struct fake_grpc_played *played, const grpc_op *ops, size_t count,
                  struct fake_grpc_tag *tag)
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

static void free_played(struct fake_grpc_played *played)
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

static void unpause(struct fake_grpc_played *played)
{
  for (struct fake_grpc_played **at = &played->server->paused; *at != NULL; at = &(*at)->next) {
    if (*at == played) {
      *at = played->next;
      return;
    }
  }
}

static void end_if_over(struct fake_grpc_played *played)
{
  if (played->batches == 0 && played->is_gone) {
    struct fake_grpc_server *server = played->server;

    unpause(played);
    free_played(played);
    count_over(server);
  }
}

/* The first thing that is sent brings the headers with it. */
static size_t put_headers(struct fake_grpc_played *played, grpc_op *ops)
{
  if (played->has_headers) {
    return 0;
  }
  ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
  played->has_headers = true;
  return 1;
}

static void send_message(struct fake_grpc_played *played, struct keyroute_bytes message)
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

static void send_status(struct fake_grpc_played *played)
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

static void pause_call(struct fake_grpc_played *played, int ms)
{
  played->due_ms = now_ms() + ms;
  played->next = played->server->paused;
  played->server->paused = played;
}

/* Do the next step; what follows it is done when it is. */
static void play(struct fake_grpc_played *played)
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

static void take_step(struct fake_grpc_tag *tag, bool good)
{
  (void)good;
  tag->played->batches--;
  play(tag->played);
}

/* The client has gone, or has all there is. */
static void take_leaving(struct fake_grpc_tag *tag, bool good)
{
  (void)good;
  tag->played->batches--;
  tag->played->is_gone = true;
  end_if_over(tag->played);
}

static void handle(struct fake_grpc_played *played)
{
  struct fake_grpc_server *server = played->server;
  struct fake_grpc_handled *found;

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

static void write_script(struct fake_grpc_played *played)
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

static void take_request(struct fake_grpc_tag *tag, bool good)
{
  struct fake_grpc_played *played = tag->played;

  played->batches--;
  if (good && !played->is_gone) {
    write_script(played);
    play(played);
  } else {
    end_if_over(played);
  }
}

/* ---- The calls that come -------------------------------------------------------------------- */

static void take_arrival(struct fake_grpc_tag *tag, bool good);

void fake_grpc_await_call(struct fake_grpc_server *server)
{
  struct fake_grpc_played *played = must(calloc(1, sizeof(*played)));

  played->server = server;
  played->arrival = (struct fake_grpc_tag){take_arrival, played};
  played->reading = (struct fake_grpc_tag){take_request, played};
  played->step = (struct fake_grpc_tag){take_step, played};
  played->leaving = (struct fake_grpc_tag){take_leaving, played};
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

static void take_arrival(struct fake_grpc_tag *tag, bool good)
{
  struct fake_grpc_played *played = tag->played;
  grpc_op read = {.op = GRPC_OP_RECV_MESSAGE}, leave = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER};

  played->server->awaits = false;
  if (!good) {
    free_played(played);
    return;
  }
  fake_grpc_await_call(played->server);
  count_arrival(played->server);
  leave.data.recv_close_on_server.cancelled = &played->cancelled;
  start(played, &leave, 1, &played->leaving);
  read.data.recv_message.recv_message = &played->request;
  start(played, &read, 1, &played->reading);
}
int64_t fake_grpc_play_due(struct fake_grpc_server *server)
{
  int64_t now = now_ms(), wait = LONG_MS;

  for (struct fake_grpc_played *played = server->paused, *next; played != NULL; played = next) {
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
