/*
 * Rows asked about many at a time, and answered in the order asked.
 *
 * First everything that can be wrong with the command line is found out: that is exit status 2, and
 * nothing has been sent to anybody by then. Then the rows are asked about.
 *
 *  1. Up to `jobs` calls are under way, in a ring of turns in the order of the rows. Answers are
 *     taken from the ring's head, so they come in the order asked whatever the order they arrive.
 *     Memory is bounded by the ring and the slice, however many rows there are.
 *  2. The library calls the command's callback on its loop thread, which keeps what it is given in
 *     its turn and wakes the main thread. All printing is done by the main thread.
 *  3. What is printed is flushed before every wait, be it for an answer or for a row from a pipe: a
 *     reader sees each answer as soon as there is one, and an interrupt loses none. While a pipe
 *     has no row, answers that are due are waited for instead.
 *  4. Rows of arguments and regular files are all checked before the first is asked about. A bad
 *     line of a pipe comes too late for that: it gets an answer of its own that names the line, the
 *     rest is answered, and the exit status is 2 in the end.
 */
#include "tools/order.h"

#include "tools/check.h"
#include "tools/cli.h"
#include "tools/connect.h"
#include "tools/progress.h"
#include "tools/text.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct order_ring {
  struct turn *turns;
  size_t room, head, count;
  pthread_mutex_t lock; /* of what callbacks write */
  pthread_cond_t answered;
  struct row held; /* a bad line that ended a slice, and is a turn of its own */
  bool holds;
  int read_error; /* errno */
};

/* ---- Turns ---------------------------------------------------------------------------------- */

void order_answer(struct turn *turn, int error, const struct keyroute_detail *detail)
{
  struct order_ring *ring = turn->order->ring;

  pthread_mutex_lock(&ring->lock);
  outcome_copy(&turn->outcome, error, detail);
  turn->done = true;
  pthread_cond_signal(&ring->answered);
  pthread_mutex_unlock(&ring->lock);
}

struct keyroute_key *order_keys(const struct turn *turn)
{
  struct keyroute_key *keys = cli_alloc(turn->row_count * sizeof(*keys));

  for (size_t i = 0; i < turn->row_count; i++) {
    keys[i] = (struct keyroute_key){turn->order->line->table, row_bytes(&turn->rows[i])};
  }
  return keys;
}

/* An answer without a call: the row cannot be read, or the call not be made. */
static void answer_without(struct turn *turn, int error, const char *message)
{
  turn->outcome.error = error;
  turn->outcome.message = cli_copy(message);
  turn->done = true;
}

static void free_turn(struct turn *turn)
{
  turn->order->work->release(turn->got);
  outcome_clear(&turn->outcome);
  for (size_t i = 0; i < turn->row_count; i++) {
    free(turn->rows[i].data);
  }
  free(turn->rows);
}

static bool head_is_done(struct order_ring *ring)
{
  pthread_mutex_lock(&ring->lock);
  bool done = ring->turns[ring->head].done;
  pthread_mutex_unlock(&ring->lock);
  return done;
}

static void await(struct order_ring *ring, const struct turn *turn)
{
  cli_flush();
  pthread_mutex_lock(&ring->lock);
  while (!turn->done) {
    pthread_cond_wait(&ring->answered, &ring->lock);
  }
  pthread_mutex_unlock(&ring->lock);
}

static void drop_head(struct order_ring *ring)
{
  free_turn(&ring->turns[ring->head]);
  ring->head = (ring->head + 1) % ring->room;
  ring->count--;
}

/* Wait for the answer at the head of the ring, have it taken, and free its turn. */
static void finish_head(struct order *order)
{
  struct order_ring *ring = order->ring;
  struct turn *turn = &ring->turns[ring->head];

  if (!head_is_done(ring)) {
    await(ring, turn);
  }
  order->work->take(turn);
  if (ferror(stdout)) {
    cli_flush(); /* keeps the reason */
  }
  progress_set(order->asked, order->failed);
  drop_head(ring);
}

/* ---- What became of a row ------------------------------------------------------------------- */

static void complain_about(const struct order *order, const struct row *row, int error,
                           const char *message)
{
  char *text = text_bytes(row_bytes(row), order->line->output.hex);

  cli_complain("%s row %s: %s: %s", order->table, text[0] != '\0' ? text : "\"\"",
               keyroute_errname(error), message);
  free(text);
}

void order_count(struct order *order, const struct row *row, int error, const char *message)
{
  order->asked++;
  order->failed += error != 0;
  order->unasked += outcome_unasked(error);
  /* An answer that could not be written is trouble of another kind, which main tells. */
  if (error != 0 && !order->line->quiet && cli_flush() == 0) {
    complain_about(order, row, error, message);
  }
}

void order_count_missing(struct order *order)
{
  order->asked++;
  order->missing++;
}

/* ---- Asking --------------------------------------------------------------------------------- */

static int next_row(struct order *order, struct row *row)
{
  struct order_ring *ring = order->ring;

  if (ring->holds) {
    *row = ring->held;
    ring->holds = false;
    return 1;
  }
  int more = rows_next(order->rows, row);
  if (more < 0) {
    ring->read_error = errno;
  }
  return more;
}

static bool has_enough(const struct order *order, const struct turn *turn)
{
  return turn->row_count > 0 && (turn->row_count >= order->slice || turn->rows[0].reason != NULL ||
                                 (order->work->eager && rows_would_wait(order->rows)));
}

