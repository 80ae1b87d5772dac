/*
 * Everything at once: threads that locate, cancel, refresh, peek, report and clear on a cluster
 * whose regions split, merge, move and vanish and whose server falls silent, dies and talks
 * nonsense, with bounds so small that all of them are met, and with a close in the middle.
 *
 *  1. What the catalog has said is kept, with the times: an answer must be one of that, and one to
 *     KEYROUTE_REFRESH must have been true since the call began. Of the tables that are never
 *     dropped none is said to be absent, or to have a hole.
 *  2. A handle that was reported is not given to a call that begins later.
 *  3. Each call has one answer; nothing is pending, and no memory held, after the close.
 *  4. No call ends long after its deadline.
 *  5. What was cleared is given to no call that begins later, unless it was true since.
 *
 * KEYROUTE_STRESS_MS is how long each round goes on, KEYROUTE_STRESS_SEED what the dice begin with.
 */
#include "test/fake_cluster.h"
#include "test/run_suite.h"
#include "test/stress.h"

#include <check.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  THREADS = 8,
  TABLES = 4,   /* the last one comes and goes */
  CELLS = 16,   /* of the key space, "00" to "15": a region is a run of them */
  IDS = 100000, /* regions in one test */
  PLACES = 5,   /* servers that regions are on; but for meta's nobody listens there */
  REPORTED = 64,
  FIRST_PORT = 20000,
  LATE_MS = 10000, /* generous: machines are loaded and sanitizers slow */
  GATE_MS = 60,
  ROUND_MS = 250
};

enum mode { NONE, POST, DRAIN };

static const char *const names[TABLES] = {"ta", "tb", "ns:tc", "gone"};

static struct fake_cluster cluster;
static atomic_bool stop;   /* calls may not begin any more */
static atomic_bool closed; /* keyroute_close has returned */
static atomic_long started, ended, refused, found, failed, reports;
static atomic_llong latest_us; /* how long after its deadline the latest call ended */
static atomic_int codes[32];

/* ---- What the catalog has said ------------------------------------------------------------- */

struct version {
  int table, from, to; /* cells */
  int64_t id;
  int place; /* -1 = on no server */
  int64_t seqnum;
  int64_t since_us, until_us; /* INT64_MAX = still */
  int older;                  /* version of the same region, -1 = none */
};

static pthread_mutex_t history_lock = PTHREAD_MUTEX_INITIALIZER;
static struct version history[IDS];
static int versions;
static int newest_of[IDS]; /* by region id */
static int64_t last_id;
static bool dropped_ever;

static char *key_text(char out[8], int cell)
{
  if (cell <= 0 || cell >= CELLS) {
    out[0] = '\0';
  } else {
    snprintf(out, 8, "%02d", cell);
  }
  return out;
}

static void write_region(const struct version *version, bool put)
{
  char start[8], end[8];
  struct fake_region region = {
      .table = names[version->table],
      .start = keyroute_string(key_text(start, version->from)),
      .end = keyroute_string(key_text(end, version->to)),
      .id = version->id,
      .host = version->place >= 0 ? "127.0.0.1" : NULL,
      .port = FIRST_PORT + version->place,
      .start_code = 100 + version->place,
      .seqnum = version->seqnum,
      .replicas = version->table == 1 ? 3 : 1,
  };

  if (put) {
    fake_server_put_region(cluster.server, &region);
  } else {
    fake_server_delete_region(cluster.server, &region);
  }
}

/* Write a region, or its new place, into catalog and history. */
static int put(struct version version)
{
  pthread_mutex_lock(&history_lock);
  int at = versions < IDS - 1 ? versions++ : versions;
  bool is_new = version.id == 0;

  if (is_new) {
    version.id = ++last_id;
    version.seqnum = 1;
  }
  version.older = is_new ? -1 : newest_of[version.id];
  version.since_us = now_us();
  version.until_us = INT64_MAX;
  history[at] = version;
  newest_of[version.id] = at;
  pthread_mutex_unlock(&history_lock);
  write_region(&version, true);
  if (version.older >= 0) {
    pthread_mutex_lock(&history_lock);
    history[version.older].until_us = now_us();
    pthread_mutex_unlock(&history_lock);
  }
  return at;
}

