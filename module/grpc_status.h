#ifndef KR_GRPC_STATUS_H
#define KR_GRPC_STATUS_H

#include "module/grpc_state.h"

/* Was the call given to a connection? Also to be asked, and noted, before it is cancelled, when
 * gRPC forgets it. */
bool kr_grpc_status_was_sent(const struct kr_grpc_stream *stream);

/* How a stream ended, all of whose batches are back. It is borrowed from the stream. */
struct kr_grpc_status kr_grpc_status_read(const struct kr_grpc_stream *stream);

#endif
