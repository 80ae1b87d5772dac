/*
 * Of what kind a cluster is, and so which catalog and which transport are used.
 *
 *     meta    two tiers     kr_catalog_meta    transport_hbase.c      znode meta-region-server
 *     root    three tiers   kr_catalog_root    transport_hbase094.c   znode root-region-server
 *     auto    one of them, as soon as the registry has answered
 *     range   a directory   kr_catalog_range   transport_bigtable.c   znode keyroute.range.znode
 *
 * Nobody else knows that there are kinds. Everybody gets one catalog and one transport when the
 * connection is opened, before anything is known, and keeps them: the catalog is a copy of the
 * table of functions, which is written over; the transport hands every request to the one behind.
 *
 *  1. It is settled by the registry's first answer, and no request is made before: for that it
 *     takes a location. Until then the parent of every table is the root, under a name that no
 *     table has. Whoever has had that found, and finds that the parent of its table is another one
 *     now, begins anew.
 *  2. The znode of hbase:meta is looked for first, and that of -ROOT- only if it is not there
 *     (zk_read.c): clusters that were upgraded may have both. There the first may be away for a
 *     moment, and so what looked like three tiers may turn out to be two; never the other way.
 *     Requests that are out then are seen to their end by the transport that they were made with.
 *  3. Where the root was written down nobody says whose it is; then it is hbase:meta's.
 *  4. A range directory is never found out: somebody says that it is one. Its tables' names are all
 *     known, so which names are good does not change either.
 *
 * Threads: the loop.
 */
#include "lib/layout.h"

#include "lib/bytes.h"
#include "lib/grpc_load.h"
#include "lib/transport_bigtable.h"
#include "lib/transport_hbase.h"
#include "lib/transport_hbase094.h"

#include <string.h>

enum { META_TIERS = 2, ROOT_TIERS = 3 };

enum kind { META, ROOT, RANGE, KINDS };

static const char *const names[KINDS] = {"meta", "root", "range"};
static const struct kr_catalog *const catalogs[KINDS] = {&kr_catalog_meta, &kr_catalog_root,
                                                         &kr_catalog_range};

/* The one that everybody has. */
struct switchboard {
  struct kr_transport base;
  struct kr_layout *layout;
  struct kr_transport *behind;
};

struct kr_layout {
  struct kr_mem *mem; /* counted */
  const struct kr_log *log;
  struct switchboard transport;
  struct kr_catalog catalog;
  kr_table_name_checker checker;
  struct kr_transport *transports[KINDS]; /* NULL = it will not be needed */
};

/* ---- The catalog of a cluster that is not known --------------------------------------------- */

/* No table has a blank in its name. */
static const char unknown[] = "the catalog";

static struct keyroute_bytes parent_of_any(struct keyroute_bytes table)
{
  return kr_bytes_is(table, unknown) ? kr_bytes(NULL, 0) : keyroute_string(unknown);
}

/* The root has one region, whatever is looked for. */
static void search_any(struct kr_buf *key, struct keyroute_bytes table, struct keyroute_bytes row,
                       enum kr_position position)
{
  (void)key;
  (void)table;
  (void)row;
  (void)position;
}

/* It is asked nothing else: the root is learnt before anything is read from it. */
static const struct kr_catalog any_catalog = {
    .root = unknown,
    .unsettled = true,
    .check_table = kr_table_name_check,
    .parent = parent_of_any,
    .search_key = search_any,
};

const struct kr_catalog *kr_layout_catalog(const struct kr_layout *layout)
{
  return &layout->catalog;
}

/* ---- The transport --------------------------------------------------------------------------- */

static struct kr_transport *behind(struct kr_transport *base)
{
  return ((struct switchboard *)base)->behind;
}

static struct kr_request *pass_scan(struct kr_transport *base, const char *host, int port,
                                    const struct kr_scan *scan, int64_t timeout_ms, kr_scan_cb cb,
                                    void *arg)
{
  return behind(base)->ops->scan(behind(base), host, port, scan, timeout_ms, cb, arg);
}

static struct kr_request *pass_get(struct kr_transport *base, const char *host, int port,
                                   const struct kr_gets *gets, int64_t timeout_ms, kr_get_cb cb,
                                   void *arg)
{
  return behind(base)->ops->get(behind(base), host, port, gets, timeout_ms, cb, arg);
}

static struct kr_request *pass_call(struct kr_transport *base, const char *host, int port,
                                    const struct kr_method *method, int64_t timeout_ms,
                                    kr_reply_cb cb, void *arg)
{
  return behind(base)->ops->call(behind(base), host, port, method, timeout_ms, cb, arg);
}

static bool pass_cancel(struct kr_transport *base, struct kr_request *request)
{
  struct kr_transport *transport = ((struct kr_request_head *)request)->transport;

  (void)base;
  return transport->ops->cancel(transport, request);
}

static void pass_shutdown(struct kr_transport *base)
{
  struct kr_layout *layout = ((struct switchboard *)base)->layout;

  for (int kind = 0; kind < KINDS; kind++) {
    struct kr_transport *transport = layout->transports[kind];

    if (transport != NULL) {
      transport->ops->shutdown(transport);
    }
  }
}

