/*
 * The last hop with everything at once: threads that read rows, one or many, group them, list
 * regions and send requests, waiting or not, with deadlines from a millisecond up, cancelled at
 * random, on a cluster whose regions split, merge, move and vanish and whose servers stop, start
 * again, fall silent, throw and talk nonsense, the one that holds meta too; and a close in the
 * middle.
 *
 *  1. An answer is right: a row's value is made of the row, what is read together comes in the
 *     order asked for, what is grouped is in one group. Of the tables that are never dropped no row
 *     is without a region.
 *  2. Each call has one answer. After the close no memory is held.
 *  3. A request that is not idempotent is executed at most once for each call that succeeded, or
 *     that says that it may have been; at least once for each that succeeded.
 *
 * When the rounds end all servers fall silent and each thread waits in a last call, so that the
 * close finds them inside; new calls are made by callbacks until the end.
 *
 * KEYROUTE_STRESS_MS is how long each round goes on, KEYROUTE_STRESS_SEED what the dice begin with.
 */
#include "test/fake_cluster.h"
#include "test/run_suite.h"
#include "test/stress.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
  THREADS = 6,
  SERVERS = 4,
  CELLS = 12,     /* of the key space: a region is a run of them */
  CELL_ROWS = 10, /* rows of each: "r000000" to "r000119" */
  ROWS = CELLS * CELL_ROWS,
  REPLICAS = 3,
  MANY = 40, /* rows of one call at most */
  BURST = 60,
  ROUND_MS = 600,
  PATIENCE_MS = 60000,
  LATE_MS = 20000 /* generous: machines are loaded and sanitizers slow */
};

/* The last but one is dropped and made again; the last has replicas and stays where it is. */
enum { PLAIN, OTHER, GONE, COPIED, TABLES };
static const char *const names[TABLES] = {"plain", "ns:other", "gone", "copied"};

static const struct keyroute_bytes body = {"the body", 8}, cells = {"and cells", 9};

static struct fake_cluster cluster;
static struct fake_server *servers[SERVERS];
static struct fake_rows *rows;
static atomic_bool stop;  /* threads go to their last calls */
static atomic_bool quiet; /* callbacks make no new calls */
static atomic_long started, ended, refused;
static atomic_uint succeeded_once, maybe_once;
static atomic_llong latest_us; /* how long after its deadline the latest call ended */
static atomic_int codes[32];

/* ---- The cluster's life ---------------------------------------------------------------------- */

struct place {
  int from, to; /* cells; to 0 = there is no such region */
  int64_t id, seqnum;
  int server;
};

/* By table and first cell; the thread that lives the cluster's life is the only one to look. */
static struct place places[TABLES][CELLS];
static int64_t last_id;

static char *key_text(char out[16], int cell)
{
  snprintf(out, 16, "r%06d", cell * CELL_ROWS);
  return cell <= 0 || cell >= CELLS ? strcpy(out, "") : out;
}

static struct fake_region region_of(int table, const struct place *place, char start[16],
                                    char end[16])
{
  return (struct fake_region){
      .table = names[table],
      .start = keyroute_string(key_text(start, place->from)),
      .end = keyroute_string(key_text(end, place->to)),
      .id = place->id,
      .seqnum = place->seqnum,
  };
}

static struct place *place_of(int table, int cell)
{
  while (cell > 0 && places[table][cell].to == 0) {
    cell--;
  }
  return &places[table][cell];
}

static void put(int table, struct place place)
{
  char start[16], end[16];

  place.id = ++last_id;
  place.seqnum = 1;
  struct fake_region region = region_of(table, &place, start, end);

  fake_server_place_region(cluster.server, servers[place.server], &region);
  places[table][place.from] = place;
}

/* After what takes its place was put: at no time a row is in no region. */
static void take_away(int table, struct place place)
{
  char start[16], end[16];
  struct fake_region region = region_of(table, &place, start, end);

  fake_server_unhost_region(servers[place.server], &region, 0);
  fake_server_delete_region(cluster.server, &region);
}

static void split(uint64_t *seed, int table, struct place old)
{
  if (old.to - old.from < 2) {
    return;
  }
  int middle = old.from + 1 + (int)dice(seed, (unsigned)(old.to - old.from - 1));

  put(table, (struct place){.from = middle, .to = old.to, .server = old.server});
  put(table, (struct place){.from = old.from, .to = middle, .server = old.server});
  take_away(table, old);
}

static void merge(uint64_t *seed, int table, struct place low)
{
  if (low.to >= CELLS) {
    return;
  }
  struct place high = places[table][low.to];

  put(table, (struct place){.from = low.from, .to = high.to, .server = (int)dice(seed, SERVERS)});
  take_away(table, high);
  take_away(table, low);
  places[table][high.from].to = 0;
}

