/*
 * Opening a session: the ensemble's names become addresses, and the client gets those that are
 * worth a handle.
 *
 *  1. All of it blocks, so it runs on the worker; between its steps it looks whether the gate has
 *     been stopped. The loop is told of the outcome.
 *  2. Names that do not resolve are told of, and do not spoil the rest.
 *  3. Who is careful gets a handle for servers that answer a probe only: the client says nothing of
 *     one that does not, it tries on.
 *  4. A session whose owner has gone meanwhile is ended again.
 */
#include "lib/zk_open.h"

#include "lib/zk_probe.h"

#include <stdlib.h>

/* How long a probe may take: servers that serve answer within some ms. */
#define PROBE_MS 1000

struct open_job {
  struct kr_job job;
  struct kr_zk_gate *gate; /* counted */
  const struct kr_zk_handler *handler;
  uint64_t number;
  int session_timeout_ms;
  bool careful;
  bool have_other;
  struct kr_zk_opening opening; /* the outcome */
};

/* Which of the endpoints to use, SILENT for all: false = none, with the reason. */
static bool choose(struct open_job *open, struct kr_endpoints *endpoints,
                   enum kr_endpoint_state *which)
{
  *which = KR_ENDPOINT_SILENT;
  if (!open->careful) {
    return true;
  }
  kr_zk_probe(endpoints, PROBE_MS, open->session_timeout_ms, kr_zk_gate_stopped, open->gate);
  if (kr_endpoints_any(endpoints, KR_ENDPOINT_ANSWERS)) {
    *which = KR_ENDPOINT_ANSWERS;
    return true;
  }
  kr_zk_probe_explain(&open->opening.failure, endpoints);
  return open->opening.failure.code == KEYROUTE_E_TIMEOUT && !open->have_other;
}

static int resolve(struct open_job *open, struct kr_endpoints *endpoints)
{
  struct kr_failure unresolved;

  kr_zk_gate_set_resolving(open->gate, true);
  int error = kr_ensemble_resolve(endpoints, kr_zk_gate_ensemble(open->gate), &unresolved,
                                  kr_zk_gate_stopped, open->gate);
  kr_zk_gate_set_resolving(open->gate, false);
  if (error == KEYROUTE_E_RESOLVE) {
    open->opening.failure = unresolved;
  } else if (error != 0) {
    kr_fail(&open->opening.failure, error, "%s", keyroute_strerror(error));
  } else if (unresolved.code != 0) {
    kr_zk_gate_log(open->gate, KEYROUTE_LOG_WARNING, "%s", unresolved.message);
  }
  return error;
}

static void run_open(struct kr_job *job)
{
  struct open_job *open = (struct open_job *)job;
  struct kr_endpoints endpoints = {NULL, 0};
  enum kr_endpoint_state which;
  char *addresses = NULL;

  if (resolve(open, &endpoints) != 0 || !choose(open, &endpoints, &which) ||
      kr_zk_gate_stopped(open->gate)) {
    goto end;
  }
  addresses = kr_endpoints_format(&endpoints, which);
  if (addresses == NULL) {
    kr_fail(&open->opening.failure, KEYROUTE_E_NO_MEMORY, "out of memory");
    goto end;
  }
  open->opening.session = kr_zk_session_new(&open->opening.failure, open->gate, open->handler,
                                            open->number, open->session_timeout_ms, addresses);

end:
  free(addresses);
  kr_endpoints_clear(&endpoints);
}

static void open_free(struct open_job *open)
{
  kr_zk_gate_release(open->gate);
  free(open);
}

static void done_open(struct kr_job *job)
{
  struct open_job *open = (struct open_job *)job;
  void *owner = kr_zk_gate_owner(open->gate);

  if (owner != NULL) {
    open->handler->opened(owner, &open->opening);
  } else if (open->opening.session != NULL) {
    kr_zk_session_close(job->worker, open->opening.session);
  }
  open_free(open);
}

/* On the worker, which was left behind, if there is a session; so blocking is no matter. */
static void drop_open(struct kr_job *job)
{
  struct open_job *open = (struct open_job *)job;

  if (open->opening.session != NULL) {
    kr_zk_session_end(open->opening.session);
  }
  open_free(open);
}

bool kr_zk_open(struct kr_worker *worker, struct kr_zk_gate *gate,
                const struct kr_zk_handler *handler, uint64_t number, int session_timeout_ms,
                bool careful, bool have_other)
{
  struct open_job *open = calloc(1, sizeof(*open));

  if (open == NULL) {
    return false;
  }
  open->job.run = run_open;
  open->job.done = done_open;
  open->job.drop = drop_open;
  open->gate = kr_zk_gate_ref(gate);
  open->handler = handler;
  open->number = number;
  open->session_timeout_ms = session_timeout_ms;
  open->careful = careful;
  open->have_other = have_other;
  kr_worker_submit(worker, &open->job);
  return true;
}
