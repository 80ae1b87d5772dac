/*
 * Where the catalog's root is, according to ZooKeeper.
 *
 * A registry keeps the reads that are under way and sees each to its end. What a read asks and
 * hears is zk_read.c's; the session that all share is zk_keeper.c's.
 *
 *  1. A read ends once: answered, failed, timed out, cancelled or forgotten. It is out of the list
 *     before its callback runs, which may start others.
 *  2. A read waits for a session, or has a round of requests out on the one there is. When that
 *     session goes or a request is lost, it waits again, and its time runs on.
 *  3. Replies name their read and its round. What comes for a read that has ended, or for an older
 *     round, is dropped.
 *  4. Each read asks the server. Nothing is answered from memory.
 *  5. A change is reported for the watch that the reads leave behind. If the session that held it
 *     was replaced, the registry reads once for itself to set it again.
 *
 * All on the loop but for close.
 */
#include "lib/registry_zookeeper.h"

#include "lib/clock.h"
#include "lib/zk_absent.h"
#include "lib/zk_keeper.h"
#include "lib/zk_read.h"

#define REWATCH_TIMEOUT_MS 30000
/* A read that had less time than this says nothing against a server that did not answer it. */
#define TELLING_MS 500

struct kr_root_read {
  struct kr_root_read *next;
  struct registry *registry;
  kr_root_cb cb; /* NULL = sets the watch again, nobody waits */
  void *arg;
  struct kr_timer *timer;
  int64_t timeout_ms;
  int64_t begun_at_us; /* the round under way */
  struct kr_zk_read zk;
};

struct registry {
  struct kr_registry base;
  struct kr_mem *mem; /* counted */
  struct kr_loop *loop;
  kr_root_changed_cb changed;
  void *changed_arg;
  struct kr_zk_paths paths;
  struct kr_zk_keeper *keeper;
  struct kr_root_read *reads; /* the oldest first */
  uint64_t next_number;
};

/* ---- Ending reads --------------------------------------------------------------------------- */

static void unlink_read(struct kr_root_read *read)
{
  struct registry *registry = read->registry;
  struct kr_root_read **at = &registry->reads;

  while (*at != read) {
    at = &(*at)->next;
  }
  *at = read->next;
  kr_timer_stop(read->timer);
  if (registry->reads == NULL) {
    kr_zk_keeper_unwant(registry->keeper);
  }
}

static void free_read(struct kr_root_read *read)
{
  struct kr_mem *mem = read->registry->mem;

  kr_zk_read_reset(&read->zk);
  kr_free(mem, read);
}

static void fail(struct kr_root_read *read, const struct kr_failure *failure)
{
  const struct kr_zk_place *place = kr_zk_read_place(&read->zk);
  struct kr_root root = {.failure = *failure, .place = place->text, .tiers = place->tiers};

  unlink_read(read);
  if (read->cb != NULL) {
    read->cb(read->arg, &root);
  }
  free_read(read);
}

