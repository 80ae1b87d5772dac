/*
 * Requests of a publisher to nodes: what is written, and where.
 *
 * Each is encoded by bigtable_write.c and sent through the means, once. Nothing is tried again:
 * whoever publishes has to know how each single request ended.
 *
 * Threads: the one that publishes.
 */
#include "lib/publish_send.h"

int kr_publish_may_write(const struct kr_publisher *publisher, struct kr_failure *failure)
{
  return publisher->means->ops->check(publisher->means, failure);
}

int kr_publish_send(struct kr_publisher *publisher, const struct kr_descriptor_replica *node,
                    uint64_t id, const char *name, struct kr_buf *param, struct kr_buf *reply,
                    struct kr_failure *failure)
{
  struct kr_publish_means *means = publisher->means;
  struct kr_buf table;
  int error;

  kr_buf_init(&table, means->mem);
  if (id > 0) {
    kr_directory_table(&table, id);
  }
  if (table.failed || param->failed) {
    error = kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  } else {
    struct kr_method method = {
        .name = name, .region = kr_buf_view(&table), .param = kr_buf_view(param)};

    error = means->ops->call(means, node, &method, reply, failure);
  }
  if (error == 0 && reply->failed) {
    error = kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  }
  kr_buf_clear(&table);
  kr_buf_clear(param);
  return error;
}

int kr_publish_mutate(struct kr_publisher *publisher, const struct kr_descriptor_replica *node,
                      uint64_t id, const struct kr_bigtable_change *change,
                      struct kr_failure *failure)
{
  struct kr_buf param, reply;

  kr_buf_init(&param, publisher->means->mem);
  kr_buf_init(&reply, publisher->means->mem);
  kr_bigtable_write_mutate(&param, change);
  int error = kr_publish_send(publisher, node, id, KR_BIGTABLE_MUTATE, &param, &reply, failure);

  kr_buf_clear(&reply);
  return error;
}

int kr_publish_mutate_checked(bool *made, struct kr_publisher *publisher,
                              const struct kr_descriptor *table,
                              const struct kr_bigtable_change *change, const char *qualifier,
                              const struct keyroute_bytes *value, struct kr_failure *failure)
{
  const struct kr_descriptor_replica *node = &table->replicas[0];
  struct kr_buf param, reply;

  kr_buf_init(&param, publisher->means->mem);
  kr_buf_init(&reply, publisher->means->mem);
  kr_bigtable_write_check(&param, change, KR_DESCRIPTOR_FAMILY, qualifier, value);
  int error =
      kr_publish_send(publisher, node, table->id, KR_BIGTABLE_CHECK, &param, &reply, failure);

  if (error == 0 && !kr_bigtable_read_check(made, kr_buf_view(&reply), value == NULL)) {
    error =
        kr_fail(failure, KEYROUTE_E_PROTOCOL, "%.*s:%u: the answer to CheckAndMutateRow is none",
                (int)node->host.len, (const char *)node->host.data, node->port);
  }
  kr_buf_clear(&reply);
  return error;
}

int kr_publish_mutate_others(struct kr_publisher *publisher, const struct kr_descriptor *table,
                             const struct kr_bigtable_change *change, struct kr_failure *failure)
{
  int error = 0;

  for (size_t i = 1; i < table->replica_count && error == 0; i++) {
    error = kr_publish_mutate(publisher, &table->replicas[i], table->id, change, failure);
  }
  return error;
}
