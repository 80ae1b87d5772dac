/*
 * May I publish, and where is meta1 said to be?
 *
 * The lock is a znode beside that of meta1, "<znode>.publisher": ephemeral, so that it goes with
 * the session of whoever made it (zk_ask.c). Its value says who that is, for those who come too
 * late.
 *
 *  1. Every write asks before whether the lock is held, still (kr_range_lock_check). That leaves
 *     the moment between asking and writing, and a server that is slow to tell: so rows are only
 *     replaced if they say what was read, and the znode only in the version that was read.
 *  2. A write that is sent again, as its connection was lost, may find what it has itself written.
 *  3. Znodes above are made as needed, without a value.
 *
 * Threads: the one that publishes.
 * Source: ZooKeeper Recipes and Solutions
 */
#include "lib/range_lock.h"

#include "lib/bytes.h"
#include "lib/zk_ask.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* How often the lock is tried that somebody had, and was gone when looked at. */
enum { TRIES = 5 };

struct kr_range_lock {
  struct kr_mem *mem;
  char *znode, *path; /* of meta1, and of the lock: full */
  struct kr_zk_asker *asker;
};

/* ---- The lock -------------------------------------------------------------------------------- */

/* What a reply means that is none of those that were hoped for. */
static int unexpected(struct kr_failure *failure, const struct kr_zk_reply *reply)
{
  return kr_fail(failure,
                 reply->result == KR_ZK_SHORT_OF_MEMORY ? KEYROUTE_E_NO_MEMORY
                 : reply->result == KR_ZK_NOT_ALLOWED   ? KEYROUTE_E_AUTH
                                                        : KEYROUTE_E_BOOTSTRAP,
                 "znode %s: %s", reply->path,
                 reply->text != NULL ? reply->text : "it cannot be used");
}

/* Make the znodes above a path. */
static int make_parents(struct kr_range_lock *lock, const char *path, struct kr_failure *failure)
{
  static const struct keyroute_bytes nothing = {"", 0};
  char *copy = kr_copy(lock->mem, keyroute_string(path));
  int error = 0;

  if (copy == NULL) {
    return kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  }
  for (char *at = strchr(copy + 1, '/'); at != NULL && error == 0; at = strchr(at + 1, '/')) {
    struct kr_zk_reply *reply = NULL;

    *at = '\0';
    error = kr_zk_ask(&reply, lock->asker, KR_ZK_CREATE, copy, &nothing, 0, failure);
    if (error == 0 && reply->result != KR_ZK_OK && reply->result != KR_ZK_NODE_THERE) {
      error = unexpected(failure, reply);
    }
    kr_zk_reply_free(reply);
    *at = '/';
  }
  kr_free(lock->mem, copy);
  return error;
}

/* Create a znode, and those above it where they are missing. */
static int create(struct kr_zk_reply **out, struct kr_range_lock *lock, enum kr_zk_request request,
                  const char *path, struct keyroute_bytes value, struct kr_failure *failure)
{
  int error = kr_zk_ask(out, lock->asker, request, path, &value, 0, failure);

  if (error != 0 || (*out)->result != KR_ZK_NO_NODE) {
    return error;
  }
  kr_zk_reply_free(*out);
  *out = NULL;
  error = make_parents(lock, path, failure);
  return error != 0 ? error : kr_zk_ask(out, lock->asker, request, path, &value, 0, failure);
}

/* Who has the lock? 0 = nobody any more. */
static int name_holder(struct kr_range_lock *lock, struct kr_failure *failure)
{
  struct kr_zk_reply *reply = NULL;
  char holder[256];
  int error = kr_zk_ask(&reply, lock->asker, KR_ZK_FETCH, lock->path, NULL, 0, failure);

  if (error == 0 && reply->result == KR_ZK_OK) {
    kr_bytes_print(holder, sizeof(holder), kr_bytes(reply->data, reply->len));
    error = kr_fail(failure, KEYROUTE_E_OVERLOADED, "%s publishes now: it holds znode %s", holder,
                    lock->path);
  } else if (error == 0 && reply->result != KR_ZK_NO_NODE) {
    error = unexpected(failure, reply);
  }
  kr_zk_reply_free(reply);
  return error;
}

int kr_range_lock_take(struct kr_range_lock *lock, struct kr_failure *failure)
{
  char host[128] = "", me[192];
  int error = 0;

  if (gethostname(host, sizeof(host) - 1) != 0) {
    host[0] = '\0';
  }
  snprintf(me, sizeof(me), "process %ld on %s", (long)getpid(), host);
  for (int i = 0; i < TRIES && error == 0; i++) {
    struct kr_zk_reply *reply = NULL;

    error = create(&reply, lock, KR_ZK_LOCK, lock->path, keyroute_string(me), failure);
    enum kr_zk_result result = error == 0 ? reply->result : KR_ZK_LOST;

    if (error == 0 && result != KR_ZK_OK && result != KR_ZK_NODE_THERE) {
      error = unexpected(failure, reply);
    }
    kr_zk_reply_free(reply);
    if (error != 0 || result == KR_ZK_OK) {
      return error;
    }
    error = name_holder(lock, failure);
  }
  if (error == 0) {
    error = kr_fail(failure, KEYROUTE_E_OVERLOADED, "others take znode %s, one after another",
                    lock->path);
  }
  return error;
}