/* The old server mostly knows where the region went. */
static void move(uint64_t *seed, int table, struct place *place)
{
  struct fake_server *from = servers[place->server];
  char start[16], end[16];

  place->server = (int)dice(seed, SERVERS);
  place->seqnum++;
  struct fake_server *to = servers[place->server];
  struct fake_region region = region_of(table, place, start, end);

  if (from == to) {
    return;
  }
  if (dice(seed, 3) > 0) {
    fake_server_hand_over_region(cluster.server, from, to, &region);
  } else {
    fake_server_unhost_region(from, &region, 0);
    sleep_us(dice(seed, 3000));
    fake_server_place_region(cluster.server, to, &region);
  }
}

static void vanish(uint64_t *seed, int table, const struct place *place)
{
  char start[16], end[16];
  struct fake_region region = region_of(table, place, start, end);

  fake_server_unhost_region(servers[place->server], &region, 0);
  sleep_us(1000 + dice(seed, 20000));
  fake_server_host_region(servers[place->server], &region, 0);
}

static void make_table(int table)
{
  for (int i = 0; i < CELLS; i += CELLS / 3) {
    put(table, (struct place){.from = i, .to = i + CELLS / 3, .server = i % SERVERS});
  }
}

static void drop_or_make(int table)
{
  if (places[table][0].to == 0) {
    make_table(table);
    return;
  }
  for (int i = 0; i < CELLS; i++) {
    if (places[table][i].to != 0) {
      take_away(table, places[table][i]);
      places[table][i].to = 0;
    }
  }
}

static void change_regions(uint64_t *seed)
{
  int table = (int)dice(seed, COPIED);
  unsigned what = dice(seed, 12);

  if (table == GONE && (what == 0 || places[table][0].to == 0)) {
    drop_or_make(table);
    return;
  }
  struct place *place = place_of(table, (int)dice(seed, CELLS));

  if (what < 3) {
    split(seed, table, *place);
  } else if (what < 6) {
    merge(seed, table, *place);
  } else if (what < 11) {
    move(seed, table, place);
  } else {
    vanish(seed, table, place);
  }
}

static const char *const classes[] = {
    "org.apache.hadoop.hbase.NotServingRegionException",
    "org.apache.hadoop.hbase.CallQueueTooBigException",
    "org.apache.hadoop.hbase.RegionTooBusyException",
    "org.apache.hadoop.hbase.regionserver.RegionServerStoppedException",
    "org.apache.hadoop.hbase.exceptions.RegionOpeningException",
    "org.apache.hadoop.hbase.exceptions.RegionMovedException",
    "no.such.Exception"};
enum { CLASSES = sizeof(classes) / sizeof(classes[0]) };

static void add_fault(uint64_t *seed, struct fake_server *server, const char *method,
                      enum fake_what what)
{
  fake_server_fault(server, &(struct fake_fault){
                                .what = what,
                                .method = method,
                                .times = 1 + (int)dice(seed, 3),
                                .delay_ms = (int)dice(seed, 8),
                                .class_name = classes[dice(seed, CLASSES)],
                                .overloaded = dice(seed, 4) == 0,
                            });
}

/* Nonsense, but no lies: what other methods answer is for their callers to understand, so only
 * frames of it are spoilt. A server that ends a connection with an exception of this class does not
 * claim to have done nothing. */
static void add_some_fault(uint64_t *seed, struct fake_server *server)
{
  static const enum fake_what any[] = {
      FAKE_EXCEPTION, FAKE_NEVER,   FAKE_CLOSE,  FAKE_RESET,     FAKE_HALF,       FAKE_TWICE,
      FAKE_WRONG_ID,  FAKE_GARBAGE, FAKE_ANSWER, FAKE_EXCEPTION, FAKE_APPLY_CLOSE};
  static const enum fake_what of_reads[] = {FAKE_BAD_MESSAGE, FAKE_BAD_COUNTS,    FAKE_SPARE_BYTES,
                                            FAKE_NO_RESULT,   FAKE_FEWER_REGIONS, FAKE_LOST_RESULT,
                                            FAKE_INDEX_TWICE, FAKE_WRONG_INDEX,   FAKE_ANY_ORDER,
                                            FAKE_ANY_ORDER,   FAKE_MORE_REGIONS};
  static const enum fake_what of_scans[] = {FAKE_EARLY_STOP, FAKE_HEARTBEAT, FAKE_BAD_COUNTS,
                                            FAKE_SPARE_BYTES};

  if (server == cluster.server && dice(seed, 2) == 0) {
    add_fault(seed, server, "Scan", of_scans[dice(seed, 4)]);
  } else if (dice(seed, 3) == 0) {
    add_fault(seed, server, dice(seed, 2) == 0 ? "Get" : "Multi",
              of_reads[dice(seed, sizeof(of_reads) / sizeof(of_reads[0]))]);
  } else if (dice(seed, 12) == 0) {
    fake_server_fault(server, &(struct fake_fault){
                                  .what = FAKE_FATAL, .method = "*", .class_name = "some.Trouble"});
  } else {
    add_fault(seed, server, "*", any[dice(seed, sizeof(any) / sizeof(any[0]))]);
  }
}

