#ifndef KR_LOOKUP_H
#define KR_LOOKUP_H

#include "lib/buf.h"
#include "lib/cache.h"
#include "lib/error.h"
#include "lib/loop.h"
#include "lib/trace.h"
#include "lib/tree.h"

struct kr_flight;
struct kr_locator;
struct kr_queue;

/* Where an unfinished lookup stands. */
enum kr_lookup_state {
  KR_LOOKUP_OUTSIDE,  /* in no list: not started, or its owner's again */
  KR_LOOKUP_READY,    /* wants a flight of its own, in its table's queue */
  KR_LOOKUP_HOPING,   /* waits for a flight that may cover its row too */
  KR_LOOKUP_FLYING,   /* member of a flight: shares its failure */
  KR_LOOKUP_SLEEPING, /* until its next try */
  KR_LOOKUP_ANSWERED  /* has its result; its done is yet to run */
};

/* One lookup. Its owner fills in the first part, owns all of it and keeps it until done. */
struct kr_lookup {
  struct keyroute_table *table; /* counted by the owner */
  struct keyroute_bytes row;    /* the owner's */
  enum kr_position position;
  int replica;                  /* or KEYROUTE_REPLICA_ANY */
  bool refresh;                 /* only what was read after the start will do */
  bool cache_only;              /* no read at all */
  bool single_try;              /* give up after the first try */
  int64_t began_us;             /* on kr_clock_us */
  int64_t deadline_us;          /* on kr_clock_us */
  struct keyroute_trace *trace; /* the owner's; NULL = none */
  struct kr_flight *flight_of;  /* the flight that it is made for; NULL = an application's */

  /* The owner's, NULL = none: gets the lowest row from which on, up to this lookup's own, all would
   * fail as it did; empty = all below. */
  struct kr_buf *reach;

  /* Runs once, on the loop. The lookup is the owner's again, and may be gone when it returns. */
  void (*done)(struct kr_lookup *lookup);
  void *arg; /* the owner's */

  /* The result. */
  struct keyroute_location *location; /* counted for the owner; NULL on error */
  struct kr_failure failure;          /* code 0 = found */
  enum keyroute_source source;
  bool deadline; /* the deadline ended it */
  unsigned attempts;
  unsigned rpcs;

  /* The locator's own. */
  struct kr_locator *locator;
  enum kr_lookup_state state;
  struct kr_lookup *prev, *next; /* in the list of those in its state */
  struct kr_queue *queue;        /* NULL = in none */
  RB_ENTRY(kr_lookup) by_row;    /* in the queue's tree */
  struct kr_flight *flight;      /* that it is a member of, or hopes for */
  struct kr_timer *sleep;        /* until the next try */
  struct kr_timer *alarm;        /* at the deadline */
  uint64_t epoch;                /* the cache's, when it began */
  uint64_t since;                /* the cache's logical time when it began */
  int64_t waits_since_us;        /* began, or woke up */
  unsigned passed_over;          /* flights it hoped for in vain */
};

#endif
