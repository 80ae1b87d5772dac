#ifndef KR_ZK_KEEPER_H
#define KR_ZK_KEEPER_H

#include "lib/settings.h"
#include "lib/stats.h"
#include "lib/zk_session.h"

/* Keeps a session with ZooKeeper while somebody wants one. All on the loop but for close. */
struct kr_zk_keeper;

/* What its owner gets to hear. */
struct kr_zk_keeper_events {
  void (*ready)(void *owner); /* connected: send what waits */
  void (*lost)(void *owner);  /* what was sent to this session will not be answered */
  void (*failed)(void *owner, const struct kr_failure *failure); /* nothing for those who wait */
  /* A znode that is watched did. renewed: it may have, for the session that watched was replaced,
   * and nothing watches now. */
  void (*changed)(void *owner, bool renewed);
  void (*replied)(void *owner, struct kr_zk_reply *reply); /* yours to free */
};

/* settings    borrowed until free
 * stats       borrowed until free; sessions that were made are counted
 * NULL = out of memory. */
struct kr_zk_keeper *kr_zk_keeper_new(struct kr_mem *mem, struct kr_loop *loop,
                                      const struct kr_settings *settings, struct kr_stats *stats,
                                      const struct kr_zk_keeper_events *events, void *owner);

/* Somebody waits for an answer; nobody does any more. */
void kr_zk_keeper_want(struct kr_zk_keeper *keeper);
void kr_zk_keeper_unwant(struct kr_zk_keeper *keeper);

/* NULL while not connected. */
struct kr_zk_session *kr_zk_keeper_session(const struct kr_zk_keeper *keeper);

/* An awaited reply has come: the server is there, whatever it says. */
void kr_zk_keeper_note(struct kr_zk_keeper *keeper, const struct kr_zk_reply *reply);

/* A request was lost: say ready again in a moment, if the session is still there then. */
void kr_zk_keeper_pace(struct kr_zk_keeper *keeper);

/* Somebody waited long and heard nothing: the server may hang. */
void kr_zk_keeper_suspect(struct kr_zk_keeper *keeper);

/* Why there was no answer within so long, as far as the session is concerned. */
void kr_zk_keeper_explain(const struct kr_zk_keeper *keeper, int64_t timeout_ms,
                          struct kr_failure *failure);

/* In this order: stop; close, not on the loop, for at most so long; free after the loop's end. */
void kr_zk_keeper_stop(struct kr_zk_keeper *keeper);
void kr_zk_keeper_close(struct kr_zk_keeper *keeper, int64_t bound_ms);
void kr_zk_keeper_free(struct kr_zk_keeper *keeper); /* NULL is accepted */

#endif