static void misbehave(uint64_t *seed)
{
  unsigned which = dice(seed, SERVERS + 1);
  struct fake_server *server = which < SERVERS ? servers[which] : cluster.server;

  switch (dice(seed, 24)) {
  case 0:
    fake_server_set_silent(server, true);
    sleep_us(1000 * dice(seed, 60));
    fake_server_set_silent(server, false);
    break;
  case 1:
    fake_server_stop(server);
    sleep_us(1000 * dice(seed, 30));
    fake_server_restart(server);
    break;
  case 2:
    fake_server_drop_connections(server);
    break;
  case 3:
    fake_server_clear_faults(server);
    break;
  case 4:
    fake_server_set_encoding(server, (enum fake_encoding)dice(seed, 3));
    break;
  default:
    add_some_fault(seed, server);
    break;
  }
}

static void *live_on(void *arg)
{
  uint64_t seed = *(uint64_t *)arg;

  while (!atomic_load(&stop)) {
    change_regions(&seed);
    if (dice(&seed, 2) == 0) {
      misbehave(&seed);
    }
    sleep_us(300 + dice(&seed, 2000));
  }
  return NULL;
}

static void all_servers(void (*act)(struct fake_server *server))
{
  for (int i = 0; i < SERVERS; i++) {
    act(servers[i]);
  }
  act(cluster.server);
}

static void fall_silent(struct fake_server *server)
{
  fake_server_clear_faults(server);
  fake_server_set_silent(server, true);
}

static void speak(struct fake_server *server)
{
  fake_server_set_silent(server, false);
}

/* ---- Questions and the judge ----------------------------------------------------------------- */

enum kind { GET, CALL, ONCE, GET_MANY, GROUP, LIST, KINDS };

/* A row that is asked for. */
struct wanted {
  int table;
  char key[16];
};

struct question {
  atomic_int answers;
  enum kind kind;
  struct wanted rows[MANY]; /* one, or as many as are to be read or grouped */
  size_t count;
  struct keyroute_call call;
  int64_t began_us;
  uint64_t seed;
};

static void choose_rows(struct question *question, uint64_t *seed)
{
  bool many = question->kind == GET_MANY || question->kind == GROUP;

  question->count = many ? dice(seed, MANY + 1) : 1;
  for (size_t i = 0; i < question->count; i++) {
    question->rows[i].table = (int)dice(seed, TABLES);
    snprintf(question->rows[i].key, sizeof(question->rows[i].key), "r%06d", (int)dice(seed, ROWS));
  }
}

static void choose_flags(struct question *question, uint64_t *seed)
{
  static const unsigned flags[] = {KEYROUTE_REFRESH, KEYROUTE_CACHE_ONLY, KEYROUTE_TRACE};
  unsigned which = dice(seed, 12);

  if (which < 3) {
    question->call.flags = flags[which];
  }
  if (question->count > 0 && question->rows[0].table == COPIED) {
    question->call.replica = (int)dice(seed, REPLICAS + 1) - 1;
  }
  if (question->kind == LIST) { /* which has one flag, and all replicas */
    question->call.flags &= KEYROUTE_TRACE;
    question->call.replica = 0;
  }
}

static void make_question(struct question *question, uint64_t *seed)
{
  static const int64_t deadlines[] = {1, 2, 5, 20, 100, 300, 300, 1000};

  *question = (struct question){
      .kind = (enum kind)dice(seed, KINDS),
      .call = {sizeof(question->call), deadlines[dice(seed, 8)], 0, 0},
      .began_us = now_us(),
      .seed = *seed,
  };
  choose_rows(question, seed);
  choose_flags(question, seed);
}

static bool equals(struct keyroute_bytes bytes, struct keyroute_bytes other)
{
  return bytes.len == other.len && memcmp(bytes.data, other.data, bytes.len) == 0;
}

static bool below(struct keyroute_bytes a, struct keyroute_bytes b)
{
  size_t least = a.len < b.len ? a.len : b.len;
  int order = least > 0 ? memcmp(a.data, b.data, least) : 0;

  return order < 0 || (order == 0 && a.len < b.len);
}