static void take_away(int at)
{
  write_region(&history[at], false);
  pthread_mutex_lock(&history_lock);
  history[at].until_us = now_us();
  pthread_mutex_unlock(&history_lock);
}

/* ---- The cluster's life -------------------------------------------------------------------- */

static int map[TABLES][CELLS]; /* version of the region that holds the cell; -1 = none */

static void set_map(int at)
{
  for (int i = history[at].from; i < history[at].to; i++) {
    map[history[at].table][i] = at;
  }
}

static void make_table(int table)
{
  for (int i = 0; i < CELLS; i += CELLS / 2) {
    set_map(
        put((struct version){.table = table, .from = i, .to = i + CELLS / 2, .place = i % PLACES}));
  }
}

/* The order of steps is such that at no time a row has no region. */
static void split(uint64_t *seed, int table, int cell)
{
  int old = map[table][cell];
  int from = history[old].from, to = history[old].to;

  if (to - from < 2) {
    return;
  }
  int middle = from + 1 + (int)dice(seed, (unsigned)(to - from - 1));
  int high =
      put((struct version){.table = table, .from = middle, .to = to, .place = history[old].place});
  int low = put(
      (struct version){.table = table, .from = from, .to = middle, .place = history[old].place});

  take_away(old);
  set_map(high);
  set_map(low);
}

static void merge(uint64_t *seed, int table, int cell)
{
  int low = map[table][cell];
  int middle = history[low].to;

  if (middle >= CELLS) {
    return;
  }
  int high = map[table][middle];
  int both = put((struct version){.table = table,
                                  .from = history[low].from,
                                  .to = history[high].to,
                                  .place = (int)dice(seed, PLACES)});

  take_away(high);
  take_away(low);
  set_map(both);
}

static void move(uint64_t *seed, int table, int cell)
{
  struct version next = history[map[table][cell]];

  next.place = (int)dice(seed, PLACES + 1) - 1;
  next.seqnum++;
  set_map(put(next));
}

static void drop_or_make(int table)
{
  if (map[table][0] < 0) {
    make_table(table);
    return;
  }
  pthread_mutex_lock(&history_lock);
  dropped_ever = true;
  pthread_mutex_unlock(&history_lock);
  for (int i = 0; i < CELLS; i = history[map[table][i]].to) {
    take_away(map[table][i]);
  }
  for (int i = 0; i < CELLS; i++) {
    map[table][i] = -1;
  }
}

static void change_regions(uint64_t *seed)
{
  int table = (int)dice(seed, TABLES), cell = (int)dice(seed, CELLS);
  unsigned what = dice(seed, 10);

  if (table == TABLES - 1 && (what == 0 || map[table][0] < 0)) {
    drop_or_make(table);
  } else if (what < 3) {
    split(seed, table, cell);
  } else if (what < 6) {
    merge(seed, table, cell);
  } else {
    move(seed, table, cell);
  }
}

