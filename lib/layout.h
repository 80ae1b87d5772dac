#ifndef KR_LAYOUT_H
#define KR_LAYOUT_H

#include "lib/catalog.h"
#include "lib/loop.h"
#include "lib/settings.h"
#include "lib/stats.h"
#include "lib/transport.h"
#include "lib/worker.h"

/* Of what kind a cluster is: the catalog and the transport for it. Loop thread, but for new and
 * free. */
struct kr_layout;

/* As kr_transport_hbase_new; settings->layout says which kind, or that it is to be found out.
 * Errors: NO_MEMORY; INVALID_ARGUMENT something that this kind needs is not there (detail). */
int kr_layout_new(struct kr_layout **out, struct kr_mem *mem, struct kr_loop *loop,
                  struct kr_worker *resolver, const struct kr_settings *settings,
                  struct kr_stats *stats, struct keyroute_detail *detail);

/* Both are the same for as long as the layout lives; what they do may change in kr_layout_learn.
 * Where it is not settled the catalog says of every table that its parent is the root, and once a
 * lookup has found that, it is. */
const struct kr_catalog *kr_layout_catalog(const struct kr_layout *layout);
struct kr_transport *kr_layout_transport(struct kr_layout *layout);

/* What tables' names are checked with. Any thread: it never changes. */
kr_table_name_checker kr_layout_checker(const struct kr_layout *layout);

/* The registry has answered, without a failure: whose root it is settles the layout. NULL is
 * accepted, where there is nothing to find out. */
void kr_layout_learn(struct kr_layout *layout, const struct kr_root *root);

/* After the loop thread has ended, and after the transport's shutdown. NULL is accepted. */
void kr_layout_free(struct kr_layout *layout);

#endif
