#ifndef KR_HBASE094_RESULT_H
#define KR_HBASE094_RESULT_H

#include "lib/cell.h"
#include "lib/writable.h"

/* Results as HBase 0.94 answers them. All give NULL, or what cannot be believed. */

/* One row, or none: its KeyValues one behind the other; empty = there is no row. A view. */
const char *kr_hbase094_read_result(struct keyroute_bytes *cells, struct keyroute_bytes body);

/* How many results an answer of many holds, checked against its length; the reader is at the first
 * one then. */
const char *kr_hbase094_read_results(size_t *count, struct kr_reader *out,
                                     struct keyroute_bytes body);

/* The KeyValues of the next one of many; empty = a row without cells. */
struct keyroute_bytes kr_hbase094_next_result(struct kr_reader *reader);

/* How many KeyValues stand in a run of them. */
const char *kr_hbase094_count_cells(size_t *count, struct keyroute_bytes cells);

/* A number. */
const char *kr_hbase094_read_long(int64_t *out, struct keyroute_bytes body);

#endif