static bool covers(const struct keyroute_location *location, const char *table, const char *key)
{
  struct keyroute_bytes row = keyroute_string(key);
  struct keyroute_bytes end = keyroute_location_end_key(location);

  return equals(keyroute_location_table(location), keyroute_string(table)) &&
         !below(row, keyroute_location_start_key(location)) && (end.len == 0 || below(row, end));
}

static void judge_place(const struct wanted *wanted, const struct keyroute_location *location)
{
  if (location == NULL || !covers(location, names[wanted->table], wanted->key)) {
    WRONG("table %s row %s: another region, or none\n", names[wanted->table], wanted->key);
  }
}

/* One row of a result: its value is made of the row. */
static void judge_row(const struct wanted *wanted, const struct keyroute_result *result,
                      size_t index)
{
  size_t count;
  const struct keyroute_cell *found = keyroute_result_cells(result, index, &count);

  if (count != 1 || !equals(found->row, keyroute_string(wanted->key)) ||
      !equals(found->value, keyroute_string(wanted->key))) {
    WRONG("table %s row %s: %zu cells, or another row's\n", names[wanted->table], wanted->key,
          count);
  }
  judge_place(wanted, keyroute_result_location(result, index));
}

static bool may_fail_with(const struct question *question, const struct wanted *wanted, int error)
{
  switch (error) {
  case KEYROUTE_E_TABLE_NOT_FOUND:
  case KEYROUTE_E_HOLE:
    return wanted->table == GONE;
  case KEYROUTE_E_NO_MEMORY:
    return atomic_load(&one_in) > 0;
  case KEYROUTE_E_NOT_CACHED:
    return question->call.flags == KEYROUTE_CACHE_ONLY;
  case KEYROUTE_E_INVALID_ARGUMENT:
  case KEYROUTE_E_TOO_LARGE:
  case KEYROUTE_E_AUTH:
  case KEYROUTE_E_CORRUPT:
    return false;
  default:
    return true;
  }
}

static void judge_failure(const struct question *question, const struct wanted *wanted, int error,
                          const char *message)
{
  if (!may_fail_with(question, wanted, error) || message[0] == '\0') {
    WRONG("table %s row %s: %s: %s\n", names[wanted->table], wanted->key, keyroute_errname(error),
          message);
  }
}

/* What was read, in the order asked for; releases it. NULL is accepted. Returns how many rows
 * failed. */
static size_t judge_result(const struct question *question, struct keyroute_result *result)
{
  size_t failed = keyroute_result_failed(result);

  if (result != NULL && keyroute_result_count(result) != question->count) {
    WRONG("%zu rows for %zu\n", keyroute_result_count(result), question->count);
  }
  for (size_t i = 0; i < keyroute_result_count(result); i++) {
    int error = keyroute_result_error(result, i);

    failed -= error != 0;
    if (error == 0) {
      judge_row(&question->rows[i], result, i);
    } else {
      judge_failure(question, &question->rows[i], error, keyroute_result_message(result, i));
    }
  }
  if (failed != 0) {
    WRONG("failed rows were counted as %zu\n", keyroute_result_failed(result));
  }
  failed = keyroute_result_failed(result);
  keyroute_result_free(result);
  return failed;
}

static void judge_reply(const struct question *question, struct keyroute_reply *reply)
{
  if (reply != NULL) {
    if (!equals(keyroute_reply_message(reply), body) ||
        !equals(keyroute_reply_cells(reply), cells)) {
      WRONG("table %s: another reply\n", names[question->rows[0].table]);
    }
    judge_place(&question->rows[0], keyroute_reply_location(reply));
  }
  keyroute_reply_free(reply);
}

/* The rows of one region of a grouping; each is ticked off. */
static void judge_group(const struct question *question, const struct keyroute_server_group *server,
                        const struct keyroute_region_group *region, bool *seen)
{
  if (keyroute_location_port(region->location, region->replica) != server->port) {
    WRONG("a region in the group of another server\n");
  }
  for (size_t i = 0; i < region->row_count; i++) {
    size_t index = region->rows[i];

    if (index >= question->count || seen[index]) {
      WRONG("row %zu of %zu is grouped twice, or is none\n", index, question->count);
      return;
    }
    seen[index] = true;
    judge_place(&question->rows[index], region->location);
  }
}

static void judge_server(const struct question *question, const struct keyroute_groups *groups,
                         size_t index, bool *seen)
{
  struct keyroute_server_group server = {.size = sizeof(server)};
  size_t rows_left;

  keyroute_groups_server(groups, index, &server);
  rows_left = server.row_count;
  for (size_t i = 0; i < server.region_count; i++) {
    struct keyroute_region_group region = {.size = sizeof(region)};

    if (keyroute_groups_region(groups, server.first_region + i, &region) != 0) {
      WRONG("a server's region is none\n");
      return;
    }
    judge_group(question, &server, &region, seen);
    rows_left -= region.row_count;
  }
  if (rows_left != 0 || server.row_count == 0) {
    WRONG("rows of a server do not add up\n");
  }
}

