#ifndef KR_ZK_READ_STATE_H
#define KR_ZK_READ_STATE_H

#include "lib/zk_paths.h"
#include "lib/zk_session.h"

#include <string.h>

/* What the files of a read share: zk_read.c (its course), zk_absent.c (what to tell of a znode that
 * is not there). */

/* What a request of a read is for. */
enum kr_zk_role {
  KR_ZK_ROLE_CHILDREN,
  KR_ZK_ROLE_PRIMARY,
  KR_ZK_ROLE_CREATION, /* the watch for a znode that is not there */
  KR_ZK_ROLE_SIBLINGS, /* the znodes next to a parent that is not there */
  KR_ZK_ROLE_SIBLING,
  KR_ZK_ROLE_REPLICA /* + the replica's number */
};

/* What one read has asked and heard. Embedded in what its owner keeps for each read; all but number
 * is theirs. */
struct kr_zk_read {
  struct kr_mem *mem; /* this and paths are the owner's */
  const struct kr_zk_paths *paths;
  uint64_t number;               /* its replies carry it */
  struct kr_zk_session *session; /* asked in this round, NULL = none */
  unsigned round;
  unsigned place;   /* which of the places is being looked at */
  unsigned pending; /* requests out */
  unsigned flickers;
  bool heard;                  /* a reply has come in this round */
  bool no_parent;              /* as the list of children said */
  struct kr_zk_reply *replies; /* of this round, by role */
  struct kr_failure failure;   /* why there is no answer, code 0 = not known yet */
};

/* Send one more request of the round. False = out of memory. */
bool kr_zk_read_ask(struct kr_zk_read *read, enum kr_zk_request request, int role,
                    const char *path);

/* The names of a list stand one behind the other, each with its NUL; NULL = no more. */
static inline const char *kr_zk_first_name(const struct kr_zk_reply *list)
{
  return list->len > 0 ? list->data : NULL;
}

static inline const char *kr_zk_next_name(const struct kr_zk_reply *list, const char *name)
{
  const char *next = name + strlen(name) + 1;

  return next < list->data + list->len ? next : NULL;
}

#endif
