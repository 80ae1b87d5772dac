/*
 * A connection: who owns what, how it is opened, and how it is closed.
 *
 * Opening makes everything and starts the loop thread; nothing touches the network before the first
 * lookup that misses. Closing goes from the top down, so that whoever is ended finds those below it
 * still there:
 *
 *   on the loop      calls end with CLOSED, lookups too; sockets close; the registry forgets its
 *                    reads
 *   in the closer    threads that waited for an answer have it now, and leave
 *   in the closer    the registry's session and worker end, then the resolver's, each within a
 *                    bound: what is stuck in the C library's resolver is left to end by itself
 *   in the closer    the loop thread is joined, having run what was posted to it
 *   in the closer    callbacks that still wait for the application's thread are run here instead
 *   in the closer    memory: the cache waits until no reader can hold what it replaced
 *
 * From the moment that closing begins, calls that need the loop are turned away at the door, be it
 * by callbacks that do not know. Whoever came in before is waited for: a thread says that it has
 * entered before it looks whether the connection is closed, and the closer says that it closes
 * before it looks who has entered, so that one of them sees the other.
 *
 * In a forked child nothing of this is there to be ended. Closing frees what no thread of the
 * parent's may have been changing when it forked, and leaves the rest: the loop's and ZooKeeper's
 * own memory, the calls that were under way, and the descriptors, which are the parent's too.
 */
#include "lib/connection.h"

#include "lib/clock.h"
#include "lib/dispatcher.h"
#include "lib/fork.h"
#include "lib/latch.h"
#include "lib/layout.h"
#include "lib/options.h"
#include "lib/rcu_read.h"
#include "lib/registry_static.h"
#include "lib/registry_zookeeper.h"
#include "lib/worker.h"

#include <string.h>
#include <time.h>

/* How long the closing thread waits for each of the two workers; see keyroute_close. */
enum { WORKER_BOUND_MS = 1000 };

/* How often the closing thread looks whether the last caller has left. */
enum { LEAVING_NS = 50000 };

static void root_changed(void *arg)
{
  struct keyroute_connection *conn = arg;

  kr_locator_root_changed(conn->locator);
}

static int make_registry_by_settings(struct keyroute_connection *conn)
{
  const struct kr_settings *settings = conn->settings;

  if (strcmp(settings->registry, "static") == 0) {
    return kr_registry_static_new(&conn->registry, conn->mem, conn->loop, settings->static_root);
  }
  return kr_registry_zookeeper_new(&conn->registry, conn->mem, conn->loop, settings, conn->stats,
                                   root_changed, conn);
}

static int make_reports(struct keyroute_connection *conn)
{
  struct kr_reports_means means = {
      .mem = conn->mem,
      .log = &conn->settings->log,
      .stats = conn->stats,
      .cache = conn->cache,
      .servers = conn->servers,
      .failed_server_ms = conn->settings->failed_server_ms,
  };

  conn->reports = kr_reports_new(&means);
  return conn->reports != NULL ? 0 : KEYROUTE_E_NO_MEMORY;
}

static int make_locator(struct keyroute_connection *conn)
{
  const struct kr_settings *settings = conn->settings;
  struct kr_means means = {
      .mem = conn->mem,
      .loop = conn->loop,
      .log = &settings->log,
      .stats = conn->stats,
      .cache = conn->cache,
      .servers = conn->servers,
      .sweeper = conn->sweeper,
      .catalog = conn->catalog,
      .transport = conn->transport,
      .layout = conn->layout,
      .registry = conn->registry,
      .reports = conn->reports,
      .retry = conn->retry,
      .try_limit_ms = settings->rpc_timeout_ms,
      .failed_server_ms = settings->failed_server_ms,
      .scans_per_table = (unsigned)settings->scans_per_table,
      .scans_max = (unsigned)settings->scans_max,
      .prefetch = (uint32_t)settings->prefetch,
  };

  conn->locator = kr_locator_new(&means);
  return conn->locator != NULL ? 0 : KEYROUTE_E_NO_MEMORY;
}

static int make_dispatcher(struct keyroute_connection *conn)
{
  const struct kr_settings *settings = conn->settings;

  if (settings->post == NULL && !settings->drain) {
    return 0;
  }
  return kr_dispatcher_new(&conn->dispatcher, conn->mem, settings->post, settings->post_payload);
}

