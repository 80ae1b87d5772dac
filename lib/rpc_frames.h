#ifndef KR_RPC_FRAMES_H
#define KR_RPC_FRAMES_H

#include "lib/buf.h"
#include "lib/error.h"
#include "lib/rpc_codec.h"
#include "lib/settings.h"

#include <stdbool.h>

/* What one connection has received, and the replies in it. Embedded in the connection. */
struct kr_rpc_frames {
  struct kr_mem *mem; /* borrowed, as the next two */
  const struct kr_settings *settings;
  const struct kr_rpc_codec *codec;
  struct kr_buf in;
  size_t taken;    /* how much of that has been handed out */
  size_t skip_len; /* what is still to come of a frame that is not kept */
};

void kr_rpc_frames_init(struct kr_rpc_frames *frames, struct kr_mem *mem,
                        const struct kr_settings *settings, const struct kr_rpc_codec *codec);
void kr_rpc_frames_clear(struct kr_rpc_frames *frames); /* release the memory */

/* Put bytes behind what is left. Errors: NO_MEMORY. */
int kr_rpc_frames_add(struct kr_rpc_frames *frames, struct keyroute_bytes bytes);

/* Take the next frame apart: to be called after each add until *found is false, which is when none
 * is whole. *reply is valid until the next call with these frames; a frame over max_frame_len is
 * one with a failure. Errors: PROTOCOL, NO_MEMORY, without the server's name. */
int kr_rpc_frames_next(bool *found, struct kr_rpc_reply *reply, struct kr_rpc_frames *frames,
                       struct kr_failure *failure);

#endif
