/*
 * Plays a scenario: the client's side, and what happens when.
 *
 * Statements are played one after another on the thread of the test; `after MS` hands one about the
 * world (scenario_world.c) to a thread of its own that waits first. The connection is opened by the
 * first statement that needs it, so that options and servers stand in front.
 *
 *  1. The library is the real one, its loop and its sockets too; only the registry is told by the
 *     scenario where the root is, for a static root cannot move.
 *  2. Whatever is not as expected fails the test with file and line. Nothing is expected of the
 *     clock but that things happen within generous bounds (within=MS).
 *  3. `expect` looks at counters that other threads change, so it looks again for some seconds
 *     before it gives up.
 *  4. Lookups that were started and not finished fail the test: each has to say how it ends.
 *
 * For tests: no memory ends the test.
 */
#include "test/scenario.h"

#include "lib/clock.h"
#include "lib/connection.h"
#include "lib/latch.h"
#include "lib/registry_static.h"
#include "test/page_text.h"
#include "test/scenario_world.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utlist.h>

enum { EXPECT_MS = 3000, NAME_SIZE = 512, LISTED_SIZE = 1 << 20 };

/* How a lookup came out. */
struct answer {
  int error;
  struct keyroute_location *location; /* counted */
  struct keyroute_detail detail;      /* without its trace */
};

/* A lookup that was started and not finished. */
struct running {
  struct running *next;
  char *name;
  uint64_t request;
  pthread_mutex_t lock;
  pthread_cond_t ended;
  unsigned answers; /* lock */
  struct answer answer;
};

/* An answer that was given a name, to be reported. */
struct named {
  struct named *next;
  char *name;
  struct keyroute_location *location; /* counted */
};

/* A statement that is played later. */
struct later {
  struct later *next;
  struct scenario *scenario;
  struct scenario_line line;
  int64_t wait_ms;
  pthread_t thread;
};

struct scenario {
  struct scenario_world *world;
  struct keyroute_options *options;
  struct keyroute_connection *conn; /* NULL = not opened yet, or closed */
  bool closed;
  struct running *running;
  struct named *named;
  struct later *later;
  struct keyroute_stats mark;
  struct fake_counts world_mark;
};

static void *must(void *memory)
{
  if (memory == NULL) {
    abort();
  }
  return memory;
}

static void sleep_ms(int64_t ms)
{
  struct timespec time = {ms / 1000, ms % 1000 * 1000000};

  nanosleep(&time, NULL);
}

/* ---- The root ------------------------------------------------------------------------------- */

struct root_change {
  struct kr_task task;
  struct scenario *scenario;
  const char *root;
  bool tell;
  struct kr_latch over;
};

static void change_root(struct kr_task *task)
{
  struct root_change *change = (struct root_change *)(void *)task; /* its first field */
  struct keyroute_connection *conn = change->scenario->conn;

  if (kr_registry_static_set(conn->registry, change->root) != 0) {
    abort();
  }
  if (change->tell) {
    kr_locator_root_changed(conn->locator);
  }
  kr_latch_open(&change->over);
}

static void root_moved(void *arg, const char *root, bool tell)
{
  struct root_change change = {
      .task.run = change_root,
      .scenario = arg,
      .root = root,
      .tell = tell,
  };

  if (change.scenario->conn == NULL) {
    return; /* the connection will begin with it */
  }
  kr_latch_init(&change.over);
  kr_loop_post(change.scenario->conn->loop, &change.task);
  kr_latch_await(&change.over);
}

static int make_registry(struct kr_registry **out, struct keyroute_connection *conn, void *arg)
{
  struct scenario *scenario = arg;

  return kr_registry_static_new(out, conn->mem, conn->loop, scenario_world_root(scenario->world));
}

/* ---- The connection ------------------------------------------------------------------------- */

static struct keyroute_stats read_stats(const struct scenario *scenario)
{
  struct keyroute_stats stats = {.size = sizeof(stats)};

  keyroute_stats(scenario->conn, &stats);
  return stats;
}

static struct keyroute_connection *open_connection(struct scenario *scenario,
                                                   const struct scenario_line *line)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

  if (scenario->closed) {
    scenario_line_fail(line, "the connection is closed");
  }
  if (scenario->conn == NULL) {
    if (kr_connection_open(&scenario->conn, scenario->options, &detail, make_registry, scenario) !=
        0) {
      scenario_line_fail(line, "open: %s", detail.message);
    }
    scenario->mark = read_stats(scenario);
    scenario->world_mark = scenario_world_counts(scenario->world);
  }
  return scenario->conn;
}

static void join_later(struct scenario *scenario)
{
  while (scenario->later != NULL) {
    struct later *later = scenario->later;

    scenario->later = later->next;
    pthread_join(later->thread, NULL);
    scenario_line_clear(&later->line);
    free(later);
  }
}

