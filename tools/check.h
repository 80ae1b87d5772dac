#ifndef CHECK_H
#define CHECK_H

#include "keyroute/keyroute.h"
#include "tools/rows.h"

/* What is wrong with the command line, before anything is sent. Each returns an exit status after a
 * complaint, or -1 for go on. */

/* Would the library take this table and row? The cache is asked, nobody else. */
int check_row(struct keyroute_connection *conn, const char *table, struct keyroute_bytes row);

/* Rows that can be read twice: each of them. They are to be read from the beginning then. */
int check_rows(struct keyroute_connection *conn, const char *table, struct rows *rows);

#endif
