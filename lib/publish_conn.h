#ifndef KR_PUBLISH_CONN_H
#define KR_PUBLISH_CONN_H

#include "lib/publish_means.h"
#include "lib/range_lock.h"

/* A publisher's means by a connection of layout range. In one thread, which has entered the
 * connection and is not on the loop. */
struct kr_publish_conn {
  struct kr_publish_means means; /* first */
  struct keyroute_connection *conn;
  int64_t deadline_us;
  struct kr_range_lock *lock; /* NULL with registry static */
};

/* changes  take the lock, too. kr_publish_conn_close, also after an error; a code, as failure. */
int kr_publish_conn_open(struct kr_publish_conn *out, struct keyroute_connection *conn,
                         int64_t deadline_us, bool changes, struct kr_failure *failure);
void kr_publish_conn_close(struct kr_publish_conn *publish);

/* Where meta1 was written down to be; host.data NULL if it was not. */
struct kr_descriptor_replica kr_publish_conn_static(const struct keyroute_connection *conn);

#endif
