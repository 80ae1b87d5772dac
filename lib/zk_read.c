/*
 * One read of the root in ZooKeeper: what it asks for, and what the replies mean.
 *
 * A read asks for the children of the parent znode and for the value of the root's znode in one go,
 * then for the replicas' znodes that the children named. If the root's znode is not there it leaves
 * a watch for its creation (ZooKeeper keeps that watch by path, so it does not matter whether the
 * parent exists) and looks at the next one, where the layout is to be found out: at that of -ROOT-
 * behind that of hbase:meta. If none is there it finds out what to tell: no such znode, no such
 * parent, and where else such a znode stands.
 *
 *  1. A read goes in rounds, each to one session. A round that loses a request is lost as a whole;
 *     replies to an earlier round are not awaited any more.
 *  2. A round ends when nothing is out, or when memory is short. Then it has the primary's value,
 *     or a failure that says why not.
 *  3. Nothing is answered from memory: what was heard goes when its round does.
 *  4. A replica that cannot be read is left out. Only the primary's znode decides.
 *  5. Anybody may have written these znodes. How many are followed up and how large a value may be
 *     is bounded; names are escaped where they are shown.
 *
 * On the loop. The keeper of reads, with their times and callbacks, is above: this calls nothing of
 * it.  Source: HBase ZKConnectionRegistry
 */
#include "lib/zk_read.h"

#include "lib/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How often the znode may come and go between two requests before the read gives up. */
#define FLICKER_MAX 3
/* How many neighbours of the parent are looked at for a hint, and how many the hint names. */
#define SIBLINGS_MAX 16
#define SIBLINGS_SHOWN 3
/* Where a range directory is unless told otherwise: it may have been meant, whatever the layout. */
#define RANGE_PARENT "keyroute"
#define RANGE_ZNODE "meta1"
#define REPLICAS_MAX 64
/* A meta znode has some 70 bytes; ZooKeeper's own limit is 1 MiB unless configured. */
#define VALUE_MAX ((size_t)16 << 20)

/* What a request of a read is for. */
enum role {
  ROLE_CHILDREN,
  ROLE_PRIMARY,
  ROLE_CREATION, /* the watch for a znode that is not there */
  ROLE_SIBLINGS, /* the znodes next to a parent that is not there */
  ROLE_SIBLING,
  ROLE_REPLICA /* + the replica's number */
};

/* ---- Rounds --------------------------------------------------------------------------------- */

/* False = out of memory. */
static bool ask(struct kr_zk_read *read, enum kr_zk_request request, int role, const char *path)
{
  struct kr_zk_reply *reply = kr_zk_reply_new(read->session, request, path);

  if (reply == NULL) {
    return false;
  }
  reply->read = read->number;
  reply->round = read->round;
  reply->role = role;
  read->pending++;
  kr_zk_session_send(read->session, reply);
  return true;
}

void kr_zk_read_init(struct kr_zk_read *read, struct kr_mem *mem, const struct kr_zk_paths *paths,
                     uint64_t number)
{
  *read = (struct kr_zk_read){.mem = mem, .paths = paths, .number = number};
}

const struct kr_zk_place *kr_zk_read_place(const struct kr_zk_read *read)
{
  return &read->paths->places[read->place];
}

bool kr_zk_read_begin(struct kr_zk_read *read, struct kr_zk_session *session)
{
  read->session = session;
  return ask(read, KR_ZK_LIST, ROLE_CHILDREN, read->paths->parent) &&
         ask(read, KR_ZK_GET, ROLE_PRIMARY, kr_zk_read_place(read)->znode);
}

bool kr_zk_read_begun(const struct kr_zk_read *read)
{
  return read->session != NULL;
}

bool kr_zk_read_awaits(const struct kr_zk_read *read, const struct kr_zk_reply *reply)
{
  return kr_zk_read_begun(read) && read->round == reply->round;
}

static void forget_replies(struct kr_zk_read *read)
{
  while (read->replies != NULL) {
    struct kr_zk_reply *next = read->replies->next;
    kr_zk_reply_free(read->replies);
    read->replies = next;
  }
}

/* `flickers` stays: it bounds the read, not the round. */
void kr_zk_read_reset(struct kr_zk_read *read)
{
  forget_replies(read);
  read->session = NULL;
  read->round++;
  read->place = 0;
  read->pending = 0;
  read->heard = false;
  read->no_parent = false;
  read->failure.code = 0;
}

