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
  enum fake_after after;
};

struct fake_turn; /* a fault that is still to come */

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
  enum fake_encoding encoding;
  struct fake_counts counts;
  struct fake_seen seen;
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

/* A request that is being answered; all borrowed. */
struct fake_request {
  const struct fake_conn *conn;
  const Kr__Pb__RequestHeader *header;
  ProtobufCBinaryData param;
  const void *message; /* the parameter, unpacked by who answers it */
  uint32_t call_id;    /* the answer's */
};

/* Writes the right answer, or what the fault makes of it. */
typedef struct fake_out (*fake_answerer)(struct fake_server *server,
                                         const struct fake_request *request,
                                         const struct fake_fault *fault);

/* Answer a request as the faults to come have it. */
void fake_play(struct fake_server *server, const struct fake_request *request,
               fake_answerer answerer);

/* Answer with an exception, whatever faults there are. */
void fake_refuse(struct fake_server *server, const struct fake_conn *conn, uint32_t call_id,
                 const char *class_name, const char *text);

/* The same about the connection, which is closed then. */
void fake_refuse_conn(struct fake_server *server, const struct fake_conn *conn,
                      const char *class_name, const char *text);

void fake_clear_turns(struct fake_server *server);

/* ---- Methods -------------------------------------------------------------------------------- */

/* fake_scans.c */
void fake_run_scan(struct fake_server *server, struct fake_request *request);

/* How cells go to this client. */
enum fake_encoding fake_encoding_for(const struct fake_server *server,
                                     const struct fake_request *request);

/* Text and bytes as they came, cut to fit. */
void fake_note_text(char *to, size_t size, const char *from);
size_t fake_note_bytes(char *to, size_t size, ProtobufCBinaryData from);

#endif
