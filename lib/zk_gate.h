#ifndef KR_ZK_GATE_H
#define KR_ZK_GATE_H

#include "lib/connect_string.h"
#include "lib/log.h"
#include "lib/loop.h"

/* The way from ZooKeeper's threads and the worker to the loop: counted, and shut when the registry
 * closes, so that what comes too late falls to the ground. */
struct kr_zk_gate;

/* owner     what the tasks that pass are for
 * hosts     of the ensemble, copied; to be read from any thread
 * NULL = out of memory. */
struct kr_zk_gate *kr_zk_gate_new(struct kr_loop *loop, const struct kr_log *log, void *owner,
                                  const char *hosts);
struct kr_zk_gate *kr_zk_gate_ref(struct kr_zk_gate *gate);
void kr_zk_gate_release(struct kr_zk_gate *gate); /* NULL is accepted */

const struct kr_connect_string *kr_zk_gate_ensemble(const struct kr_zk_gate *gate);

/* Any thread. False = the gate is shut and the task stays the caller's. */
bool kr_zk_gate_post(struct kr_zk_gate *gate, struct kr_task *task);
void kr_zk_gate_log(struct kr_zk_gate *gate, enum keyroute_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Whether work for the registry is in vain. Any thread. (void: a kr_ensemble_stop_cb.) */
bool kr_zk_gate_stopped(void *gate);

/* The names are being looked up, and have been for so long that it is worth a word. Any thread. */
void kr_zk_gate_set_resolving(struct kr_zk_gate *gate, bool resolving);
bool kr_zk_gate_resolving(struct kr_zk_gate *gate);

/* On the loop only: NULL once stopped. */
void *kr_zk_gate_owner(const struct kr_zk_gate *gate);

/* On the loop: the owner is to be left alone. Tasks still pass. */
void kr_zk_gate_stop(struct kr_zk_gate *gate);

/* Not on the loop: nothing passes any more, nothing is logged any more. Waits for a log line under
 * way. */
void kr_zk_gate_shut(struct kr_zk_gate *gate);

#endif
