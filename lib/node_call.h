#ifndef KR_NODE_CALL_H
#define KR_NODE_CALL_H

#include "lib/connection.h"
#include "lib/publish_means.h"

/* Requests to a node that is named, not looked up: sent once, answered in the thread that asks,
 * which has entered the connection. Not on the loop. Each returns 0 or the code that failure then
 * has; CLOSED too. */

/* Scan a table. take runs on the loop, while this waits. */
int kr_node_scan(struct keyroute_connection *conn, const struct kr_descriptor_replica *node,
                 const struct kr_scan *scan, int64_t deadline_us, kr_publish_take take, void *arg,
                 struct kr_failure *failure);

/* Send a request; the answer's message is appended to reply. */
int kr_node_call(struct keyroute_connection *conn, const struct kr_descriptor_replica *node,
                 const struct kr_method *method, int64_t deadline_us, struct kr_buf *reply,
                 struct kr_failure *failure);

#endif
