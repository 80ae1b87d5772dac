#ifndef KR_GRPC_LOAD_H
#define KR_GRPC_LOAD_H

#include "lib/grpc_module.h"

/* The gRPC client, loaded when it is first asked for. Any thread.
 * Errors: INVALID_ARGUMENT it is not there, or not of this library (*reason: static text, one line,
 * that names the file). */
int kr_grpc_load(const struct kr_grpc_module **out, const char **reason);

#endif
