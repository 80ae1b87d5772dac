/*
 * keyroute locate: which server holds these rows?
 *
 * First everything that can be wrong with the command line is found out (line_parse, connect_open,
 * check_rows): that is exit status 2, and nothing has been sent to anybody by then. Then rows are
 * looked up (look_up_all).
 *
 *  1. Up to `jobs` lookups are under way, in a ring of slots in the order of the rows. Answers are
 *     printed from the ring's head, so they come in the order asked whatever the order they arrive.
 *     Memory is bounded by the ring, however many rows there are.
 *  2. The library calls answer() on its loop thread, which copies what it is given into its slot
 *     and wakes the main thread. All printing is done by the main thread.
 *  3. What is printed is flushed before every wait, be it for an answer or for a row from a pipe: a
 *     reader sees each answer as soon as there is one, and an interrupt loses none.
 *  4. Rows of arguments and regular files are all checked before the first is looked up. A bad line
 *     of a pipe comes too late for that: it gets an answer of its own that names the line, the rest
 *     is answered, and the exit status is 2 in the end.
 */
#include "keyroute/keyroute.h"

#include "tools/cli.h"
#include "tools/connect.h"
#include "tools/line.h"
#include "tools/outcome.h"
#include "tools/rows.h"
#include "tools/show_locate.h"
#include "tools/text.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Lookups -------------------------------------------------------------------------------- */

struct run;

/* A lookup under way or answered. Main thread, but for what answer() writes under the lock. */
struct slot {
  struct run *run;
  struct row row;
  struct outcome outcome;
  struct keyroute_location *location; /* NULL on error */
  bool done;
};

struct run {
  const struct line *line;
  struct keyroute_connection *conn;
  struct rows *rows;
  char *table; /* canonical */
  struct slot *slots;
  size_t room, head, count; /* the ring */
  pthread_mutex_t lock;     /* of every slot's outcome, location and done */
  pthread_cond_t answered;
  size_t asked, failed, unasked, unreadable;
};

/* The library's callback, on its loop thread. */
static void answer(void *payload, int error, struct keyroute_location *location,
                   const struct keyroute_detail *detail)
{
  struct slot *slot = payload;
  struct run *run = slot->run;

  pthread_mutex_lock(&run->lock);
  slot->location = error == 0 ? keyroute_location_ref(location) : NULL;
  outcome_copy(&slot->outcome, error, detail);
  slot->done = true;
  pthread_cond_signal(&run->answered);
  pthread_mutex_unlock(&run->lock);
}

/* An answer that needs no lookup: the row cannot be read, or the call not be made. */
static void answer_without(struct slot *slot, int error, const char *message)
{
  slot->outcome.error = error;
  slot->outcome.message = cli_copy(message);
  slot->done = true;
}

static void start(struct run *run, const struct row *row)
{
  struct slot *slot = &run->slots[(run->head + run->count++) % run->room];
  char message[128];

  *slot = (struct slot){.run = run, .row = *row};
  if (row->reason != NULL) {
    snprintf(message, sizeof(message), "line %zu: %s", row->line, row->reason);
    answer_without(slot, KEYROUTE_E_INVALID_ARGUMENT, message);
    run->unreadable++;
    return;
  }
  int error = keyroute_locate_async(NULL, run->conn, run->line->table, row_bytes(row),
                                    &run->line->call, answer, slot);
  if (error != 0) {
    answer_without(slot, error, keyroute_strerror(error));
  }
}

/* Was the row not even asked about, since nobody could be? */
static bool was_not_asked(int error)
{
  return error == KEYROUTE_E_BOOTSTRAP || error == KEYROUTE_E_RESOLVE ||
         error == KEYROUTE_E_UNREACHABLE || error == KEYROUTE_E_AUTH || error == KEYROUTE_E_TIMEOUT;
}

static void complain_about(const struct run *run, const struct slot *slot)
{
  char *row = text_bytes(row_bytes(&slot->row), run->line->output.hex);

  cli_complain("%s row %s: %s: %s", run->table, row[0] != '\0' ? row : "\"\"",
               keyroute_errname(slot->outcome.error), outcome_message(&slot->outcome));
  free(row);
}

static void free_slot(struct slot *slot)
{
  keyroute_location_release(slot->location);
  outcome_clear(&slot->outcome);
  free(slot->row.data);
}

static bool head_is_done(struct run *run)
{
  pthread_mutex_lock(&run->lock);
  bool done = run->slots[run->head].done;
  pthread_mutex_unlock(&run->lock);
  return done;
}

/* Wait for the answer at the head of the ring, print it, and free its slot. */
static void finish_head(struct run *run)
{
  struct slot *slot = &run->slots[run->head];

  if (!head_is_done(run)) {
    cli_flush();
    pthread_mutex_lock(&run->lock);
    while (!slot->done) {
      pthread_cond_wait(&run->answered, &run->lock);
    }
    pthread_mutex_unlock(&run->lock);
  }
  run->asked++;
  run->failed += slot->outcome.error != 0;
  run->unasked += was_not_asked(slot->outcome.error);
  show_locate(&run->line->output, run->table, row_bytes(&slot->row), &slot->outcome,
              slot->location);
  if (ferror(stdout)) {
    cli_flush(); /* keeps the reason */
  }
  /* An answer that could not be written is trouble of another kind, which main tells. */
  if (slot->outcome.error != 0 && !run->line->quiet && cli_flush() == 0) {
    complain_about(run, slot);
  }
  free_slot(slot);
  run->head = (run->head + 1) % run->room;
  run->count--;
}

