/*
 * One call: a request, any number of messages, a status.
 *
 * It is three batches of gRPC's: the request with the wait for the server's first metadata; a
 * message, again and again until there is none; the status.
 *
 *  1. A stream ends when all its batches are back, and its done is told by the client's thread,
 *     once. As all are counted before the first is started, none of them can end it in the midst of
 *     start.
 *  2. gRPC wants calls of grpc_call_start_batch one at a time. start makes three, with that for a
 *     message last; the next one is the client's thread's, when that is back.
 *  3. The application knows a call by a number that is never used again, not by its address: one
 *     that has ended meanwhile is not found, and nothing happens.
 *  4. A request that gRPC does not take (metadata with bytes that HTTP/2 forbids) ends as any
 *     other, with INVALID_ARGUMENT.
 *  5. A tag is written right before its batch is started, and is the first thing read when it is
 *     back. gRPC orders the two as well, but what cannot see inside it (a sanitizer) sees this.
 *
 * start and cancel: any thread. take: the client's thread. Under no lock when events are told.
 * Source: gRPC core's grpc.h, grpc_types.h
 */
#include "module/grpc_stream.h"

#include "module/grpc_channel.h"
#include "module/grpc_status.h"

#include "lib/signals.h"

#include <grpc/byte_buffer_reader.h>

#include <string.h>

enum { BATCHES = 3 };

static struct kr_grpc_call *handle(const struct kr_grpc_stream *stream)
{
  return (struct kr_grpc_call *)(uintptr_t)stream->number;
}

static grpc_slice slice(struct keyroute_bytes bytes)
{
  return bytes.len == 0 ? grpc_empty_slice() : grpc_slice_from_copied_buffer(bytes.data, bytes.len);
}

/* ---- Making and freeing --------------------------------------------------------------------- */

static void copy_request(struct kr_grpc_stream *stream, const struct kr_grpc_request *request)
{
  stream->metadata_count = request->metadata_count;
  for (size_t i = 0; i < request->metadata_count; i++) {
    stream->metadata[i].key = grpc_slice_from_copied_string(request->metadata[i].key);
    stream->metadata[i].value = slice(request->metadata[i].value);
  }
  grpc_slice message = slice(request->message);

  stream->message = grpc_raw_byte_buffer_create(&message, 1);
  grpc_slice_unref(message);
}

static struct kr_grpc_stream *make(struct kr_grpc *grpc, const struct kr_grpc_request *request)
{
  size_t metadata_size = request->metadata_count * sizeof(grpc_metadata);
  struct kr_grpc_stream *stream = kr_calloc(grpc->mem, sizeof(*stream) + metadata_size);

  if (stream == NULL) {
    return NULL;
  }
  stream->grpc = grpc;
  stream->metadata = (grpc_metadata *)(stream + 1);
  stream->text = grpc_empty_slice();
  grpc_metadata_array_init(&stream->initial);
  grpc_metadata_array_init(&stream->trailing);
  copy_request(stream, request);
  return stream;
}

static void destroy(struct kr_grpc_stream *stream)
{
  if (stream->call != NULL) {
    grpc_call_unref(stream->call);
  }
  for (size_t i = 0; i < stream->metadata_count; i++) {
    grpc_slice_unref(stream->metadata[i].key);
    grpc_slice_unref(stream->metadata[i].value);
  }
  grpc_byte_buffer_destroy(stream->message);
  grpc_metadata_array_destroy(&stream->initial);
  grpc_metadata_array_destroy(&stream->trailing);
  grpc_slice_unref(stream->text);
  kr_free(stream->grpc->mem, stream);
}

/* ---- Batches -------------------------------------------------------------------------------- */

static bool start_batch(struct kr_grpc_stream *stream, const grpc_op *ops, size_t count,
                        struct kr_grpc_tag *tag)
{
  /* Release: the client's thread sees what was written before (5). */
  atomic_store_explicit(&tag->stream, stream, memory_order_release);
  return grpc_call_start_batch(stream->call, ops, count, tag, NULL) == GRPC_CALL_OK;
}