int kr_range_lock_check(struct kr_range_lock *lock, struct kr_failure *failure)
{
  return kr_zk_asker_check(lock->asker, failure);
}

int kr_range_lock_read(struct kr_range_lock *lock, struct kr_buf *data, int64_t *version,
                       struct kr_failure *failure)
{
  struct kr_zk_reply *reply = NULL;
  int error = kr_zk_ask(&reply, lock->asker, KR_ZK_FETCH, lock->znode, NULL, 0, failure);

  if (error != 0) {
    return error;
  }
  if (reply->result == KR_ZK_OK) {
    *version = reply->version;
    kr_buf_bytes(data, kr_bytes(reply->data, reply->len));
  } else if (reply->result == KR_ZK_NO_NODE) {
    *version = -1;
  } else {
    error = unexpected(failure, reply);
  }
  kr_zk_reply_free(reply);
  return error;
}

/* A write did not find what it was to replace. If what it was to write stands there, it did before,
 * and its answer was lost with the connection. */
static int check_written(struct kr_range_lock *lock, struct keyroute_bytes data,
                         struct kr_failure *failure)
{
  struct kr_buf found;
  int64_t version;

  kr_buf_init(&found, lock->mem);
  int error = kr_range_lock_read(lock, &found, &version, failure);

  if (error == 0 && !found.failed && !kr_bytes_equal(kr_buf_view(&found), data)) {
    error = kr_fail(failure, KEYROUTE_E_CORRUPT,
                    "znode %s has changed meanwhile: somebody else publishes", lock->znode);
  } else if (error == 0 && found.failed) {
    error = kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  }
  kr_buf_clear(&found);
  return error;
}

int kr_range_lock_write(struct kr_range_lock *lock, struct keyroute_bytes data, int64_t version,
                        struct kr_failure *failure)
{
  struct kr_zk_reply *reply = NULL;
  int error = version < 0 ? create(&reply, lock, KR_ZK_CREATE, lock->znode, data, failure)
                          : kr_zk_ask(&reply, lock->asker, KR_ZK_SET, lock->znode, &data,
                                      (int32_t)version, failure);

  if (error == 0 && (reply->result == KR_ZK_NODE_THERE || reply->result == KR_ZK_OTHER_VERSION)) {
    error = check_written(lock, data, failure);
  } else if (error == 0 && reply->result != KR_ZK_OK) {
    error = unexpected(failure, reply);
  }
  kr_zk_reply_free(reply);
  return error;
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

/* The full path of a znode beside that of meta1. NULL = out of memory. */
static char *znode_path(const struct keyroute_connection *conn, const char *suffix)
{
  const struct kr_settings *settings = conn->settings;
  size_t size = strlen(settings->chroot) + strlen(settings->parent) + 1 +
                strlen(settings->range_znode) + strlen(suffix) + 1;
  char *path = kr_alloc(conn->mem, size);

  if (path != NULL) {
    snprintf(path, size, "%s%s/%s%s", settings->chroot, settings->parent, settings->range_znode,
             suffix);
  }
  return path;
}

/* Parts may be missing. */
static void free_lock(struct kr_range_lock *lock)
{
  struct kr_mem *mem = lock->mem;

  kr_zk_asker_close(lock->asker);
  kr_free(mem, lock->znode);
  kr_free(mem, lock->path);
  kr_free(mem, lock);
}

int kr_range_lock_open(struct kr_range_lock **out, struct keyroute_connection *conn,
                       int64_t deadline_us, struct kr_failure *failure)
{
  struct kr_range_lock *lock = kr_calloc(conn->mem, sizeof(*lock));

  if (lock == NULL) {
    goto short_of_memory;
  }
  lock->mem = conn->mem;
  lock->znode = znode_path(conn, "");
  lock->path = znode_path(conn, ".publisher");
  if (lock->znode == NULL || lock->path == NULL) {
    goto short_of_memory;
  }
  lock->asker = kr_zk_asker_open(conn, deadline_us);
  if (lock->asker == NULL) {
    goto short_of_memory;
  }
  *out = lock;
  return 0;

short_of_memory:
  if (lock != NULL) {
    free_lock(lock);
  }
  return kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
}

const char *kr_range_lock_znode(const struct kr_range_lock *lock)
{
  return lock->znode;
}

void kr_range_lock_close(struct kr_range_lock *lock)
{
  if (lock != NULL) {
    free_lock(lock);
  }
}
