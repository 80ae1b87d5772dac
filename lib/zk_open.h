#ifndef KR_ZK_OPEN_H
#define KR_ZK_OPEN_H

#include "lib/zk_session.h"

/* How opening went. */
struct kr_zk_opening {
  struct kr_zk_session *session; /* NULL = failure says why; else yours to close */
  struct kr_failure failure;
};

/* Start to open a session on the worker: look up the names, then make a handle for the addresses.
 * handler   static
 * number    what state and fired will name it by
 * careful   try the addresses first and take those that answer; fail if none does. If they merely
 *           say nothing: with have_other that is a failure too (TIMEOUT), else the client tries on
 * False = out of memory, opened is not called. */
bool kr_zk_open(struct kr_worker *worker, struct kr_zk_gate *gate,
                const struct kr_zk_handler *handler, uint64_t number, int session_timeout_ms,
                bool careful, bool have_other);

#endif
