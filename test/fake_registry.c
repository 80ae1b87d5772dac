/*
 * A registry of the test's own. All on the loop thread but for close.
 */
#include "test/fake_registry.h"

#include "lib/connection.h"

#include <check.h>
#include <stdlib.h>

static void run_read(struct kr_task *task)
{
  struct kr_root_read *read = (struct kr_root_read *)task;
  bool answered = read->registry->answer(read);

  if (answered || read->cb == NULL) {
    free(read);
  } else {
    read->held = true;
  }
}

static struct kr_root_read *read_root(struct kr_registry *base, int64_t timeout_ms, kr_root_cb cb,
                                      void *arg)
{
  struct fake_registry *registry = (struct fake_registry *)base;
  struct kr_root_read *read = malloc(sizeof(*read));

  (void)timeout_ms;
  ck_assert_ptr_nonnull(read);
  *read = (struct kr_root_read){
      .task.run = run_read, .registry = registry, .cb = cb, .arg = arg, .held = false};
  kr_loop_post(registry->loop, &read->task);
  return read;
}

static void cancel(struct kr_registry *base, struct kr_root_read *read)
{
  (void)base;
  read->cb = NULL;
  if (read->held) {
    free(read);
  }
}

static void shut_down(struct kr_registry *base)
{
  (void)base;
}

static void close_registry(struct kr_registry *base, int64_t bound_ms)
{
  (void)base;
  (void)bound_ms;
}

static const struct kr_registry_ops ops = {
    .read_root = read_root,
    .cancel = cancel,
    .shutdown = shut_down,
    .close = close_registry,
    .free = shut_down,
};

int fake_registry_make(struct kr_registry **out, struct keyroute_connection *made, void *arg)
{
  struct fake_registry *registry = arg;

  registry->base.ops = &ops;
  registry->loop = made->loop;
  *out = &registry->base;
  return 0;
}