/* Nonsense, but no lies. */
static void misbehave(uint64_t *seed)
{
  static const enum fake_what kinds[] = {
      FAKE_EXCEPTION,  FAKE_FATAL,       FAKE_NEVER,       FAKE_CLOSE,      FAKE_RESET,
      FAKE_HALF,       FAKE_TWICE,       FAKE_WRONG_ID,    FAKE_GARBAGE,    FAKE_HUGE_LENGTH,
      FAKE_BAD_COUNTS, FAKE_SPARE_BYTES, FAKE_BAD_MESSAGE, FAKE_EARLY_STOP, FAKE_HEARTBEAT,
      FAKE_ANSWER,     FAKE_ANSWER};
  static const char *const classes[] = {
      "org.apache.hadoop.hbase.NotServingRegionException",
      "org.apache.hadoop.hbase.CallQueueTooBigException",
      "org.apache.hadoop.hbase.regionserver.RegionServerStoppedException",
      "org.apache.hadoop.hbase.exceptions.RegionOpeningException", "no.such.Exception"};
  unsigned which = dice(seed, 24);

  switch (which) {
  case 0:
    fake_server_set_silent(cluster.server, true);
    sleep_us(1000 * dice(seed, 60));
    fake_server_set_silent(cluster.server, false);
    break;
  case 1:
    fake_server_stop(cluster.server);
    sleep_us(1000 * dice(seed, 30));
    fake_server_restart(cluster.server);
    break;
  case 2:
    fake_server_drop_connections(cluster.server);
    break;
  case 3:
    fake_server_clear_faults(cluster.server);
    break;
  default:
    fake_server_fault(
        cluster.server,
        &(struct fake_fault){.what = kinds[dice(seed, sizeof(kinds) / sizeof(kinds[0]))],
                             .delay_ms = (int)dice(seed, 8),
                             .rows = dice(seed, 2),
                             .class_name = classes[dice(seed, 5)],
                             .overloaded = dice(seed, 4) == 0});
    break;
  }
}

static void *live_on(void *arg)
{
  uint64_t seed = *(uint64_t *)arg;

  while (!atomic_load(&closed) && versions < IDS - 10) {
    change_regions(&seed);
    if (dice(&seed, 8) == 0) {
      misbehave(&seed);
    }
    sleep_us(200 + dice(&seed, 1000));
  }
  return NULL;
}

/* ---- The judge ------------------------------------------------------------------------------ */

static bool equals(struct keyroute_bytes bytes, const char *text)
{
  return bytes.len == strlen(text) && memcmp(bytes.data, text, bytes.len) == 0;
}

static bool is_version(const struct version *version, const struct keyroute_location *location)
{
  const char *host = keyroute_location_host(location, 0);
  char start[8], end[8];

  if (!equals(keyroute_location_table(location), names[version->table]) ||
      !equals(keyroute_location_start_key(location), key_text(start, version->from)) ||
      !equals(keyroute_location_end_key(location), key_text(end, version->to))) {
    return false;
  }
  if (host != NULL && strncmp(host, "hint", 4) == 0) {
    return true; /* we said so ourselves */
  }
  return (host == NULL) == (version->place < 0) &&
         (host == NULL || (keyroute_location_port(location, 0) == FIRST_PORT + version->place &&
                           keyroute_location_seqnum(location, 0) == version->seqnum));
}

/* Was that true, and if `fresh` then since that time? */
static bool was_true(const struct keyroute_location *location, int64_t since_us, bool fresh)
{
  int64_t id = keyroute_location_region_id(location);
  bool good = false;

  pthread_mutex_lock(&history_lock);
  int at = id > 0 && id <= last_id ? newest_of[id] : -1;

  for (; at >= 0 && !good; at = history[at].older) {
    good = is_version(&history[at], location) && (!fresh || history[at].until_us >= since_us);
  }
  pthread_mutex_unlock(&history_lock);
  return good;
}

static struct keyroute_location *reported[REPORTED]; /* counted, so that addresses stay theirs */
static int64_t reported_us[REPORTED];
static unsigned report_count;
static pthread_mutex_t reported_lock = PTHREAD_MUTEX_INITIALIZER;

static void note_reported(struct keyroute_location *location)
{
  pthread_mutex_lock(&reported_lock);
  unsigned at = report_count++ % REPORTED;

  keyroute_location_release(reported[at]);
  reported[at] = keyroute_location_ref(location);
  reported_us[at] = now_us();
  pthread_mutex_unlock(&reported_lock);
}

static bool came_back(const struct keyroute_location *location, int64_t began_us)
{
  bool back = false;

  pthread_mutex_lock(&reported_lock);
  for (unsigned i = 0; i < REPORTED; i++) {
    back = back || (reported[i] == location && reported_us[i] < began_us);
  }
  pthread_mutex_unlock(&reported_lock);
  return back;
}

