#ifndef REGISTRY_ZOOKEEPER_HARNESS_H
#define REGISTRY_ZOOKEEPER_HARNESS_H

/* The ZooKeeper registry, and a real server or a proxy for it. registry_harness.h reads it. */

#include "lib/mem.h"
#include "lib/settings.h"
#include "lib/stats.h"
#include "test/proxy.h"
#include "test/registry_harness.h"
#include "test/zookeeper.h"

#include <check.h>

#define PATIENCE_MS 10000

extern struct zookeeper *server; /* NULL = none */
extern struct proxy *proxy;      /* NULL = none */
extern struct kr_mem *mem;
extern struct kr_loop *loop;
extern struct kr_settings settings;
extern struct kr_registry *registry; /* NULL = not open */
extern struct kr_stats *stats;
extern _Atomic int changes; /* that the registry has reported */
extern char root_znode[], range_znode[];
extern bool no_meta; /* meta's znode is not asked for */

/* Of each test: nothing but a loop; a server, empty; one with /hbase/meta-region-server. */
void setup(void);
void setup_server(void);
void setup_znode(void);
void teardown(void);
TCase *add_case(Suite *suite, const char *name, SFun before);

/* Run a suite and release it. Returns the program's exit status: 77, automake's "skipped", if there
 * is no server to be had, and prepare.sh has said why. */
int run_zookeeper_suite(Suite *suite);

/* ---- The registry --------------------------------------------------------------------------- */

void open_registry(const char *ensemble, const char *chroot, const char *parent);
void open_default(void);       /* of /hbase on the server */
void open_through_proxy(void); /* the same; without a server nobody is behind the proxy */

void note_change(void *arg); /* counts */
bool await_changes(int at_least);

/* ---- Reads ---------------------------------------------------------------------------------- */

struct answer read_once(int64_t timeout_ms);
struct answer read_until_good(int64_t each_ms); /* until one succeeds */
void expect_value(const struct answer *answer, const char *value);
void expect_failure(const struct answer *answer, int code, const char *text);

void sleep_ms(int ms);

#endif
