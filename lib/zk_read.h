#ifndef KR_ZK_READ_H
#define KR_ZK_READ_H

#include "lib/registry.h"
#include "lib/zk_read_state.h"

enum kr_zk_progress {
  KR_ZK_READ_GOES_ON,
  KR_ZK_READ_ANSWERED,
  KR_ZK_READ_FAILED, /* kr_zk_absent_explain says why */
  KR_ZK_READ_LOST    /* the connection went: begin again */
};

/* mem and paths are borrowed until reset. */
void kr_zk_read_init(struct kr_zk_read *read, struct kr_mem *mem, const struct kr_zk_paths *paths,
                     uint64_t number);

/* Begin a round: send the first requests. False = out of memory; reset it then. */
bool kr_zk_read_begin(struct kr_zk_read *read, struct kr_zk_session *session);

/* A round is under way. */
bool kr_zk_read_begun(const struct kr_zk_read *read);

/* Whether a reply with the read's number is to a request of the round under way. */
bool kr_zk_read_awaits(const struct kr_zk_read *read, const struct kr_zk_reply *reply);

/* Take in a reply it awaits, which becomes the read's own, and send what follows from it. */
enum kr_zk_progress kr_zk_read_hear(struct kr_zk_read *read, struct kr_zk_reply *reply);

/* Of a read that is answered: its values in the order of replicas, which point into the read.
 * Release with kr_free. NULL = out of memory. */
struct kr_root_value *kr_zk_read_values(const struct kr_zk_read *read, size_t *count);

/* Where it reads, or has read. */
const struct kr_zk_place *kr_zk_read_place(const struct kr_zk_read *read);

/* Forget the round; the next one may be begun. */
void kr_zk_read_reset(struct kr_zk_read *read);

#endif
