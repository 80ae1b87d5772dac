#ifndef FAKE_SERVER094_H
#define FAKE_SERVER094_H

/* Scripted region servers of HBase 0.94: some of them, which hold -ROOT-, regions of .META. and
 * regions of users' tables, and speak the server's side of the Writable RPC on loopback. They
 * answer getClosestRowBefore, scanners and get, and misbehave as told.
 *
 * Each runs on a thread of its own; all calls here may be made from any other thread. Trouble of
 * the servers themselves aborts the test.
 *
 *     struct fake094 *servers = fake094_start(2);
 *     fake094_host_root(servers, 0);
 *     fake094_put(servers, &(struct made094){.table = ".META.", .id = 1}, 1);
 *     fake094_put(servers, &(struct made094){.table = "t", .id = 5}, 0);
 *     ... the client under test begins at fake094_root(servers) ...
 *     fake094_free(servers);
 */

#include "test/made094.h"

struct fake094;

/* So many servers, at free ports of 127.0.0.1, with nothing on them. */
struct fake094 *fake094_start(int servers);
void fake094_free(struct fake094 *fake);

int fake094_port(const struct fake094 *fake, int server);

/* As if a process had died, and as if it had come back: connections are closed and refused. */
void fake094_stop(struct fake094 *fake, int server);
void fake094_restart(struct fake094 *fake, int server);

/* ---- What they hold ------------------------------------------------------------------------- */

/* -ROOT- is on that server from now on. */
void fake094_host_root(struct fake094 *fake, int server);

/* Where it is, "127.0.0.1,PORT,STARTCODE" as the znode has it; overwritten by the next call. */
const char *fake094_root(struct fake094 *fake);

/* Make a region, or replace the one of its name, on a server; its parent has a row of it that says
 * so. Of .META., start and end are rows of .META.. Server -1 = on none. */
void fake094_put(struct fake094 *fake, const struct made094 *region, int server);

void fake094_put_between(struct fake094 *fake, const char *table, const char *start,
                         const char *end, int64_t id, int server);

/* It is on another server now, but its row is as it was. */
void fake094_move_silently(struct fake094 *fake, const struct made094 *region, int server);

void fake094_delete(struct fake094 *fake, const struct made094 *region);

/* A cell of a user's table. */
void fake094_put_cell(struct fake094 *fake, const char *table, const char *row, const char *family,
                      const char *qualifier, int64_t timestamp, const char *value);

/* ---- How they misbehave --------------------------------------------------------------------- */

enum fake094_what {
  FAKE094_EXCEPTION, /* class_name and text */
  FAKE094_FATAL,     /* the same in state -1 */
  FAKE094_NEVER,     /* no answer */
  FAKE094_CLOSE,     /* close the connection without a byte */
  FAKE094_HALF,      /* half of the right answer, then close */
  FAKE094_GARBAGE,   /* a sound frame whose body cannot be read */
  FAKE094_HUGE,      /* the right answer, which claims to be 2 GiB long */
  FAKE094_OLD        /* an answer that does not say how long it is */
};

/* What to do with the next `times` requests of a method to a server. */
struct fake094_fault {
  enum fake094_what what;
  const char *method; /* NULL = any; copied, as the others */
  int times;          /* 0 = 1 */
  const char *class_name, *text;
};

void fake094_fault(struct fake094 *fake, int server, const struct fake094_fault *fault);

/* ---- What they saw -------------------------------------------------------------------------- */

struct fake094_counts {
  unsigned connects;               /* good openings */
  unsigned requests;               /* of any method */
  unsigned root_reads, meta_reads; /* getClosestRowBefore, by table */
  unsigned opens, nexts, closes;   /* of scanners */
  unsigned gets;
};

struct fake094_counts fake094_counts(struct fake094 *fake, int server);

/* Scanners that are open, on all servers. */
unsigned fake094_scanners(struct fake094 *fake);

/* ---- Without a socket ----------------------------------------------------------------------- */

/* Servers that no thread runs and no port leads to. */
struct fake094 *fake094_new(int servers);

/* Take what is whole, the opening too, from the front of what a client has sent, and append the
 * answers. False = the connection is to be closed then. *opened  the connection's own, false at its
 * beginning. */
bool fake094_serve(struct fake094 *fake, int server, bool *opened, struct kr_buf *in,
                   struct kr_buf *out);

#endif
