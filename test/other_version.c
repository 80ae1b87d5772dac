/*
 * A gRPC module of another version than the library's, which is not to be used.
 */
#include "lib/grpc_module.h"

const struct kr_grpc_module keyroute_grpc_module = {.version = KR_GRPC_MODULE_VERSION + 1};