/* Each row is in one group, or has failed. Releases it; NULL is accepted. Returns how many rows
 * failed. */
static size_t judge_groups(const struct question *question, struct keyroute_groups *groups)
{
  bool seen[MANY] = {false};
  size_t failed = keyroute_groups_failed(groups);

  for (size_t i = 0; i < keyroute_groups_server_count(groups); i++) {
    judge_server(question, groups, i, seen);
  }
  for (size_t i = 0; groups != NULL && i < question->count; i++) {
    int error = keyroute_groups_error(groups, i);

    if ((error == 0) != seen[i]) {
      WRONG("row %zu: %s, and in a group or not\n", i, keyroute_errname(error));
    } else if (error != 0) {
      judge_failure(question, &question->rows[i], error, keyroute_groups_message(groups, i));
    }
  }
  keyroute_groups_free(groups);
  return failed;
}

/* A region is shown whole, and behind those that start below it. */
static void judge_region(const struct question *question, const struct keyroute_span *span,
                         struct keyroute_bytes *last)
{
  const char *table = names[question->rows[0].table];

  if (below(span->start, *last) ||
      !equals(keyroute_location_table(span->location), keyroute_string(table)) ||
      !equals(span->start, keyroute_location_start_key(span->location)) ||
      !equals(span->end, keyroute_location_end_key(span->location))) {
    WRONG("table %s: a region that is out of order, or not its location\n", table);
  }
  *last = span->start;
}

/* Releases a page; NULL is accepted. */
static void judge_page(const struct question *question, struct keyroute_page *page)
{
  const struct wanted *from = &question->rows[0];
  struct keyroute_bytes last = {NULL, 0}, next = {NULL, 0};

  for (size_t i = 0; i < keyroute_page_count(page); i++) {
    struct keyroute_span span = {.size = sizeof(span)};

    keyroute_page_span(page, i, &span);
    if (span.kind == KEYROUTE_SPAN_REGION) {
      judge_region(question, &span, &last);
    } else if (span.kind == KEYROUTE_SPAN_CORRUPT ||
               below(span.start, keyroute_string(from->key))) {
      WRONG("table %s: a span before its time: %s\n", names[from->table], span.message);
    }
  }
  if (keyroute_page_next(page, &next) && !below(keyroute_string(from->key), next)) {
    WRONG("table %s: the next page begins where this one does\n", names[from->table]);
  }
  keyroute_page_free(page);
}

static void judge_time(const struct question *question)
{
  int64_t late_us = now_us() - question->began_us - 1000 * question->call.deadline_ms;
  long long latest = atomic_load(&latest_us);

  while (late_us > latest && !atomic_compare_exchange_weak(&latest_us, &latest, late_us)) {
  }
}

/* failed  how many rows of many have; the message tells of the first */
static void judge_error(const struct question *question, int error, size_t failed,
                        const struct keyroute_detail *detail)
{
  static const struct wanted anything = {.table = GONE};

  atomic_fetch_add(&codes[-error], 1);
  if (detail->error != error || (error != 0 || failed > 0) != (detail->message[0] != '\0')) {
    WRONG("%s: the detail says %s: %s\n", keyroute_errname(error), keyroute_errname(detail->error),
          detail->message);
  }
  if (error != 0) {
    judge_failure(question, question->count == 1 ? &question->rows[0] : &anything, error,
                  detail->message);
  }
  if (detail->maybe_applied && (error == 0 || question->kind != ONCE)) {
    WRONG("%s may have been applied\n", keyroute_errname(error));
  }
  if (question->kind == ONCE) {
    atomic_fetch_add(&succeeded_once, error == 0);
    atomic_fetch_add(&maybe_once, detail->maybe_applied);
  }
}

/* ---- Making calls ---------------------------------------------------------------------------- */

static bool drains;

static struct keyroute_method method_of(const struct question *question)
{
  struct keyroute_method method = KEYROUTE_METHOD_INIT;

  method.name = question->kind == ONCE ? "Append" : "Mutate";
  method.idempotent = question->kind == CALL;
  method.param = (struct keyroute_bytes){"\x12\x01x", 3};
  return method;
}

static void fill_keys(struct keyroute_key keys[MANY], const struct question *question)
{
  for (size_t i = 0; i < question->count; i++) {
    keys[i] = (struct keyroute_key){names[question->rows[i].table],
                                    keyroute_string(question->rows[i].key)};
  }
}

/* How many regions a page may have. */
static size_t limit_of(const struct question *question)
{
  return question->began_us % 3 == 0 ? 0 : (size_t)(question->began_us % 3);
}

