/* Drives a real HBase from a C test: the program of run.sh, with which it talks over pipes.
 *
 * One cluster = one child process group, which ends when the test ends, however that happens; to be
 * exact, when the thread that started it ends.  A cluster is not for use from several threads at
 * once; several clusters are independent of each other.
 */
#ifndef KEYROUTE_TEST_CLUSTER_H
#define KEYROUTE_TEST_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct cluster;

struct cluster_options {
  const char *folder;  /* where run.sh is; NULL = $KEYROUTE_CLUSTER_DIR, else test/cluster */
  const char *version; /* of HBase; NULL = 2.6.3 */
  bool processes;      /* one process per server, so that killing one is real */
  bool bench;          /* JVMs that are fast in the end rather than at first */
  const char *log;     /* keep HBase's logs in this folder; NULL = they go with the cluster */
};

enum cluster_result {
  CLUSTER_OK = 0,
  CLUSTER_UNAVAILABLE, /* no Java, no jars: skip the test and say why */
  CLUSTER_FAILED,      /* it should have worked */
};

/** Start a cluster and wait until it is usable (180 s at most; fetching the jars the first time
 *  comes before that, 15 min at most).
 *  out      the cluster, to be stopped; untouched unless CLUSTER_OK
 *  options  NULL = all defaults
 *  The reason of any other result is told by cluster_reason() and printed on stderr.
 */
enum cluster_result cluster_start(struct cluster **out, const struct cluster_options *options);

/** Why the last cluster_start() did not succeed, in one line. */
const char *cluster_reason(void);

/** End the cluster and free it: politely, by SIGTERM after 5 s, by SIGKILL after 12 s.  NULL is
 *  fine. */
void cluster_stop(struct cluster *cluster);

/** Send one command (README.md lists them) and wait for its answer.
 *  reply  gets the data lines without their ". ", each ended by a newline ("" if there were none);
 *         free() it; NULL if not wanted; not set when the result is negative
 *  Result: 0 the answer was OK; 1 it was ERR; -1 no answer (the deadline passed or the cluster
 *  ended: it is of no more use).  Anything but 0 is also told on stderr.
 */
int cluster_command(struct cluster *cluster, char **reply, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** The text after OK or ERR of the last command; valid until the next one. */
const char *cluster_answer(const struct cluster *cluster);

/** How long a command may take from now on; 150 s unless set. */
void cluster_set_deadline(struct cluster *cluster, int deadline_ms);

const char *cluster_zookeeper(const struct cluster *cluster); /* "127.0.0.1:PORT" */
const char *cluster_parent(const struct cluster *cluster);    /* "/hbase" */
const char *cluster_version(const struct cluster *cluster);   /* "2.6.3" */
pid_t cluster_pid(const struct cluster *cluster);

#endif
