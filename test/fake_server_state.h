#ifndef FAKE_SERVER_STATE_H
#define FAKE_SERVER_STATE_H

/* What the files of the scripted region server share: fake_server.c (threads, sockets, connections)
 * hands each request to the file that answers its method, which plays it through fake_faults.c.
 * Everything here happens under the server's lock. */

#include "test/fake_frame.h"
#include "test/fake_server.h"

#include <pthread.h>

#define FAKE_MAX_CONNS 512

struct fake_conn {
  int fd; /* -1 = without a socket */
  unsigned serial;
  bool greeted;
  bool has_codec;
  unsigned multis; /* Multi requests in flight */
  uint8_t *in;
  size_t in_len, in_cap;
  char user[64], service[64], codec[80];
};

enum fake_after { FAKE_KEEP_OPEN, FAKE_THEN_CLOSE, FAKE_THEN_RESET };

struct fake_answer {
  struct fake_answer *next;
  int64_t due_ms;
  unsigned serial;
  struct fake_out bytes;
  bool trickle;
  bool is_multi;
  enum fake_after after;
};

struct fake_turn;   /* a fault that is still to come */
struct fake_method; /* what is known of a method, by its name */

/* A region of a user table that is or was here. */
struct fake_hosted {
  struct fake_hosted *next;
  struct keyroute_bytes name, start, end;
  char *table;
  int replica;
  char *moved_to; /* its new host; NULL = it is here */
  int port;
  int64_t start_code, seqnum;
};

struct fake_server {
  pthread_t thread;
  bool runs; /* the thread: set once */
  pthread_mutex_t lock;
  pthread_cond_t changed; /* a count has changed */
  int wake[2];
  int port;
  int listener; /* all below: under the lock; -1 = refused */
  bool ending, silent;
  unsigned next_serial;
  struct fake_conn *conns[FAKE_MAX_CONNS];
  size_t conn_count;
  struct fake_answer *answers;
  unsigned unsent;          /* answers */
  struct fake_answer *held; /* FAKE_REVERSE, the last one first */
  struct fake_turn *turns;
  struct fake_catalog *catalog;
  struct fake_rows *rows;
  struct fake_hosted *hosted;
  struct fake_method *methods;
  enum fake_encoding encoding;
  enum fake_downward downward;
  struct fake_counts counts;
  unsigned multis; /* in flight */
  struct fake_seen seen;
  struct fake_seen_get seen_get;
  struct fake_seen_multi seen_multi;
  struct fake_seen_call seen_call;
  uint64_t next_scanner;
};

/* ---- Answers: fake_server.c ----------------------------------------------------------------- */

int64_t fake_now_ms(void);

/* Keep an answer until it is due; equal times stay in order. Takes the bytes. */
void fake_queue_answer(struct fake_server *server, const struct fake_answer *from);

void fake_free_answers(struct fake_answer *answer);

/* What is written here is to be looked at. */
void fake_wake_up(struct fake_server *server);

/* ---- Requests: fake_faults.c ---------------------------------------------------------------- */

/* A region, or a row of it, that a request is about; borrowed. */
struct fake_target {
  const Kr__Pb__RegionSpecifier *region; /* NULL = it was not named */
  const ProtobufCBinaryData *row;        /* NULL = none */
};

/* A request that is being answered; all borrowed. */
struct fake_request {
  struct fake_conn *conn;
  const Kr__Pb__RequestHeader *header;
  ProtobufCBinaryData param, cells;
  const void *message; /* the parameter, unpacked by who answers it */
  const struct fake_target *targets;
  size_t target_count;
  bool is_multi;
  uint32_t call_id; /* the answer's */
};

/* Writes the right answer, or what the fault makes of it. */
typedef struct fake_out (*fake_answerer)(struct fake_server *server,
                                         const struct fake_request *request,
                                         const struct fake_fault *fault);

/* Answer a request as the faults to come have it. */
void fake_play(struct fake_server *server, const struct fake_request *request,
               fake_answerer answerer);