static void close_connection(struct scenario *scenario)
{
  join_later(scenario);
  keyroute_close(scenario->conn);
  scenario->conn = NULL;
  scenario->closed = true;
}

/* ---- Answers by name ------------------------------------------------------------------------ */

/* Keep an answer under the name of as=NAME, if there is one; an older one of that name goes. */
static void name_answer(struct scenario *scenario, struct scenario_line *line,
                        struct keyroute_location *location)
{
  const char *name = scenario_line_text(line, "as");
  struct named *named = scenario->named;

  if (name == NULL || location == NULL) {
    return;
  }
  while (named != NULL && strcmp(named->name, name) != 0) {
    named = named->next;
  }
  if (named == NULL) {
    named = must(calloc(1, sizeof(*named)));
    named->name = must(strdup(name));
    LL_PREPEND(scenario->named, named);
  }
  keyroute_location_release(named->location);
  named->location = keyroute_location_ref(location);
}

static struct keyroute_location *find_named(struct scenario *scenario, struct scenario_line *line)
{
  const char *name = scenario_line_word(line, 1);

  for (struct named *named = scenario->named; named != NULL; named = named->next) {
    if (strcmp(named->name, name) == 0) {
      return named->location;
    }
  }
  scenario_line_fail(line, "no answer is called %s", name);
}

static void free_named(struct scenario *scenario)
{
  while (scenario->named != NULL) {
    struct named *named = scenario->named;

    scenario->named = named->next;
    keyroute_location_release(named->location);
    free(named->name);
    free(named);
  }
}

static void play_close(struct scenario *scenario, struct scenario_line *line,
                       struct scenario_line *expected)
{
  (void)line;
  (void)expected;
  close_connection(scenario);
}

static void play_option(struct scenario *scenario, struct scenario_line *line,
                        struct scenario_line *expected)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

  (void)expected;
  if (keyroute_options_set(scenario->options, scenario_line_word(line, 1),
                           scenario_line_word(line, 2), &detail) != 0) {
    scenario_line_fail(line, "%s", detail.message);
  }
}

/* ---- Checking an answer --------------------------------------------------------------------- */

/* Does `code` stand among the names in "OFFLINE|HOLE"? */
static bool names_code(const char *names, const char *code)
{
  size_t len = strlen(code);

  for (const char *at = names; at != NULL; at = strchr(at, '|')) {
    at += *at == '|';
    if (strncmp(at, code, len) == 0 && (at[len] == '\0' || at[len] == '|')) {
      return true;
    }
  }
  return false;
}

static void check_key(struct scenario_line *expected, size_t index, const char *what,
                      struct keyroute_bytes got)
{
  char text[NAME_SIZE];
  struct keyroute_bytes wanted = scenario_line_bytes(expected, index);

  if (wanted.len != got.len || memcmp(wanted.data, got.data, got.len) != 0) {
    keyroute_escape(text, sizeof(text), got);
    scenario_line_fail(expected, "the %s key is \"%s\"", what, text);
  }
}

static void check_number(struct scenario_line *expected, const char *key, int64_t got)
{
  int64_t wanted = scenario_line_number(expected, key, got);

  if (wanted != got) {
    scenario_line_fail(expected, "%s is %lld", key, (long long)got);
  }
}

/* key=NAME: that replica is on that server; key=none: on none. */
static void check_place(struct scenario *scenario, struct scenario_line *expected, const char *key,
                        const struct keyroute_location *location, int replica)
{
  const char *name = scenario_line_text(expected, key);
  const char *host = keyroute_location_host(location, replica);
  int port = keyroute_location_port(location, replica);
  long long code = (long long)keyroute_location_start_code(location, replica);

  if (name == NULL || (strcmp(name, "none") == 0 && host == NULL)) {
    return;
  }
  if (host == NULL || strcmp(name, "none") == 0) {
    scenario_line_fail(expected, "%s is %s", key, host == NULL ? "on no server" : host);
  }
  const struct scenario_place *place = scenario_world_place(scenario->world, expected, name);

  if (strcmp(place->host, host) != 0 || place->port != port || place->start_code != code) {
    scenario_line_fail(expected, "%s is %s:%d, start code %lld", key, host, port, code);
  }
}

static void check_location(struct scenario *scenario, struct scenario_line *expected,
                           const struct keyroute_location *location)
{
  const char *state = scenario_line_text(expected, "state");

  if (scenario_line_more(expected, 1)) {
    check_key(expected, 1, "start", keyroute_location_start_key(location));
    check_key(expected, 2, "end", keyroute_location_end_key(location));
  }
  check_number(expected, "id", keyroute_location_region_id(location));
  check_number(expected, "seq", keyroute_location_seqnum(location, 0));
  check_number(expected, "replicas", keyroute_location_replica_count(location));
  check_place(scenario, expected, "on", location, 0);
  check_place(scenario, expected, "r1", location, 1);
  check_place(scenario, expected, "r2", location, 2);
  if (state != NULL && (keyroute_location_state(location) == NULL ||
                        strcmp(state, keyroute_location_state(location)) != 0)) {
    scenario_line_fail(expected, "the state is not %s", state);
  }
}

