/*
 * What does the transport add to a read of an index? The same scan of meta2, to the same scripted
 * node, in turns, in three ways:
 *
 *   transport  from its start on the loop to its callback there
 *   module     of the gRPC client alone, from a thread that starts a call and waits for its end
 *   bare       gRPC core's own calls, from a thread that polls for itself and does nothing else
 *
 * Prints the medians of all, and the median of the ratios of the rounds. What is between bare and
 * module is a thread that has to wake another one, between module and transport one more.
 *
 * The node and each client are processes of their own: within one, threads that wait for gRPC take
 * over one another's work, which would be measured too.
 *
 *   range_bench [ROUNDS [PORT]]
 *   range_bench node | range_bench bare PORT | range_bench module PORT    what it starts for itself
 *
 * With a PORT the node is one that is there: it serves a table r2 of the index, with three ranges
 * or more that start at or below "key". test/bench/range_bench.sh has an emulator do so.
 */
#include "lib/bigtable_read.h"
#include "lib/bytes.h"
#include "lib/clock.h"
#include "lib/grpc_load.h"
#include "lib/latch.h"
#include "lib/transport_bigtable.h"
#include "test/fake_bigtable.h"
#include "test/must.h"

#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define INSTANCE "projects/keyroute/instances/keyroute"
#define TABLE INSTANCE "/tables/r2" /* of the region that is scanned */
#define PARAMS "table_name=projects%2Fkeyroute%2Finstances%2Fkeyroute%2Ftables%2Fr2"
#define READ_ROWS "/google.bigtable.v2.Bigtable/ReadRows"

enum { ROUND = 100, RANGES = 20, TIMEOUT_MS = 10000 };

static struct kr_mem *mem;
static int port; /* the node's */

static const struct kr_scan scan = {
    .region = {"meta2,,1.r2.", 12},
    .start_row = {"\x02key", 4},
    .stop_row = {"\x02", 1},
    .include_start = true,
    .include_stop = true,
    .reversed = true,
    .limit = 3,
    .family = "r",
};

/* ---- Through the transport ------------------------------------------------------------------- */

struct lap {
  struct kr_task task;
  struct kr_latch done;
  struct kr_transport *transport;
  int64_t began_us, *taken_us;
  int left;
};

static void answered(void *arg, const struct kr_failure *failure, const struct kr_rows *rows);

static void ask(struct lap *lap)
{
  lap->began_us = kr_clock_us();
  must_work(lap->transport->ops->scan(lap->transport, "127.0.0.1", port, &scan, TIMEOUT_MS,
                                      answered, lap) != NULL);
}

static void answered(void *arg, const struct kr_failure *failure, const struct kr_rows *rows)
{
  struct lap *lap = arg;

  must_work(failure->code == 0 && rows->count == 3);
  *lap->taken_us++ = kr_clock_us() - lap->began_us;
  if (--lap->left > 0) {
    ask(lap);
  } else {
    kr_latch_open(&lap->done);
  }
}

static void begin(struct kr_task *task)
{
  ask((struct lap *)task);
}

static void run_transport(struct kr_loop *loop, struct kr_transport *transport, int64_t *taken_us)
{
  struct lap lap = {
      .task = {.run = begin}, .transport = transport, .taken_us = taken_us, .left = ROUND};

  kr_latch_init(&lap.done);
  kr_loop_post(loop, &lap.task);
  kr_latch_await(&lap.done);
}

/* ---- Bare ------------------------------------------------------------------------------------ */

struct bare {
  grpc_completion_queue *queue;
  grpc_channel *channel;
  grpc_slice request;
};

static void open_bare(struct bare *bare)
{
  char target[40];
  struct kr_buf request;
  grpc_channel_credentials *plain = grpc_insecure_credentials_create();

  snprintf(target, sizeof(target), "127.0.0.1:%d", port);
  bare->queue = grpc_completion_queue_create_for_next(NULL);
  bare->channel = grpc_channel_create(target, plain, NULL);
  grpc_channel_credentials_release(plain);
  kr_buf_init(&request, mem);
  kr_bigtable_scan_write(&request, keyroute_string(TABLE), &scan);
  must_work(!request.failed);
  bare->request = grpc_slice_from_copied_buffer((const char *)request.data, request.len);
  kr_buf_clear(&request);
}

