#ifndef KR_GRPC_STATE_H
#define KR_GRPC_STATE_H

#include "lib/grpc_module.h"
#include "lib/hash.h"

#include <grpc/grpc.h>

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

/* What the files of the module share. */

/* The way to one server. */
struct kr_grpc_channel {
  UT_hash_handle hh; /* the client's, by target */
  grpc_channel *channel;
  size_t streams;     /* lock; those under way */
  int64_t idle_since; /* lock; ms, while there are none */
  bool retired;       /* lock; in the hash no more: gone with its last stream */
  size_t target_len;
  char target[]; /* "dns:///host:port"; the key */
};

/* What a completion queue gives back: which batch of which stream has ended. */
struct kr_grpc_tag {
  _Atomic(struct kr_grpc_stream *) stream;
};

/* One call under way: a request, any number of answers, a status. */
struct kr_grpc_stream {
  UT_hash_handle hh; /* the client's, by number */
  uint64_t number;
  struct kr_grpc *grpc;
  struct kr_grpc_channel *channel;
  struct kr_grpc_events events;
  void *arg;
  grpc_call *call;
  atomic_int batches;   /* not back yet */
  atomic_bool was_sent; /* it was given to a connection; false = see its peer */
  struct kr_grpc_tag request, answer, end;

  size_t metadata_count;
  grpc_metadata *metadata; /* behind this struct */
  grpc_byte_buffer *message;
  grpc_metadata_array initial, trailing;
  grpc_byte_buffer *received; /* by the batch under way */
  grpc_status_code code;
  grpc_slice text;
};

struct kr_grpc {
  struct kr_mem *mem;
  struct kr_grpc_settings settings; /* without the texts */
  char *server_name;                /* for TLS; NULL = the host asked for */
  grpc_channel_credentials *credentials;
  grpc_completion_queue *queue;
  pthread_t thread;
  pid_t process; /* that made it */

  pthread_mutex_t lock;
  pthread_cond_t quiet;             /* lock; no stream is under way */
  struct kr_grpc_channel *channels; /* lock */
  struct kr_grpc_stream *streams;   /* lock; those that can be cancelled */
  size_t running;                   /* lock; streams not yet freed */
  uint64_t last_number;             /* lock */
  bool closing;                     /* lock */
};

#endif