static bool send_request(struct kr_grpc_stream *stream)
{
  grpc_op ops[4] = {{0}};

  ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
  ops[0].data.send_initial_metadata.count = stream->metadata_count;
  ops[0].data.send_initial_metadata.metadata = stream->metadata;
  ops[1].op = GRPC_OP_SEND_MESSAGE;
  ops[1].data.send_message.send_message = stream->message;
  ops[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
  ops[3].op = GRPC_OP_RECV_INITIAL_METADATA;
  ops[3].data.recv_initial_metadata.recv_initial_metadata = &stream->initial;
  return start_batch(stream, ops, 4, &stream->request);
}

static bool await_message(struct kr_grpc_stream *stream)
{
  grpc_op op = {.op = GRPC_OP_RECV_MESSAGE};

  stream->received = NULL;
  op.data.recv_message.recv_message = &stream->received;
  return start_batch(stream, &op, 1, &stream->answer);
}

static bool await_status(struct kr_grpc_stream *stream)
{
  grpc_op op = {.op = GRPC_OP_RECV_STATUS_ON_CLIENT};

  op.data.recv_status_on_client.trailing_metadata = &stream->trailing;
  op.data.recv_status_on_client.status = &stream->code;
  op.data.recv_status_on_client.status_details = &stream->text;
  return start_batch(stream, &op, 1, &stream->end);
}

/* Of the three, only the request can be one that gRPC does not take. */
static void start_batches(struct kr_grpc_stream *stream)
{
  atomic_store_explicit(&stream->batches, BATCHES, memory_order_relaxed);
  (void)await_status(stream);
  if (!send_request(stream)) {
    grpc_call_cancel_with_status(stream->call, GRPC_STATUS_INVALID_ARGUMENT,
                                 "a request that gRPC does not take", NULL);
    atomic_fetch_sub_explicit(&stream->batches, 1, memory_order_acq_rel);
  }
  (void)await_message(stream);
}

static void note_sent(struct kr_grpc_stream *stream)
{
  atomic_store_explicit(&stream->was_sent, true, memory_order_relaxed);
}

static void cancel(struct kr_grpc_stream *stream)
{
  if (kr_grpc_status_was_sent(stream)) {
    note_sent(stream);
  }
  grpc_call_cancel(stream->call, NULL);
}

/* ---- Starting and cancelling ---------------------------------------------------------------- */

static bool put_in_locked(struct kr_grpc *grpc, struct kr_grpc_stream *stream)
{
  struct kr_mem *mem = grpc->mem;
  bool hash_failed = false;

  stream->number = ++grpc->last_number;
  HASH_ADD(hh, grpc->streams, number, sizeof(stream->number), stream);
  return !hash_failed;
}

static void take_out_locked(struct kr_grpc *grpc, struct kr_grpc_stream *stream)
{
  struct kr_mem *mem = grpc->mem;

  HASH_DEL(grpc->streams, stream);
}

static grpc_call *make_call(struct kr_grpc_stream *stream, const struct kr_grpc_request *request)
{
  grpc_slice method = grpc_slice_from_copied_string(request->method);
  gpr_timespec deadline = gpr_time_add(
      gpr_now(GPR_CLOCK_MONOTONIC),
      gpr_time_from_millis(request->timeout_ms > 0 ? request->timeout_ms : 0, GPR_TIMESPAN));
  grpc_call *call =
      grpc_channel_create_call(stream->channel->channel, NULL, GRPC_PROPAGATE_DEFAULTS,
                               stream->grpc->queue, method, NULL, deadline, NULL);

  grpc_slice_unref(method);
  return call;
}

/* Give the stream a channel and a place among those that can be cancelled. */
static bool enter_locked(struct kr_grpc_stream *stream, const struct kr_grpc_request *request,
                         uint64_t *connects)
{
  struct kr_grpc *grpc = stream->grpc;

  if (grpc->closing || !put_in_locked(grpc, stream)) {
    return false;
  }
  stream->channel = kr_grpc_channel_get_locked(grpc, request->host, request->port, connects);
  if (stream->channel == NULL) {
    take_out_locked(grpc, stream);
    return false;
  }
  stream->call = make_call(stream, request);
  grpc->running++;
  return true;
}

static struct kr_grpc_call *start(struct kr_grpc_stream *stream,
                                  const struct kr_grpc_request *request, uint64_t *connects)
{
  struct kr_grpc *grpc = stream->grpc;
  struct kr_grpc_call *call = NULL;

  pthread_mutex_lock(&grpc->lock);
  bool has_entered = enter_locked(stream, request, connects);

  if (has_entered) {
    call = handle(stream);
  }
  pthread_mutex_unlock(&grpc->lock);
  if (has_entered) {
    start_batches(stream);
  } else {
    destroy(stream);
  }
  return call;
}

struct kr_grpc_call *kr_grpc_stream_start(struct kr_grpc *grpc,
                                          const struct kr_grpc_request *request,
                                          const struct kr_grpc_events *events, void *arg,
                                          uint64_t *connects)
{
  struct kr_grpc_call *call = NULL;
  sigset_t saved;

  kr_signals_block(&saved); /* gRPC may start a thread in any call */
  struct kr_grpc_stream *stream = make(grpc, request);

  if (stream != NULL) {
    stream->events = *events;
    stream->arg = arg;
    call = start(stream, request, connects);
  }
  kr_signals_restore(&saved);
  return call;
}

void kr_grpc_stream_cancel(struct kr_grpc *grpc, struct kr_grpc_call *call)
{
  uint64_t number = (uintptr_t)call;
  struct kr_grpc_stream *stream;
  sigset_t saved;

  kr_signals_block(&saved);
  pthread_mutex_lock(&grpc->lock);
  HASH_FIND(hh, grpc->streams, &number, sizeof(number), stream);
  if (stream != NULL) {
    cancel(stream);
  }
  pthread_mutex_unlock(&grpc->lock);
  kr_signals_restore(&saved);
}

void kr_grpc_stream_end_all(struct kr_grpc *grpc)
{
  struct kr_grpc_stream *stream, *next;

  pthread_mutex_lock(&grpc->lock);
  grpc->closing = true;
  HASH_ITER (hh, grpc->streams, stream, next) {
    cancel(stream);
  }
  while (grpc->running > 0) {
    pthread_cond_wait(&grpc->quiet, &grpc->lock);
  }
  pthread_mutex_unlock(&grpc->lock);
}

/* ---- What comes back ------------------------------------------------------------------------ */

static void tell_message(struct kr_grpc_stream *stream)
{
  grpc_byte_buffer_reader reader;

  if (!grpc_byte_buffer_reader_init(&reader, stream->received)) {
    grpc_call_cancel_with_status(stream->call, GRPC_STATUS_INTERNAL, "unreadable message", NULL);
    return;
  }
  grpc_slice message = grpc_byte_buffer_reader_readall(&reader);

  grpc_byte_buffer_reader_destroy(&reader);
  stream->events.message(stream->arg, (struct keyroute_bytes){GRPC_SLICE_START_PTR(message),
                                                              GRPC_SLICE_LENGTH(message)});
  grpc_slice_unref(message);
}

/* Who hears of a lost connection may start the next call at once: the channel is retired by
 * then. */
static void part(struct kr_grpc_stream *stream)
{
  struct kr_grpc *grpc = stream->grpc;

  pthread_mutex_lock(&grpc->lock);
  take_out_locked(grpc, stream);
  if (stream->code == GRPC_STATUS_UNAVAILABLE) {
    kr_grpc_channel_retire_locked(grpc, stream->channel);
  }
  pthread_mutex_unlock(&grpc->lock);
}

static void finish(struct kr_grpc_stream *stream)
{
  struct kr_grpc *grpc = stream->grpc;
  struct kr_grpc_channel *channel = stream->channel;

  part(stream);

  struct kr_grpc_status status = kr_grpc_status_read(stream);

  stream->events.done(stream->arg, &status);
  destroy(stream);
  kr_grpc_channel_leave(grpc, channel);

  pthread_mutex_lock(&grpc->lock);
  if (--grpc->running == 0) {
    pthread_cond_signal(&grpc->quiet);
  }
  pthread_mutex_unlock(&grpc->lock);
}

void kr_grpc_stream_take(struct kr_grpc_tag *tag, bool good)
{
  struct kr_grpc_stream *stream = atomic_load_explicit(&tag->stream, memory_order_acquire);

  if (tag == &stream->request && good) {
    note_sent(stream);
  }
  if (tag == &stream->answer && stream->received != NULL) {
    tell_message(stream);
    grpc_byte_buffer_destroy(stream->received);
    if (await_message(stream)) {
      return;
    }
  }
  if (atomic_fetch_sub_explicit(&stream->batches, 1, memory_order_acq_rel) == 1) {
    finish(stream);
  }
}
