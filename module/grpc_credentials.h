#ifndef KR_GRPC_CREDENTIALS_H
#define KR_GRPC_CREDENTIALS_H

#include "lib/grpc_module.h"

#include <grpc/grpc.h>

/* What channels prove and ask for: nothing, or TLS as the settings say. NULL = a PEM does not hold
 * what it should (*reason: static text). */
grpc_channel_credentials *kr_grpc_credentials_new(const struct kr_grpc_settings *settings,
                                                  const char **reason);

#endif