static void fail_short_of_memory(struct kr_root_read *read)
{
  struct kr_failure failure;

  kr_fail(&failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  fail(read, &failure);
}

static void fail_as_heard(struct kr_root_read *read)
{
  struct kr_failure failure;

  (void)kr_zk_absent_explain(&read->zk, &failure);
  fail(read, &failure);
}

static void answer(struct kr_root_read *read)
{
  struct registry *registry = read->registry;
  const struct kr_zk_place *place = kr_zk_read_place(&read->zk);
  struct kr_root root = {.place = place->text, .tiers = place->tiers};
  struct kr_root_value *values = kr_zk_read_values(&read->zk, &root.count);

  if (values == NULL) {
    fail_short_of_memory(read);
    return;
  }
  root.values = values;
  unlink_read(read);
  if (read->cb != NULL) {
    read->cb(read->arg, &root);
  }
  kr_free(registry->mem, values);
  free_read(read);
}

/* The most telling thing known about why there is no answer. */
static void read_timed_out(void *arg)
{
  struct kr_root_read *read = arg;
  struct kr_zk_keeper *keeper = read->registry->keeper;
  struct kr_failure failure;

  read->timer = NULL;
  if (!kr_zk_absent_explain(&read->zk, &failure)) {
    kr_zk_keeper_explain(keeper, read->timeout_ms, &failure);
  }
  if (kr_zk_read_begun(&read->zk) && !read->zk.heard &&
      kr_clock_us() - read->begun_at_us >= TELLING_MS * 1000) {
    kr_zk_keeper_suspect(keeper);
  }
  fail(read, &failure);
}

/* ---- Starting reads ------------------------------------------------------------------------- */

static struct kr_root_read *read_new(struct registry *registry, int64_t timeout_ms, kr_root_cb cb,
                                     void *arg)
{
  struct kr_root_read *read = kr_calloc(registry->mem, sizeof(*read));

  if (read == NULL) {
    return NULL;
  }
  read->timer = kr_timer_start(registry->loop, timeout_ms, read_timed_out, read);
  if (read->timer == NULL) {
    kr_free(registry->mem, read);
    return NULL;
  }
  read->registry = registry;
  read->cb = cb;
  read->arg = arg;
  read->timeout_ms = timeout_ms;
  kr_zk_read_init(&read->zk, registry->mem, &registry->paths, registry->next_number++);
  return read;
}

static void link_read(struct kr_root_read *read)
{
  struct kr_root_read **at = &read->registry->reads;

  while (*at != NULL) {
    at = &(*at)->next;
  }
  *at = read;
}

/* Unless there is no session yet. False = out of memory. */
static bool begin(struct kr_root_read *read)
{
  struct kr_zk_session *session = kr_zk_keeper_session(read->registry->keeper);

  read->begun_at_us = kr_clock_us();
  return session == NULL || kr_zk_read_begin(&read->zk, session);
}

static struct kr_root_read *start_read(struct registry *registry, int64_t timeout_ms, kr_root_cb cb,
                                       void *arg)
{
  struct kr_root_read *read = read_new(registry, timeout_ms, cb, arg);

  if (read == NULL) {
    return NULL;
  }
  link_read(read);
  if (!begin(read)) {
    unlink_read(read);
    free_read(read);
    return NULL;
  }
  kr_zk_keeper_want(registry->keeper);
  return read;
}

static struct kr_root_read *read_root(struct kr_registry *base, int64_t timeout_ms, kr_root_cb cb,
                                      void *arg)
{
  return start_read((struct registry *)base, timeout_ms, cb, arg);
}

static void cancel(struct kr_registry *base, struct kr_root_read *read)
{
  (void)base;
  unlink_read(read);
  free_read(read);
}

/* ---- What the keeper tells ------------------------------------------------------------------- */

static void session_ready(void *owner)
{
  struct registry *registry = owner;
  struct kr_root_read *read = registry->reads;

  while (read != NULL) {
    if (kr_zk_read_begun(&read->zk) || begin(read)) {
      read = read->next;
      continue;
    }
    /* Its callback may have changed the list. */
    fail_short_of_memory(read);
    read = registry->reads;
  }
}

static void session_lost(void *owner)
{
  struct registry *registry = owner;

  for (struct kr_root_read *read = registry->reads; read != NULL; read = read->next) {
    if (kr_zk_read_begun(&read->zk)) {
      kr_zk_read_reset(&read->zk);
    }
  }
}

/* The reads there are now that wait for a session; callbacks may start others, which wait on. */
static void session_failed(void *owner, const struct kr_failure *failure)
{
  struct registry *registry = owner;
  uint64_t limit = registry->next_number;
  struct kr_failure copy = *failure;
  struct kr_root_read *read = registry->reads;

  while (read != NULL) {
    if (kr_zk_read_begun(&read->zk) || read->zk.number >= limit) {
      read = read->next;
      continue;
    }
    fail(read, &copy);
    read = registry->reads;
  }
}

static void znode_changed(void *owner, bool renewed)
{
  struct registry *registry = owner;

  if (renewed) {
    /* Out of memory only costs the watch: whoever looks next sets it. */
    (void)start_read(registry, REWATCH_TIMEOUT_MS, NULL, NULL);
  }
  registry->changed(registry->changed_arg);
}

static void replied(void *owner, struct kr_zk_reply *reply)
{
  struct registry *registry = owner;
  struct kr_root_read *read = registry->reads;

  while (read != NULL && read->zk.number != reply->read) {
    read = read->next;
  }
  if (read == NULL || !kr_zk_read_awaits(&read->zk, reply)) {
    kr_zk_reply_free(reply);
    return;
  }
  if (reply->result != KR_ZK_LOST) {
    kr_zk_keeper_note(registry->keeper, reply);
  }
  switch (kr_zk_read_hear(&read->zk, reply)) {
  case KR_ZK_READ_GOES_ON:
    break;
  case KR_ZK_READ_ANSWERED:
    answer(read);
    break;
  case KR_ZK_READ_FAILED:
    fail_as_heard(read);
    break;
  case KR_ZK_READ_LOST:
    kr_zk_keeper_pace(registry->keeper);
    break;
  }
}

static const struct kr_zk_keeper_events events = {
    session_ready, session_lost, session_failed, znode_changed, replied,
};

/* ---- Beginning and end ----------------------------------------------------------------------- */

static void shut_down(struct kr_registry *base)
{
  struct registry *registry = (struct registry *)base;

  while (registry->reads != NULL) {
    cancel(base, registry->reads);
  }
  kr_zk_keeper_stop(registry->keeper);
}

static void close_registry(struct kr_registry *base, int64_t bound_ms)
{
  struct registry *registry = (struct registry *)base;

  kr_zk_keeper_close(registry->keeper, bound_ms);
}

static void free_registry(struct kr_registry *base)
{
  struct registry *registry = (struct registry *)base;
  struct kr_mem *mem = registry->mem;

  kr_zk_keeper_free(registry->keeper);
  kr_zk_paths_clear(&registry->paths, mem);
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

int kr_registry_zookeeper_new(struct kr_registry **out, struct kr_mem *mem, struct kr_loop *loop,
                              const struct kr_settings *settings, struct kr_stats *stats,
                              kr_root_changed_cb changed, void *changed_arg)
{
  struct registry *registry = kr_calloc(mem, sizeof(*registry));

  if (registry == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  registry->base.ops = &ops;
  registry->mem = kr_mem_ref(mem);
  registry->loop = loop;
  registry->changed = changed;
  registry->changed_arg = changed_arg;
  if (!kr_zk_paths_init(&registry->paths, mem, settings)) {
    goto short_of_memory;
  }
  /* The keeper comes last: it cannot be freed here, only closed. */
  registry->keeper = kr_zk_keeper_new(mem, loop, settings, stats, &events, registry);
  if (registry->keeper == NULL) {
    goto short_of_memory;
  }
  *out = &registry->base;
  return 0;

short_of_memory:
  free_registry(&registry->base);
  return KEYROUTE_E_NO_MEMORY;
}
