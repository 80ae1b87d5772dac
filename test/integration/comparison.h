#ifndef KEYROUTE_TEST_COMPARISON_H
#define KEYROUTE_TEST_COMPARISON_H

#include "test/integration/real.h"

/* A growing list of rows, which both we and the Java client are asked about, again and again while
 * the cluster changes. One list a program. */

/* The seed of all that is chosen at random: $KEYROUTE_SEED, else the given one. */
extern unsigned comparison_seed;

void comparison_set_seed(unsigned seed);

/* A key of a table to be. */
struct comparison_key {
  const char *data;
  size_t len;
};
#define KEY(text)                                                                                  \
  {                                                                                                \
    text, sizeof(text) - 1                                                                         \
  }

void comparison_add(const char *table, const void *key, size_t len);

/* A start key, the key just above it, the one that lacks its last byte, and one above its last. */
void comparison_add_neighbours(const char *table, const void *key, size_t len);

/* Make a table with these start keys; ask for them, their neighbours, the empty row and 40 random
 * ones. options  words of the command "create". */
void comparison_create(const char *table, const char *options, const struct comparison_key *splits,
                       size_t count);

/* The tables whose keys are awkward for somebody: t, one whose name begins so, and those of commas,
 * of low, high and long keys.
 * commas  the name of that table */
void comparison_create_awkward(const char *commas);

size_t comparison_count(void);

/* One of the first half of the rows, at random: those of tables that do not exist come last. */
const struct real_row *comparison_row(void);

/* Both an old connection, told to read anew, and a new one, from its cache, agree with Java. */
void comparison_check(struct keyroute_connection *conn);

#endif
