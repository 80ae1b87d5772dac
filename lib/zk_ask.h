#ifndef KR_ZK_ASK_H
#define KR_ZK_ASK_H

#include "lib/connection.h"
#include "lib/zk_session.h"

/* Requests to ZooKeeper over a session of one's own, one at a time. Each blocks the thread that
 * asks, which has entered the connection, and is not on the loop. */
struct kr_zk_asker;

/* Connect. NULL = out of memory. */
struct kr_zk_asker *kr_zk_asker_open(struct keyroute_connection *conn, int64_t deadline_us);

/* Send a request and wait for its reply.
 *  out    kr_zk_reply_free
 *  value  NULL, or what is to be written
 * Errors, as failure has them: those of ZooKeeper; OVERLOADED a lock was lost; CLOSED;
 * NO_MEMORY. */
int kr_zk_ask(struct kr_zk_reply **out, struct kr_zk_asker *asker, enum kr_zk_request request,
              const char *path, const struct keyroute_bytes *value, int32_t version,
              struct kr_failure *failure);

/* Has a lock that was taken been held all the time since? Any thread. Errors: OVERLOADED it was
 * lost. */
int kr_zk_asker_check(struct kr_zk_asker *asker, struct kr_failure *failure);

/* End the session, and with it what is ephemeral. NULL is accepted. */
void kr_zk_asker_close(struct kr_zk_asker *asker);

#endif