static void await(const struct bare *bare, const void *tag)
{
  grpc_event event;

  do {
    event = grpc_completion_queue_next(bare->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
    must_work(event.type == GRPC_OP_COMPLETE && event.success);
  } while (event.tag != tag);
}

static void close_bare(struct bare *bare)
{
  grpc_slice_unref(bare->request);
  grpc_channel_destroy(bare->channel);
  grpc_completion_queue_shutdown(bare->queue);
  while (grpc_completion_queue_next(bare->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL).type !=
         GRPC_QUEUE_SHUTDOWN) {
  }
  grpc_completion_queue_destroy(bare->queue);
}

/* Take messages until there is none. Returns how many came. */
static int take_messages(const struct bare *bare, grpc_call *call)
{
  for (int count = 0;; count++) {
    grpc_byte_buffer *message = NULL;
    grpc_op op = {.op = GRPC_OP_RECV_MESSAGE};

    op.data.recv_message.recv_message = &message;
    must_work(grpc_call_start_batch(call, &op, 1, &message, NULL) == GRPC_CALL_OK);
    await(bare, &message);
    if (message == NULL) {
      return count;
    }
    grpc_byte_buffer_reader reader;

    must_work(grpc_byte_buffer_reader_init(&reader, message) != 0);
    grpc_slice whole = grpc_byte_buffer_reader_readall(&reader);

    grpc_slice_unref(whole);
    grpc_byte_buffer_reader_destroy(&reader);
    grpc_byte_buffer_destroy(message);
  }
}

static void send_bare(grpc_call *call, grpc_metadata *metadata, grpc_byte_buffer *message,
                      grpc_metadata_array *initial)
{
  grpc_op ops[4] = {{0}};

  ops[0].op = GRPC_OP_SEND_INITIAL_METADATA;
  ops[0].data.send_initial_metadata.count = 2;
  ops[0].data.send_initial_metadata.metadata = metadata;
  ops[1].op = GRPC_OP_SEND_MESSAGE;
  ops[1].data.send_message.send_message = message;
  ops[2].op = GRPC_OP_SEND_CLOSE_FROM_CLIENT;
  ops[3].op = GRPC_OP_RECV_INITIAL_METADATA;
  ops[3].data.recv_initial_metadata.recv_initial_metadata = initial;
  must_work(grpc_call_start_batch(call, ops, 4, NULL, NULL) == GRPC_CALL_OK);
}

/* The status comes last. */
static void await_status(const struct bare *bare, grpc_call *call)
{
  grpc_op op = {.op = GRPC_OP_RECV_STATUS_ON_CLIENT};
  grpc_metadata_array trailing;
  grpc_status_code code;
  grpc_slice text = grpc_empty_slice();

  grpc_metadata_array_init(&trailing);
  op.data.recv_status_on_client.trailing_metadata = &trailing;
  op.data.recv_status_on_client.status = &code;
  op.data.recv_status_on_client.status_details = &text;
  must_work(grpc_call_start_batch(call, &op, 1, &op, NULL) == GRPC_CALL_OK);
  await(bare, &op);
  must_work(code == GRPC_STATUS_OK);
  grpc_slice_unref(text);
  grpc_metadata_array_destroy(&trailing);
}

static void call_bare(const struct bare *bare)
{
  gpr_timespec deadline =
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(TIMEOUT_MS, GPR_TIMESPAN));
  grpc_slice method = grpc_slice_from_static_string(READ_ROWS);
  grpc_call *call = grpc_channel_create_call(bare->channel, NULL, GRPC_PROPAGATE_DEFAULTS,
                                             bare->queue, method, NULL, deadline, NULL);
  grpc_metadata metadata[2];
  grpc_metadata_array initial;
  grpc_slice request = grpc_slice_ref(bare->request);
  grpc_byte_buffer *message = grpc_raw_byte_buffer_create(&request, 1);

  memset(metadata, 0, sizeof(metadata));
  metadata[0].key = grpc_slice_from_static_string("bigtable-features");
  metadata[0].value = grpc_slice_from_static_string("CAE=");
  metadata[1].key = grpc_slice_from_static_string("x-goog-request-params");
  metadata[1].value = grpc_slice_from_static_string(PARAMS);
  grpc_metadata_array_init(&initial);
  send_bare(call, metadata, message, &initial);
  must_work(take_messages(bare, call) > 0);
  await_status(bare, call);
  grpc_metadata_array_destroy(&initial);
  grpc_byte_buffer_destroy(message);
  grpc_slice_unref(request);
  grpc_call_unref(call);
}

static void run_bare(const struct bare *bare, int64_t *taken_us)
{
  for (int i = 0; i < ROUND; i++) {
    int64_t began_us = kr_clock_us();

    call_bare(bare);
    taken_us[i] = kr_clock_us() - began_us;
  }
}

/* ---- The module alone ------------------------------------------------------------------------ */

static void pass_message(void *arg, struct keyroute_bytes message)
{
  (void)message;
  ++*(int *)arg;
}

static sem_t ended;

