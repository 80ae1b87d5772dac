#ifndef KR_ROOT_TEXT_H
#define KR_ROOT_TEXT_H

#include "keyroute/keyroute.h"

/* Where the root is, as a text says it: views into that. */
struct kr_root_text {
  struct keyroute_bytes host;
  uint16_t port;
  int64_t start_code; /* 0 = not said */
};

/* Read "host:port" or "host:port:startcode"; an IPv6 address has brackets. False = it is none. */
bool kr_root_text_parse(struct kr_root_text *out, struct keyroute_bytes text);

/* Read the data of the znode root-region-server: "host,port,startcode", or "host:port" before HBase
 * 0.91. False = it is none. */
bool kr_root_text_parse_znode(struct kr_root_text *out, struct keyroute_bytes text);

#endif
