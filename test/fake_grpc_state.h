#ifndef FAKE_GRPC_STATE_H
#define FAKE_GRPC_STATE_H

/* What the files of the fake gRPC server share. */

#include "test/fake_grpc_server.h"

#include <grpc/grpc.h>
#include <pthread.h>

struct fake_grpc_played; /* a call, from the wait for it to its end */

struct fake_grpc_handled {
  struct fake_grpc_handled *next;
  char *method;
  fake_grpc_handler *handler;
  void *arg;
};

/* What the completion queue gives back: which batch of a call it was. */
struct fake_grpc_tag {
  void (*take)(struct fake_grpc_tag *tag, bool good);
  struct fake_grpc_played *played;
};

struct fake_grpc_server {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct fake_grpc_handled *handlers; /* lock */
  unsigned seen, open;                /* lock */

  int port;
  char *certificate, *key; /* NULL = no TLS */
  char *client_roots;      /* NULL = asks clients for nothing */
  grpc_server *server;     /* while it runs, as what follows */
  grpc_completion_queue *queue;
  pthread_t thread;
  struct fake_grpc_tag stopped;
  bool has_stopped;                /* thread */
  bool awaits;                     /* thread; gRPC is to tell of the next call */
  struct fake_grpc_played *paused; /* thread */
};

/* Count the connections of a server's port to a client's, or to any for 0, and break them. */
unsigned fake_grpc_visit_connections(int port, int peer_port, bool breaks);

/* Have gRPC tell of the next call; it is played, and the one behind it awaited. */
void fake_grpc_await_call(struct fake_grpc_server *server);

/* Go on with the calls whose time has come. Returns the ms until the next one's. */
int64_t fake_grpc_play_due(struct fake_grpc_server *server);

#endif
