#ifndef KR_ZK_PROBE_H
#define KR_ZK_PROBE_H

#include "lib/ensemble.h"

/* Try every address at once: which of them gives out ZooKeeper sessions? Fills in each endpoint's
 * state and error. Returns as soon as all have said something, or shortly after the first one that
 * answers, or after bound_ms. Blocks for so long; on a worker.
 * session_timeout_ms  for the session asked for, which is given back at once */
void kr_zk_probe(struct kr_endpoints *endpoints, int bound_ms, int session_timeout_ms,
                 kr_ensemble_stop_cb stop, void *arg);

/* Why no session can be had from any of these, put as a failure: UNREACHABLE all refuse, BOOTSTRAP
 * some close and the others refuse, TIMEOUT some say nothing. */
void kr_zk_probe_explain(struct kr_failure *failure, const struct kr_endpoints *endpoints);

#endif