static void check_detail(struct scenario *scenario, struct scenario_line *expected,
                         const struct keyroute_detail *detail)
{
  static const char *const sources[] = {"none", "cache", "catalog", "registry"};
  const char *source = scenario_line_text(expected, "source");
  const char *server = scenario_line_text(expected, "server");
  const char *message;
  int64_t within_ms = scenario_line_number(expected, "within", INT32_MAX);
  char address[300];

  if (source != NULL && strcmp(source, sources[detail->source]) != 0) {
    scenario_line_fail(expected, "the source is %s", sources[detail->source]);
  }
  if (scenario_line_has(expected, "deadline") && !detail->deadline) {
    scenario_line_fail(expected, "it was not the deadline that ended it");
  }
  check_number(expected, "attempts", detail->attempts);
  check_number(expected, "rpcs", detail->rpcs);
  if (detail->elapsed_us / 1000 > within_ms) {
    scenario_line_fail(expected, "it took %lld us", (long long)detail->elapsed_us);
  }
  if (server != NULL) {
    const struct scenario_place *place = scenario_world_place(scenario->world, expected, server);

    snprintf(address, sizeof(address), "%.255s:%d", place->host, place->port);
    if (strcmp(address, detail->server) != 0) {
      scenario_line_fail(expected, "the server is \"%s\"", detail->server);
    }
  }
  while ((message = scenario_line_next(expected, "message")) != NULL) {
    if (strstr(detail->message, message) == NULL) {
      scenario_line_fail(expected, "\"%s\" is not in \"%s\"", message, detail->message);
    }
  }
}

/* same=NAME, other=NAME: is it, or is it not, the very handle of that name? */
static void check_handle(struct scenario *scenario, struct scenario_line *expected,
                         const struct keyroute_location *location)
{
  const char *same = scenario_line_text(expected, "same");
  const char *other = scenario_line_text(expected, "other");

  for (struct named *named = scenario->named; named != NULL; named = named->next) {
    if (same != NULL && strcmp(same, named->name) == 0 && location != named->location) {
      scenario_line_fail(expected, "it is another handle than %s", same);
    }
    if (other != NULL && strcmp(other, named->name) == 0 && location == named->location) {
      scenario_line_fail(expected, "it is the handle of %s", other);
    }
  }
}

static void check_answer(struct scenario *scenario, struct scenario_line *expected,
                         struct answer *answer)
{
  const char *code = scenario_line_word(expected, 0);
  const char *got = answer->error == 0 ? "FOUND" : keyroute_errname(answer->error);

  if (!names_code(code, got)) {
    char start[NAME_SIZE] = "";

    if (answer->location != NULL) {
      keyroute_escape(start, sizeof(start), keyroute_location_start_key(answer->location));
    }
    scenario_line_fail(expected, "%s%s%s, not %s (%s)", got, answer->error == 0 ? " " : "", start,
                       code, answer->detail.message);
  }
  if ((answer->error == 0) != (answer->location != NULL)) {
    scenario_line_fail(expected, "a location and an error, or neither");
  }
  if (answer->location != NULL) {
    check_location(scenario, expected, answer->location);
  }
  check_detail(scenario, expected, &answer->detail);
  check_handle(scenario, expected, answer->location);
  scenario_line_done(expected);
  keyroute_location_release(answer->location);
  keyroute_detail_clear(&answer->detail);
}

/* ---- Lookups -------------------------------------------------------------------------------- */

/* What a `locate` line asks. */
struct question {
  const char *table;
  struct keyroute_bytes row;
  struct keyroute_call call;
};

static struct question read_question(struct scenario_line *line)
{
  struct question question = {scenario_line_word(line, 1), scenario_line_bytes(line, 2),
                              KEYROUTE_CALL_INIT};
  static const struct {
    const char *name;
    unsigned flag;
  } flags[] = {{"before", KEYROUTE_BEFORE},
               {"after", KEYROUTE_AFTER},
               {"refresh", KEYROUTE_REFRESH},
               {"cache-only", KEYROUTE_CACHE_ONLY}};
  const char *replica = scenario_line_text(line, "replica");

  for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
    question.call.flags |= scenario_line_has(line, flags[i].name) ? flags[i].flag : 0;
  }
  question.call.deadline_ms = scenario_line_number(line, "deadline", 0);
  if (replica != NULL && strcmp(replica, "any") == 0) {
    question.call.replica = KEYROUTE_REPLICA_ANY;
  } else {
    question.call.replica = (int)scenario_line_number(line, "replica", 0);
  }
  return question;
}

