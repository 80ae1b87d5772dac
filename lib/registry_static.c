/*
 * A root that somebody wrote down: for systems without ZooKeeper, and for tests.
 *
 *  1. The answer comes from a posted task, never inside the starting call.
 *  2. A posted task cannot be called back. A cancelled read stays in the loop's queue, without a
 *     callback, until its turn comes and frees it; that is before the loop ends, and the registry
 *     is freed after it.
 *  3. Nothing can take long, so the timeout has no meaning here, and close nothing to do.
 *
 * All on the loop.
 */
#include "lib/registry_static.h"

struct kr_root_read {
  struct kr_task task;
  struct kr_root_read *next;
  struct registry *registry;
  kr_root_cb cb; /* NULL = cancelled */
  void *arg;
};

struct registry {
  struct kr_registry base;
  struct kr_mem *mem; /* counted */
  struct kr_loop *loop;
  char *root; /* NULL = none */
  struct kr_root_read *reads;
};

static void unlink_read(struct kr_root_read *read)
{
  struct kr_root_read **at = &read->registry->reads;

  while (*at != read) {
    at = &(*at)->next;
  }
  *at = read->next;
}

static void tell(const struct registry *registry, kr_root_cb cb, void *arg)
{
  struct kr_root_value value = {.replica = 0, .text = true};
  struct kr_root root = {.place = "the configured root"};

  if (registry->root == NULL) {
    kr_fail(&root.failure, KEYROUTE_E_BOOTSTRAP, "no root is configured");
  } else {
    value.data = keyroute_string(registry->root);
    root.values = &value;
    root.count = 1;
  }
  cb(arg, &root);
}

static void run_read(struct kr_task *task)
{
  struct kr_root_read *read = (struct kr_root_read *)task;
  struct registry *registry = read->registry;
  kr_root_cb cb = read->cb;
  void *arg = read->arg;

  if (cb != NULL) {
    unlink_read(read);
  }
  kr_free(registry->mem, read);
  if (cb != NULL) {
    tell(registry, cb, arg);
  }
}

static struct kr_root_read *read_root(struct kr_registry *base, int64_t timeout_ms, kr_root_cb cb,
                                      void *arg)
{
  struct registry *registry = (struct registry *)base;
  struct kr_root_read *read = kr_calloc(registry->mem, sizeof(*read));

  (void)timeout_ms;
  if (read == NULL) {
    return NULL;
  }
  read->task.run = run_read;
  read->registry = registry;
  read->cb = cb;
  read->arg = arg;
  read->next = registry->reads;
  registry->reads = read;
  kr_loop_post(registry->loop, &read->task);
  return read;
}

static void cancel(struct kr_registry *base, struct kr_root_read *read)
{
  (void)base;
  unlink_read(read);
  read->cb = NULL;
}

static void shut_down(struct kr_registry *base)
{
  struct registry *registry = (struct registry *)base;

  while (registry->reads != NULL) {
    cancel(base, registry->reads);
  }
}

static void close_registry(struct kr_registry *base, int64_t bound_ms)
{
  (void)base;
  (void)bound_ms;
}

static void free_registry(struct kr_registry *base)
{
  struct registry *registry = (struct registry *)base;
  struct kr_mem *mem = registry->mem;

  kr_free(mem, registry->root);
  kr_free(mem, registry);
  kr_mem_release(mem);
}

static const struct kr_registry_ops ops = {
    .read_root = read_root,
    .cancel = cancel,
    .shutdown = shut_down,
    .close = close_registry,
    .free = free_registry,
};

int kr_registry_static_set(struct kr_registry *base, const char *root)
{
  struct registry *registry = (struct registry *)base;
  char *copy = NULL;

  if (root != NULL && root[0] != '\0') {
    copy = kr_copy(registry->mem, keyroute_string(root));
    if (copy == NULL) {
      return KEYROUTE_E_NO_MEMORY;
    }
  }
  kr_free(registry->mem, registry->root);
  registry->root = copy;
  return 0;
}

int kr_registry_static_new(struct kr_registry **out, struct kr_mem *mem, struct kr_loop *loop,
                           const char *root)
{
  struct registry *registry = kr_calloc(mem, sizeof(*registry));

  if (registry == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  registry->base.ops = &ops;
  registry->mem = kr_mem_ref(mem);
  registry->loop = loop;
  if (kr_registry_static_set(&registry->base, root) != 0) {
    free_registry(&registry->base);
    return KEYROUTE_E_NO_MEMORY;
  }
  *out = &registry->base;
  return 0;
}
