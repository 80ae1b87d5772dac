/*
 * Which frames are in the bytes that a connection has received?
 *
 * Bytes come in pieces that know nothing of frames: they are put behind what is left, and frames
 * are taken from the front as long as there are whole ones. Whose they are, and what to do if one
 * is wrong, is rpc.c's; so frames are handed out one by one, and it may stop at any.
 *
 *  1. What a frame claims to hold allocates nothing: the buffer grows with the bytes that have
 *     come. It holds at most one frame of max_frame_len and one read.
 *  2. Of a longer frame no more than the header is kept, which says whose it is: it is handed out
 *     as TOO_LARGE, the rest is skipped, and all others go on. It is an error only if the header
 *     can't be read.
 *  3. A frame handed out stays where it is until the next is asked for: the buffer is moved only
 *     when no whole one is left.
 *  4. After an error nothing is to be asked but kr_rpc_frames_clear.
 *
 * Threads: the loop only, as rpc.c.
 */
#include "lib/rpc_frames.h"

#include "lib/bytes.h"

#include <string.h>

/* An emptied input buffer larger than this gives its memory back. */
#define KEEP_BUFFER (64 * 1024)

/* ---- Frames that are too long ---- */

/* What its head says of a frame that is too long. The reply's failure is its exception, or that it
 * is too long. *len is 0 as long as more bytes are needed for that. Errors: PROTOCOL, NO_MEMORY. */
static int read_long_head(struct kr_rpc_reply *reply, size_t *len,
                          const struct kr_rpc_frames *frames, struct keyroute_bytes in,
                          struct kr_failure *failure)
{
  int error = frames->codec->head(reply, len, frames->mem, in, failure);

  if (error == 0 && *len == 0 && in.len >= frames->settings->max_frame_len) {
    error = KEYROUTE_E_PROTOCOL;
    kr_fail(failure, error, "its header alone is too long");
  }
  return error;
}

/* Take as much of a long frame as has come. As take_frame. */
static int take_long_frame(size_t *taken, struct kr_rpc_reply *reply, struct kr_rpc_frames *frames,
                           struct keyroute_bytes in, size_t len, struct kr_failure *failure)
{
  size_t max_len = frames->settings->max_frame_len;
  struct kr_failure trouble;
  size_t come = len < in.len ? len : in.len;
  size_t head_len;

  if (read_long_head(reply, &head_len, frames, kr_bytes(in.data, come), &trouble) != 0) {
    kr_fail(failure, trouble.code, "a reply of %zu bytes, over the limit of %zu: %.*s", len,
            max_len, 200, trouble.message);
    return trouble.code;
  }
  if (head_len == 0) {
    return 0;
  }
  if (reply->failure.code == 0) {
    kr_fail(&reply->failure, KEYROUTE_E_TOO_LARGE,
            "an answer of %zu bytes, over the limit of %zu (keyroute.frame.max.bytes)", len,
            max_len);
    reply->failure.answer_len = len;
  }
  frames->skip_len = len - come;
  *taken = come;
  return 0;
}

/* Move over what is left of a long frame. Returns what stands behind it. */
static struct keyroute_bytes skip(struct kr_rpc_frames *frames, struct keyroute_bytes bytes)
{
  size_t len = frames->skip_len < bytes.len ? frames->skip_len : bytes.len;

  frames->skip_len -= len;
  return kr_bytes((const uint8_t *)bytes.data + len, bytes.len - len);
}

/* ---- Frames ---- */

/* Take the frame at the head of `in`. *taken is how much of `in` is done with; it stays 0 as long
 * as the frame is not whole. Errors: PROTOCOL, NO_MEMORY. */
static int take_frame(size_t *taken, struct kr_rpc_reply *reply, struct kr_rpc_frames *frames,
                      struct keyroute_bytes in, struct kr_failure *failure)
{
  size_t len = 0;
  int error = frames->codec->frame(&len, in, failure);

  if (error != 0) {
    return error;
  }
  if (len > frames->settings->max_frame_len) {
    return take_long_frame(taken, reply, frames, in, len, failure);
  }
  if (len == 0 || len > in.len) {
    return 0;
  }
  error = frames->codec->reply(reply, frames->mem, kr_bytes(in.data, len), failure);
  if (error == 0) {
    *taken = len;
  }
  return error;
}

/* Move what has not been taken to the front of the buffer. */
static void move_rest(struct kr_rpc_frames *frames)
{
  struct kr_buf *in = &frames->in;

  if (frames->taken == 0) {
    return;
  }
  memmove(in->data, in->data + frames->taken, in->len - frames->taken);
  in->len -= frames->taken;
  frames->taken = 0;
  if (in->len == 0 && in->cap > KEEP_BUFFER) {
    kr_buf_clear(in);
  }
}

int kr_rpc_frames_next(bool *found, struct kr_rpc_reply *reply, struct kr_rpc_frames *frames,
                       struct kr_failure *failure)
{
  const uint8_t *data = frames->in.data;
  size_t left = frames->in.len - frames->taken;
  size_t taken = 0;
  int error = 0;

  if (left > 0) {
    error = take_frame(&taken, reply, frames, kr_bytes(data + frames->taken, left), failure);
  }
  if (error != 0) {
    return error;
  }
  frames->taken += taken;
  *found = taken > 0;
  if (taken == 0) {
    move_rest(frames);
  }
  return 0;
}

int kr_rpc_frames_add(struct kr_rpc_frames *frames, struct keyroute_bytes bytes)
{
  bytes = skip(frames, bytes);
  if (bytes.len > 0) {
    kr_buf_bytes(&frames->in, bytes);
  }
  return frames->in.failed ? KEYROUTE_E_NO_MEMORY : 0;
}

/* ---- All of it ------------------------------------------------------------------------------ */

void kr_rpc_frames_init(struct kr_rpc_frames *frames, struct kr_mem *mem,
                        const struct kr_settings *settings, const struct kr_rpc_codec *codec)
{
  *frames = (struct kr_rpc_frames){.mem = mem, .settings = settings, .codec = codec};
  kr_buf_init(&frames->in, mem);
}

void kr_rpc_frames_clear(struct kr_rpc_frames *frames)
{
  kr_buf_clear(&frames->in);
}