/* One of several threads that ask at once. */
struct asker {
  pthread_t thread;
  struct scenario *scenario;
  struct question question;
  char row[64]; /* its own, where rows are spread */
  int times;
  struct answer answer; /* of the last time; an earlier error stays */
};

static void ask(struct asker *asker)
{
  const struct question *question = &asker->question;
  struct answer *answer = &asker->answer;

  for (int i = 0; i < asker->times && answer->error == 0; i++) {
    keyroute_location_release(answer->location);
    answer->location = NULL;
    answer->error = keyroute_locate(&answer->location, asker->scenario->conn, question->table,
                                    question->row, &question->call, &answer->detail);
  }
}

static void *run_asker(void *arg)
{
  ask(arg);
  return NULL;
}

/* The words that say what is expected count for every thread. */
static void reuse(struct scenario_line *expected)
{
  for (size_t i = 0; i < expected->count; i++) {
    expected->words[i].used = false;
  }
}

static void start_asker(struct asker *asker, const struct asker *model, int number, int spread)
{
  *asker = *model;
  if (spread > 0) {
    snprintf(asker->row, sizeof(asker->row), "%.*s%05d", (int)model->question.row.len,
             (const char *)model->question.row.data, number % spread);
    asker->question.row = keyroute_string(asker->row);
  }
}

/* locate TABLE "row" [threads=N] [spread=N] [times=N] ... */
static void play_locate(struct scenario *scenario, struct scenario_line *line,
                        struct scenario_line *expected)
{
  int threads = (int)scenario_line_number(line, "threads", 1);
  int spread = (int)scenario_line_number(line, "spread", 0);
  struct asker model = {
      .scenario = scenario,
      .question = read_question(line),
      .times = (int)scenario_line_number(line, "times", 1),
      .answer.detail = KEYROUTE_DETAIL_INIT,
  };
  struct asker *askers = must(calloc((size_t)threads, sizeof(*askers)));

  open_connection(scenario, line);
  for (int i = 0; i < threads; i++) {
    start_asker(&askers[i], &model, i, spread);
    if (threads == 1) {
      ask(&askers[i]);
    } else if (pthread_create(&askers[i].thread, NULL, run_asker, &askers[i]) != 0) {
      abort();
    }
  }
  for (int i = 0; i < threads; i++) {
    if (threads > 1) {
      pthread_join(askers[i].thread, NULL);
    }
    reuse(expected);
    struct keyroute_location *location =
        askers[i].answer.location != NULL ? keyroute_location_ref(askers[i].answer.location) : NULL;

    check_answer(scenario, expected, &askers[i].answer);
    name_answer(scenario, line, location);
    keyroute_location_release(location);
  }
  free(askers);
}

/* ---- Lookups that go on while other things happen ------------------------------------------- */

static void on_answer(void *payload, int error, struct keyroute_location *location,
                      const struct keyroute_detail *detail)
{
  struct running *running = payload;

  pthread_mutex_lock(&running->lock);
  running->answers++;
  running->answer.error = error;
  running->answer.location = location != NULL ? keyroute_location_ref(location) : NULL;
  running->answer.detail = *detail;
  running->answer.detail.trace = NULL;
  pthread_cond_signal(&running->ended);
  pthread_mutex_unlock(&running->lock);
}

/* start NAME locate TABLE "row" ... */
static void play_start(struct scenario *scenario, struct scenario_line *line,
                       struct scenario_line *expected)
{
  struct running *running = must(calloc(1, sizeof(*running)));

  (void)expected;
  running->name = must(strdup(scenario_line_word(line, 1)));
  pthread_mutex_init(&running->lock, NULL);
  pthread_cond_init(&running->ended, NULL);
  line->first += 2;
  scenario_line_word(line, 0);
  struct question question = read_question(line);
  int error =
      keyroute_locate_async(&running->request, open_connection(scenario, line), question.table,
                            question.row, &question.call, on_answer, running);

  if (error != 0) {
    scenario_line_fail(line, "%s", keyroute_errname(error));
  }
  LL_APPEND(scenario->running, running);
}

static struct running *find_running(struct scenario *scenario, struct scenario_line *line)
{
  const char *name = scenario_line_word(line, 1);
  struct running *running = scenario->running;

  while (running != NULL && strcmp(running->name, name) != 0) {
    running = running->next;
  }
  if (running == NULL) {
    scenario_line_fail(line, "no lookup is called %s", name);
  }
  return running;
}

static void play_cancel(struct scenario *scenario, struct scenario_line *line,
                        struct scenario_line *expected)
{
  (void)expected;
  keyroute_cancel(scenario->conn, find_running(scenario, line)->request);
}