/* Read a turn's rows: a slice, or what a pipe has, or one bad line. False if no more will come. */
static bool read_slice(struct order *order, struct turn *turn)
{
  size_t room = 0;
  struct row row;

  while (!has_enough(order, turn)) {
    if (next_row(order, &row) <= 0) {
      return false;
    }
    if (row.reason != NULL && turn->row_count > 0) {
      order->ring->held = row;
      order->ring->holds = true;
      return true;
    }
    if (turn->row_count == room) {
      room = room > 0 ? 2 * room : 1;
      turn->rows = cli_realloc(turn->rows, room * sizeof(*turn->rows));
    }
    turn->rows[turn->row_count++] = row;
  }
  return true;
}

static void start(struct order *order, struct turn *turn)
{
  const struct row *row = &turn->rows[0];
  char message[128];

  if (row->reason != NULL) {
    snprintf(message, sizeof(message), "line %zu: %s", row->line, row->reason);
    answer_without(turn, KEYROUTE_E_INVALID_ARGUMENT, message);
    order->unreadable++;
    return;
  }
  int error = order->work->ask(turn);
  if (error != 0) {
    answer_without(turn, error, keyroute_strerror(error));
  }
}

/* Ask about the next rows. False if there are no more behind them. */
static bool ask_next(struct order *order)
{
  struct order_ring *ring = order->ring;
  struct turn *turn = &ring->turns[(ring->head + ring->count) % ring->room];

  *turn = (struct turn){.order = order};
  bool more = read_slice(order, turn);
  if (turn->row_count > 0) {
    ring->count++;
    start(order, turn);
  }
  return more;
}

static void ask_all(struct order *order)
{
  struct order_ring *ring = order->ring;
  bool more = true;

  while (!ferror(stdout) && (more || ring->count > 0)) {
    bool waits = more && !ring->holds && rows_would_wait(order->rows);

    if (ring->count > 0 && (!more || waits || ring->count == ring->room || head_is_done(ring))) {
      finish_head(order);
      continue;
    }
    if (waits) {
      cli_flush();
    }
    more = ask_next(order);
  }
}

static int status_of(const struct order *order)
{
  if (order->ring->read_error != 0) {
    cli_complain("%s: %s", rows_name(order->rows), strerror(order->ring->read_error));
    return CLI_USAGE;
  }
  if (order->unreadable > 0) {
    return CLI_USAGE;
  }
  if (order->failed > 0 || order->missing > 0) {
    return order->unasked == order->asked ? CLI_TROUBLE : CLI_NOT_FOUND;
  }
  return CLI_FOUND;
}

/* ---- All of it ------------------------------------------------------------------------------ */

static struct rows *open_rows(struct line *line, struct row_rules rules)
{
  struct rows *rows = NULL;

  rules.hex = line->output.hex;
  if (line->rows_from == NULL) {
    rows = rows_from_arguments(line->rows, line->row_count, rules);
  } else {
    rows = rows_from_file(line->rows_from, rules);
  }
  if (rows == NULL) {
    cli_complain("%s: %s", line->rows_from, strerror(errno));
    return NULL;
  }
  size_t width = rows_width(rows);
  line->output.row_width = width < 16 ? 16 : width > 40 ? 40 : width;
  return rows;
}

/* Open the connection, and find out what is wrong. Returns an exit status, or -1 for go on. */
static int prepare(struct order *order)
{
  const struct line *line = order->line;
  int status = connect_open(&order->conn, line);

  if (status == -1) {
    status = check_row(order->conn, line->table, keyroute_string(""));
  }
  if (status == -1 && order->work->check != NULL) {
    status = order->work->check(line, order->conn);
  }
  return status == -1 ? check_rows(order->conn, line->table, order->rows) : status;
}

static void open_ring(struct order_ring *ring, size_t jobs)
{
  *ring = (struct order_ring){.room = jobs, .turns = cli_alloc(jobs * sizeof(*ring->turns))};
  pthread_mutex_init(&ring->lock, NULL);
  pthread_cond_init(&ring->answered, NULL);
}

/* Once the connection is closed: no callback comes any more. */
static void close_ring(struct order_ring *ring)
{
  while (ring->count > 0) {
    drop_head(ring);
  }
  if (ring->holds) {
    free(ring->held.data);
  }
  pthread_cond_destroy(&ring->answered);
  pthread_mutex_destroy(&ring->lock);
  free(ring->turns);
}

int order_run(const struct order_work *work, struct line *line, void *payload,
              void (*begin)(const struct order *order), void (*end)(const struct order *order))
{
  struct order_ring ring;
  struct order order = {.line = line, .work = work, .payload = payload, .ring = &ring};

  order.rows = open_rows(line, work->rules);
  if (order.rows == NULL) {
    return CLI_USAGE;
  }
  order.table = connect_canonical(line->table);
  order.slice = work->slice;
  open_ring(&ring, line->jobs > 0 ? (size_t)line->jobs : work->jobs);
  int status = prepare(&order);
  if (status == -1) {
    if (begin != NULL) {
      begin(&order);
    }
    progress_begin("rows", line->quiet, work->answers || line->output.json);
    ask_all(&order);
    progress_end();
    if (end != NULL) {
      end(&order);
    }
    status = status_of(&order);
  }
  keyroute_close(order.conn);
  close_ring(&ring);
  rows_free(order.rows);
  return status;
}
