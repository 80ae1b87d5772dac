#ifndef KR_RANGE_LOCK_H
#define KR_RANGE_LOCK_H

#include "lib/connection.h"

/* A session with ZooKeeper of a publisher's own: it holds the lock that only one may have, and
 * reads and writes the znode that says where meta1 is. Each call blocks the thread that publishes,
 * which has entered the connection, and is not on the loop; each returns 0 or the code that failure
 * then has. */
struct kr_range_lock;

/* Connect. Nothing is locked yet. Errors: NO_MEMORY. */
int kr_range_lock_open(struct kr_range_lock **out, struct keyroute_connection *conn,
                       int64_t deadline_us, struct kr_failure *failure);

/* Take the lock. Errors: OVERLOADED somebody has it, and failure says who; those of ZooKeeper. */
int kr_range_lock_take(struct kr_range_lock *lock, struct kr_failure *failure);

/* Has it been held all the time since? Errors: OVERLOADED it was lost; CLOSED. */
int kr_range_lock_check(struct kr_range_lock *lock, struct kr_failure *failure);

/* As kr_publish_ops has them. */
int kr_range_lock_read(struct kr_range_lock *lock, struct kr_buf *data, int64_t *version,
                       struct kr_failure *failure);
int kr_range_lock_write(struct kr_range_lock *lock, struct keyroute_bytes data, int64_t version,
                        struct kr_failure *failure);

/* The full path of the znode that is read and written; borrowed. */
const char *kr_range_lock_znode(const struct kr_range_lock *lock);

/* Give the lock back, and end the session. NULL is accepted. */
void kr_range_lock_close(struct kr_range_lock *lock);

#endif
