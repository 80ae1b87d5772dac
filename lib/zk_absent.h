#ifndef KR_ZK_ABSENT_H
#define KR_ZK_ABSENT_H

#include "lib/zk_read_state.h"

/* What to tell of a root's znode that is not there. Loop thread. */

/* The parent is there, but none of the places: that is the read's failure. */
void kr_zk_absent_name(struct kr_zk_read *read);

/* There is no parent: that is the read's failure. Asks what there is in the directory that it would
 * be in. False = out of memory. */
bool kr_zk_absent_ask(struct kr_zk_read *read);

/* The reply to that: asks of some whether such a znode stands there; those named as HBase's first.
 * False = out of memory. */
bool kr_zk_absent_hear(struct kr_zk_read *read, const struct kr_zk_reply *reply);

/* What is known of why there is no answer; false = nothing. At any time. */
bool kr_zk_absent_explain(const struct kr_zk_read *read, struct kr_failure *failure);

#endif
