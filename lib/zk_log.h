#ifndef KR_ZK_LOG_H
#define KR_ZK_LOG_H

#include "lib/zk_gate.h"

/* What ZooKeeper's client takes as its log callback: it hands over the line and nothing else. */
typedef void (*kr_zk_log_cb)(const char *line);

/* A callback whose lines go to this gate's log. Gives back a number for kr_zk_log_release in slot.
 * When all are in use, a callback that drops its lines and slot -1. Any thread. */
kr_zk_log_cb kr_zk_log_take(struct kr_zk_gate *gate, int *slot);
void kr_zk_log_release(int slot);

/* Around a fork, in the thread that forks. */
void kr_zk_log_before_fork(void);
void kr_zk_log_after_fork(bool in_child);

#endif