/* By role, and among those of one role in the order they came. */
static void keep(struct kr_zk_read *read, struct kr_zk_reply *reply)
{
  struct kr_zk_reply **at = &read->replies;

  while (*at != NULL && (*at)->role <= reply->role) {
    at = &(*at)->next;
  }
  reply->next = *at;
  *at = reply;
}

/* ---- The root's znode and its replicas ------------------------------------------------------ */

/* The number behind "meta-region-server-", 0 if the name is another one's. */
static int replica_number(const char *name, const char *meta_znode)
{
  size_t len = strlen(meta_znode);

  if (strncmp(name, meta_znode, len) != 0 || name[len] != '-' || name[len + 1] < '1' ||
      name[len + 1] > '9') {
    return 0;
  }
  char *end = NULL;
  unsigned long number = strtoul(name + len + 1, &end, 10);
  return *end == '\0' && number <= 0xFFFF ? (int)number : 0;
}

static bool ask_replica(struct kr_zk_read *read, const char *name, int replica)
{
  char *path = kr_zk_path_join(read->mem, read->paths->parent, name);
  bool sent = path != NULL && ask(read, KR_ZK_GET, ROLE_REPLICA + replica, path);

  kr_free(read->mem, path);
  return sent;
}

/* The names of a list stand one behind the other, each with its NUL; NULL = no more. */
static const char *first_name(const struct kr_zk_reply *list)
{
  return list->len > 0 ? list->data : NULL;
}

static const char *next_name(const struct kr_zk_reply *list, const char *name)
{
  const char *next = name + strlen(name) + 1;

  return next < list->data + list->len ? next : NULL;
}

static bool heard_children(struct kr_zk_read *read, const struct kr_zk_reply *reply)
{
  int asked = 0;

  read->no_parent = reply->result == KR_ZK_NO_NODE;
  for (const char *name = first_name(reply); name != NULL; name = next_name(reply, name)) {
    int replica = replica_number(name, read->paths->places[0].name);
    if (replica == 0 || asked == REPLICAS_MAX) {
      continue;
    }
    if (!ask_replica(read, name, replica)) {
      return false;
    }
    asked++;
  }
  return true;
}

static bool is_value(const struct kr_zk_reply *reply)
{
  return (reply->role == ROLE_PRIMARY || reply->role > ROLE_REPLICA) && reply->result == KR_ZK_OK &&
         reply->len > 0 && reply->len <= VALUE_MAX;
}

static void blame(struct kr_zk_read *read, const struct kr_zk_reply *reply)
{
  if (reply->result == KR_ZK_NOT_ALLOWED) {
    kr_fail(&read->failure, KEYROUTE_E_AUTH, "ZooKeeper does not let us read znode %.400s: %s",
            reply->path, reply->text);
  } else if (reply->result == KR_ZK_OK) {
    kr_fail(&read->failure, KEYROUTE_E_BOOTSTRAP, "znode %.400s is %s", reply->path,
            reply->len == 0 ? "empty" : "too large");
  } else {
    kr_fail(&read->failure, KEYROUTE_E_BOOTSTRAP, "ZooKeeper refuses to read znode %.400s: %s",
            reply->path, reply->text);
  }
}

static bool heard_primary(struct kr_zk_read *read, const struct kr_zk_reply *reply)
{
  if (reply->result == KR_ZK_NO_NODE) {
    return ask(read, KR_ZK_AWAIT, ROLE_CREATION, kr_zk_read_place(read)->znode);
  }
  if (!is_value(reply)) {
    blame(read, reply);
  }
  return true;
}

struct kr_root_value *kr_zk_read_values(const struct kr_zk_read *read, size_t *count)
{
  size_t found = 0;

  for (const struct kr_zk_reply *reply = read->replies; reply != NULL; reply = reply->next) {
    found += is_value(reply);
  }
  struct kr_root_value *values = kr_alloc(read->mem, found * sizeof(*values));
  if (values == NULL) {
    return NULL;
  }
  *count = 0;
  for (const struct kr_zk_reply *reply = read->replies; reply != NULL; reply = reply->next) {
    if (is_value(reply)) {
      values[(*count)++] = (struct kr_root_value){
          .replica = reply->role == ROLE_PRIMARY ? 0 : reply->role - ROLE_REPLICA,
          .data = kr_bytes(reply->data, reply->len),
      };
    }
  }
  return values;
}

/* ---- What to tell when there is none -------------------------------------------------------- */

static void no_such_parent(const struct kr_zk_read *read, struct kr_failure *failure)
{
  kr_fail(failure, KEYROUTE_E_BOOTSTRAP, "no such parent %.300s", read->paths->parent);
}

