#ifndef KR_GRPC_STREAM_H
#define KR_GRPC_STREAM_H

#include "module/grpc_state.h"

/* As start and cancel of struct kr_grpc_module. */
struct kr_grpc_call *kr_grpc_stream_start(struct kr_grpc *grpc,
                                          const struct kr_grpc_request *request,
                                          const struct kr_grpc_events *events, void *arg,
                                          uint64_t *connects);
void kr_grpc_stream_cancel(struct kr_grpc *grpc, struct kr_grpc_call *call);

/* Start none any more, cancel those under way, and wait until they have gone. */
void kr_grpc_stream_end_all(struct kr_grpc *grpc);

/* A batch is back from the queue: tell what it brought. good: all of it was done. The client's
 * thread. */
void kr_grpc_stream_take(struct kr_grpc_tag *tag, bool good);

#endif