/* finish NAME -> ... */
static void play_finish(struct scenario *scenario, struct scenario_line *line,
                        struct scenario_line *expected)
{
  struct running *running = find_running(scenario, line);

  pthread_mutex_lock(&running->lock);
  while (running->answers == 0) {
    pthread_cond_wait(&running->ended, &running->lock);
  }
  pthread_mutex_unlock(&running->lock);
  check_answer(scenario, expected, &running->answer);
  LL_DELETE(scenario->running, running);
  pthread_mutex_destroy(&running->lock);
  pthread_cond_destroy(&running->ended);
  free(running->name);
  free(running);
}

/* ---- Listings ------------------------------------------------------------------------------- */

/* What pages told, one after another. */
struct listed {
  int error;
  char text[LISTED_SIZE];
  char next[NAME_SIZE]; /* unescaped */
  struct keyroute_bytes from;
  bool more;
  int64_t spans, pages, rpcs;
  struct keyroute_detail detail; /* of the last one */
};

static void list_page(struct listed *listed, struct keyroute_connection *conn, const char *table,
                      struct keyroute_bytes end, size_t limit, const struct keyroute_call *call)
{
  struct keyroute_page *page = NULL;

  listed->more = false;
  listed->error =
      keyroute_regions(&page, conn, table, listed->from, end, limit, call, &listed->detail);
  listed->rpcs += listed->detail.rpcs;
  if (listed->error == 0) {
    listed->pages++;
    listed->spans += (int64_t)keyroute_page_count(page);
    page_text_spans(listed->text, sizeof(listed->text), page);
    listed->more = keyroute_page_next(page, &listed->from);
  }
  if (listed->more && listed->from.len <= sizeof(listed->next)) {
    memcpy(listed->next, listed->from.data, listed->from.len);
    listed->from.data = listed->next;
  }
  keyroute_page_free(page);
}

static void check_listed(struct scenario *scenario, struct scenario_line *expected,
                         struct listed *listed)
{
  const char *code = scenario_line_word(expected, 0);
  const char *got = listed->error == 0 ? "LISTED" : keyroute_errname(listed->error);

  if (!names_code(code, got)) {
    scenario_line_fail(expected, "%s, not %s (%s)", got, code, listed->detail.message);
  }
  if (listed->error == 0 && scenario_line_more(expected, 1) &&
      strcmp(scenario_line_bytes(expected, 1).data, listed->text) != 0) {
    scenario_line_fail(expected, "it is \"%s\"", listed->text);
  }
  check_number(expected, "spans", listed->spans);
  check_number(expected, "pages", listed->pages);
  check_detail(scenario, expected, &listed->detail);
}

/* list TABLE "start" "end" [all] [limit=N] [deadline=MS] */
static void play_list(struct scenario *scenario, struct scenario_line *line,
                      struct scenario_line *expected)
{
  struct listed *listed = must(calloc(1, sizeof(*listed)));
  struct keyroute_call call = KEYROUTE_CALL_INIT;
  const char *table = scenario_line_word(line, 1);
  struct keyroute_bytes end = scenario_line_bytes(line, 3);
  size_t limit = (size_t)scenario_line_number(line, "limit", 0);
  bool all = scenario_line_has(line, "all");

  listed->detail.size = sizeof(listed->detail);
  listed->from = scenario_line_bytes(line, 2);
  call.deadline_ms = scenario_line_number(line, "deadline", 0);
  do {
    list_page(listed, open_connection(scenario, line), table, end, limit, &call);
  } while (all && listed->more);
  listed->detail.rpcs = (unsigned)listed->rpcs;
  check_listed(scenario, expected, listed);
  free(listed);
}

/* ---- The cache ------------------------------------------------------------------------------ */

/* peek TABLE "row" -> FOUND ..., or -> NOT_CACHED */
static void play_peek(struct scenario *scenario, struct scenario_line *line,
                      struct scenario_line *expected)
{
  struct keyroute_table *table;
  struct answer answer = {KEYROUTE_E_NOT_CACHED, NULL, KEYROUTE_DETAIL_INIT};
  struct keyroute_bytes row = scenario_line_bytes(line, 2);

  if (keyroute_table_get(&table, open_connection(scenario, line), scenario_line_word(line, 1)) !=
      0) {
    scenario_line_fail(line, "there can be no such table");
  }
  keyroute_peek_begin();
  const struct keyroute_location *location = keyroute_peek(table, row);

  if (location != NULL) {
    answer.location = keyroute_location_ref(location);
    answer.error = 0;
  }
  keyroute_peek_end();
  keyroute_table_release(table);
  check_answer(scenario, expected, &answer);
}

/* ---- Reads and requests --------------------------------------------------------------------- */

