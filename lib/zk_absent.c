/*
 * What to tell when ZooKeeper has no znode of the root: which is missing, or that its parent is,
 * and where such a znode stands instead.
 *
 * Whoever names a wrong parent means one that is there, mostly right beside it. So those are asked
 * for whether they have the znode that was looked for, or a range directory's.
 *
 *  1. Only when all places are known to be absent, and the parent too: it is for the message.
 *  2. Anybody may have written these znodes. How many are followed up and how many are named is
 *     bounded; names are escaped where they are shown.
 *
 * On the loop.
 */
#include "lib/zk_absent.h"

#include "lib/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* How many neighbours of the parent are looked at for a hint, and how many the hint names. */
#define SIBLINGS_MAX 16
#define SIBLINGS_SHOWN 3
/* Where a range directory is unless told otherwise: it may have been meant, whatever the layout. */
#define RANGE_PARENT "keyroute"
#define RANGE_ZNODE "meta1"

static void no_such_parent(const struct kr_zk_read *read, struct kr_failure *failure)
{
  kr_fail(failure, KEYROUTE_E_BOOTSTRAP, "no such parent %.300s", read->paths->parent);
}

bool kr_zk_absent_ask(struct kr_zk_read *read)
{
  const char *parent = read->paths->parent;
  const char *slash = strrchr(parent, '/');
  size_t len = slash != NULL ? (size_t)(slash - parent) : 0;

  no_such_parent(read, &read->failure);
  char *dir = kr_copy(read->mem, len > 0 ? kr_bytes(parent, len) : keyroute_string("/"));
  bool sent = dir != NULL && kr_zk_read_ask(read, KR_ZK_LIST, KR_ZK_ROLE_SIBLINGS, dir);
  kr_free(read->mem, dir);
  return sent;
}

void kr_zk_absent_name(struct kr_zk_read *read)
{
  const struct kr_zk_place *places = read->paths->places;

  if (read->place == 0) {
    kr_fail(&read->failure, KEYROUTE_E_BOOTSTRAP, "no such znode %.400s", places[0].znode);
  } else {
    kr_fail(&read->failure, KEYROUTE_E_BOOTSTRAP, "no such znode %.400s, nor a %.60s beside it",
            places[0].znode, places[read->place].name);
  }
}

__attribute__((format(printf, 2, 3))) static void append(struct kr_failure *failure,
                                                         const char *format, ...)
{
  size_t len = strlen(failure->message);
  va_list args;

  va_start(args, format);
  vsnprintf(failure->message + len, sizeof(failure->message) - len, format, args);
  va_end(args);
}

/* Ask whether a znode of a name stands in a folder. */
static bool ask_existence(struct kr_zk_read *read, const char *dir, const char *name)
{
  char *path = kr_zk_path_join(read->mem, dir, name);
  bool sent = path != NULL && kr_zk_read_ask(read, KR_ZK_EXISTS, KR_ZK_ROLE_SIBLING, path);

  kr_free(read->mem, path);
  return sent;
}

static bool looks_for(const struct kr_zk_read *read, const char *name)
{
  bool found = false;

  for (unsigned i = 0; i < read->paths->count; i++) {
    found = found || strcmp(read->paths->places[i].name, name) == 0;
  }
  return found;
}

static bool ask_sibling(struct kr_zk_read *read, const char *parent, const char *name)
{
  char *dir = kr_zk_path_join(read->mem, parent, name);
  bool sent = dir != NULL;

  for (unsigned i = 0; sent && i < read->paths->count; i++) {
    sent = ask_existence(read, dir, read->paths->places[i].name);
  }
  if (sent && strcmp(name, RANGE_PARENT) == 0 && !looks_for(read, RANGE_ZNODE)) {
    sent = ask_existence(read, dir, RANGE_ZNODE);
  }
  kr_free(read->mem, dir);
  return sent;
}

bool kr_zk_absent_hear(struct kr_zk_read *read, const struct kr_zk_reply *reply)
{
  char shown[200];
  int asked = 0;

  if (reply->result == KR_ZK_NO_NODE) {
    append(&read->failure, "; %s does not exist either",
           kr_bytes_print(shown, sizeof(shown), keyroute_string(reply->path)));
  }
  for (int pass = 0; pass < 2; pass++) {
    for (const char *name = kr_zk_first_name(reply); name != NULL;
         name = kr_zk_next_name(reply, name)) {
      bool is_likely = strncmp(name, "hbase", 5) == 0;
      if (is_likely != (pass == 0) || strcmp(name, "zookeeper") == 0 || asked == SIBLINGS_MAX) {
        continue;
      }
      if (!ask_sibling(read, reply->path, name)) {
        return false;
      }
      asked++;
    }
  }
  return true;
}

/* Does a znode of this name stand beside the parent? */
static bool has_znode(const struct kr_zk_reply *reply, const char *name)
{
  const char *slash = strrchr(reply->path, '/');

  return reply->role == KR_ZK_ROLE_SIBLING && reply->result == KR_ZK_OK &&
         strcmp(slash + 1, name) == 0;
}

/* "; a meta-region-server stands below /a, /b, /c and 2 others". Returns how many. */
static size_t add_hint(const struct kr_zk_read *read, const char *name, struct kr_failure *failure)
{
  size_t tail = strlen(name) + 1;
  size_t found = 0;
  size_t shown = 0;

  for (const struct kr_zk_reply *reply = read->replies; reply != NULL; reply = reply->next) {
    found += has_znode(reply, name);
  }
  for (const struct kr_zk_reply *reply = read->replies; reply != NULL; reply = reply->next) {
    if (!has_znode(reply, name) || shown == SIBLINGS_SHOWN) {
      continue;
    }
    char dir[100];
    kr_bytes_print(dir, sizeof(dir), kr_bytes(reply->path, strlen(reply->path) - tail));
    if (shown == 0) {
      append(failure, "; a %.60s stands below %s", name, dir);
    } else {
      append(failure, "%s%s", shown + 1 == found ? " and " : ", ", dir);
    }
    shown++;
  }
  if (found > shown) {
    append(failure, " and %zu other%s", found - shown, found - shown == 1 ? "" : "s");
  }
  return found;
}

bool kr_zk_absent_explain(const struct kr_zk_read *read, struct kr_failure *failure)
{
  if (read->failure.code != 0) {
    *failure = read->failure;
    for (unsigned i = 0; i < read->paths->count; i++) {
      add_hint(read, read->paths->places[i].name, failure);
    }
    if (!looks_for(read, RANGE_ZNODE) && add_hint(read, RANGE_ZNODE, failure) > 0) {
      append(failure, ", of a range directory: that is layout range");
    }
  } else if (read->no_parent) {
    no_such_parent(read, failure);
  }
  return read->failure.code != 0 || read->no_parent;
}