/* Where to look for the parent that was meant: the directory the parent would be in. */
static bool ask_siblings(struct kr_zk_read *read)
{
  const char *parent = read->paths->parent;
  const char *slash = strrchr(parent, '/');
  size_t len = slash != NULL ? (size_t)(slash - parent) : 0;

  no_such_parent(read, &read->failure);
  char *dir = kr_copy(read->mem, len > 0 ? kr_bytes(parent, len) : keyroute_string("/"));
  bool sent = dir != NULL && ask(read, KR_ZK_LIST, ROLE_SIBLINGS, dir);
  kr_free(read->mem, dir);
  return sent;
}

static void no_such_znode(struct kr_zk_read *read)
{
  const struct kr_zk_place *places = read->paths->places;

  if (read->place == 0) {
    kr_fail(&read->failure, KEYROUTE_E_BOOTSTRAP, "no such znode %.400s", places[0].znode);
  } else {
    kr_fail(&read->failure, KEYROUTE_E_BOOTSTRAP, "no such znode %.400s, nor a %.60s beside it",
            places[0].znode, places[read->place].name);
  }
}

static bool heard_creation(struct kr_zk_read *read, const struct kr_zk_reply *reply)
{
  const char *znode = kr_zk_read_place(read)->znode;

  if (reply->result == KR_ZK_NO_NODE && read->place + 1 < read->paths->count) {
    read->place++;
    return ask(read, KR_ZK_GET, ROLE_PRIMARY, kr_zk_read_place(read)->znode);
  }
  if (reply->result == KR_ZK_NO_NODE && read->no_parent) {
    return ask_siblings(read);
  }
  if (reply->result == KR_ZK_OK && ++read->flickers < FLICKER_MAX) {
    return ask(read, KR_ZK_GET, ROLE_PRIMARY, znode);
  }
  if (reply->result == KR_ZK_NO_NODE) {
    no_such_znode(read);
  } else if (reply->result == KR_ZK_OK) {
    kr_fail(&read->failure, KEYROUTE_E_BOOTSTRAP, "znode %.400s comes and goes", znode);
  } else {
    blame(read, reply);
  }
  return true;
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
  bool sent = path != NULL && ask(read, KR_ZK_EXISTS, ROLE_SIBLING, path);

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

/* Ask of some whether such a znode stands there; those named as HBase's first. */
static bool heard_siblings(struct kr_zk_read *read, const struct kr_zk_reply *reply)
{
  char shown[200];
  int asked = 0;

  if (reply->result == KR_ZK_NO_NODE) {
    append(&read->failure, "; %s does not exist either",
           kr_bytes_print(shown, sizeof(shown), keyroute_string(reply->path)));
  }
  for (int pass = 0; pass < 2; pass++) {
    for (const char *name = first_name(reply); name != NULL; name = next_name(reply, name)) {
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

  return reply->role == ROLE_SIBLING && reply->result == KR_ZK_OK && strcmp(slash + 1, name) == 0;
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

bool kr_zk_read_explain(const struct kr_zk_read *read, struct kr_failure *failure)
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

/* ---- Replies -------------------------------------------------------------------------------- */

/* False = out of memory. */
static bool take_in(struct kr_zk_read *read, const struct kr_zk_reply *reply)
{
  if (reply->result == KR_ZK_SHORT_OF_MEMORY) {
    return false;
  }
  switch (reply->role) {
  case ROLE_CHILDREN:
    return heard_children(read, reply);
  case ROLE_PRIMARY:
    return heard_primary(read, reply);
  case ROLE_CREATION:
    return heard_creation(read, reply);
  case ROLE_SIBLINGS:
    return heard_siblings(read, reply);
  default:
    return true; /* that it is kept is all */
  }
}

enum kr_zk_progress kr_zk_read_hear(struct kr_zk_read *read, struct kr_zk_reply *reply)
{
  read->pending--;
  keep(read, reply);
  if (reply->result == KR_ZK_LOST) {
    kr_zk_read_reset(read);
    return KR_ZK_READ_LOST;
  }
  read->heard = true;
  if (!take_in(read, reply)) {
    forget_replies(read);
    kr_fail(&read->failure, KEYROUTE_E_NO_MEMORY, "out of memory");
    return KR_ZK_READ_FAILED;
  }
  if (read->pending > 0) {
    return KR_ZK_READ_GOES_ON;
  }
  return read->failure.code != 0 ? KR_ZK_READ_FAILED : KR_ZK_READ_ANSWERED;
}
