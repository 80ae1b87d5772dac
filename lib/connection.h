#ifndef KR_CONNECTION_H
#define KR_CONNECTION_H

#include "lib/locator.h"
#include "lib/registry.h"
#include "lib/retry.h"
#include "lib/settings.h"
#include "lib/sweeper.h"

struct kr_call;
struct kr_dispatcher;
struct kr_layout;
struct kr_worker;

/* One cluster. Set before the loop thread starts and constant, but for what is said otherwise. */
struct keyroute_connection {
  struct kr_mem *mem;
  struct kr_settings *settings;
  struct kr_retry_policy retry; /* of lookups and hops */
  struct kr_stats *stats;
  struct kr_cache *cache;
  struct kr_loop *loop;
  struct kr_sweeper *sweeper;
  struct kr_worker *resolver;
  struct kr_servers *servers;        /* loop thread */
  struct kr_layout *layout;          /* loop thread */
  kr_table_name_checker check_table; /* the layout's */
  struct kr_transport *transport;    /* the layout's */
  const struct kr_catalog *catalog;  /* the layout's */
  struct kr_registry *registry;      /* loop thread */
  struct kr_reports *reports;        /* loop thread */
  struct kr_locator *locator;        /* loop thread */
  struct kr_call *calls;             /* loop thread: those under way, by number */
  struct kr_dispatcher *dispatcher;  /* NULL = callbacks run on the loop */
  uint64_t random;                   /* loop thread: kr_random_next */
  unsigned born;                     /* kr_fork_generation of the process that opened it */

  /* Atomic; each order is explained where it is used. */
  uint64_t last_request; /* the number of the last call */
  uint64_t pending;      /* calls under way */
  unsigned callers;      /* threads between enter and leave */
  bool closing;
};

/* As keyroute_open; make_registry NULL = the one that the settings name. Tests bring their own. */
typedef int (*kr_make_registry)(struct kr_registry **out, struct keyroute_connection *conn,
                                void *arg);
int kr_connection_open(struct keyroute_connection **out, const struct keyroute_options *options,
                       struct keyroute_detail *detail, kr_make_registry make_registry, void *arg);

/* As keyroute_close, its arguments checked.
 * end_calls  ends the calls under way, on the loop, before what they use is ended; NULL = there can
 *            be none */
void kr_connection_close(struct keyroute_connection *conn,
                         void (*end_calls)(struct keyroute_connection *conn));

/* Is this a forked child of the process that opened it? It has no threads here, and its locks may
 * be held by nobody: only the cache may be looked at. */
bool kr_connection_forked(const struct keyroute_connection *conn);

/* Does it take no more calls, but for hits: because it is being closed, or after a fork? */
bool kr_connection_closed(struct keyroute_connection *conn);

/* May this thread wait for the loop? */
bool kr_connection_may_block(const struct keyroute_connection *conn);

/* A thread is inside a call that does more than look at the cache: closing waits until it has left.
 * Leaving is the last thing that the call does with the connection. False = it is closed, and the
 * thread has not entered. */
bool kr_connection_enter(struct keyroute_connection *conn);
void kr_connection_leave(struct keyroute_connection *conn);

/* Have the loop take out what has been retired. Any thread. */
void kr_connection_sweep(struct keyroute_connection *conn);

#endif
