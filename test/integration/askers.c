/*
 * The threads of the tests that let a cluster change under a client. Each keeps its own counts:
 * they share nothing but the connection, the judge's notes and the handles that were reported as
 * wrong, which are counted so that no other location gets their address.
 */
#include "test/integration/askers.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uthash.h>

enum { COMPLAIN_ONE_IN = 100, MESSAGES_MAX = 20 };

/* A handle that was reported. */
struct report {
  UT_hash_handle hh;
  struct keyroute_location *location; /* counted; the key */
  int64_t done_ns;                    /* when the report had returned */
};

struct asker {
  struct askers *askers;
  pthread_t thread;
  unsigned seed;
  struct askers_counts counts;
  /* When calls past the cache succeeded, the first in each ms. */
  int64_t *fresh_ms;
  size_t fresh_count, fresh_room;
};

struct askers {
  struct askers_options options;
  struct answers *answers;
  unsigned table_count;
  atomic_bool stop;
  atomic_uint messages;
  pthread_mutex_t lock;
  struct report *reports; /* lock */
  struct asker each[];
};

/* One call, as it was asked. */
struct question {
  const char *table;
  char row[3];
  struct keyroute_call call;
  int64_t began_ns;
};

static int64_t now_ns(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void choose(struct question *question, struct asker *asker)
{
  const struct askers_options *options = &asker->askers->options;
  unsigned *seed = &asker->seed;

  question->table = options->tables[(unsigned)rand_r(seed) % asker->askers->table_count];
  for (size_t i = 0; i < sizeof(question->row); i++) {
    question->row[i] = (char)('a' + rand_r(seed) % 26);
  }
  question->call = (struct keyroute_call)KEYROUTE_CALL_INIT;
  question->call.deadline_ms = options->deadline_ms;
  if (rand_r(seed) % 2 == 0) {
    question->call.flags |= KEYROUTE_REFRESH;
  }
  if (options->before && rand_r(seed) % 4 == 0) {
    question->call.flags |= KEYROUTE_BEFORE;
  }
}

/* Is it the row's region, or the one before it? */
static bool is_right_place(const struct question *question,
                           const struct keyroute_location *location)
{
  struct keyroute_bytes start = keyroute_location_start_key(location);
  struct keyroute_bytes end = keyroute_location_end_key(location);
  size_t len = sizeof(question->row);
  size_t start_common = start.len < len ? start.len : len;
  size_t end_common = end.len < len ? end.len : len;
  int above = memcmp(question->row, start.data, start_common);
  int below = memcmp(question->row, end.data, end_common);

  above = above != 0 ? above : (int)len - (int)start.len;
  below = end.len == 0 ? -1 : below != 0 ? below : (int)len - (int)end.len;
  return (question->call.flags & KEYROUTE_BEFORE) != 0 ? above > 0 && below <= 0
                                                       : above >= 0 && below < 0;
}

static void note_fresh(struct asker *asker, int64_t ms)
{
  if (asker->fresh_count > 0 && asker->fresh_ms[asker->fresh_count - 1] == ms) {
    return;
  }
  if (asker->fresh_count == asker->fresh_room) {
    asker->fresh_room = asker->fresh_room * 2 + 1024;
    asker->fresh_ms = realloc(asker->fresh_ms, asker->fresh_room * sizeof(asker->fresh_ms[0]));
    if (asker->fresh_ms == NULL) {
      abort();
    }
  }
  asker->fresh_ms[asker->fresh_count++] = ms;
}

/* Had this very handle been reported before the call began? */
static bool is_again(struct askers *askers, const struct question *question,
                     const struct keyroute_location *location)
{
  struct report *report;

  pthread_mutex_lock(&askers->lock);
  HASH_FIND_PTR(askers->reports, &location, report);
  bool again = report != NULL && report->done_ns < question->began_ns;

  pthread_mutex_unlock(&askers->lock);
  return again;
}

/* As an application does whose request was refused by the server it was sent to. */
static void complain(struct asker *asker, struct keyroute_location *location)
{
  struct askers *askers = asker->askers;
  struct report *report, *known;

  if (keyroute_report(askers->options.conn, location, KEYROUTE_FAULT_NOT_SERVING, NULL) != 0) {
    abort();
  }
  asker->counts.reported++;
  report = calloc(1, sizeof(*report));
  if (report == NULL) {
    abort();
  }
  report->location = keyroute_location_ref(location);
  report->done_ns = now_ns();
  pthread_mutex_lock(&askers->lock);
  HASH_FIND_PTR(askers->reports, &location, known);
  if (known == NULL) {
    HASH_ADD_PTR(askers->reports, location, report);
  }
  pthread_mutex_unlock(&askers->lock);
  if (known != NULL) {
    keyroute_location_release(location);
    free(report);
  }
}

static void take_location(struct asker *asker, const struct question *question,
                          struct keyroute_location *location, bool cached, int64_t began_ms)
{
  const struct askers_options *options = &asker->askers->options;
  bool fresh = (question->call.flags & KEYROUTE_REFRESH) != 0;
  int64_t ended_ms = answers_now_ms();

  answers_note(asker->askers->answers, location, fresh, cached, began_ms, ended_ms);
  if (!is_right_place(question, location)) {
    asker->counts.misplaced++;
  }
  if (fresh && options->timed) {
    note_fresh(asker, ended_ms);
  }
  if (options->complain) {
    asker->counts.again += is_again(asker->askers, question, location);
    if (rand_r(&asker->seed) % COMPLAIN_ONE_IN == 0) {
      complain(asker, location);
    }
  }
}

static void take_failure(struct asker *asker, const struct question *question,
                         const struct keyroute_detail *detail, int64_t began_ms)
{
  struct askers *askers = asker->askers;
  const char *excused = askers->options.excused;

  if ((question->call.flags & KEYROUTE_BEFORE) == 0) {
    answers_note_nothing(askers->answers, detail->error, question->table,
                         (struct keyroute_bytes){question->row, sizeof(question->row)}, began_ms,
                         answers_now_ms());
  }
  if (excused != NULL && strcmp(question->table, excused) == 0) {
    asker->counts.excused++;
    return;
  }
  asker->counts.failed++;
  asker->counts.read_failed++;
  if (atomic_fetch_add(&askers->messages, 1) < MESSAGES_MAX) {
    fprintf(stderr, "%s: %s\n", keyroute_errname(detail->error), detail->message);
  }
}

static void ask(struct asker *asker, struct keyroute_detail *detail)
{
  struct keyroute_location *location = NULL;
  struct question question;

  choose(&question, asker);
  int64_t began_ms = answers_now_ms();
  question.began_ns = now_ns();
  int error = keyroute_locate(&location, asker->askers->options.conn, question.table,
                              (struct keyroute_bytes){question.row, sizeof(question.row)},
                              &question.call, detail);
  bool cached = detail->source == KEYROUTE_SOURCE_CACHE;

  asker->counts.asked++;
  asker->counts.read += error != 0 || !cached;
  if (detail->elapsed_us > asker->counts.worst_us) {
    asker->counts.worst_us = detail->elapsed_us;
  }
  if (error == 0) {
    take_location(asker, &question, location, cached, began_ms);
  } else {
    take_failure(asker, &question, detail, began_ms);
  }
  keyroute_location_release(location);
}

static void *run(void *arg)
{
  struct asker *asker = arg;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

  while (!atomic_load(&asker->askers->stop)) {
    ask(asker, &detail);
  }
  keyroute_detail_clear(&detail);
  return NULL;
}

struct askers *askers_start(const struct askers_options *options)
{
  struct askers *askers = calloc(1, sizeof(*askers) + options->threads * sizeof(askers->each[0]));

  ck_assert_ptr_nonnull(askers);
  askers->options = *options;
  askers->answers = answers_new();
  pthread_mutex_init(&askers->lock, NULL);
  while (options->tables[askers->table_count] != NULL) {
    askers->table_count++;
  }
  for (unsigned i = 0; i < options->threads; i++) {
    struct asker *asker = &askers->each[i];

    asker->askers = askers;
    asker->seed = i + 1;
    ck_assert_int_eq(pthread_create(&asker->thread, NULL, run, asker), 0);
  }
  return askers;
}

void askers_stop(struct askers *askers)
{
  atomic_store(&askers->stop, true);
  for (unsigned i = 0; i < askers->options.threads; i++) {
    pthread_join(askers->each[i].thread, NULL);
  }
}

static void free_reports(struct askers *askers)
{
  struct report *report, *next;

  HASH_ITER (hh, askers->reports, report, next) {
    HASH_DEL(askers->reports, report);
    keyroute_location_release(report->location);
    free(report);
  }
}

void askers_free(struct askers *askers)
{
  for (unsigned i = 0; i < askers->options.threads; i++) {
    free(askers->each[i].fresh_ms);
  }
  free_reports(askers);
  pthread_mutex_destroy(&askers->lock);
  answers_free(askers->answers);
  free(askers);
}

struct askers_counts askers_counts(const struct askers *askers)
{
  struct askers_counts sum = {0};

  for (unsigned i = 0; i < askers->options.threads; i++) {
    const struct askers_counts *counts = &askers->each[i].counts;

    sum.asked += counts->asked;
    sum.failed += counts->failed;
    sum.read += counts->read;
    sum.read_failed += counts->read_failed;
    sum.excused += counts->excused;
    sum.misplaced += counts->misplaced;
    sum.reported += counts->reported;
    sum.again += counts->again;
    sum.worst_us = sum.worst_us > counts->worst_us ? sum.worst_us : counts->worst_us;
  }
  return sum;
}

struct answers *askers_answers(struct askers *askers)
{
  return askers->answers;
}

static int64_t first_after(const struct asker *asker, int64_t after_ms)
{
  for (size_t i = 0; i < asker->fresh_count; i++) {
    if (asker->fresh_ms[i] > after_ms) {
      return asker->fresh_ms[i];
    }
  }
  return INT64_MAX;
}

void askers_back(const struct askers *askers, int64_t after_ms, int64_t *first_ms, int64_t *last_ms)
{
  *first_ms = *last_ms = INT64_MAX;
  for (unsigned i = 0; i < askers->options.threads; i++) {
    int64_t ms = first_after(&askers->each[i], after_ms);

    *first_ms = ms < *first_ms ? ms : *first_ms;
    *last_ms = i == 0 || ms > *last_ms ? ms : *last_ms;
  }
}