static void forget_reported(void)
{
  for (unsigned i = 0; i < REPORTED; i++) {
    keyroute_location_release(reported[i]);
    reported[i] = NULL;
  }
}

/* When the last clearing that has ended began, of a table and of a place. */
static atomic_llong table_cleared_us[TABLES], place_cleared_us[PLACES];

static void note_cleared(atomic_llong *at, int64_t began_us)
{
  long long noted = atomic_load(at);

  while (noted < began_us && !atomic_compare_exchange_weak(at, &noted, began_us)) {
  }
}

/* A question, and what is needed to judge its answer. */
struct question {
  atomic_int answers;
  bool judge_time;
  int table, cell;
  char row[8];
  struct keyroute_call call;
  int64_t began_us;
  int64_t table_cleared_us, place_cleared_us[PLACES];
  struct question *next;
};

/* Since when must a location have been true, for what was cleared before the call? 0 = ever. */
static int64_t cleared_before(const struct question *question,
                              const struct keyroute_location *location)
{
  const char *host = keyroute_location_host(location, 0);
  int place = keyroute_location_port(location, 0) - FIRST_PORT;
  int64_t cleared_us = question->table_cleared_us;

  if (host != NULL && strncmp(host, "hint", 4) == 0) {
    return 0; /* told since, of whatever region */
  }
  if (host != NULL && place >= 0 && place < PLACES &&
      question->place_cleared_us[place] > cleared_us) {
    cleared_us = question->place_cleared_us[place];
  }
  return cleared_us;
}

static void judge_location(const struct question *question,
                           const struct keyroute_location *location)
{
  bool fresh = (question->call.flags & KEYROUTE_REFRESH) != 0;
  int64_t cleared_us = cleared_before(question, location);
  struct keyroute_bytes start = keyroute_location_start_key(location);

  if (!was_true(location, question->began_us, fresh)) {
    WRONG("table %s row %s flags %x: region %lld [%.*s on %s:%d seqnum %lld was not true\n",
          names[question->table], question->row, question->call.flags,
          (long long)keyroute_location_region_id(location), (int)start.len,
          (const char *)start.data, keyroute_location_host(location, 0),
          keyroute_location_port(location, 0), (long long)keyroute_location_seqnum(location, 0));
  }
  if (cleared_us > 0 && !was_true(location, cleared_us, true)) {
    WRONG("table %s row %s flags %x: region %lld on port %d came back after a clear\n",
          names[question->table], question->row, question->call.flags,
          (long long)keyroute_location_region_id(location), keyroute_location_port(location, 0));
  }
  if (came_back(location, question->began_us)) {
    WRONG("table %s row %s flags %x: a reported handle came back\n", names[question->table],
          question->row, question->call.flags);
  }
}

static void judge(const struct question *question, int error,
                  const struct keyroute_location *location)
{
  int64_t late_us = now_us() - question->began_us - 1000 * question->call.deadline_ms;
  long long latest = atomic_load(&latest_us);

  atomic_fetch_add(&codes[-error], 1);
  while (question->judge_time && late_us > latest &&
         !atomic_compare_exchange_weak(&latest_us, &latest, late_us)) {
  }
  if (error == 0) {
    atomic_fetch_add(&found, 1);
    judge_location(question, location);
    return;
  }
  atomic_fetch_add(&failed, 1);
  if (question->table != TABLES - 1 &&
      (error == KEYROUTE_E_TABLE_NOT_FOUND || error == KEYROUTE_E_HOLE)) {
    WRONG("table %s row %s: %s\n", names[question->table], question->row, keyroute_errname(error));
  }
  if (error == KEYROUTE_E_INVALID_ARGUMENT) {
    WRONG("table %s row %s: %s\n", names[question->table], question->row, keyroute_errname(error));
  }
}