/* Is the error as expected? Good ones are called `good`. */
static void check_outcome(struct scenario_line *expected, const char *good, int error,
                          const struct keyroute_detail *detail)
{
  const char *code = scenario_line_word(expected, 0);
  const char *got = error == 0 ? good : keyroute_errname(error);

  if (!names_code(code, got)) {
    scenario_line_fail(expected, "%s, not %s (%s)", got, code, detail->message);
  }
  if (scenario_line_has(expected, "maybe-applied") != detail->maybe_applied) {
    scenario_line_fail(expected, "it may %s been applied",
                       detail->maybe_applied ? "have" : "not have");
  }
}

/* GOT "value": of f:q; "" = there is no such cell. */
static void check_value(struct scenario_line *expected, const struct keyroute_result *result)
{
  const struct keyroute_cell *cell =
      keyroute_result_find(result, 0, keyroute_string("f"), keyroute_string("q"));
  struct keyroute_bytes none = {NULL, 0};

  if (scenario_line_more(expected, 1)) {
    struct keyroute_bytes wanted = scenario_line_bytes(expected, 1);
    struct keyroute_bytes got = cell != NULL ? cell->value : none;

    if (wanted.len != got.len || (got.len > 0 && memcmp(wanted.data, got.data, got.len) != 0)) {
      scenario_line_fail(expected, "the value is another one, of %zu bytes", got.len);
    }
  }
}

/* get TABLE "row" ... -> GOT ["value"] [on=NAME] [id=N] or an error */
static void play_get(struct scenario *scenario, struct scenario_line *line,
                     struct scenario_line *expected)
{
  struct keyroute_connection *conn = open_connection(scenario, line);
  struct question question = read_question(line);
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_result *result = NULL;
  int times = (int)scenario_line_number(line, "times", 1);

  for (int i = 0; i < times; i++) {
    int error =
        keyroute_get(&result, conn, question.table, question.row, NULL, &question.call, &detail);

    reuse(expected);
    check_outcome(expected, "GOT", error, &detail);
    if (error == 0) {
      check_value(expected, result);
      check_number(expected, "id",
                   keyroute_location_region_id(keyroute_result_location(result, 0)));
      check_place(scenario, expected, "on", keyroute_result_location(result, 0), 0);
    }
    check_detail(scenario, expected, &detail);
    keyroute_result_free(result);
    result = NULL;
  }
  keyroute_detail_clear(&detail);
}

/* call TABLE "row" METHOD [idempotent] ... -> ANSWERED [on=NAME] or an error, [maybe-applied] */
static void play_call(struct scenario *scenario, struct scenario_line *line,
                      struct scenario_line *expected)
{
  struct keyroute_connection *conn = open_connection(scenario, line);
  struct question question = read_question(line);
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_method method = KEYROUTE_METHOD_INIT;
  struct keyroute_reply *reply = NULL;

  method.name = scenario_line_word(line, 3);
  method.idempotent = scenario_line_has(line, "idempotent");
  int error =
      keyroute_call(&reply, conn, question.table, question.row, &method, &question.call, &detail);

  check_outcome(expected, "ANSWERED", error, &detail);
  if (error == 0) {
    check_place(scenario, expected, "on", keyroute_reply_location(reply), 0);
  }
  check_detail(scenario, expected, &detail);
  keyroute_reply_free(reply);
  keyroute_detail_clear(&detail);
}

/* clear all, clear table NAME, clear server NAME [any-code] */
static void play_clear(struct scenario *scenario, struct scenario_line *line,
                       struct scenario_line *expected)
{
  struct keyroute_connection *conn = open_connection(scenario, line);
  const char *what = scenario_line_word(line, 1);
  int error = KEYROUTE_E_INVALID_ARGUMENT;

  (void)expected;
  if (strcmp(what, "all") == 0) {
    error = keyroute_clear_all(conn);
  } else if (strcmp(what, "table") == 0) {
    error = keyroute_clear_table(conn, scenario_line_word(line, 2));
  } else if (strcmp(what, "server") == 0) {
    const struct scenario_place *place =
        scenario_world_place(scenario->world, line, scenario_line_word(line, 2));
    bool any = scenario_line_has(line, "any-code");

    error = keyroute_clear_server(conn, place->host, place->port, any ? 0 : place->start_code);
  }
  if (error != 0) {
    scenario_line_fail(line, "%s", keyroute_errname(error));
  }
}

/* ---- Feedback ------------------------------------------------------------------------------- */