static void expect_something(int error, bool something)
{
  if ((error == 0) != something) {
    WRONG("%s, and %s\n", keyroute_errname(error), something ? "something" : "nothing");
  }
}

/* Wait for the answer; *failed  rows that did. */
static int ask(const struct question *question, size_t *failed, struct keyroute_detail *detail)
{
  const char *table = question->count > 0 ? names[question->rows[0].table] : "";
  struct keyroute_bytes row = keyroute_string(question->rows[0].key), none = {NULL, 0};
  const struct keyroute_call *call = &question->call;
  struct keyroute_method method = method_of(question);
  struct keyroute_result *result = NULL;
  struct keyroute_reply *reply = NULL;
  struct keyroute_groups *groups = NULL;
  struct keyroute_page *page = NULL;
  struct keyroute_key keys[MANY];
  int error;

  fill_keys(keys, question);
  switch (question->kind) {
  case GET:
    error = keyroute_get(&result, cluster.conn, table, row, NULL, call, detail);
    break;
  case GET_MANY:
    error = keyroute_get_many(&result, cluster.conn, keys, question->count, NULL, call, detail);
    break;
  case GROUP:
    error = keyroute_group(&groups, cluster.conn, keys, question->count, call, detail);
    break;
  case LIST:
    error =
        keyroute_regions(&page, cluster.conn, table, row, none, limit_of(question), call, detail);
    break;
  default:
    error = keyroute_call(&reply, cluster.conn, table, row, &method, call, detail);
    break;
  }
  expect_something(error, result != NULL || groups != NULL || reply != NULL || page != NULL);
  judge_reply(question, reply);
  judge_page(question, page);
  *failed = judge_groups(question, groups);
  *failed += judge_result(question, result);
  return error;
}

/* Wait for an answer. */
static void ask_now(uint64_t *seed, int64_t deadline_ms)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct question question;

  make_question(&question, seed);
  question.call.deadline_ms = deadline_ms > 0 ? deadline_ms : question.call.deadline_ms;
  size_t failed;
  int error = ask(&question, &failed, &detail);

  judge_time(&question);
  judge_error(&question, error, failed, &detail);
  keyroute_detail_clear(&detail);
}

static void ask_later(uint64_t *seed);

/* What a callback may do, and what it may not. */
static void call_inside(struct question *question)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  size_t failed;
  int error = drains ? KEYROUTE_E_INVALID_ARGUMENT : ask(question, &failed, &detail);

  if (error != KEYROUTE_E_INVALID_ARGUMENT) {
    WRONG("a blocking call in a callback: %s\n", keyroute_errname(error));
  }
  ask_later(&question->seed);
}

static void answered(struct question *question, int error, size_t failed,
                     const struct keyroute_detail *detail)
{
  if (atomic_fetch_add(&question->answers, 1) != 0) {
    WRONG("a callback ran twice\n");
  }
  if (!drains) {
    judge_time(question);
  }
  judge_error(question, error, failed, detail);
  if (!atomic_load(&quiet) && dice(&question->seed, 4) == 0) {
    call_inside(question);
  }
  free(question);
  atomic_fetch_add(&ended, 1);
}

static void got(void *payload, int error, struct keyroute_result *result,
                const struct keyroute_detail *detail)
{
  expect_something(error, result != NULL);
  answered(payload, error, judge_result(payload, result), detail);
}

static void grouped(void *payload, int error, struct keyroute_groups *groups,
                    const struct keyroute_detail *detail)
{
  expect_something(error, groups != NULL);
  answered(payload, error, judge_groups(payload, groups), detail);
}

static void listed(void *payload, int error, struct keyroute_page *page,
                   const struct keyroute_detail *detail)
{
  expect_something(error, page != NULL);
  judge_page(payload, page);
  answered(payload, error, 0, detail);
}

static void replied(void *payload, int error, struct keyroute_reply *reply,
                    const struct keyroute_detail *detail)
{
  expect_something(error, reply != NULL);
  judge_reply(payload, reply);
  answered(payload, error, 0, detail);
}

static int start(uint64_t *number, struct question *question)
{
  const char *table = question->count > 0 ? names[question->rows[0].table] : "";
  struct keyroute_bytes row = keyroute_string(question->rows[0].key), none = {NULL, 0};
  const struct keyroute_call *call = &question->call;
  struct keyroute_connection *conn = cluster.conn;
  struct keyroute_method method = method_of(question);
  struct keyroute_key keys[MANY];

  fill_keys(keys, question);
  switch (question->kind) {
  case GET:
    return keyroute_get_async(number, conn, table, row, NULL, call, got, question);
  case GET_MANY:
    return keyroute_get_many_async(number, conn, keys, question->count, NULL, call, got, question);
  case GROUP:
    return keyroute_group_async(number, conn, keys, question->count, call, grouped, question);
  case LIST:
    return keyroute_regions_async(number, conn, table, row, none, limit_of(question), call, listed,
                                  question);
  default:
    return keyroute_call_async(number, conn, table, row, &method, call, replied, question);
  }
}

