/*
 * What a publisher acts through, by a connection: its transport, and ZooKeeper or what was written
 * down in its stead.
 *
 * With registry static meta1 is range 1 of generation 0, where keyroute.registry.static.root says:
 * readers take it for that, too (catalog_range.c).
 *
 * Threads: the one that publishes.
 */
#include "lib/publish_conn.h"

#include "lib/bytes.h"
#include "lib/node_call.h"

#include <string.h>

static struct kr_publish_conn *conn_of(struct kr_publish_means *means)
{
  return (struct kr_publish_conn *)means;
}

static int scan(struct kr_publish_means *means, const struct kr_descriptor_replica *node,
                const struct kr_scan *scan, kr_publish_take take, void *arg,
                struct kr_failure *failure)
{
  const struct kr_publish_conn *publish = conn_of(means);

  return kr_node_scan(publish->conn, node, scan, publish->deadline_us, take, arg, failure);
}

static int call(struct kr_publish_means *means, const struct kr_descriptor_replica *node,
                const struct kr_method *method, struct kr_buf *reply, struct kr_failure *failure)
{
  const struct kr_publish_conn *publish = conn_of(means);

  return kr_node_call(publish->conn, node, method, publish->deadline_us, reply, failure);
}

struct kr_descriptor_replica kr_publish_conn_static(const struct keyroute_connection *conn)
{
  const char *root = conn->settings->static_root;
  struct kr_descriptor_replica place = {0};
  int64_t port = 0;

  if (root == NULL) {
    return place;
  }
  /* "host:port[:startcode]", checked when it was set; an IPv6 address has brackets. */
  bool brackets = root[0] == '[';
  size_t len = brackets ? strcspn(root, "]") - 1 : strcspn(root, ":");
  const char *rest = root + len + (brackets ? 3 : 1);

  kr_bytes_number(&port, kr_bytes(rest, strspn(rest, "0123456789")), UINT16_MAX);
  place.host = kr_bytes(root + (brackets ? 1 : 0), len);
  place.port = (uint16_t)port;
  return place;
}

static int read_root(struct kr_publish_means *means, struct kr_buf *data, int64_t *version,
                     struct kr_failure *failure)
{
  const struct kr_publish_conn *publish = conn_of(means);

  if (publish->lock != NULL) {
    return kr_range_lock_read(publish->lock, data, version, failure);
  }
  struct kr_descriptor_replica place = kr_publish_conn_static(publish->conn);
  struct kr_descriptor meta1 = {.id = 1, .replicas = &place, .replica_count = 1};

  kr_descriptor_write(data, &meta1);
  *version = 0;
  return 0;
}

static int write_root(struct kr_publish_means *means, struct keyroute_bytes data, int64_t version,
                      struct kr_failure *failure)
{
  const struct kr_publish_conn *publish = conn_of(means);

  return publish->lock != NULL ? kr_range_lock_write(publish->lock, data, version, failure) : 0;
}

static int check(struct kr_publish_means *means, struct kr_failure *failure)
{
  const struct kr_publish_conn *publish = conn_of(means);

  return publish->lock != NULL ? kr_range_lock_check(publish->lock, failure) : 0;
}

static const struct kr_publish_ops ops = {scan, call, read_root, write_root, check};

int kr_publish_conn_open(struct kr_publish_conn *out, struct keyroute_connection *conn,
                         int64_t deadline_us, bool changes, struct kr_failure *failure)
{
  bool fixed = strcmp(conn->settings->registry, "static") == 0;

  *out = (struct kr_publish_conn){.means = {.ops = &ops, .mem = conn->mem, .fixed = fixed},
                                  .conn = conn,
                                  .deadline_us = deadline_us};
  if (fixed) {
    return 0;
  }
  int error = kr_range_lock_open(&out->lock, conn, deadline_us, failure);

  if (error == 0) {
    out->means.znode = kr_range_lock_znode(out->lock);
  }
  return error == 0 && changes ? kr_range_lock_take(out->lock, failure) : error;
}

void kr_publish_conn_close(struct kr_publish_conn *publish)
{
  kr_range_lock_close(publish->lock);
  publish->lock = NULL;
  publish->means.znode = NULL;
}