/* ---- What threads do ----------------------------------------------------------------------- */

static enum mode mode;

static void make_question(struct question *question, uint64_t *seed)
{
  static const int64_t deadlines[] = {1, 5, 20, 100, 300, 300, 1000, 60000};

  question->table = (int)dice(seed, TABLES);
  question->cell = (int)dice(seed, CELLS);
  snprintf(question->row, sizeof(question->row), "%02dx", question->cell);
  question->call = (struct keyroute_call)KEYROUTE_CALL_INIT;
  question->call.deadline_ms = deadlines[dice(seed, 8)];
  switch (dice(seed, 12)) {
  case 0:
  case 1:
    question->call.flags = KEYROUTE_REFRESH;
    break;
  case 2:
    question->call.flags = KEYROUTE_CACHE_ONLY;
    break;
  case 3:
    question->call.flags = KEYROUTE_TRACE;
    break;
  case 4:
    question->call.flags = KEYROUTE_AFTER;
    break;
  case 5:
    question->call.flags = KEYROUTE_BEFORE;
    break;
  default:
    break;
  }
  if (dice(seed, 8) == 0) {
    question->call.replica = question->table == 1 ? (int)dice(seed, 4) - 1 : KEYROUTE_REPLICA_ANY;
  }
  question->table_cleared_us = atomic_load(&table_cleared_us[question->table]);
  for (int i = 0; i < PLACES; i++) {
    question->place_cleared_us[i] = atomic_load(&place_cleared_us[i]);
  }
  question->began_us = now_us();
}

static void report(uint64_t *seed, struct keyroute_location *location)
{
  static const char *const texts[] = {
      "Region moved to: hostname=hint1 port=20001 startCode=101. As of locationSeqNum=9.",
      "Region moved to: hostname=hint2 port=99999 startCode=-1. As of locationSeqNum=x.",
      "Region moved to: hostname= port= startCode= . As of locationSeqNum=",
      "Region moved to: hostname=\xff\xfe\x01 port=1 startCode=99999999999999999999999. As of "
      "locationSeqNum=99999999999999999999999.",
      "%s%n%s%n",
      "",
      NULL};
  static const char *const classes[] = {"org.apache.hadoop.hbase.exceptions.RegionMovedException",
                                        "org.apache.hadoop.hbase.NotServingRegionException",
                                        "org.apache.hadoop.hbase.ipc.ServerNotRunningYetException",
                                        "",
                                        "\xff\xff.Exception",
                                        "java.net.ConnectException"};
  enum keyroute_fault fault = (enum keyroute_fault)dice(seed, 8);
  struct keyroute_fault_detail detail = KEYROUTE_FAULT_DETAIL_INIT;
  int error;

  if (dice(seed, 3) == 0) {
    error = keyroute_report_exception(&fault, cluster.conn, location, classes[dice(seed, 6)],
                                      texts[dice(seed, 7)], 0);
  } else {
    detail.host = dice(seed, 2) == 0 ? "hint0" : NULL;
    detail.port = 20000;
    detail.start_code = 100;
    detail.seqnum = dice(seed, 2) == 0 ? -1 : (int64_t)dice(seed, 20);
    error = keyroute_report(cluster.conn, location, fault, &detail);
  }
  atomic_fetch_add(&reports, 1);
  if (error == 0 && keyroute_fault_kind(fault) != KEYROUTE_KIND_KEEP) {
    note_reported(location);
  }
  if (error != 0 && error != KEYROUTE_E_NO_MEMORY && error != KEYROUTE_E_CLOSED &&
      keyroute_location_host(location, 0) != NULL) {
    WRONG("report: %s\n", keyroute_errname(error));
  }
}

static void locate_async(uint64_t *seed);