static enum keyroute_fault read_fault(struct scenario_line *line)
{
  const char *name = scenario_line_word(line, 2);

#define COMPARE_FAULT(fault, kind, text)                                                           \
  if (strcmp(name, #fault) == 0) {                                                                 \
    return KEYROUTE_FAULT_##fault;                                                                 \
  }
  KEYROUTE_FAULTS(COMPARE_FAULT)
#undef COMPARE_FAULT
  scenario_line_fail(line, "there is no fault %s", name);
}

/* What report_exception took it for is checked. */
static int report_exception(struct scenario *scenario, struct scenario_line *line,
                            struct scenario_line *expected, const char *class_name)
{
  struct keyroute_location *location = find_named(scenario, line);
  const char *text = scenario_line_text(line, "text");
  int replica = (int)scenario_line_number(line, "replica", 0);
  enum keyroute_fault fault = KEYROUTE_FAULT_REQUEST_FAILED;
  int error =
      keyroute_report_exception(&fault, scenario->conn, location, class_name, text, replica);

  if (expected->count > 0 &&
      !names_code(scenario_line_word(expected, 0), keyroute_fault_name(fault))) {
    scenario_line_fail(expected, "it was taken for %s", keyroute_fault_name(fault));
  }
  return error;
}

static int report_fault(struct scenario *scenario, struct scenario_line *line)
{
  struct keyroute_location *location = find_named(scenario, line);
  struct keyroute_fault_detail detail = KEYROUTE_FAULT_DETAIL_INIT;
  enum keyroute_fault fault = read_fault(line);
  const char *to = scenario_line_text(line, "to");

  detail.replica = (int)scenario_line_number(line, "replica", 0);
  detail.seqnum = scenario_line_number(line, "seq", -1);
  if (to != NULL) {
    const struct scenario_place *place = scenario_world_place(scenario->world, line, to);

    detail.host = place->host;
    detail.port = place->port;
    detail.start_code = place->start_code;
  }
  return keyroute_report(scenario->conn, location, fault, &detail);
}

/* report NAME FAULT ..., report NAME exception=CLASS ... */
static void play_report(struct scenario *scenario, struct scenario_line *line,
                        struct scenario_line *expected)
{
  const char *class_name = scenario_line_text(line, "exception");
  int times = (int)scenario_line_number(line, "times", 1);

  open_connection(scenario, line);
  for (int i = 0; i < times; i++) {
    int error = class_name != NULL ? report_exception(scenario, line, expected, class_name)
                                   : report_fault(scenario, line);

    if (error != 0) {
      scenario_line_fail(line, "%s", keyroute_errname(error));
    }
  }
}

/* ---- Counters ------------------------------------------------------------------------------- */

static void play_mark(struct scenario *scenario, struct scenario_line *line,
                      struct scenario_line *expected)
{
  (void)expected;
  open_connection(scenario, line);
  scenario->mark = read_stats(scenario);
  scenario->world_mark = scenario_world_counts(scenario->world);
}

/* The figure of that name: since the last mark where it only grows, else as it is now. */
static int64_t figure(const struct scenario *scenario, const struct scenario_line *line,
                      const char *name, size_t len)
{
  struct keyroute_stats now = read_stats(scenario);
  struct fake_counts world = scenario_world_counts(scenario->world);
  const struct keyroute_stats *mark = &scenario->mark;
  const struct {
    const char *name;
    uint64_t figure;
  } rows[] = {
      {"hits", now.hits - mark->hits},
      {"misses", now.misses - mark->misses},
      {"joins", now.joins - mark->joins},
      {"scans", now.scans - mark->scans},
      {"scans-failed", now.scans_failed - mark->scans_failed},
      {"registry-reads", now.registry_reads - mark->registry_reads},
      {"retries", now.retries - mark->retries},
      {"connects", now.connects - mark->connects},
      {"rpcs", now.rpcs - mark->rpcs},
      {"requests", now.requests - mark->requests},
      {"requests-failed", now.requests_failed - mark->requests_failed},
      {"evictions", now.evictions - mark->evictions},
      {"reports", now.reports - mark->reports},
      {"hints-taken", now.hints_taken - mark->hints_taken},
      {"refreshes-limited", now.refreshes_limited - mark->refreshes_limited},
      {"tables", now.tables},
      {"regions", now.regions},
      {"pending", now.pending},
      {"server-scans", world.scans - scenario->world_mark.scans},
      {"server-rows", world.rows - scenario->world_mark.rows},
      {"server-gets", world.gets - scenario->world_mark.gets},
      {"server-calls", world.calls - scenario->world_mark.calls},
      {"server-connects", world.connects - scenario->world_mark.connects},
      {"connections", world.connections},
      {"scanners", world.scanners},
  };

  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    if (strlen(rows[i].name) == len && strncmp(rows[i].name, name, len) == 0) {
      return (int64_t)rows[i].figure;
    }
  }
  scenario_line_fail(line, "%.*s is not counted", (int)len, name);
}

