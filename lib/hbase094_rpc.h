#ifndef KR_HBASE094_RPC_H
#define KR_HBASE094_RPC_H

#include "lib/rpc_codec.h"

/* The frames of HBase 0.94's Writable RPC, protocol HRegionInterface. A call's param is the number
 * of parameters, as int32, and the parameters. */
extern const struct kr_rpc_codec kr_hbase094_codec;

#endif
