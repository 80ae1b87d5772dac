#ifndef KEYROUTE_TEST_REAL_H
#define KEYROUTE_TEST_REAL_H

#include "keyroute/keyroute.h"
#include "test/cluster/cluster.h"

#include <check.h>

/* A real HBase for the tests of one program, and what the Java client says about it. The version is
 * that of $KEYROUTE_HBASE_VERSION, else 2.6.3. */
extern struct cluster *real_cluster;

/* Run a program's suite with a cluster around it. Returns main's result: 77 where no cluster can be
 * had (the reason is on stderr). The tests run in this process, one after another. */
int real_run(Suite *suite, bool processes, unsigned seconds);

/* A command that must succeed. */
void real_command(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Kill a live server that does not hold hbase:meta. */
void real_kill_another(void);

/* Open a connection to the cluster. settings  NULL, or "name=value" up to a NULL. */
struct keyroute_connection *real_open(const char *const *settings);

/* What one client says about one row. */
struct real_answer {
  bool found;
  char error[64]; /* the exception's class, where not found */
  char encoded[64];
  unsigned char start[1100], end[1100];
  size_t start_len, end_len;
  char host[256];
  int port;
  long long start_code;
  long long seqnum;
};

/* A row of a table to ask for. */
struct real_row {
  char table[64];
  unsigned char key[1100];
  size_t len;
};

/* Ask the Java client (fresh reads) about all rows at once. */
void real_oracle(struct real_answer *answers, const struct real_row *rows, size_t count);

/* The Java client's list of a table's regions, the replicas of each after its primary: at most max.
 * Returns how many. */
size_t real_all_locations(struct real_answer *answers, size_t max, const char *table);

/* The same of a location of ours. */
void real_describe(struct real_answer *answer, const struct keyroute_location *location,
                   int replica);

/* "" if the two answers are the same, else what differs. Borrowed until the next call. */
const char *real_difference(const struct real_answer *ours, const struct real_answer *theirs);

/* Write a key as the cluster's commands want it: everything but letters and digits as \xHH; "" for
 * the empty key. Returns out, which has 4 * 1100 + 3 bytes of room. */
char *real_key_text(char *out, const void *key, size_t len);

#endif
