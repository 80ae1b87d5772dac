#ifndef KR_GRPC_CHANNEL_H
#define KR_GRPC_CHANNEL_H

#include "module/grpc_state.h"

/* The channel to a server, made if there is none; a stream more is on it. NULL = out of memory.
 * *made  grows by one if it was made. The client's lock is held. */
struct kr_grpc_channel *kr_grpc_channel_get_locked(struct kr_grpc *grpc, const char *host, int port,
                                                   uint64_t *made);

/* Use it for no further stream. The client's lock is held. */
void kr_grpc_channel_retire_locked(struct kr_grpc *grpc, struct kr_grpc_channel *channel);

/* A stream on it has ended. Takes the client's lock. */
void kr_grpc_channel_leave(struct kr_grpc *grpc, struct kr_grpc_channel *channel);

/* Close those that have been idle for long. Returns when to look again, in ms of the monotonic
 * clock; INT64_MAX = never. Takes the client's lock. */
int64_t kr_grpc_channel_sweep(struct kr_grpc *grpc);

/* Close them all. No stream is on any. */
void kr_grpc_channel_close_all(struct kr_grpc *grpc);

/* The monotonic clock, in ms, and a time of it as gRPC has it. */
int64_t kr_grpc_now_ms(void);
gpr_timespec kr_grpc_time(int64_t ms);

#endif