/* Does name=N, name<=N or name>=N hold? */
static bool holds(const struct scenario *scenario, const struct scenario_line *line,
                  const struct scenario_word *word, int64_t *got)
{
  size_t len = strcspn(word->key, "<>");
  int64_t wanted = strtoll(word->value, NULL, 10);

  *got = figure(scenario, line, word->key, len);
  switch (word->key[len]) {
  case '<':
    return *got <= wanted;
  case '>':
    return *got >= wanted;
  default:
    return *got == wanted;
  }
}

static void play_expect(struct scenario *scenario, struct scenario_line *line,
                        struct scenario_line *expected)
{
  int64_t until_us = kr_clock_us() + EXPECT_MS * 1000;
  int64_t got = 0;

  (void)expected;
  open_connection(scenario, line);
  for (size_t i = line->first + 1; i < line->count; i++) {
    struct scenario_word *word = &line->words[i];

    word->used = word->has_value;
    while (word->has_value && !holds(scenario, line, word, &got)) {
      if (kr_clock_us() > until_us) {
        scenario_line_fail(line, "%s%s is %lld", word->key, word->value, (long long)got);
      }
      sleep_ms(1);
    }
  }
}

/* ---- Time ----------------------------------------------------------------------------------- */

static void play_wait(struct scenario *scenario, struct scenario_line *line,
                      struct scenario_line *expected)
{
  (void)scenario;
  (void)expected;
  sleep_ms(strtoll(scenario_line_word(line, 1), NULL, 10));
}

static void *run_later(void *arg)
{
  struct later *later = arg;

  sleep_ms(later->wait_ms);
  if (!scenario_world_play(later->scenario->world, &later->line)) {
    scenario_line_fail(&later->line, "this cannot happen later");
  }
  return NULL;
}

/* after MS STATEMENT */
static void play_after(struct scenario *scenario, struct scenario_line *line,
                       struct scenario_line *expected)
{
  struct later *later = must(calloc(1, sizeof(*later)));

  (void)expected;
  open_connection(scenario, line); /* places must not change any more */
  later->scenario = scenario;
  later->wait_ms = strtoll(scenario_line_word(line, 1), NULL, 10);
  later->line = *line;
  later->line.first += 2;
  *line = (struct scenario_line){.file = line->file, .number = line->number};
  if (pthread_create(&later->thread, NULL, run_later, later) != 0) {
    abort();
  }
  LL_PREPEND(scenario->later, later);
}

/* Until all that was to happen later has happened. */
static void play_settle(struct scenario *scenario, struct scenario_line *line,
                        struct scenario_line *expected)
{
  (void)line;
  (void)expected;
  join_later(scenario);
}

/* ---- The whole ------------------------------------------------------------------------------ */

static void play_statement(struct scenario *scenario, struct scenario_line *line,
                           struct scenario_line *expected)
{
  static const struct {
    const char *name;
    void (*play)(struct scenario *scenario, struct scenario_line *line,
                 struct scenario_line *expected);
  } statements[] = {
      {"after", play_after},   {"call", play_call},     {"cancel", play_cancel},
      {"clear", play_clear},   {"close", play_close},   {"expect", play_expect},
      {"finish", play_finish}, {"get", play_get},       {"list", play_list},
      {"locate", play_locate}, {"mark", play_mark},     {"option", play_option},
      {"peek", play_peek},     {"report", play_report}, {"settle", play_settle},
      {"start", play_start},   {"wait", play_wait},
  };
  const char *name = scenario_line_word(line, 0);

  for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
    if (strcmp(statements[i].name, name) == 0) {
      statements[i].play(scenario, line, expected);
      scenario_line_done(line);
      scenario_line_done(expected);
      return;
    }
  }
  if (!scenario_world_play(scenario->world, line)) {
    scenario_line_fail(line, "what is %s?", name);
  }
}

static void play_file(struct scenario *scenario, FILE *file, const char *name)
{
  struct scenario_line line, expected;
  char *text = NULL;
  size_t size = 0;

  for (int number = 1; getline(&text, &size, file) > 0; number++) {
    scenario_line_parse(&line, &expected, name, number, text);
    if (line.count > 0) {
      play_statement(scenario, &line, &expected);
    }
    scenario_line_clear(&line);
    scenario_line_clear(&expected);
  }
  free(text);
  if (scenario->running != NULL) {
    ck_abort_msg("%s: lookup %s is not finished", name, scenario->running->name);
  }
}

void scenario_play(const char *path)
{
  struct scenario scenario = {0};
  const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
  FILE *file = fopen(path, "r");

  if (file == NULL) {
    ck_abort_msg("%s cannot be read", path);
  }
  scenario.world = scenario_world_new(root_moved, &scenario);
  if (keyroute_options_new(&scenario.options, NULL) != 0) {
    abort();
  }
  play_file(&scenario, file, name);
  close_connection(&scenario);
  free_named(&scenario);
  keyroute_options_free(scenario.options);
  scenario_world_free(scenario.world);
  fclose(file);
}
