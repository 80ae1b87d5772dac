/*
 * One read of the root in ZooKeeper: what it asks for, and what the replies mean.
 *
 * A read asks for the children of the parent znode and for the value of the root's znode in one go,
 * then for the replicas' znodes that the children named. If the root's znode is not there it leaves
 * a watch for its creation (ZooKeeper keeps that watch by path, so it does not matter whether the
 * parent exists) and looks at the next one, where the layout is to be found out: at that of -ROOT-
 * behind that of hbase:meta. If none is there, zk_absent.c finds out what to tell.
 *
 *  1. A read goes in rounds, each to one session. A round that loses a request is lost as a whole;
 *     replies to an earlier round are not awaited any more.
 *  2. A round ends when nothing is out, or when memory is short. Then it has the primary's value,
 *     or a failure that says why not.
 *  3. Nothing is answered from memory: what was heard goes when its round does.
 *  4. A replica that cannot be read is left out. Only the primary's znode decides.
 *  5. Anybody may have written these znodes. How many are followed up and how large a value may be
 *     is bounded.
 *
 * On the loop. The keeper of reads, with their times and callbacks, is above: this calls nothing of
 * it.  Source: HBase ZKConnectionRegistry
 */
#include "lib/zk_read.h"

#include "lib/bytes.h"
#include "lib/zk_absent.h"

#include <stdlib.h>
#include <string.h>

/* How often the znode may come and go between two requests before the read gives up. */
#define FLICKER_MAX 3
#define REPLICAS_MAX 64
/* A meta znode has some 70 bytes; ZooKeeper's own limit is 1 MiB unless configured. */
#define VALUE_MAX ((size_t)16 << 20)

/* ---- Rounds --------------------------------------------------------------------------------- */

bool kr_zk_read_ask(struct kr_zk_read *read, enum kr_zk_request request, int role, const char *path)
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
  return kr_zk_read_ask(read, KR_ZK_LIST, KR_ZK_ROLE_CHILDREN, read->paths->parent) &&
         kr_zk_read_ask(read, KR_ZK_GET, KR_ZK_ROLE_PRIMARY, kr_zk_read_place(read)->znode);
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
  bool sent = path != NULL && kr_zk_read_ask(read, KR_ZK_GET, KR_ZK_ROLE_REPLICA + replica, path);

  kr_free(read->mem, path);
  return sent;
}

static bool heard_children(struct kr_zk_read *read, const struct kr_zk_reply *reply)
{
  int asked = 0;

  read->no_parent = reply->result == KR_ZK_NO_NODE;
  for (const char *name = kr_zk_first_name(reply); name != NULL;
       name = kr_zk_next_name(reply, name)) {
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
  return (reply->role == KR_ZK_ROLE_PRIMARY || reply->role > KR_ZK_ROLE_REPLICA) &&
         reply->result == KR_ZK_OK && reply->len > 0 && reply->len <= VALUE_MAX;
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
    return kr_zk_read_ask(read, KR_ZK_AWAIT, KR_ZK_ROLE_CREATION, kr_zk_read_place(read)->znode);
  }
  if (!is_value(reply)) {
    blame(read, reply);
  }
  return true;
}

static bool heard_creation(struct kr_zk_read *read, const struct kr_zk_reply *reply)
{
  const char *znode = kr_zk_read_place(read)->znode;

  if (reply->result == KR_ZK_NO_NODE && read->place + 1 < read->paths->count) {
    read->place++;
    return kr_zk_read_ask(read, KR_ZK_GET, KR_ZK_ROLE_PRIMARY, kr_zk_read_place(read)->znode);
  }
  if (reply->result == KR_ZK_NO_NODE && read->no_parent) {
    return kr_zk_absent_ask(read);
  }
  if (reply->result == KR_ZK_OK && ++read->flickers < FLICKER_MAX) {
    return kr_zk_read_ask(read, KR_ZK_GET, KR_ZK_ROLE_PRIMARY, znode);
  }
  if (reply->result == KR_ZK_NO_NODE) {
    kr_zk_absent_name(read);
  } else if (reply->result == KR_ZK_OK) {
    kr_fail(&read->failure, KEYROUTE_E_BOOTSTRAP, "znode %.400s comes and goes", znode);
  } else {
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
          .replica = reply->role == KR_ZK_ROLE_PRIMARY ? 0 : reply->role - KR_ZK_ROLE_REPLICA,
          .data = kr_bytes(reply->data, reply->len),
      };
    }
  }
  return values;
}

/* ---- Replies -------------------------------------------------------------------------------- */

/* False = out of memory. */
static bool take_in(struct kr_zk_read *read, const struct kr_zk_reply *reply)
{
  if (reply->result == KR_ZK_SHORT_OF_MEMORY) {
    return false;
  }
  switch (reply->role) {
  case KR_ZK_ROLE_CHILDREN:
    return heard_children(read, reply);
  case KR_ZK_ROLE_PRIMARY:
    return heard_primary(read, reply);
  case KR_ZK_ROLE_CREATION:
    return heard_creation(read, reply);
  case KR_ZK_ROLE_SIBLINGS:
    return kr_zk_absent_hear(read, reply);
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