/* Those behind it are the layout's. */
static void pass_free(struct kr_transport *base)
{
  (void)base;
}

static const struct kr_transport_ops ops = {
    .scan = pass_scan,
    .get = pass_get,
    .call = pass_call,
    .cancel = pass_cancel,
    .shutdown = pass_shutdown,
    .free = pass_free,
};

struct kr_transport *kr_layout_transport(struct kr_layout *layout)
{
  return &layout->transport.base;
}

/* ---- Which ----------------------------------------------------------------------------------- */

static void settle(struct kr_layout *layout, enum kind kind)
{
  layout->catalog = *catalogs[kind];
  layout->transport.behind = layout->transports[kind];
}

/* Does it say what is not known yet, or known better now? */
static bool is_news(const struct kr_layout *layout, unsigned tiers)
{
  bool may_be_either = layout->transports[META] != NULL && layout->transports[ROOT] != NULL;

  return may_be_either &&
         (layout->catalog.unsettled ||
          (layout->transport.behind == layout->transports[ROOT] && tiers == META_TIERS));
}

void kr_layout_learn(struct kr_layout *layout, const struct kr_root *root)
{
  if (layout != NULL && is_news(layout, root->tiers)) {
    enum kind kind = root->tiers == ROOT_TIERS ? ROOT : META;

    settle(layout, kind);
    kr_log_line(layout->log, KEYROUTE_LOG_INFO, "layout %s, by %.400s", names[kind], root->place);
  }
}

kr_table_name_checker kr_layout_checker(const struct kr_layout *layout)
{
  return layout->checker;
}

/* ---- Making one ------------------------------------------------------------------------------ */

/* What transports are made of. */
struct means {
  struct kr_mem *mem;
  struct kr_loop *loop;
  struct kr_worker *resolver;
  const struct kr_settings *settings;
  struct kr_stats *stats;
};

/* That of range directories, over the module that is loaded for it. */
static int make_bigtable(struct kr_transport **out, const struct means *with,
                         struct keyroute_detail *detail)
{
  const struct kr_grpc_module *module;
  const char *reason;
  int error = kr_grpc_load(&module, &reason);

  if (error != 0) {
    return kr_detail_fail(detail, error, "layout range: %s", reason);
  }
  return kr_transport_bigtable_new(out, with->mem, with->loop, with->settings->range_instance,
                                   with->settings, with->stats, module, detail);
}

static int make_transport(struct kr_transport **out, enum kind kind, const struct means *with,
                          struct keyroute_detail *detail)
{
  switch (kind) {
  case META:
    return kr_transport_hbase_new(out, with->mem, with->loop, with->resolver, with->settings,
                                  with->stats);
  case ROOT:
    return kr_transport_hbase094_new(out, with->mem, with->loop, with->resolver, with->settings,
                                     with->stats);
  default:
    return make_bigtable(out, with, detail);
  }
}

/* The kind that is asked for; KINDS = it is to be found out. */
static enum kind kind_of(const char *name)
{
  enum kind kind = META;

  while (kind < KINDS && strcmp(name, names[kind]) != 0) {
    kind++;
  }
  return kind;
}

/* Make what is needed for it. */
static int fill(struct kr_layout *layout, enum kind asked, const struct means *with,
                struct keyroute_detail *detail)
{
  int error = 0;

  for (enum kind kind = META; kind < KINDS && error == 0; kind++) {
    if (kind == asked || (asked == KINDS && kind != RANGE)) {
      error = make_transport(&layout->transports[kind], kind, with, detail);
    }
  }
  if (asked == KINDS) {
    layout->catalog = any_catalog;
    layout->transport.behind = layout->transports[META];
  } else {
    settle(layout, asked);
  }
  layout->checker = layout->catalog.check_table;
  return error;
}

int kr_layout_new(struct kr_layout **out, struct kr_mem *mem, struct kr_loop *loop,
                  struct kr_worker *resolver, const struct kr_settings *settings,
                  struct kr_stats *stats, struct keyroute_detail *detail)
{
  struct means with = {mem, loop, resolver, settings, stats};
  struct kr_layout *layout = kr_calloc(mem, sizeof(*layout));

  if (layout == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  layout->mem = kr_mem_ref(mem);
  layout->log = &settings->log;
  layout->transport.base.ops = &ops;
  layout->transport.layout = layout;
  int error = fill(layout, kind_of(settings->layout), &with, detail);

  if (error != 0) {
    kr_layout_free(layout);
    return error;
  }
  *out = layout;
  return 0;
}

void kr_layout_free(struct kr_layout *layout)
{
  if (layout == NULL) {
    return;
  }
  struct kr_mem *mem = layout->mem;

  for (int kind = 0; kind < KINDS; kind++) {
    if (layout->transports[kind] != NULL) {
      layout->transports[kind]->ops->free(layout->transports[kind]);
    }
  }
  kr_free(mem, layout);
  kr_mem_release(mem);
}
