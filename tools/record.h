#ifndef RECORD_H
#define RECORD_H

#include "keyroute/keyroute.h"
#include "tools/outcome.h"

/* A JSON object in the making, or a list of such. */
struct record;

struct record *record_new(void);
struct record *record_list(void);

/* Print an object as one line, and release it. Failed writes show in ferror(stdout). */
void record_print(struct record *record);

/* Put a field behind the others. */
void record_put_text(struct record *record, const char *key, const char *text);
void record_put_own(struct record *record, const char *key, char *text); /* text is freed */
void record_put_number(struct record *record, const char *key, long long number);
void record_put_real(struct record *record, const char *key, double number);
void record_put_true(struct record *record, const char *key);
void record_put(struct record *record, const char *key, struct record *value); /* takes it */

/* Put something behind the rest of a list; both take it. */
void record_add(struct record *list, struct record *value);
void record_add_own(struct record *list, char *text);

/* ---- What several commands show ------------------------------------------------------------- */

/* "region": a replica's region, its keys in hexadecimal or not. */
struct record *record_region(const struct keyroute_location *location, int replica, bool hex);

/* "server" and, where the catalog has one, "seqnum". */
void record_put_server(struct record *record, const struct keyroute_location *location,
                       int replica);

/* "replicas": all of them, with server and seqnum. */
void record_put_replicas(struct record *record, const struct keyroute_location *location);

/* "error": its code, message and whether the deadline made it final. */
void record_put_error(struct record *record, int error, const char *message, bool deadline);

/* "attempts", "rpcs", "elapsed_us", and, if asked for, "trace". */
void record_put_figures(struct record *record, const struct outcome *outcome, bool trace);

#endif
