#ifndef BATCH_HARNESS_H
#define BATCH_HARNESS_H

/* Reading many rows from a scripted cluster (hop_world.h): the keys that are asked for, and what
 * came. */

#include "test/hop_world.h"

enum { ROWS_MAX = 100000, ROW_SIZE = 24 };

#define HBASE "org.apache.hadoop.hbase."

extern struct hop_world world;
extern struct keyroute_result *result;
extern struct keyroute_detail detail;
extern struct keyroute_key keys[ROWS_MAX]; /* key_count of them */
extern char names[ROWS_MAX][ROW_SIZE];     /* of their rows */
extern size_t key_count;

/* Of each test; setup leaves the connection to be opened. */
void setup(void);
void setup_open(void);
void teardown(void);
TCase *add_case(Suite *suite, const char *name, SFun set_up);

/* ---- Asking --------------------------------------------------------------------------------- */

/* One key more. table is kept as a pointer. */
void add(const char *table, const char *key);

/* Rows PREFIX000000 and so on, each with its own name as value, as many keys. */
void add_generated(const char *table, const char *prefix, size_t count);

/* Half of them below m, where servers[0] is asked, half above. */
void add_both(size_t count);

int get_with(const struct keyroute_read *read, int64_t deadline_ms, unsigned flags, int replica);
void get_all(void);
void get_and_read_all(void);

/* The row of an index came, with its name as value. */
void assert_read(size_t index);
void assert_all_read(void);
void assert_failed(size_t index, int error);

/* Both regions of t are cached. */
void warm(void);

/* ---- Other tables --------------------------------------------------------------------------- */

/* The table "w": so many regions of 100 rows each, in turn on the servers. */
void place_wide(size_t regions);

/* Table "h" with a region for each letter from b to f, but for d: it is missing or offline. */
void place_gap(bool offline);

/* So many rows of each of them. */
void add_letters(size_t each);

/* ---- Servers -------------------------------------------------------------------------------- */

/* Of servers[i]: what it is to do wrong, in a Multi if no method is given. */
void fault(int i, const struct fake_fault *given);
void exception(int i, const char *class_name, int times);

/* What it was asked for. */
unsigned rows_read(int i);
unsigned requests(int i);

#endif
