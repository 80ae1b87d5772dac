#ifndef KR_RPC_CODEC_H
#define KR_RPC_CODEC_H

#include "lib/buf.h"
#include "lib/error.h"
#include "lib/settings.h"

/* What rpc.c asks and is told, and the protocol between: one codec for each. */

/* What is asked. */
struct kr_rpc_call {
  const char *method;
  struct keyroute_bytes param; /* encoded as the codec's protocol wants it */
  struct keyroute_bytes cells; /* behind it; mostly none */
  uint32_t priority;           /* 0 = what the server thinks fit */
  int64_t timeout_ms;          /* for connecting, sending and the answer together */
};

/* One frame from a server: views into it. */
struct kr_rpc_reply {
  uint32_t id;
  bool for_all;              /* about the connection, not about one request */
  struct kr_failure failure; /* the server's exception, code 0 = none; without the server's name */
  struct keyroute_bytes body;
  struct keyroute_bytes cells;
  const char *server; /* "host:port"; rpc.c sets it */
};

/* How one protocol writes and reads its frames. On a failure that is not memory's, frame and reply
 * fill in a PROTOCOL failure, without the server's name. */
struct kr_rpc_codec {
  /* What a connection opens with. */
  void (*hello)(struct kr_buf *out, const struct kr_settings *settings);

  /* The frame of one request. */
  void (*request)(struct kr_buf *out, uint32_t id, const struct kr_rpc_call *call);

  /* How long the frame at the head of `in` is; *len is 0 as long as that can't be told.
   * Errors: PROTOCOL. */
  int (*frame)(size_t *len, struct keyroute_bytes in, struct kr_failure *failure);

  /* Of a frame that will not be kept: whose it is, and its exception if it is one, by its header at
   * the head of `in`. *len is the header's, 0 as long as it is not whole. Errors: as of reply. */
  int (*head)(struct kr_rpc_reply *out, size_t *len, struct kr_mem *mem, struct keyroute_bytes in,
              struct kr_failure *failure);

  /* Take one whole frame apart. Errors: PROTOCOL, NO_MEMORY. */
  int (*reply)(struct kr_rpc_reply *out, struct kr_mem *mem, struct keyroute_bytes frame,
               struct kr_failure *failure);
};

#endif
