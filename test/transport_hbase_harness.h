#ifndef TRANSPORT_HBASE_HARNESS_H
#define TRANSPORT_HBASE_HARNESS_H

/* A transport for HBase on a loop, a scripted region server, and requests from one to the other. */

#include "lib/transport_hbase.h"
#include "test/fake_server.h"

#include <check.h>
#include <pthread.h>

#define PATIENCE_MS 5000
#define MAX_ROWS 16
#define QUEUE_MAX (64 * 1024)

/* Memory that notes its largest piece and can be made to run short. */
struct memory {
  pthread_mutex_t lock;
  size_t largest;
  long left; /* allocations until they fail, once; negative = never */
};

struct world {
  struct memory memory;
  struct kr_mem *mem;
  struct kr_loop *loop;
  struct kr_worker *worker;
  struct kr_settings settings;
  struct kr_stats *stats;
  struct kr_transport *transport;
  struct fake_server *server;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool shut;
};

/* One request and what came of it. */
struct asked {
  struct kr_task task;
  struct world *world;
  const char *host;
  int port;
  struct kr_scan scan;
  int64_t timeout_ms;
  struct kr_request *request;
  struct asked *then;   /* to be asked inside the callback */
  struct asked *cancel; /* to be cancelled inside the callback */
  unsigned answers;     /* how often the callback ran; under the world's lock, as all below */
  bool refused;         /* scan gave NULL */
  bool inside;          /* called inside the starting call */
  bool starting;
  struct kr_failure failure;
  size_t count;
  char keys[MAX_ROWS][128];
  size_t cell_counts[MAX_ROWS];
  char first_server[64];
  bool more;
};

struct world *new_world(void);
void free_world(struct world *world);

/* Meta has so many regions of table t: [,b) [b,c) ... */
struct world *world_with_regions(unsigned count);

/* Run something on the loop and wait for it. */
void on_loop(struct world *world, void (*run)(struct world *world, void *arg), void *arg);

/* To be run there: shut the transport down; keep the worker, which resolves names, for half a
 * second; start or cancel a request (arg). */
void shut_down(struct world *world, void *arg);
void submit_block(struct world *world, void *arg);
void start_errand(struct world *world, void *arg);
void cancel_errand(struct world *world, void *arg);

/* A reversed scan of table t, yet to be started; or started. */
struct asked *prepare(struct world *world, uint32_t limit);
struct asked *ask(struct world *world, uint32_t limit);
void start_asked(struct asked *asked); /* on the loop */

/* Wait for the callback. */
bool wait_answer(struct asked *asked);

/* Wait for one answer and compare its code. */
void expect(struct asked *asked, int code);
void expect_message(const struct asked *asked, const char *part);

unsigned connects(struct world *world);

void fault(struct world *world, enum fake_what what);
void fault_exception(struct world *world, enum fake_what what, const char *class_name,
                     const char *text);

#endif