static void end_call(void *arg, const struct kr_grpc_status *status)
{
  must_work(status->code == GRPC_STATUS_OK && *(int *)arg > 0);
  sem_post(&ended);
}

static void run_module(const struct kr_grpc_module *module, struct kr_grpc *grpc,
                       const struct kr_grpc_request *request, int64_t *taken_us)
{
  static const struct kr_grpc_events events = {pass_message, end_call};
  uint64_t connects;

  for (int i = 0; i < ROUND; i++) {
    int64_t began_us = kr_clock_us();
    int messages = 0;

    must_work(module->start(grpc, request, &events, &messages, &connects) != NULL);
    sem_wait(&ended);
    taken_us[i] = kr_clock_us() - began_us;
  }
}

/* ---- Medians --------------------------------------------------------------------------------- */

static int compare(const void *left, const void *right)
{
  double a = *(const double *)left, b = *(const double *)right;

  return (a > b) - (a < b);
}

static double median(const double *values, int count)
{
  double *sorted = must(malloc((size_t)count * sizeof(*sorted)));

  memcpy(sorted, values, (size_t)count * sizeof(*sorted));
  qsort(sorted, (size_t)count, sizeof(*sorted), compare);
  double middle = sorted[count / 2];

  free(sorted);
  return middle;
}

static double median_of_round(const int64_t *taken_us)
{
  double values[ROUND];

  for (int i = 0; i < ROUND; i++) {
    values[i] = (double)taken_us[i];
  }
  return median(values, ROUND);
}

/* ---- Processes ------------------------------------------------------------------------------- */

/* This program once more, with its arguments behind the name. Ends when `to` is closed. */
struct process {
  FILE *to, *from;
  pid_t pid;
};

