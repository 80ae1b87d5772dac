/*
 * What a call costs through the gRPC module, against the same call made with gRPC core's own
 * functions in the least way: one batch, and the caller itself in the completion queue. One server
 * for both, in this process; calls one at a time; rounds in turn.
 *
 *   KEYROUTE_MODULE_DIR=build/module build/test/bench/grpc_bench [ROUNDS]
 */
#include "lib/grpc_load.h"

#include "test/fake_grpc_server.h"
#include "test/must.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define METHOD "/bench.Service/Echo"
enum { CALLS = 500, MAX_ROUNDS = 101 };

static double now_us(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void echo(void *arg, struct fake_grpc_call *call)
{
  (void)arg;
  fake_grpc_message(call, fake_grpc_request(call));
}

/* ---- Through the module --------------------------------------------------------------------- */

struct wait {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int code; /* lock; -1 = under way */
};

static void take_message(void *arg, struct keyroute_bytes message)
{
  (void)arg;
  (void)message;
}

static void take_done(void *arg, const struct kr_grpc_status *status)
{
  struct wait *wait = arg;

  pthread_mutex_lock(&wait->lock);
  wait->code = status->code;
  pthread_cond_signal(&wait->changed);
  pthread_mutex_unlock(&wait->lock);
}

static const struct kr_grpc_events events = {take_message, take_done};

static void call_module(const struct kr_grpc_module *module, struct kr_grpc *client,
                        const struct kr_grpc_request *request)
{
  struct wait wait = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, -1};
  uint64_t connects = 0;

  must_work(module->start(client, request, &events, &wait, &connects) != NULL);
  pthread_mutex_lock(&wait.lock);
  while (wait.code < 0) {
    pthread_cond_wait(&wait.changed, &wait.lock);
  }
  pthread_mutex_unlock(&wait.lock);
  must_work(wait.code == 0);
}

/* ---- With gRPC core alone ------------------------------------------------------------------- */

struct core {
  grpc_completion_queue *queue;
  grpc_channel *channel;
};

static struct core open_core(int port)
{
  grpc_channel_credentials *credentials = grpc_insecure_credentials_create();
  char target[32];

  snprintf(target, sizeof(target), "127.0.0.1:%d", port);
  struct core core = {grpc_completion_queue_create_for_pluck(NULL),
                      grpc_channel_create(target, credentials, NULL)};

  grpc_channel_credentials_release(credentials);
  return core;
}

static void close_core(struct core *core)
{
  grpc_channel_destroy(core->channel);
  grpc_completion_queue_shutdown(core->queue);
  grpc_completion_queue_destroy(core->queue);
}

static void call_core(struct core *core, struct keyroute_bytes message)
{
  gpr_timespec never = gpr_inf_future(GPR_CLOCK_MONOTONIC);
  grpc_slice method = grpc_slice_from_static_string(METHOD), text = grpc_empty_slice();
  grpc_slice sent = grpc_slice_from_copied_buffer(message.data, message.len);
  grpc_byte_buffer *request = grpc_raw_byte_buffer_create(&sent, 1), *answer = NULL;
  grpc_call *call = grpc_channel_create_call(core->channel, NULL, GRPC_PROPAGATE_DEFAULTS,
                                             core->queue, method, NULL, never, NULL);
  grpc_metadata_array initial, trailing;
  grpc_status_code code;
  grpc_op ops[6] = {{0}};

  grpc_metadata_array_init(&initial);
  grpc_metadata_array_init(&trailing);
  ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
  ops[1].op = GRPC_OP_SEND_MESSAGE;
  ops[1].data.send_message.send_message = request;
  ops[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
  ops[3].op = GRPC_OP_RECV_INITIAL_METADATA;
  ops[3].data.recv_initial_metadata.recv_initial_metadata = &initial;
  ops[4].op = GRPC_OP_RECV_MESSAGE;
  ops[4].data.recv_message.recv_message = &answer;
  ops[5].op = GRPC_OP_RECV_STATUS_ON_CLIENT;
  ops[5].data.recv_status_on_client.trailing_metadata = &trailing;
  ops[5].data.recv_status_on_client.status = &code;
  ops[5].data.recv_status_on_client.status_details = &text;
  must_work(grpc_call_start_batch(call, ops, 6, ops, NULL) == GRPC_CALL_OK);
  grpc_completion_queue_pluck(core->queue, ops, never, NULL);
  must_work(code == GRPC_STATUS_OK);
  grpc_byte_buffer_destroy(request);
  grpc_byte_buffer_destroy(answer);
  grpc_metadata_array_destroy(&initial);
  grpc_metadata_array_destroy(&trailing);
  grpc_slice_unref(sent);
  grpc_slice_unref(text);
  grpc_call_unref(call);
}

/* ---- Rounds --------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

static void print(const char *what, double *figures, int count)
{
  qsort(figures, (size_t)count, sizeof(*figures), compare);
  printf("%-8s %8.2f (%.2f to %.2f)\n", what, figures[count / 2], figures[0], figures[count - 1]);
}

int main(int count, char **arguments)
{
  static double module_us[MAX_ROUNDS], core_us[MAX_ROUNDS], ratio[MAX_ROUNDS];
  int rounds = count > 1 ? atoi(arguments[1]) : 11;
  const struct kr_grpc_module *module;
  struct kr_grpc *client;
  const char *reason = "";
  struct kr_grpc_settings settings = {.max_message_len = 1 << 20, .connect_timeout_ms = 5000};
  struct fake_grpc_server *server = fake_grpc_server_start(0);
  struct kr_grpc_request request = {.host = "127.0.0.1",
                                    .port = fake_grpc_server_port(server),
                                    .method = METHOD,
                                    .message = keyroute_string("a hundred bytes or so"),
                                    .timeout_ms = 60000};

  rounds = rounds > 0 && rounds <= MAX_ROUNDS ? rounds : MAX_ROUNDS;
  fake_grpc_server_handle(server, METHOD, echo, NULL);
  must_work(kr_grpc_load(&module, &reason) == 0);
  must_work(module->open(&client, &settings, &reason) == 0);
  struct core core = open_core(request.port);

  for (int round = -1; round < rounds; round++) { /* the first one warms up */
    double began = now_us();

    for (int i = 0; i < CALLS; i++) {
      call_module(module, client, &request);
    }
    double between = now_us();

    for (int i = 0; i < CALLS; i++) {
      call_core(&core, request.message);
    }
    if (round >= 0) {
      module_us[round] = (between - began) / CALLS;
      core_us[round] = (now_us() - between) / CALLS;
      ratio[round] = module_us[round] / core_us[round];
    }
  }
  printf("us a call, medians of %d rounds of %d calls, one at a time\n", rounds, CALLS);
  print("module", module_us, rounds);
  print("core", core_us, rounds);
  print("ratio", ratio, rounds);
  close_core(&core);
  module->close(client);
  fake_grpc_server_free(server);
  return 0;
}