static int make_sweeper(struct keyroute_connection *conn)
{
  const struct kr_settings *settings = conn->settings;
  struct kr_cache_limits limits = {
      .regions = settings->cache_max_regions,
      .bytes = settings->cache_max_bytes,
      .ttl_ms = settings->cache_ttl_ms,
      .idle_ms = settings->cache_idle_ms,
  };

  kr_cache_set_limits(conn->cache, &limits);
  conn->sweeper =
      kr_sweeper_new(conn->mem, conn->loop, conn->cache, conn->servers, settings->cache_sweep_ms);
  return conn->sweeper != NULL ? 0 : KEYROUTE_E_NO_MEMORY;
}

static int make_layout(struct keyroute_connection *conn, struct keyroute_detail *detail)
{
  int error = kr_layout_new(&conn->layout, conn->mem, conn->loop, conn->resolver, conn->settings,
                            conn->stats, detail);

  if (error == 0) {
    conn->catalog = kr_layout_catalog(conn->layout);
    conn->transport = kr_layout_transport(conn->layout);
    conn->check_table = kr_layout_checker(conn->layout);
  }
  return error;
}

/* Make the parts, in the order in which they use one another. */
static int make_parts(struct keyroute_connection *conn, kr_make_registry make_registry, void *arg,
                      struct keyroute_detail *detail)
{
  int error;

  conn->stats = kr_stats_new(conn->mem);
  conn->servers = kr_servers_new(conn->mem);
  conn->cache = conn->stats != NULL ? kr_cache_new(conn->mem, conn->stats) : NULL;
  if (conn->servers == NULL || conn->cache == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  kr_cache_set_owner(conn->cache, conn);
  if ((error = make_reports(conn)) != 0 || (error = make_dispatcher(conn)) != 0 ||
      (error = kr_loop_new(&conn->loop, conn->mem)) != 0 || (error = make_sweeper(conn)) != 0 ||
      (error = kr_worker_new(&conn->resolver, conn->loop)) != 0 ||
      (error = make_layout(conn, detail)) != 0) {
    return error;
  }
  error = make_registry != NULL ? make_registry(&conn->registry, conn, arg)
                                : make_registry_by_settings(conn);
  return error != 0 ? error : make_locator(conn);
}

/* ---- Closing ---- */

struct shutdown {
  struct kr_task task;
  struct keyroute_connection *conn;
  void (*end_calls)(struct keyroute_connection *conn);
  struct kr_latch over;
};

static void shutdown_on_loop(struct kr_task *task)
{
  struct shutdown *shutdown = (struct shutdown *)(void *)task; /* its first field */
  struct keyroute_connection *conn = shutdown->conn;

  if (shutdown->end_calls != NULL) {
    shutdown->end_calls(conn);
  }
  if (conn->locator != NULL) {
    kr_locator_shutdown(conn->locator);
  }
  if (conn->sweeper != NULL) {
    kr_sweeper_shutdown(conn->sweeper);
  }
  if (conn->registry != NULL) {
    conn->registry->ops->shutdown(conn->registry);
  }
  if (conn->transport != NULL) {
    conn->transport->ops->shutdown(conn->transport);
  }
  kr_latch_open(&shutdown->over);
}

static void shut_down(struct keyroute_connection *conn,
                      void (*end_calls)(struct keyroute_connection *conn))
{
  struct shutdown shutdown = {
      .task.run = shutdown_on_loop,
      .conn = conn,
      .end_calls = end_calls,
  };

  kr_latch_init(&shutdown.over);
  kr_loop_post(conn->loop, &shutdown.task);
  kr_latch_await(&shutdown.over);
}

bool kr_connection_enter(struct keyroute_connection *conn)
{
  /* Sequentially consistent, as are the other three of the essay's last but one paragraph: nothing
   * weaker keeps a thread's store before its load. */
  __atomic_fetch_add(&conn->callers, 1, __ATOMIC_SEQ_CST);
  if (!kr_connection_closed(conn)) {
    return true;
  }
  kr_connection_leave(conn);
  return false;
}

void kr_connection_leave(struct keyroute_connection *conn)
{
  /* Release: pairs with await_callers. */
  __atomic_fetch_sub(&conn->callers, 1, __ATOMIC_RELEASE);
}

/* They all have their answers and are on their way out: looking again is simpler than being told,
 * and whoever leaves touches nothing afterwards. */
static void await_callers(struct keyroute_connection *conn)
{
  /* Also an acquire: what they did with the connection is over. */
  while (__atomic_load_n(&conn->callers, __ATOMIC_SEQ_CST) > 0) {
    nanosleep(&(struct timespec){.tv_nsec = LEAVING_NS}, NULL);
  }
}

/* In a forked child. */
static void abandon(struct keyroute_connection *conn)
{
  struct kr_mem *mem = conn->mem;

  kr_cache_abandon(conn->cache);
  kr_stats_free(conn->stats);
  kr_settings_free(conn->settings);
  kr_free(mem, conn);
  kr_mem_release(mem);
}

/* End all threads and whatever they had under way. Parts may be missing. */
static void end_threads(struct keyroute_connection *conn,
                        void (*end_calls)(struct keyroute_connection *conn))
{
  if (conn->dispatcher != NULL) {
    kr_dispatcher_shut(conn->dispatcher);
  }
  if (conn->loop != NULL) {
    shut_down(conn, end_calls);
    await_callers(conn);
    if (conn->registry != NULL) {
      conn->registry->ops->close(conn->registry, WORKER_BOUND_MS);
    }
    if (conn->resolver != NULL) {
      kr_worker_close(conn->resolver, WORKER_BOUND_MS);
    }
    kr_loop_end(conn->loop);
  }
  if (conn->dispatcher != NULL) {
    kr_dispatcher_close(conn->dispatcher);
  }
  if (conn->loop != NULL) {
    kr_loop_free(conn->loop); /* behind the last callback: whoever may block asks it */
  }
}

static void free_parts(struct keyroute_connection *conn)
{
  kr_locator_free(conn->locator);
  kr_reports_free(conn->reports);
  if (conn->registry != NULL) {
    conn->registry->ops->free(conn->registry);
  }
  kr_layout_free(conn->layout);
  kr_sweeper_free(conn->sweeper);
  if (conn->cache != NULL) {
    kr_cache_free(conn->cache);
  }
  kr_servers_free(conn->servers);
  kr_stats_free(conn->stats);
  kr_settings_free(conn->settings);
}

/* Works on a connection that was made in part, too. */
void kr_connection_close(struct keyroute_connection *conn,
                         void (*end_calls)(struct keyroute_connection *conn))
{
  struct kr_mem *mem = conn->mem;

  if (kr_connection_forked(conn)) {
    abandon(conn);
    return;
  }
  __atomic_store_n(&conn->closing, true, __ATOMIC_SEQ_CST);
  end_threads(conn, end_calls);
  free_parts(conn);
  kr_free(mem, conn);
  kr_mem_release(mem);
}

bool kr_connection_forked(const struct keyroute_connection *conn)
{
  return conn->born != kr_fork_generation();
}

bool kr_connection_may_block(const struct keyroute_connection *conn)
{
  /* A child that was forked in a callback has the loop's thread for its only one. */
  return !kr_rcu_inside() && (!kr_loop_inside(conn->loop) || kr_connection_forked(conn));
}

bool kr_connection_closed(struct keyroute_connection *conn)
{
  return __atomic_load_n(&conn->closing, __ATOMIC_SEQ_CST) || kr_connection_forked(conn);
}

int kr_connection_open(struct keyroute_connection **out, const struct keyroute_options *options,
                       struct keyroute_detail *detail, kr_make_registry make_registry, void *arg)
{
  struct kr_settings *settings;
  int error = kr_options_settings(&settings, options, detail);

