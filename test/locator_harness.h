#ifndef LOCATOR_HARNESS_H
#define LOCATOR_HARNESS_H

/* A locator in a world of its own: a clock that stands still (fake_loop.h), a catalog in memory, a
 * transport and a registry that answer when the test says so, or by themselves after a latency. */

#include "lib/locator.h"
#include "test/failing_mem.h"
#include "test/fake_catalog.h"
#include "test/fake_loop.h"

#include <check.h>

/* A scan under way. Texts are copies, NUL-terminated. */
struct kr_request {
  struct kr_request *prev, *next;
  struct world *world;
  int number; /* the first is 1 */
  char host[64];
  int port;
  char family[16];
  char *region, *start, *stop;
  size_t start_len, stop_len;
  bool include_start, include_stop, reversed;
  uint32_t limit;
  kr_scan_cb cb;
  void *arg;
  struct kr_timer *timer; /* of the answer, or of the timeout */
};

struct kr_root_read {
  struct kr_root_read *prev, *next;
  struct world *world;
  kr_root_cb cb;
  void *arg;
  struct kr_timer *timer;
};

struct world {
  struct kr_transport transport; /* first: the transport is the world */
  struct kr_registry registry;
  struct kr_mem *mem;
  struct kr_loop *loop;
  struct kr_stats *stats;
  struct kr_cache *cache;
  struct kr_servers *servers;
  struct kr_sweeper *sweeper;
  struct kr_log log;
  struct fake_catalog *catalog;
  struct kr_means means; /* change it before world_start */
  struct kr_locator *locator;

  /* Scans. */
  struct kr_request *requests;
  int scans, cancels, in_flight, most_in_flight;
  uint32_t last_limit;
  int64_t latency_ms; /* answer by itself after so long; -1 = wait for the test */
  /* What becomes of a scan: code 0 answers from the catalog. NULL = answers. */
  void (*judge)(struct kr_failure *failure, const struct kr_request *request);
  /* Which rows it is answered from. NULL = those of the catalog. */
  struct fake_catalog *(*rows_of)(const struct kr_request *request);
  bool stop_early; /* answers have no rows, and say that there is more */

  /* The registry. */
  struct kr_root_read *reads;
  int root_reads, root_cancels;
  int64_t root_latency_ms;        /* as latency_ms */
  struct kr_failure root_failure; /* code 0 = answer with the value, or the place below */
  struct keyroute_bytes root_value;
  const char *meta_host;
  int meta_port;
  int64_t meta_start_code;
  int meta_state; /* -1 = not said */
  uint64_t order; /* counts answers of asks */
};

/* hbase:meta is on m:16020 with start code 1; scans and root reads answer at once (by a timer). */
struct world *world_new(void);
void world_start(struct world *world);
/* Before that: have reports taken. Free them once the locator is shut down. */
struct kr_reports *world_add_reports(struct world *world, int64_t failed_server_ms);
/* Shut down, free everything, check that nothing is left. */
void world_free(struct world *world);

/* Write a region into the catalog: on host h, port 16020, start code 1. */
void put_region(struct world *world, const char *table, const char *start, const char *end,
                int64_t id);
/* The same in full; also what replaces one. */
void put(struct world *world, const struct fake_region *region);
/* One of table t that is offline: a split parent, or not. */
void put_dead(struct world *world, const char *start, const char *end, int64_t id, bool split);
void drop_region(struct world *world, const char *table, const char *start, int64_t id);

/* Answer, or fail, the oldest scan; it must exist. */
void answer_scan(struct world *world);
void fail_scan(struct world *world, const struct kr_failure *failure);
void answer_root(struct world *world);

/* A lookup and what became of it. */
struct ask {
  struct kr_lookup lookup;
  struct world *world;
  int done; /* how often it was answered */
  uint64_t order;
  int64_t done_us;
  void (*then)(struct ask *ask); /* in its done */
  char row[64];
};

/* Fill in with a deadline of 30 s. */
void ask_init(struct ask *ask, struct world *world, const char *table, const char *row);
void ask_start(struct ask *ask);
/* The two in one. */
void ask(struct ask *ask, struct world *world, const char *table, const char *row);
/* Give back what it holds. */
void ask_clear(struct ask *ask);

/* Assertions. */
void expect_found(const struct ask *ask, int64_t id);
void expect_failed(const struct ask *ask, int code);
void expect_message(const struct ask *ask, const char *text); /* among others */

/* A judge that fails all scans, by that code. */
extern int failing_code;
void fail_always(struct kr_failure *failure, const struct kr_request *request);

#endif
