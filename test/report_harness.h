#ifndef REPORT_HARNESS_H
#define REPORT_HARNESS_H

/* Reports in the world of locator_harness.h: the locator is the real one, the clock the test's. */

#include "lib/report.h"
#include "test/locator_harness.h"

struct fixture {
  struct world *world;
  struct kr_reports *reports;
};

struct fixture fixture_new(void);
void fixture_free(struct fixture *fixture);

/* A region of table t. */
void put_on(struct fixture *fixture, const char *start, const char *end, const char *host,
            int64_t start_code, int64_t seqnum);

/* What a lookup gives, counted; NULL = an error, which is left in *code. */
struct keyroute_location *locate_code(struct fixture *fixture, const char *row, int *code);
struct keyroute_location *locate(struct fixture *fixture, const char *row); /* no error */

/* The host that the next lookup names ("" = an error), and the scans it takes. */
void expect_next(struct fixture *fixture, const char *row, const char *host, int scans);

/* Report as feedback.c does. */
void take(struct fixture *fixture, struct kr_report report);
void report(struct fixture *fixture, struct keyroute_location *location, enum keyroute_fault fault);
void report_moved(struct fixture *fixture, struct keyroute_location *location, const char *host,
                  int64_t start_code, int64_t seqnum);

/* Have the cache look through all that it holds. */
void sweep(struct world *world);

uint64_t count(const struct fixture *fixture, enum kr_counter counter);

#endif
