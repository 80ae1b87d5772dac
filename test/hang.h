#ifndef HANG_H
#define HANG_H

/* What hits cost while misses hang: measured, in one process, in turn. Runs within a
 * Check test. */

enum { HANG_MISSES = 64 };

struct hang_quantiles {
  double p50_ns, p99_ns;
};

/* Hits through a table handle, and peeks; each with its clock reads. */
struct hang_figures {
  struct hang_quantiles locate, peek;
};

/* Measure in rounds: nothing under way, then HANG_MISSES asynchronous lookups that wait for a meta
 * server whose port swallows every handshake. */
void hang_measure(struct hang_figures *quiet, struct hang_figures *hanging, unsigned rounds);

#endif