/* What a callback may do, and what it may not. */
static void call_inside(uint64_t *seed)
{
  struct keyroute_location *location = NULL;
  struct keyroute_call call = KEYROUTE_CALL_INIT;
  const char *table = names[dice(seed, TABLES)];

  call.deadline_ms = 1 + dice(seed, 20);
  int error = keyroute_locate(&location, cluster.conn, table, keyroute_string("05x"), &call, NULL);

  if ((mode == NONE) != (error == KEYROUTE_E_INVALID_ARGUMENT)) {
    WRONG("a blocking call in a callback: %s\n", keyroute_errname(error));
  }
  keyroute_location_release(location);
  if (keyroute_close(cluster.conn) != KEYROUTE_E_INVALID_ARGUMENT) {
    WRONG("closed in a callback\n");
  }
  if (mode == DRAIN && keyroute_drain(cluster.conn) > 0) {
    WRONG("callbacks nest\n");
  }
  locate_async(seed);
}

static void answered(void *payload, int error, struct keyroute_location *location,
                     const struct keyroute_detail *detail)
{
  struct question *question = payload;
  uint64_t seed = (uint64_t)question->began_us;

  if (atomic_fetch_add(&question->answers, 1) != 0 || detail->error != error) {
    WRONG("a callback ran twice, or its detail says another error\n");
  }
  judge(question, error, location);
  if (location != NULL && dice(&seed, 8) == 0) {
    report(&seed, location);
  }
  if (dice(&seed, 8) == 0) {
    call_inside(&seed);
  }
  atomic_fetch_add(&ended, 1);
  free(question);
}

static void locate(uint64_t *seed)
{
  struct question question = {.judge_time = true};
  struct keyroute_location *location = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_table *table = NULL;
  int error;

  make_question(&question, seed);
  if (dice(seed, 3) == 0 && keyroute_table_get(&table, cluster.conn, names[question.table]) == 0) {
    question.began_us = now_us();
    error = keyroute_table_locate(&location, table, keyroute_string(question.row), &question.call,
                                  &detail);
    if (error != KEYROUTE_E_CLOSED && !atomic_load(&stop)) {
      keyroute_table_release(table);
    }
  } else {
    error = keyroute_locate(&location, cluster.conn, names[question.table],
                            keyroute_string(question.row), &question.call, &detail);
  }
  judge(&question, error, location);
  if (location != NULL && dice(seed, 4) == 0 && !atomic_load(&stop)) {
    report(seed, location);
  }
  keyroute_location_release(location);
  keyroute_detail_clear(&detail);
}

static void locate_async(uint64_t *seed)
{
  struct question *question = calloc(1, sizeof(*question));
  uint64_t request = 0;

  make_question(question, seed);
  question->judge_time = mode == NONE;
  atomic_fetch_add(&started, 1);
  int error =
      keyroute_locate_async(&request, cluster.conn, names[question->table],
                            keyroute_string(question->row), &question->call, answered, question);

  if (error != 0) {
    atomic_fetch_sub(&started, 1);
    atomic_fetch_add(&refused, 1);
    free(question);
  } else if (dice(seed, 3) == 0 && !atomic_load(&stop)) {
    keyroute_cancel(cluster.conn, request - dice(seed, 2));
  }
}

static void peek(uint64_t *seed)
{
  struct keyroute_table *table;
  struct question question = {0};

  make_question(&question, seed);
  question.call.flags = 0;
  if (keyroute_table_get(&table, cluster.conn, names[question.table]) != 0) {
    return;
  }
  keyroute_peek_begin();
  const struct keyroute_location *location = keyroute_peek(table, keyroute_string(question.row));

  if (location != NULL) {
    judge_location(&question, location);
  }
  keyroute_table_release(table);
  if (location != NULL && dice(seed, 4) == 0) {
    struct keyroute_location *kept = keyroute_location_ref(location);

    report(seed, kept);
    keyroute_location_release(kept);
  }
  keyroute_peek_end();
}

static void clear_place(int place, bool any)
{
  int64_t began_us = now_us();
  int error =
      keyroute_clear_server(cluster.conn, "127.0.0.1", FIRST_PORT + place, any ? 0 : 100 + place);

  if (error == 0) {
    note_cleared(&place_cleared_us[place], began_us);
  }
}