/* Look up all rows. Returns an exit status. */
static int look_up_all(struct run *run)
{
  struct row row;
  int more = 1;

  show_locate_header(&run->line->output);
  while (!ferror(stdout) && (more > 0 || run->count > 0)) {
    if (run->count > 0 && (more <= 0 || run->count == run->room || head_is_done(run))) {
      finish_head(run);
      continue;
    }
    if (!rows_can_rewind(run->rows)) {
      cli_flush();
    }
    more = rows_next(run->rows, &row);
    if (more > 0) {
      start(run, &row);
    }
  }
  if (more < 0) {
    cli_complain("%s: %s", rows_name(run->rows), strerror(errno));
    return CLI_USAGE;
  }
  if (run->unreadable > 0) {
    return CLI_USAGE;
  }
  if (run->failed > 0) {
    return run->unasked == run->asked ? CLI_TROUBLE : CLI_NOT_FOUND;
  }
  return CLI_FOUND;
}

/* ---- Checks before the first lookup --------------------------------------------------------- */

/* Would the library take this table and row? Asked of the cache only, which sends nothing. Returns
 * an exit status, or -1 for go on. */
static int probe(const struct run *run, struct keyroute_bytes row)
{
  struct keyroute_call call = KEYROUTE_CALL_INIT;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_location *location = NULL;

  call.flags = KEYROUTE_CACHE_ONLY;
  int error = keyroute_locate(&location, run->conn, run->line->table, row, &call, &detail);
  int status = error == KEYROUTE_E_INVALID_ARGUMENT ? connect_fail(error, &detail) : -1;
  keyroute_location_release(location);
  keyroute_detail_clear(&detail);
  return status;
}

/* Say which row cannot be read. An argument is shown as it was written where that is printable: its
 * backslashes are what is wrong with it. */
static int fail_row(const struct run *run, const struct row *row)
{
  char *text = text_bytes(row_bytes(row), false);
  bool printable = true;

  for (size_t i = 0; i < row->len; i++) {
    printable = printable && row->data[i] >= ' ' && row->data[i] <= '~';
  }
  if (row->line > 0) {
    cli_complain("%s:%zu: INVALID_ARGUMENT: %s", rows_name(run->rows), row->line, row->reason);
  } else {
    cli_complain("row %s: INVALID_ARGUMENT: %s", printable ? row->data : text, row->reason);
  }
  free(text);
  return CLI_USAGE;
}

/* Returns an exit status, or -1 for go on. */
static int check_rows(struct run *run)
{
  struct row row;
  int status = probe(run, keyroute_string(""));
  int more = 1;

  if (status != -1 || !rows_can_rewind(run->rows)) {
    return status;
  }
  while (status == -1 && (more = rows_next(run->rows, &row)) > 0) {
    if (row.reason != NULL) {
      status = fail_row(run, &row);
    } else if (row.line == 0) {
      status = probe(run, row_bytes(&row));
    }
    free(row.data);
  }
  if (more < 0) {
    cli_complain("%s: %s", rows_name(run->rows), strerror(errno));
    return CLI_USAGE;
  }
  rows_rewind(run->rows);
  return status;
}

/* ---- The command ---------------------------------------------------------------------------- */

static struct rows *open_rows(const struct line *line)
{
  if (line->rows_from == NULL) {
    return rows_from_arguments(line->rows, line->row_count, line->output.hex);
  }
  struct rows *rows = rows_from_file(line->rows_from, line->output.hex);
  if (rows == NULL) {
    cli_complain("%s: %s", line->rows_from, strerror(errno));
  }
  return rows;
}

/* "default:t" is "t". */
static const char *canonical(const char *table)
{
  return strncmp(table, "default:", strlen("default:")) == 0 ? table + strlen("default:") : table;
}

static int run_line(struct line *line)
{
  struct run run = {.line = line, .room = (size_t)line->jobs};

  run.rows = open_rows(line);
  if (run.rows == NULL) {
    return CLI_USAGE;
  }
  size_t width = rows_width(run.rows);
  line->output.row_width = width < 16 ? 16 : width > 40 ? 40 : width;
  run.table = cli_copy(canonical(line->table));
  run.slots = cli_alloc(run.room * sizeof(*run.slots));
  pthread_mutex_init(&run.lock, NULL);
  pthread_cond_init(&run.answered, NULL);
  int status = connect_open(&run.conn, line);
  if (status == -1) {
    status = check_rows(&run);
  }
  if (status == -1) {
    status = look_up_all(&run);
  }
  keyroute_close(run.conn);
  for (; run.count > 0; run.count--) {
    free_slot(&run.slots[run.head]);
    run.head = (run.head + 1) % run.room;
  }
  pthread_cond_destroy(&run.answered);
  pthread_mutex_destroy(&run.lock);
  free(run.slots);
  free(run.table);
  rows_free(run.rows);
  return status;
}

int cmd_locate(int argc, char **argv)
{
  struct line line = {.call = KEYROUTE_CALL_INIT, .jobs = 1};
  int status = line_parse(&line, argc, argv);

  if (status == -1) {
    status = run_line(&line);
  }
  line_free(&line);
  return status;
}