static void start_process(struct process *process, const char *name, const char *argument)
{
  int in[2], out[2];

  must_work(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
  process->pid = fork();
  must_work(process->pid >= 0);
  if (process->pid == 0) {
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    execl("/proc/self/exe", "range_bench", name, argument, (char *)NULL);
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  process->to = must(fdopen(in[1], "w"));
  process->from = must(fdopen(out[0], "r"));
}

static void end_process(struct process *process)
{
  fclose(process->to);
  fclose(process->from);
  waitpid(process->pid, NULL, 0);
}

static double read_number(struct process *process)
{
  double number;

  must_work(fscanf(process->from, "%lf", &number) == 1);
  return number;
}

/* A round of the bare client. */
static double round_of(struct process *process)
{
  fputs("\n", process->to);
  fflush(process->to);
  return read_number(process);
}

static void print_number(double number)
{
  printf("%.0f\n", number);
  fflush(stdout);
}

static void publish_ranges(struct fake_bigtable *nodes)
{
  const struct kr_descriptor_replica replica = {1, keyroute_string("node1.example"), 7001};
  char start[16];

  fake_bigtable_make(nodes, 0, 2);
  for (int i = 0; i < RANGES; i++) {
    struct kr_descriptor range = {
        .id = 10 + (uint64_t)i, .generation = 5, .replicas = &replica, .replica_count = 1};

    snprintf(start, sizeof(start), "k%02d", i);
    range.start_key = keyroute_string(i > 0 ? start : "");
    range.end_key = keyroute_string("l");
    fake_bigtable_publish(nodes, 0, 2, 2, &range);
  }
}

static void be_node(void)
{
  struct fake_bigtable *nodes = fake_bigtable_start(1);

  publish_ranges(nodes);
  print_number(fake_bigtable_port(nodes, 0));
  while (getchar() != EOF) {
  }
  fake_bigtable_stop(nodes);
}

static void be_bare(void)
{
  int64_t taken_us[ROUND];
  struct bare bare;

  grpc_init();
  open_bare(&bare);
  while (getchar() != EOF) {
    run_bare(&bare, taken_us);
    print_number(median_of_round(taken_us));
  }
  close_bare(&bare);
  grpc_shutdown();
}

static void be_module(void)
{
  static const struct kr_grpc_metadata metadata[] = {
      {"bigtable-features", {"CAE=", 4}},
      {"x-goog-request-params", {PARAMS, sizeof(PARAMS) - 1}},
  };
  const struct kr_grpc_settings settings = {.max_message_len = 1 << 20,
                                            .connect_timeout_ms = TIMEOUT_MS};
  const struct kr_grpc_module *module;
  struct kr_grpc *grpc;
  struct kr_buf message;
  int64_t taken_us[ROUND];
  const char *reason;

  must_work(kr_grpc_load(&module, &reason) == 0 && sem_init(&ended, 0, 0) == 0);
  must_work(module->open(&grpc, &settings, &reason) == 0);
  kr_buf_init(&message, mem);
  kr_bigtable_scan_write(&message, keyroute_string(TABLE), &scan);
  const struct kr_grpc_request request = {
      .host = "127.0.0.1",
      .port = port,
      .method = READ_ROWS,
      .metadata = metadata,
      .metadata_count = 2,
      .message = kr_buf_view(&message),
      .timeout_ms = TIMEOUT_MS,
  };

  while (getchar() != EOF) {
    run_module(module, grpc, &request, taken_us);
    print_number(median_of_round(taken_us));
  }
  kr_buf_clear(&message);
  module->close(grpc);
}

/* ---- All of them ----------------------------------------------------------------------------- */

/* The clients that are processes of their own. */
enum { BARE, MODULE, OTHERS };
static const char *const names[OTHERS] = {"bare", "module"};

static void measure(int rounds, struct kr_loop *loop, struct kr_transport *transport,
                    struct process *others)
{
  double *ours = must(malloc((size_t)rounds * sizeof(*ours)));
  double *theirs[OTHERS], *ratios[OTHERS];
  int64_t taken_us[ROUND];

  for (int k = 0; k < OTHERS; k++) {
    theirs[k] = must(malloc((size_t)rounds * sizeof(*theirs[k])));
    ratios[k] = must(malloc((size_t)rounds * sizeof(*ratios[k])));
  }
  for (int i = -1; i < rounds; i++) { /* the first one is for warmth */
    run_transport(loop, transport, taken_us);
    ours[i > 0 ? i : 0] = median_of_round(taken_us);
    for (int k = 0; k < OTHERS; k++) {
      theirs[k][i > 0 ? i : 0] = round_of(&others[k]);
      ratios[k][i > 0 ? i : 0] = ours[i > 0 ? i : 0] / theirs[k][i > 0 ? i : 0];
    }
  }
  printf("read of meta2, %d rounds of %d: transport %.0f us", rounds, ROUND, median(ours, rounds));
  for (int k = 0; k < OTHERS; k++) {
    printf("; %s %.0f us, ratio %.2f", names[k], median(theirs[k], rounds),
           median(ratios[k], rounds));
    free(theirs[k]);
    free(ratios[k]);
  }
  printf("\n");
  free(ours);
}

static void compare_all(int rounds, struct process *others)
{
  struct kr_settings settings = {.mem = mem,
                                 .connect_timeout_ms = TIMEOUT_MS,
                                 .max_frame_len = 1 << 20,
                                 .max_queue_len = 1 << 20};
  struct kr_stats *stats = must(kr_stats_new(mem));
  const struct kr_grpc_module *module;
  struct kr_transport *transport;
  struct kr_loop *loop;
  const char *reason;

  must_work(kr_grpc_load(&module, &reason) == 0);
  must_work(kr_loop_new(&loop, mem) == 0);
  must_work(kr_transport_bigtable_new(&transport, mem, loop, INSTANCE, &settings, stats, module,
                                      NULL) == 0);
  measure(rounds, loop, transport, others);
  kr_loop_end(loop); /* no request is out, so there is nothing to shut down */
  transport->ops->free(transport);
  kr_loop_free(loop);
  kr_stats_free(stats);
}

/* Against the node on `port`. */
static void run(int rounds)
{
  struct process others[OTHERS];
  char text[16];

  snprintf(text, sizeof(text), "%d", port);
  for (int k = 0; k < OTHERS; k++) {
    start_process(&others[k], names[k], text);
  }
  compare_all(rounds, others);
  for (int k = 0; k < OTHERS; k++) {
    end_process(&others[k]);
  }
}

static void run_with_node(int rounds)
{
  struct process node;

  start_process(&node, "node", NULL);
  port = (int)read_number(&node);
  run(rounds);
  end_process(&node);
}

int main(int argc, char **argv)
{
  int rounds = argc > 1 ? atoi(argv[1]) : 50;

  setenv("KEYROUTE_MODULE_DIR", BUILT_MODULE_DIR, 0);
  mem = must(kr_mem_new(NULL));
  if (argc == 2 && strcmp(argv[1], "node") == 0) {
    be_node();
  } else if (argc == 3 && strcmp(argv[1], "bare") == 0) {
    port = atoi(argv[2]);
    be_bare();
  } else if (argc == 3 && strcmp(argv[1], "module") == 0) {
    port = atoi(argv[2]);
    be_module();
  } else if (rounds > 0 && argc > 2) {
    port = atoi(argv[2]);
    run(rounds);
  } else if (rounds > 0) {
    run_with_node(rounds);
  } else {
    fprintf(stderr, "usage: range_bench [ROUNDS [PORT]]\n");
    return 2;
  }
  kr_mem_release(mem);
  return 0;
}