static void ask_later(uint64_t *seed)
{
  struct question *question = malloc(sizeof(*question));
  uint64_t number = 0;

  make_question(question, seed);
  atomic_fetch_add(&started, 1);
  int error = start(&number, question);

  if (error != 0) {
    atomic_fetch_sub(&started, 1);
    atomic_fetch_add(&refused, 1);
    free(question);
    if (error != KEYROUTE_E_OVERLOADED && error != KEYROUTE_E_CLOSED &&
        error != KEYROUTE_E_NO_MEMORY) {
      WRONG("refused: %s\n", keyroute_errname(error));
    }
    sleep_us(100);
  } else if (dice(seed, 4) == 0) {
    sleep_us(dice(seed, 2) * dice(seed, 300));
    keyroute_cancel(cluster.conn, number - dice(seed, 2));
  }
}

static void disturb(uint64_t *seed)
{
  int port = fake_server_port(servers[dice(seed, SERVERS)]);

  switch (dice(seed, 3)) {
  case 0:
    keyroute_clear_all(cluster.conn);
    break;
  case 1:
    keyroute_clear_table(cluster.conn, names[dice(seed, TABLES)]);
    break;
  default:
    keyroute_clear_server(cluster.conn, "127.0.0.1", port, 0);
    break;
  }
}

static atomic_int idle;     /* threads that make no calls any more, but for the last one */
static atomic_int finished; /* those that are back from it */

static void *work(void *arg)
{
  uint64_t seed = *(uint64_t *)arg;

  while (!atomic_load(&stop)) {
    unsigned what = dice(&seed, 100);

    if (what < 50) {
      ask_now(&seed, 0);
    } else if (what < 98) {
      ask_later(&seed);
    } else {
      disturb(&seed);
    }
  }
  atomic_fetch_add(&idle, 1);
  while (!atomic_load(&quiet)) {
    sleep_us(200);
  }
  ask_now(&seed, 60000);
  atomic_fetch_add(&finished, 1);
  return NULL;
}

static atomic_bool drained;

static void *drain(void *arg)
{
  (void)arg;
  while (!atomic_load(&drained)) {
    struct pollfd fd = {.fd = keyroute_event_fd(cluster.conn), .events = POLLIN};

    poll(&fd, 1, 2);
    keyroute_drain(cluster.conn);
  }
  return NULL;
}

/* ---- One round ------------------------------------------------------------------------------- */

static void setup(void)
{
  fake_cluster_start(&cluster, &allocator);
  rows = fake_rows_new();
  for (int i = 0; i < SERVERS; i++) {
    servers[i] = fake_server_start(0);
    fake_server_set_rows(servers[i], rows);
    fake_server_answer_method(servers[i], "Mutate", body, cells);
    fake_server_answer_method(servers[i], "Append", body, cells);
  }
  for (int i = 0; i < TABLES; i++) {
    fake_rows_generate(rows, names[i], "r", ROWS, 0);
  }
  for (int i = 0; i < COPIED; i++) {
    make_table(i);
  }
  fake_server_place_replicas(cluster.server, servers, REPLICAS,
                             &(struct fake_region){.table = names[COPIED], .id = ++last_id});
}

static void teardown(void)
{
  for (int i = 0; i < SERVERS; i++) {
    fake_server_free(servers[i]);
  }
  fake_server_free(cluster.server);
  fake_rows_release(rows);
}

static void set_bounds(bool tiny)
{
  static const char *const bounds[][2] = {
      {"keyroute.cache.max.regions", "8"}, {"keyroute.cache.idle.ms", "50"},
      {"keyroute.cache.sweep.ms", "10"},   {"keyroute.scans.max", "2"},
      {"keyroute.max.pending", "24"},
  };

  for (size_t i = 0; tiny && i < sizeof(bounds) / sizeof(bounds[0]); i++) {
    fake_cluster_set(&cluster, bounds[i][0], bounds[i][1]);
  }
  fake_cluster_set(&cluster, "hbase.client.retries.number", "6");
  fake_cluster_set(&cluster, "hbase.rpc.timeout", "200");
  fake_cluster_set(&cluster, "hbase.ipc.client.socket.timeout.connect", "100");
  fake_cluster_set(&cluster, "hbase.ipc.client.failed.servers.expiry", "20");
}