static void clear(uint64_t *seed)
{
  int64_t began_us = now_us();
  int table = (int)dice(seed, TABLES);

  switch (dice(seed, 3)) {
  case 0:
    if (keyroute_clear_all(cluster.conn) == 0) {
      for (int i = 0; i < TABLES; i++) {
        note_cleared(&table_cleared_us[i], began_us);
      }
    }
    break;
  case 1:
    if (keyroute_clear_table(cluster.conn, names[table]) == 0) {
      note_cleared(&table_cleared_us[table], began_us);
    }
    break;
  default:
    clear_place((int)dice(seed, PLACES), dice(seed, 2) == 0);
    break;
  }
}

static void *work(void *arg)
{
  uint64_t seed = *(uint64_t *)arg;

  while (!atomic_load(&stop)) {
    unsigned what = dice(&seed, 64);

    if (what < 28) {
      locate(&seed);
    } else if (what < 52) {
      locate_async(&seed);
    } else if (what < 62) {
      peek(&seed);
    } else {
      clear(&seed);
    }
    if (dice(&seed, 8) == 0) {
      sleep_us(dice(&seed, 2000));
    }
  }
  return NULL;
}

/* ---- Where callbacks run -------------------------------------------------------------------- */

struct piece {
  void (*run)(void *arg);
  void *arg;
  struct piece *next;
};

static pthread_mutex_t pieces_lock = PTHREAD_MUTEX_INITIALIZER;
static struct piece *pieces;

static void post_piece(void *payload, void (*run)(void *arg), void *arg)
{
  struct piece *piece = calloc(1, sizeof(*piece));

  (void)payload;
  *piece = (struct piece){run, arg, NULL};
  pthread_mutex_lock(&pieces_lock);
  piece->next = pieces;
  pieces = piece;
  pthread_mutex_unlock(&pieces_lock);
}

static bool run_piece(void)
{
  pthread_mutex_lock(&pieces_lock);
  struct piece *piece = pieces;

  if (piece != NULL) {
    pieces = piece->next;
  }
  pthread_mutex_unlock(&pieces_lock);
  if (piece == NULL) {
    return false;
  }
  piece->run(piece->arg);
  free(piece);
  return true;
}

/* Also while the connection is being closed. */
static void *run_pieces(void *arg)
{
  (void)arg;
  while (!atomic_load(&closed)) {
    if (!run_piece()) {
      sleep_us(200);
    }
  }
  return NULL;
}

static void *drain(void *arg)
{
  (void)arg;
  while (!atomic_load(&stop)) {
    struct pollfd fd = {.fd = keyroute_event_fd(cluster.conn), .events = POLLIN};

    poll(&fd, 1, 2);
    if (!atomic_load(&stop)) {
      keyroute_drain(cluster.conn);
    }
  }
  return NULL;
}

/* ---- One round ------------------------------------------------------------------------------ */

static void setup(void)
{
  fake_cluster_start(&cluster, &allocator);
  for (int i = 0; i < TABLES; i++) {
    make_table(i);
  }
}

static void set_bounds(bool tiny)
{
  static const char *const bounds[][2] = {
      {"keyroute.cache.max.regions", "8"}, {"keyroute.cache.max.bytes", "16384"},
      {"keyroute.cache.ttl.ms", "50"},     {"keyroute.cache.idle.ms", "50"},
      {"keyroute.cache.sweep.ms", "10"},   {"keyroute.scans.max", "2"},
      {"keyroute.max.pending", "16"},      {"keyroute.server.queue.max.bytes", "65536"},
  };

  for (size_t i = 0; tiny && i < sizeof(bounds) / sizeof(bounds[0]); i++) {
    fake_cluster_set(&cluster, bounds[i][0], bounds[i][1]);
  }
  fake_cluster_set(&cluster, "hbase.client.retries.number", "3");
  fake_cluster_set(&cluster, "hbase.rpc.timeout", "200");
  fake_cluster_set(&cluster, "hbase.ipc.client.socket.timeout.connect", "100");
  fake_cluster_set(&cluster, "hbase.ipc.client.failed.servers.expiry", "20");
}