/* Does a part of a Multi, a region (row NULL) or a row, fail? Takes a turn of the fault that has it
 * so, and fills in the exception. */
bool fake_part_fails(struct fake_exception *out, struct fake_server *server,
                     const struct fake_request *request, const Kr__Pb__RegionSpecifier *region,
                     const ProtobufCBinaryData *row);

/* Answer with an exception, whatever faults there are. */
void fake_refuse(struct fake_server *server, const struct fake_conn *conn, uint32_t call_id,
                 const char *class_name, const char *text);

/* The same about the connection, which is closed then. */
void fake_refuse_conn(struct fake_server *server, const struct fake_conn *conn,
                      const char *class_name, const char *text);

void fake_clear_turns(struct fake_server *server);

/* ---- Regions: fake_hosting.c ---------------------------------------------------------------- */

/* The region asked for, if it is served here; else NULL, and what is wrong. */
const struct fake_hosted *fake_find_hosted(const struct fake_server *server,
                                           const Kr__Pb__RegionSpecifier *specifier,
                                           struct fake_exception *wrong);

/* Is the row between its keys? */
bool fake_hosted_covers(const struct fake_hosted *hosted, struct keyroute_bytes row,
                        struct fake_exception *wrong);

/* Is this the region of that name? */
bool fake_specifier_names(const Kr__Pb__RegionSpecifier *specifier, struct keyroute_bytes name);

void fake_clear_hosted(struct fake_server *server);

/* ---- Methods -------------------------------------------------------------------------------- */

/* fake_scans.c */
void fake_run_scan(struct fake_server *server, struct fake_request *request);

/* Of hbase:meta, or of another table of the catalog (by name only): a server has rows of one. */
bool fake_is_catalog(const Kr__Pb__RegionSpecifier *region);

struct fake_key_value fake_catalog_cell(const struct fake_row *row, const struct fake_cell *cell);

/* fake_closest.c */
bool fake_get_is_closest(const Kr__Pb__GetRequest *request);

/* Find that row, if there is one; else false, and what is wrong. */
bool fake_read_closest(struct fake_result *out, struct fake_server *server, const Kr__Pb__Get *get,
                       struct fake_exception *wrong);

/* fake_gets.c */
void fake_run_get(struct fake_server *server, struct fake_request *request);

/* Read a row of a region; else false, and what is wrong. */
bool fake_read_row(struct fake_result *out, struct fake_server *server,
                   const struct fake_hosted *hosted, const Kr__Pb__Get *get,
                   struct fake_exception *wrong);

/* The message of a result, without its cells unless inlined; free_unpacked. */
Kr__Pb__Result *fake_result_message(const struct fake_result *from, bool inlined);
void fake_out_result_cells(struct fake_out *block, const struct fake_result *result);

/* A reply, spoilt where the fault is about its bytes. Takes the bytes of both. */
struct fake_out fake_spoilt_reply(struct fake_out *body, struct fake_out *block,
                                  const struct fake_request *request,
                                  const struct fake_fault *fault);

void fake_note_get(struct fake_seen_get *seen, const struct fake_request *request,
                   const Kr__Pb__RegionSpecifier *region, const Kr__Pb__Get *get);

/* fake_multi.c */
void fake_run_multi(struct fake_server *server, struct fake_request *request);

/* fake_calls.c; false = the request names no region. */
bool fake_run_call(struct fake_server *server, struct fake_request *request);

void fake_note_seen(struct fake_server *server, const char *method);
void fake_note_executed(struct fake_server *server, const char *method);
void fake_clear_methods(struct fake_server *server);

/* How cells go to this client. */
enum fake_encoding fake_encoding_for(const struct fake_server *server,
                                     const struct fake_request *request);

/* Text and bytes as they came, cut to fit. */
void fake_note_text(char *to, size_t size, const char *from);
size_t fake_note_bytes(char *to, size_t size, ProtobufCBinaryData from);

#endif