  if (error != 0) {
    return error;
  }
  struct kr_mem *mem = kr_mem_ref(settings->mem);
  struct keyroute_connection *conn = kr_calloc(mem, sizeof(*conn));

  if (conn == NULL) {
    kr_settings_free(settings);
    kr_mem_release(mem);
    return kr_detail_fail(detail, KEYROUTE_E_NO_MEMORY, "out of memory");
  }
  conn->mem = mem;
  conn->settings = settings;
  conn->retry = (struct kr_retry_policy){settings->retries, settings->pause_ms,
                                         settings->pause_overloaded_ms, settings->pause_max_ms};
  conn->random = (uint64_t)kr_clock_us() ^ (uint64_t)(uintptr_t)conn;
  error = kr_fork_watch();
  conn->born = kr_fork_generation();
  if (error == 0) {
    error = make_parts(conn, make_registry, arg, detail);
  }
  if (error != 0) {
    kr_connection_close(conn, NULL);
    /* What an argument lacks has been told. */
    return error == KEYROUTE_E_INVALID_ARGUMENT
               ? error
               : kr_detail_fail(detail, error,
                                "the connection's threads or memory could not be had");
  }
  kr_log_line(&settings->log, KEYROUTE_LOG_INFO,
              "opened: %s %.500s%.100s, parent %.100s, user %.100s", settings->registry,
              settings->static_root != NULL ? settings->static_root : settings->zookeeper,
              settings->chroot, settings->parent, settings->user);
  *out = conn;
  return 0;
}

void kr_connection_sweep(struct keyroute_connection *conn)
{
  kr_sweeper_wake(conn->sweeper);
}