static void join_all(pthread_t *threads, int count)
{
  for (int i = 0; i < count; i++) {
    pthread_join(threads[i], NULL);
  }
}

static void tell(void)
{
  printf("%s%ld answers, %ld errors, %ld refused, %ld reports, %d versions, latest %.1f ms:",
         mode == NONE   ? "loop: "
         : mode == POST ? "post: "
                        : "drain: ",
         found, failed, refused, reports, versions, (double)latest_us / 1000);
  for (int i = 0; i < 32; i++) {
    if (codes[i] > 0) {
      printf(" %s %d", keyroute_errname(-i), codes[i]);
    }
  }
  printf("\n");
}

static void stress(enum mode how, bool tiny, unsigned fail_one_in)
{
  pthread_t workers[THREADS], life, runners[2];
  uint64_t seeds[THREADS + 1];
  void *(*runner)(void *) = how == POST ? run_pieces : drain;
  int runner_count = how == NONE ? 0 : 2;

  mode = how;
  set_bounds(tiny);
  keyroute_options_set_drain(cluster.options, how == DRAIN);
  keyroute_options_set_post(cluster.options, how == POST ? post_piece : NULL, NULL);
  fake_cluster_open(&cluster);
  atomic_store(&one_in, fail_one_in);
  for (int i = 0; i <= THREADS; i++) {
    seeds[i] = first_seed() * 1000 + (uint64_t)i;
  }
  ck_assert_int_eq(pthread_create(&life, NULL, live_on, &seeds[THREADS]), 0);
  for (int i = 0; i < THREADS; i++) {
    ck_assert_int_eq(pthread_create(&workers[i], NULL, work, &seeds[i]), 0);
  }
  for (int i = 0; i < runner_count; i++) {
    ck_assert_int_eq(pthread_create(&runners[i], NULL, runner, NULL), 0);
  }
  sleep_us(1000 * round_ms(ROUND_MS));
  atomic_store(&stop, true);
  sleep_us(1000 * GATE_MS); /* who has begun a call is in it by now */
  join_all(runners, how == DRAIN ? runner_count : 0);
  int64_t began_us = now_us();

  ck_assert_int_eq(keyroute_close(cluster.conn), 0);
  int64_t close_us = now_us() - began_us;

  atomic_store(&closed, true);
  long left = started - ended;

  join_all(runners, how == POST ? runner_count : 0);
  join_all(workers, THREADS);
  pthread_join(life, NULL);
  cluster.conn = NULL;
  while (run_piece()) { /* too late: they do nothing */
  }
  atomic_store(&one_in, 0);
  forget_reported();
  keyroute_options_free(cluster.options);
  cluster.options = NULL;
  tell();
  ck_assert_int_eq(wrong, 0);
  ck_assert_int_eq(left, 0);
  ck_assert_int_eq(started, ended);
  ck_assert_int_eq(live, 0);
  ck_assert_int_le(latest_us, LATE_MS * 1000);
  ck_assert_int_le(close_us, LATE_MS * 1000);
  ck_assert_int_gt(found, 0);
}

static void teardown(void)
{
  fake_server_free(cluster.server);
}

/* Three ways for callbacks to run; bounds wide and tiny; memory there is, or one in a thousand is
 * refused. */
START_TEST(test_stress__answers_were_true_and_nothing_is_left)
{
  stress((enum mode)(_i % 3), _i % 6 >= 3, _i >= 6 ? 1000 : 0);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("stress");
  TCase *tests = tcase_create("stress");

  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_set_timeout(tests, 60 + (double)round_ms(ROUND_MS) / 100);
  tcase_add_loop_test(tests, test_stress__answers_were_true_and_nothing_is_left, 0, 12);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
