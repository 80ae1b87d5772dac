#ifndef KR_GRPC_LIBRARY_H
#define KR_GRPC_LIBRARY_H

#include <stdbool.h>

/* Have gRPC run, from now until as many calls of leave. Signals are blocked. False = it ran when
 * this process was forked, and cannot be used in it. */
bool kr_grpc_library_enter(void);

/* Waits until gRPC has stopped, unless others use it too. */
void kr_grpc_library_leave(void);

#endif