static void tell(void)
{
  printf("seed %llu, %s: %ld calls without waiting, %ld refused, latest %.1f ms:",
         (unsigned long long)first_seed(), drains ? "drain" : "loop", started, refused,
         (double)latest_us / 1000);
  for (int i = 0; i < 32; i++) {
    if (codes[i] > 0) {
      printf(" %s %d", keyroute_errname(-i), codes[i]);
    }
  }
  printf("\n");
  fflush(stdout);
}

/* All threads are inside their last call, or back from it. Whoever is counted as finished is
 * pending no more. */
static void await_last_calls(void)
{
  struct keyroute_stats stats = {.size = sizeof(stats)};
  int back;

  do {
    sleep_us(500);
    back = atomic_load(&finished);
    keyroute_stats(cluster.conn, &stats);
  } while (back + (int)stats.pending < THREADS);
}

/* All threads wait in a call, and no other is under way. */
static void hold_all(void)
{
  all_servers(fall_silent);
  while (atomic_load(&idle) < THREADS || atomic_load(&ended) < atomic_load(&started)) {
    sleep_us(500);
  }
  atomic_store(&quiet, true);
  await_last_calls();
}

/* Close while they do, and callbacks make new calls. */
static void close_in_the_middle(uint64_t *seed)
{
  atomic_store(&quiet, false);
  for (int i = 0; i < BURST; i++) {
    ask_later(seed);
  }
  all_servers(speak);
  sleep_us(dice(seed, 3000));
  ck_assert_int_eq(keyroute_close(cluster.conn), 0);
  atomic_store(&one_in, 0);
  keyroute_options_free(cluster.options);
}

static void expect_all_well(void)
{
  unsigned executed = 0;

  all_servers(fake_server_stop);
  for (int i = 0; i < SERVERS; i++) {
    executed += fake_server_executed(servers[i], "Append");
  }
  tell();
  ck_assert_int_eq(wrong, 0);
  ck_assert_int_eq(started, ended);
  ck_assert_int_eq(live, 0);
  ck_assert_int_le(latest_us, LATE_MS * 1000);
  ck_assert_int_gt(codes[0], 0);
  ck_assert_uint_ge(executed, succeeded_once);
  ck_assert_uint_le(executed, succeeded_once + maybe_once);
}

static void begin_threads(pthread_t *threads, uint64_t *seeds, int count, void *(*run)(void *))
{
  for (int i = 0; i < count; i++) {
    ck_assert_int_eq(pthread_create(&threads[i], NULL, run, &seeds[i]), 0);
  }
}

static void join_threads(pthread_t *threads, int count)
{
  for (int i = 0; i < count; i++) {
    pthread_join(threads[i], NULL);
  }
}

/* As long as is asked for; longer, within bounds, where a busy machine has hardly answered. */
static void go_on(void)
{
  int64_t began_us = now_us();

  do {
    sleep_us(1000 * round_ms(ROUND_MS));
  } while (atomic_load(&codes[0]) < 20 && now_us() - began_us < PATIENCE_MS * INT64_C(1000));
}

static void stress(bool drains_itself, bool tiny, unsigned fail_one_in)
{
  enum { DRAINERS = 2, ALL = THREADS + DRAINERS + 2 };
  pthread_t workers[THREADS], life, drainers[DRAINERS];
  uint64_t seeds[ALL];

  for (int i = 0; i < ALL; i++) {
    seeds[i] = first_seed() * 1000 + (uint64_t)i;
  }
  drains = drains_itself;
  set_bounds(tiny);
  keyroute_options_set_drain(cluster.options, drains);
  fake_cluster_open(&cluster);
  atomic_store(&one_in, fail_one_in);
  begin_threads(&life, &seeds[THREADS], 1, live_on);
  begin_threads(workers, seeds, THREADS, work);
  begin_threads(drainers, &seeds[THREADS + 1], drains ? DRAINERS : 0, drain);
  go_on();
  atomic_store(&stop, true);
  pthread_join(life, NULL);
  hold_all();
  atomic_store(&drained, true);
  join_threads(drainers, drains ? DRAINERS : 0);
  close_in_the_middle(&seeds[ALL - 1]);
  join_threads(workers, THREADS);
  expect_all_well();
}

/* Callbacks on the loop or on threads of the application; bounds wide and tiny; memory there is, or
 * one in a thousand is refused. */
START_TEST(test_hop_stress__answers_are_right_and_nothing_is_left)
{
  stress(_i % 2 == 1, _i >= 2, _i >= 3 ? 1000 : 0);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("hop_stress");
  TCase *tests = tcase_create("stress");

  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_set_timeout(tests, 240 + (double)round_ms(ROUND_MS) / 100);
  tcase_add_loop_test(tests, test_hop_stress__answers_are_right_and_nothing_is_left, 0, 5);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
