/*
 * The way from threads that may outlive a connection to that connection's loop.
 *
 * ZooKeeper's threads, and a worker that was left behind in the resolver, hold a count on the gate
 * and nothing else of the connection.
 *
 *  1. The loop is posted to under the lock and only while the gate is open, so shutting it is
 *     enough to keep everybody off a loop that is about to end.
 *  2. `owner` is read and cleared on the loop only. A task that arrives after stop finds NULL and
 *     frees itself.
 *  3. The application's log callback runs under no lock, but shut waits for lines under way: after
 *     it the callback and what it points to may go.
 *  4. malloc, not the connection's allocator: the gate may be the last thing left.
 *
 * Any thread, but for what zk_gate.h says.
 */
#include "lib/zk_gate.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct kr_zk_gate {
  pthread_mutex_t lock;
  pthread_cond_t quiet;               /* no line is under way */
  struct kr_connect_string *ensemble; /* set before other threads see the gate, as is log */
  struct kr_log log;
  void *owner;          /* the loop's */
  struct kr_loop *loop; /* all below: under the lock */
  unsigned refs;
  unsigned lines; /* log lines under way */
  bool stopped;
  bool shut;
  bool resolving;
};

static struct kr_connect_string *copy_hosts(const char *hosts)
{
  struct kr_connect_string *ensemble = NULL;
  struct kr_mem *mem = kr_mem_new(NULL);

  if (mem == NULL) {
    return NULL;
  }
  /* The settings hold what was parsed once, so only memory can be short here. */
  if (kr_connect_string_parse(&ensemble, mem, hosts, 2181, NULL, 0) != 0) {
    ensemble = NULL;
  }
  kr_mem_release(mem);
  return ensemble;
}

struct kr_zk_gate *kr_zk_gate_new(struct kr_loop *loop, const struct kr_log *log, void *owner,
                                  const char *hosts)
{
  struct kr_zk_gate *gate = calloc(1, sizeof(*gate));

  if (gate == NULL) {
    return NULL;
  }
  gate->ensemble = copy_hosts(hosts);
  if (gate->ensemble == NULL) {
    free(gate);
    return NULL;
  }
  pthread_mutex_init(&gate->lock, NULL);
  pthread_cond_init(&gate->quiet, NULL);
  gate->loop = loop;
  gate->log = *log;
  gate->owner = owner;
  gate->refs = 1;
  return gate;
}

struct kr_zk_gate *kr_zk_gate_ref(struct kr_zk_gate *gate)
{
  pthread_mutex_lock(&gate->lock);
  gate->refs++;
  pthread_mutex_unlock(&gate->lock);
  return gate;
}

void kr_zk_gate_release(struct kr_zk_gate *gate)
{
  if (gate == NULL) {
    return;
  }
  pthread_mutex_lock(&gate->lock);
  unsigned left = --gate->refs;
  pthread_mutex_unlock(&gate->lock);
  if (left > 0) {
    return;
  }
  kr_connect_string_free(gate->ensemble);
  pthread_cond_destroy(&gate->quiet);
  pthread_mutex_destroy(&gate->lock);
  free(gate);
}

const struct kr_connect_string *kr_zk_gate_ensemble(const struct kr_zk_gate *gate)
{
  return gate->ensemble;
}

bool kr_zk_gate_post(struct kr_zk_gate *gate, struct kr_task *task)
{
  pthread_mutex_lock(&gate->lock);
  bool open = !gate->shut;
  if (open) {
    kr_loop_post(gate->loop, task);
  }
  pthread_mutex_unlock(&gate->lock);
  return open;
}

void kr_zk_gate_log(struct kr_zk_gate *gate, enum keyroute_log_level level, const char *format, ...)
{
  char line[1024];
  va_list args;

  pthread_mutex_lock(&gate->lock);
  bool open = !gate->shut;
  gate->lines += open;
  pthread_mutex_unlock(&gate->lock);
  if (!open) {
    return;
  }
  va_start(args, format);
  vsnprintf(line, sizeof(line), format, args);
  va_end(args);
  kr_log_line(&gate->log, level, "%s", line);

  pthread_mutex_lock(&gate->lock);
  if (--gate->lines == 0) {
    pthread_cond_broadcast(&gate->quiet);
  }
  pthread_mutex_unlock(&gate->lock);
}

bool kr_zk_gate_stopped(void *arg)
{
  struct kr_zk_gate *gate = arg;

  pthread_mutex_lock(&gate->lock);
  bool stopped = gate->stopped;
  pthread_mutex_unlock(&gate->lock);
  return stopped;
}

void kr_zk_gate_set_resolving(struct kr_zk_gate *gate, bool resolving)
{
  pthread_mutex_lock(&gate->lock);
  gate->resolving = resolving;
  pthread_mutex_unlock(&gate->lock);
}

bool kr_zk_gate_resolving(struct kr_zk_gate *gate)
{
  pthread_mutex_lock(&gate->lock);
  bool resolving = gate->resolving;
  pthread_mutex_unlock(&gate->lock);
  return resolving;
}

void *kr_zk_gate_owner(const struct kr_zk_gate *gate)
{
  return gate->owner;
}

void kr_zk_gate_stop(struct kr_zk_gate *gate)
{
  gate->owner = NULL;
  pthread_mutex_lock(&gate->lock);
  gate->stopped = true;
  pthread_mutex_unlock(&gate->lock);
}

void kr_zk_gate_shut(struct kr_zk_gate *gate)
{
  pthread_mutex_lock(&gate->lock);
  gate->shut = true;
  while (gate->lines > 0) {
    pthread_cond_wait(&gate->quiet, &gate->lock);
  }
  pthread_mutex_unlock(&gate->lock);
}
