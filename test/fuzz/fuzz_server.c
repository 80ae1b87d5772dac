/*
 * A whole connection against a server that sends anything: locator, flights, cache, transport and
 * frames are the real ones; loop, clock, sockets and threads are played (fake_loop.c,
 * fake_socket.c, one_thread.c), so that one input is one run, and takes no time.
 *
 * The input, zeros being harmless throughout: which allocation fails (two bytes, the highest bit:
 * and all behind it); what the catalog holds and how the server writes; how many things the
 * application does (do_step), two bytes each; then, as things happen, what the network does with a
 * connection (connects) and with an answer (spoil).
 *
 * What must be true:
 *  1. Every call ends once, by its deadline, with an answer that covers the row asked for or with
 *     an error that the manual lists for it, which its detail tells in one line.
 *  2. Closing works at any time; afterwards no memory, timer or socket is left.
 *  3. Where nothing was spoilt the answer is right.
 *  4. Cells are those of the row asked for, whatever was spoilt.
 */
#include "keyroute/keyroute.h"

#include "lib/bytes.h"
#include "test/failing_mem.h"
#include "test/fake_loop.h"
#include "test/fake_server.h"
#include "test/fuzz/fake_socket.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/one_thread.h"

#include <stdlib.h>
#include <string.h>

enum {
  STEPS_MAX = 12,
  CALLS_MAX = 2 * STEPS_MAX,
  PIECES_MAX = 64,
  DEADLINE_MS = 3000,
  MANY_LATE_MS = 10
};

static struct fake_server *server; /* lives on; its catalog is made anew each time */
static struct keyroute_connection *conn;
static struct fuzz_input script;
static bool pristine; /* nothing was spoilt yet */
static bool closing;

/* ---- The catalog ---------------------------------------------------------------------------- */

/* What this run's catalog has, all of it served by the one server. */
static struct fake_region hosted[8];
static size_t hosted_count;

static void host(const struct fake_region *region)
{
  FUZZ_CHECK(hosted_count < sizeof(hosted) / sizeof(hosted[0]));
  hosted[hosted_count++] = *region;
  for (int i = 0; i < region->replicas; i++) {
    fake_server_host_region(server, region, i);
  }
}

static void unhost_all(void)
{
  while (hosted_count > 0) {
    const struct fake_region *region = &hosted[--hosted_count];

    for (int i = 0; i < region->replicas; i++) {
      fake_server_unhost_region(server, region, i);
    }
  }
}

static void put(const char *table, const char *start, const char *end, int64_t id, int replicas)
{
  struct fake_region region = {
      .table = table,
      .start = keyroute_string(start),
      .end = keyroute_string(end),
      .id = id,
      .host = "rs.example",
      .port = 16020,
      .start_code = 5,
      .seqnum = 1,
      .replicas = replicas,
  };

  fake_server_put_region(server, &region);
  host(&region);
}

static void put_parent(const char *start, const char *end, int64_t id)
{
  struct fake_region region = {
      .table = "t",
      .start = keyroute_string(start),
      .end = keyroute_string(end),
      .id = id,
      .offline = true,
      .split = true,
  };

  fake_server_put_region(server, &region);
}

static void fill_plain(void)
{
  put("t", "", "g", 1, 1);
  put("t", "g", "p", 2, 1);
  put("t", "p", "", 3, 1);
}

static void fill_holed(void)
{
  put("t", "b", "g", 1, 1);
  put("t", "h", "p", 2, 1);
}

static void fill_split(void)
{
  put("t", "", "g", 1, 1);
  put_parent("g", "p", 2);
  put("t", "g", "k", 3, 1);
  put("t", "k", "p", 4, 1);
  put_parent("p", "", 5);
}

static void fill_overlapping(void)
{
  put("t", "", "m", 1, 1);
  put("t", "g", "", 2, 1);
  put("t", "p", "", 2, 2);
}

static void fill_catalog(unsigned kind)
{
  static void (*const fill[])(void) = {fill_plain, fill_holed, fill_split, fill_overlapping};

  unhost_all();
  fake_server_clear_catalog(server);
  fake_server_clear_faults(server);
  put("ns:u", "", "", 7, 3);
  fill[kind % 4]();
}

/* ---- The network ---------------------------------------------------------------------------- */

struct answer {
  uint8_t *data;
  size_t len;
  int64_t delay_ms;
  bool lost;
  bool closes;
};

/* Put bytes in the place of `gone` bytes at an offset. */
static void splice(struct answer *answer, size_t at, size_t gone, struct keyroute_bytes put_in)
{
  size_t tail = answer->len - at - gone;
  uint8_t *made = malloc(answer->len - gone + put_in.len + 1);

  FUZZ_CHECK(made != NULL);
  if (at > 0) {
    memcpy(made, answer->data, at);
  }
  if (put_in.len > 0) {
    memcpy(made + at, put_in.data, put_in.len);
  }
  if (tail > 0) {
    memcpy(made + at + put_in.len, answer->data + at + gone, tail);
  }
  free(answer->data);
  answer->data = made;
  answer->len = at + put_in.len + tail;
}

static size_t offset_in(const struct answer *answer)
{
  return fuzz_u16(&script) % (answer->len + 1);
}

static struct keyroute_bytes literal(void)
{
  return fuzz_bytes(&script, fuzz_u8(&script));
}

static void flip(struct answer *answer)
{
  size_t at = offset_in(answer);

  if (at < answer->len) {
    answer->data[at] ^= (uint8_t)(1u << (fuzz_u8(&script) % 8));
  }
}

static void overwrite(struct answer *answer)
{
  size_t at = offset_in(answer);
  struct keyroute_bytes bytes = literal();
  size_t room = answer->len - at;

  splice(answer, at, bytes.len < room ? bytes.len : room, bytes);
}

static void cut_out(struct answer *answer)
{
  size_t at = offset_in(answer);
  size_t room = answer->len - at;
  size_t gone = fuzz_u8(&script);

  splice(answer, at, gone < room ? gone : room, kr_bytes(NULL, 0));
}

/* Write a number that means something over the four bytes at an offset. */
static void overwrite_number(struct answer *answer)
{
  static const uint8_t numbers[][4] = {
      {0, 0, 0, 0},    {0, 0, 0, 1},   {0x7f, 0xff, 0xff, 0xff}, {0xff, 0xff, 0xff, 0xff},
      {0x80, 0, 0, 0}, {0, 0x40, 0, 0}};
  size_t at = offset_in(answer);
  size_t room = answer->len - at;

  splice(answer, at, room < 4 ? room : 4, kr_bytes(numbers[fuzz_u8(&script) % 6], 4));
}

static void repeat(struct answer *answer)
{
  size_t at = offset_in(answer);
  size_t len = fuzz_u8(&script);
  size_t room = answer->len - at;
  struct keyroute_bytes copy = kr_bytes(answer->data + at, len < room ? len : room);

  splice(answer, offset_in(answer), 0, copy);
}

static void replace(struct answer *answer)
{
  splice(answer, 0, answer->len, literal());
}

static void insert(struct answer *answer)
{
  size_t at = offset_in(answer);

  splice(answer, at, 0, literal());
}

static void truncate_answer(struct answer *answer)
{
  answer->len = offset_in(answer);
}

static void cut_off(struct answer *answer)
{
  truncate_answer(answer);
  answer->closes = true;
}

static void send_twice(struct answer *answer)
{
  splice(answer, answer->len, 0, kr_bytes(answer->data, answer->len));
}

static void delay(struct answer *answer)
{
  answer->delay_ms = 4 * (int64_t)fuzz_u8(&script);
}

static void lose(struct answer *answer)
{
  answer->lost = true;
}

static void close_instead(struct answer *answer)
{
  answer->len = 0;
  answer->closes = true;
}

/* What may be done to an answer, by the low half of its byte; 0 and what is behind the list does
 * nothing. */
static void (*const spoils[])(struct answer *answer) = {
    NULL,  flip, truncate_answer, cut_off, cut_out,          insert, overwrite,
    delay, lose, close_instead,   replace, overwrite_number, repeat, send_twice,
};
enum { SPOILS = sizeof(spoils) / sizeof(spoils[0]), FAULT = 14, SPOIL_MORE = 15 };

static void spoil(struct answer *answer, unsigned how)
{
  for (unsigned times = 0; (how & 15) == SPOIL_MORE && times < 8; times++) {
    spoil(answer, fuzz_u8(&script) % SPOILS);
    how = fuzz_u8(&script);
  }
  pristine = pristine && how == 0;
  if ((how & 15) > 0 && (how & 15) < SPOILS) {
    spoils[how & 15](answer);
  }
}

/* Send an answer whole, or in pieces of a size, at once or ms by ms. */
static void send_answer(struct kr_socket *socket, const struct answer *answer, unsigned pieces)
{
  static const size_t sizes[] = {SIZE_MAX, 1, 2, 3, 4, 7, 64, 100};
  size_t least = answer->len / PIECES_MAX + 1;
  size_t size = sizes[pieces % 8] > least ? sizes[pieces % 8] : least;
  int64_t after_ms = answer->delay_ms;

  for (size_t at = 0; at < answer->len;) {
    size_t len = answer->len - at < size ? answer->len - at : size;

    fake_socket_send_later(socket, after_ms, kr_bytes(answer->data + at, len));
    after_ms += pieces >= 8;
    at += len;
  }
  if (answer->closes) {
    fake_socket_end_later(socket, after_ms);
  }
}

static const char *const classes[] = {
    "org.apache.hadoop.hbase.NotServingRegionException",
    "org.apache.hadoop.hbase.exceptions.RegionMovedException",
    "org.apache.hadoop.hbase.CallQueueTooBigException",
    "org.apache.hadoop.hbase.quotas.RpcThrottlingException",
    "org.apache.hadoop.hbase.regionserver.RegionServerStoppedException",
    "org.apache.hadoop.hbase.security.AccessDeniedException",
    "org.apache.hadoop.hbase.DoNotRetryIOException",
    "org.apache.hadoop.hbase.TableNotFoundException",
    "java.io.IOException",
};

static const char *class_name(void)
{
  return classes[fuzz_u8(&script) % (sizeof(classes) / sizeof(classes[0]))];
}

/* The server itself misbehaves. */
static void add_fault(void)
{
  unsigned flags = fuzz_u8(&script);
  struct fake_fault fault = {
      .what = (enum fake_what)(fuzz_u8(&script) % (FAKE_ANY_ORDER + 1)),
      .method = (flags & 0x10) != 0 ? "*" : NULL,
      .times = 1 + (int)(flags >> 6),
      .class_name = class_name(),
      .do_not_retry = (flags & 1) != 0,
      .overloaded = (flags & 2) != 0,
      .rows = flags >> 2 & 3,
  };
  char *text = fuzz_text(literal());

  fault.text = text;
  pristine = false;
  fake_server_fault(server, &fault);
  free(text);
}

static void receives(struct kr_socket *socket, struct keyroute_bytes bytes)
{
  unsigned number = *fake_socket_number(socket);
  unsigned how = fuzz_u8(&script);
  struct answer answer = {.data = NULL};

  if ((how & 15) == FAULT) {
    add_fault();
    how = 0;
  }
  for (;;) {
    struct keyroute_bytes got = fake_server_exchange(server, number, bytes, &answer.closes);

    if (got.data == NULL) {
      /* A hello has no answer: what was read for one is for the connection itself. */
      pristine = pristine && how == 0;
      return;
    }
    answer = (struct answer){(uint8_t *)(uintptr_t)got.data, got.len, 0, false, answer.closes};
    spoil(&answer, how);
    if (!answer.lost) {
      send_answer(socket, &answer, how >> 4);
    }
    free(answer.data);
    bytes = kr_bytes(NULL, 0);
    how = fuzz_u8(&script);
  }
}

static void connects(struct kr_socket *socket, const char *host, int port)
{
  unsigned how = fuzz_u8(&script) % 8;

  FUZZ_CHECK(host[0] != '\0' && port > 0 && port <= 65535);
  *fake_socket_number(socket) = fake_server_accept(server);
  pristine = pristine && how <= 1;
  if (how == 6) {
    return; /* nobody is there */
  }
  if (how == 5) {
    fake_socket_end_later(socket, 1);
    return;
  }
  fake_socket_open_later(socket, how < 4 ? how : 30);
  if (how == 7) {
    fake_socket_send_later(socket, 1, literal()); /* it speaks unasked */
  }
}

static void forgets(struct kr_socket *socket)
{
  fake_server_hang_up(server, *fake_socket_number(socket));
}

static const struct fake_peer peer = {connects, receives, forgets};

/* ---- Calls ---------------------------------------------------------------------------------- */

enum what { LOCATE, GET, CALL, ONCE, GET_MANY, GROUP, LIST };

struct asked {
  enum what what;
  const char *table;
  char row[8];
  size_t row_len;
  struct keyroute_call call;
  int64_t began_us;
  uint64_t number;
  unsigned done;
  bool cancelled;
  bool again; /* a location is reported, and its callback asks once more */
};

static struct asked calls[CALLS_MAX];
static size_t call_count;
static bool plain; /* the catalog has one region for every row of t */

static void start_call(const struct asked *like);

static const char *const tables[] = {"t", "ns:u", "absent", "hbase:meta"};
static const char *const rows[] = {"", "a", "g", "gz", "m", "p", "zzzz", "\xff\xff"};

/* The row that the answer has to hold. */
static void check_covers(const struct asked *asked, const struct keyroute_location *location)
{
  bool before = (asked->call.flags & KEYROUTE_BEFORE) != 0;
  bool after = (asked->call.flags & KEYROUTE_AFTER) != 0;
  /* The first key above a row is the row and the NUL behind it. */
  struct keyroute_bytes row = kr_bytes(asked->row, asked->row_len + after);

  fuzz_check_location(location);
  FUZZ_CHECK(kr_bytes_equal(keyroute_location_table(location), keyroute_string(asked->table)));
  FUZZ_CHECK(kr_location_covers(location, row, before ? KR_BEFORE : KR_AT));
}

/* Is this an error that this call may have? */
static bool may_have(const struct asked *asked, int error)
{
  switch (error) {
  case 0:
  case KEYROUTE_E_TABLE_NOT_FOUND:
  case KEYROUTE_E_HOLE:
  case KEYROUTE_E_OVERLAP:
  case KEYROUTE_E_OFFLINE:
  case KEYROUTE_E_NO_SERVER:
  case KEYROUTE_E_DEAD_SERVER:
  case KEYROUTE_E_CORRUPT:
  case KEYROUTE_E_BOOTSTRAP:
  case KEYROUTE_E_UNREACHABLE:
  case KEYROUTE_E_PROTOCOL:
  case KEYROUTE_E_OVERLOADED:
  case KEYROUTE_E_REMOTE:
  case KEYROUTE_E_AUTH:
  case KEYROUTE_E_TIMEOUT:
    return true;
  case KEYROUTE_E_NOT_CACHED:
    return (asked->call.flags & KEYROUTE_CACHE_ONLY) != 0;
  case KEYROUTE_E_CANCELLED:
    return asked->cancelled;
  case KEYROUTE_E_CLOSED:
    return closing;
  case KEYROUTE_E_NO_MEMORY:
    return mem_has_failed();
  case KEYROUTE_E_TOO_LARGE:
    return asked->what != LOCATE && !pristine;
  default:
    return false;
  }
}

/* Failures are those of single rows then. */
static bool is_many(const struct asked *asked)
{
  return asked->what == GET_MANY || asked->what == GROUP;
}

/* Nothing was spoilt and the catalog is sound: is it the right result? */
static bool is_right(const struct asked *asked, int error)
{
  bool is_catalogs = strcmp(asked->table, "hbase:meta") == 0; /* which has no rows to be read */

  if (!pristine || !plain || asked->call.replica > 0 || error == KEYROUTE_E_NOT_CACHED ||
      asked->cancelled || closing || mem_has_failed() || (is_catalogs && asked->what != LOCATE)) {
    return true;
  }
  return error ==
         (strcmp(asked->table, "absent") == 0 && !is_many(asked) ? KEYROUTE_E_TABLE_NOT_FOUND : 0);
}

static void check_trace(const struct keyroute_trace *trace)
{
  for (size_t i = 0; i < keyroute_trace_count(trace); i++) {
    struct keyroute_step step = {.size = sizeof(step)};

    FUZZ_CHECK(keyroute_trace_step(trace, i, &step) == 0);
    FUZZ_CHECK(step.took_us >= 0 && step.at_us >= 0);
    fuzz_check_line(step.name);
  }
}

/* Of every kind of call. */
static void check_outcome(const struct asked *asked, int error, bool something,
                          const struct keyroute_detail *detail)
{
  int64_t took_us = kr_clock_us() - asked->began_us;
  int64_t deadline_ms = asked->call.deadline_ms > 0 ? asked->call.deadline_ms : DEADLINE_MS;

  /* Of many rows those that still wait for their turn are told a little later. */
  FUZZ_CHECK(took_us <= (deadline_ms + (is_many(asked) ? MANY_LATE_MS : 0)) * 1000 + 1000);
  FUZZ_CHECK(may_have(asked, error));
  FUZZ_CHECK(is_right(asked, error));
  FUZZ_CHECK(something == (error == 0));
  FUZZ_CHECK(detail->error == error);
  FUZZ_CHECK(error != 0 || detail->message[0] == '\0' || is_many(asked));
  FUZZ_CHECK(!detail->maybe_applied || (error != 0 && asked->what == ONCE));
  if (error != 0) {
    fuzz_check_line(detail->message);
  }
  if (detail->server[0] != '\0') {
    fuzz_check_line(detail->server);
  }
  check_trace(detail->trace);
}

static void check_result(const struct asked *asked, int error,
                         const struct keyroute_location *location,
                         const struct keyroute_detail *detail)
{
  check_outcome(asked, error, location != NULL, detail);
  if (location != NULL) {
    check_covers(asked, location);
  }
}

/* Reads every byte. */
static unsigned sum(struct keyroute_bytes bytes)
{
  unsigned all = 0;

  for (size_t i = 0; i < bytes.len; i++) {
    all += ((const uint8_t *)bytes.data)[i];
  }
  return all;
}

static void check_cell(struct keyroute_bytes row, const struct keyroute_cell *cell)
{
  unsigned all = sum(cell->family) + sum(cell->qualifier) + sum(cell->value) + sum(cell->tags);

  FUZZ_CHECK(all < UINT32_MAX);
  FUZZ_CHECK(kr_bytes_equal(cell->row, row));
  FUZZ_CHECK(!pristine || kr_bytes_equal(cell->value, cell->row));
}

/* Many rows: the one asked for, those of the table that all runs have, one of another table. */
enum { KEYS = 6 };

static void make_keys(struct keyroute_key keys[KEYS], const struct asked *asked)
{
  for (size_t i = 0; i < KEYS; i++) {
    keys[i] = (struct keyroute_key){asked->table, keyroute_string(rows[1 + i])};
  }
  keys[0].row = kr_bytes(asked->row, asked->row_len);
  keys[KEYS - 1].table = "ns:u";
}

/* One row of many may have failed; a row alone has not, for then there is no result. */
static bool may_have_failed(const struct asked *asked, const struct keyroute_key *key, int error)
{
  struct asked one = *asked;

  one.table = key->table;
  one.what = GET;
  return may_have(&one, error) && is_right(&one, error);
}

static void check_row(const struct keyroute_result *result, size_t index,
                      const struct keyroute_key *key)
{
  const struct keyroute_location *location = keyroute_result_location(result, index);
  size_t count = 0;
  const struct keyroute_cell *cells = keyroute_result_cells(result, index, &count);

  for (size_t i = 0; i < count; i++) {
    check_cell(key->row, &cells[i]);
  }
  FUZZ_CHECK(count == 1 || !pristine || !plain);
  FUZZ_CHECK(kr_bytes_equal(keyroute_location_table(location), keyroute_string(key->table)));
  FUZZ_CHECK(kr_location_covers(location, key->row, KR_AT));
}

/* What was read, and that failures were counted; releases it. */
static void check_rows(const struct asked *asked, struct keyroute_result *result)
{
  struct keyroute_key keys[KEYS];
  size_t count = keyroute_result_count(result), failed = 0;

  make_keys(keys, asked);
  FUZZ_CHECK(result == NULL || count == (asked->what == GET ? 1 : KEYS));
  for (size_t i = 0; i < count; i++) {
    int error = keyroute_result_error(result, i);

    if (error == 0) {
      check_row(result, i, &keys[i]);
    } else {
      failed++;
      FUZZ_CHECK(may_have_failed(asked, &keys[i], error));
      fuzz_check_line(keyroute_result_message(result, i));
    }
  }
  FUZZ_CHECK(failed == keyroute_result_failed(result) && (failed == 0 || asked->what != GET));
  keyroute_result_free(result);
}

static void check_group(const struct keyroute_key *keys, const struct keyroute_region_group *group,
                        bool *seen)
{
  for (size_t i = 0; i < group->row_count; i++) {
    FUZZ_CHECK(group->rows[i] < KEYS && !seen[group->rows[i]]);
    seen[group->rows[i]] = true;
    const struct keyroute_key *key = &keys[group->rows[i]];

    FUZZ_CHECK(kr_location_covers(group->location, key->row, KR_AT));
    FUZZ_CHECK(
        kr_bytes_equal(keyroute_location_table(group->location), keyroute_string(key->table)));
  }
}

/* Each row is in one group, or has failed; releases it. */
static void check_groups(const struct asked *asked, struct keyroute_groups *groups)
{
  struct keyroute_key keys[KEYS];
  bool seen[KEYS] = {false};

  make_keys(keys, asked);
  for (size_t i = 0; i < keyroute_groups_region_count(groups); i++) {
    struct keyroute_region_group group = {.size = sizeof(group)};

    FUZZ_CHECK(keyroute_groups_region(groups, i, &group) == 0);
    check_group(keys, &group, seen);
  }
  for (size_t i = 0; groups != NULL && i < KEYS; i++) {
    int error = keyroute_groups_error(groups, i);

    FUZZ_CHECK(seen[i] == (error == 0));
    FUZZ_CHECK(error == 0 || may_have_failed(asked, &keys[i], error));
  }
  keyroute_groups_free(groups);
}

static void check_page(const struct asked *asked, struct keyroute_page *page)
{
  struct keyroute_bytes next;
  size_t count = keyroute_page_count(page);

  for (size_t i = 0; i < count; i++) {
    struct keyroute_span span = {.size = sizeof(span)};

    FUZZ_CHECK(keyroute_page_span(page, i, &span) == 0);
    FUZZ_CHECK((span.kind == KEYROUTE_SPAN_REGION || span.kind == KEYROUTE_SPAN_OVERLAP) ==
               (span.location != NULL));
    FUZZ_CHECK((span.kind == KEYROUTE_SPAN_OVERLAP) == (span.other != NULL));
    FUZZ_CHECK(span.message != NULL);
    if (span.kind == KEYROUTE_SPAN_REGION) {
      fuzz_check_location(span.location);
    }
  }
  if (page != NULL && keyroute_page_next(page, &next)) {
    FUZZ_CHECK(kr_bytes_compare(kr_bytes(asked->row, asked->row_len), next) < 0);
  }
  FUZZ_CHECK(!pristine || !plain || count != 0 || page == NULL);
  keyroute_page_free(page);
}

static void check_reply(const struct asked *asked, struct keyroute_reply *reply)
{
  FUZZ_CHECK(sum(keyroute_reply_message(reply)) + sum(keyroute_reply_cells(reply)) < UINT32_MAX);
  if (reply != NULL) {
    check_covers(asked, keyroute_reply_location(reply));
  }
  keyroute_reply_free(reply);
}

/* The application tells what it met at the server it was sent to. */
static void report(struct keyroute_location *location)
{
  const char *name = class_name();
  char *text = fuzz_text(literal());
  enum keyroute_fault fault = KEYROUTE_FAULT_NOT_SERVING;
  int error = keyroute_report_exception(&fault, conn, location, name, text, 0);

  FUZZ_CHECK(error == 0 || error == KEYROUTE_E_INVALID_ARGUMENT ||
             (error == KEYROUTE_E_NO_MEMORY && mem_has_failed()) ||
             (error == KEYROUTE_E_CLOSED && closing));
  free(text);
}

static void ended(struct asked *asked, struct keyroute_location *location)
{
  FUZZ_CHECK(asked->done++ == 0);
  if (asked->again) {
    asked->again = false;
    if (location != NULL) {
      pristine = false;
      report(location);
    }
    start_call(asked);
  }
}

static void located(void *payload, int error, struct keyroute_location *location,
                    const struct keyroute_detail *detail)
{
  check_result(payload, error, location, detail);
  ended(payload, location);
}

static void got(void *payload, int error, struct keyroute_result *result,
                const struct keyroute_detail *detail)
{
  check_outcome(payload, error, result != NULL, detail);
  check_rows(payload, result);
  ended(payload, NULL);
}

static void grouped(void *payload, int error, struct keyroute_groups *groups,
                    const struct keyroute_detail *detail)
{
  check_outcome(payload, error, groups != NULL, detail);
  check_groups(payload, groups);
  ended(payload, NULL);
}

static void listed(void *payload, int error, struct keyroute_page *page,
                   const struct keyroute_detail *detail)
{
  check_outcome(payload, error, page != NULL, detail);
  check_page(payload, page);
  ended(payload, NULL);
}

static void replied(void *payload, int error, struct keyroute_reply *reply,
                    const struct keyroute_detail *detail)
{
  check_outcome(payload, error, reply != NULL, detail);
  check_reply(payload, reply);
  ended(payload, NULL);
}

static struct keyroute_method method_of(const struct asked *asked)
{
  struct keyroute_method method = KEYROUTE_METHOD_INIT;

  method.name = "Mutate";
  method.param = kr_bytes("\x12\x01x", 3);
  method.idempotent = asked->what == CALL;
  return method;
}

static int start(struct asked *asked)
{
  struct keyroute_bytes row = kr_bytes(asked->row, asked->row_len);
  struct keyroute_bytes none = {NULL, 0};
  struct keyroute_method method = method_of(asked);
  struct keyroute_key keys[KEYS];

  make_keys(keys, asked);
  switch (asked->what) {
  case LOCATE:
    return keyroute_locate_async(&asked->number, conn, asked->table, row, &asked->call, located,
                                 asked);
  case GET:
    return keyroute_get_async(&asked->number, conn, asked->table, row, NULL, &asked->call, got,
                              asked);
  case GET_MANY:
    return keyroute_get_many_async(&asked->number, conn, keys, KEYS, NULL, &asked->call, got,
                                   asked);
  case GROUP:
    return keyroute_group_async(&asked->number, conn, keys, KEYS, &asked->call, grouped, asked);
  case LIST:
    return keyroute_regions_async(&asked->number, conn, asked->table, row, none, 2, &asked->call,
                                  listed, asked);
  default:
    return keyroute_call_async(&asked->number, conn, asked->table, row, &method, &asked->call,
                               replied, asked);
  }
}

/* Ask asynchronously what another one asks. */
static void start_call(const struct asked *like)
{
  if (call_count == CALLS_MAX) {
    return;
  }
  struct asked *asked = &calls[call_count++];

  *asked = *like;
  asked->done = 0;
  asked->cancelled = false;
  asked->began_us = kr_clock_us();
  int error = start(asked);

  if (error != 0) {
    FUZZ_CHECK(error == KEYROUTE_E_NO_MEMORY ? mem_has_failed()
                                             : error == KEYROUTE_E_CLOSED && closing);
    call_count--;
  }
}

static void locate_now(struct asked *asked)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_location *location = NULL;
  int error;

  asked->began_us = kr_clock_us();
  error = keyroute_locate(&location, conn, asked->table, kr_bytes(asked->row, asked->row_len),
                          &asked->call, &detail);
  check_result(asked, error, location, &detail);
  if (location != NULL && asked->again) {
    pristine = false;
    report(location);
  }
  keyroute_location_release(location);
  keyroute_detail_clear(&detail);
}

static void get_now(struct asked *asked)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_result *result = NULL;
  int error = keyroute_get(&result, conn, asked->table, kr_bytes(asked->row, asked->row_len), NULL,
                           &asked->call, &detail);

  check_outcome(asked, error, result != NULL, &detail);
  check_rows(asked, result);
  keyroute_detail_clear(&detail);
}

/* ---- What the application does -------------------------------------------------------------- */

static struct asked make_asked(unsigned what, unsigned how)
{
  static const unsigned cache[] = {0, KEYROUTE_REFRESH, KEYROUTE_CACHE_ONLY, KEYROUTE_TRACE};
  static const unsigned side[] = {0, KEYROUTE_BEFORE, KEYROUTE_AFTER, 0};
  static const int64_t deadlines_ms[] = {0, 20, 200, 1000};
  struct asked asked = {.table = tables[what >> 3 & 3], .again = (how & 0x80) != 0};

  strcpy(asked.row, rows[what & 7]);
  asked.row_len = strlen(asked.row);
  asked.call = (struct keyroute_call)KEYROUTE_CALL_INIT;
  asked.call.flags = cache[how & 3] | side[how >> 2 & 3];
  asked.call.deadline_ms = deadlines_ms[how >> 4 & 3];
  asked.call.replica = (how & 0x40) != 0 ? (int)(how & 3) - 1 : 0;
  return asked;
}

static void peek(const struct asked *asked)
{
  struct keyroute_table *table = NULL;
  int error = keyroute_table_get(&table, conn, asked->table);

  FUZZ_CHECK(error == 0 || (error == KEYROUTE_E_NO_MEMORY && mem_has_failed()));
  keyroute_peek_begin();
  const struct keyroute_location *location =
      keyroute_peek(table, kr_bytes(asked->row, asked->row_len));

  FUZZ_CHECK(location == NULL ||
             kr_location_covers(location, kr_bytes(asked->row, asked->row_len), KR_AT));
  keyroute_peek_end();
  keyroute_table_release(table);
}

/* The empty row cannot be read. */
static void give_row(struct asked *asked)
{
  if (asked->row_len == 0) {
    strcpy(asked->row, "b");
    asked->row_len = 1;
  }
}

/* A call of the last hop: of `how` the bits that say which neighbour say here what is called. */
static void hop(unsigned what, unsigned how)
{
  static const enum what kinds[] = {GET, CALL, ONCE, GET};
  struct asked asked = make_asked(what, how & ~0x0cu);

  asked.what = kinds[how >> 2 & 3];
  asked.began_us = kr_clock_us();
  give_row(&asked);
  if ((how & 0x0c) == 0x0c) {
    get_now(&asked);
  } else {
    start_call(&asked);
  }
}

/* The same bits: a peek, or a call about many rows or regions. */
static void peek_or_many(unsigned what, unsigned how)
{
  static const enum what kinds[] = {LOCATE, GET_MANY, GROUP, LIST};
  struct asked asked = make_asked(what, how & ~0x0cu);

  asked.what = kinds[how >> 2 & 3];
  if (asked.what == LOCATE) {
    peek(&asked);
    return;
  }
  if (asked.what == GET_MANY) {
    give_row(&asked);
  }
  if (asked.what == LIST) {
    asked.call.flags &= KEYROUTE_TRACE;
    asked.call.replica = 0;
  }
  start_call(&asked);
}

static void cancel_last(void)
{
  if (call_count > 0) {
    calls[call_count - 1].cancelled = true;
    keyroute_cancel(conn, calls[call_count - 1].number);
  }
}

static void clear(unsigned how)
{
  if (how % 3 == 0) {
    FUZZ_CHECK(keyroute_clear_all(conn) == 0);
  } else if (how % 3 == 1) {
    FUZZ_CHECK(keyroute_clear_table(conn, "t") == 0);
  } else {
    FUZZ_CHECK(keyroute_clear_server(conn, "rs.example", 16020, 0) == 0);
  }
}

/* Somebody writes odd values into the catalog: of the first row of t, in one of its columns. */
static void put_odd_cell(unsigned how)
{
  static const char *const qualifiers[] = {"regioninfo",           "server",   "serverstartcode",
                                           "seqnumDuringOpen",     "state",    "server_0001",
                                           "serverstartcode_0001", "merge0000"};
  struct fake_region region = {.table = "t", .start = keyroute_string("g"), .id = 2};
  struct keyroute_bytes name = fake_region_name(&region);

  pristine = false;
  fake_server_put_cell(server, name, "info", qualifiers[how % 8], literal());
  free((void *)(uintptr_t)name.data);
}

static void do_step(unsigned what, unsigned how)
{
  struct asked asked = make_asked(what, how);

  switch (what >> 5) {
  case 1:
    hop(what, how);
    break;
  case 2:
    locate_now(&asked);
    break;
  case 3:
    start_call(&asked);
    cancel_last();
    break;
  case 4:
    clear(how);
    break;
  case 5:
    one_thread_pass_ms(how * 8);
    break;
  case 6:
    peek_or_many(what, how);
    break;
  case 7:
    put_odd_cell(how);
    break;
  default:
    start_call(&asked);
    break;
  }
}

static bool all_done(void)
{
  for (size_t i = 0; i < call_count; i++) {
    if (calls[i].done == 0) {
      return false;
    }
  }
  return true;
}

static void close_conn(void)
{
  closing = true;
  FUZZ_CHECK(keyroute_close(conn) == 0);
  for (size_t i = 0; i < call_count; i++) {
    FUZZ_CHECK(calls[i].done == 1);
  }
  FUZZ_CHECK(fake_timer_count() == 0 && fake_socket_count() == 0);
}

/* ---- One run -------------------------------------------------------------------------------- */

static struct keyroute_options *make_options(void)
{
  static const char *const properties[][2] = {
      {"keyroute.registry", "static"}, {"keyroute.registry.static.root", "meta.example:16020:1"},
      {"keyroute.user", "tester"},     {"keyroute.deadline.ms", "3000"},
      {"hbase.client.pause", "10"},    {"hbase.client.retries.number", "3"},
  };
  struct keyroute_options *options = NULL;

  FUZZ_CHECK(keyroute_options_new(&options, &failing_allocator) == 0);
  for (size_t i = 0; i < sizeof(properties) / sizeof(properties[0]); i++) {
    FUZZ_CHECK(keyroute_options_set(options, properties[i][0], properties[i][1], NULL) == 0);
  }
  return options;
}

/* Each row has f:q, which holds the row. */
static void put_rows(void)
{
  struct keyroute_bytes b = keyroute_string("b");

  for (size_t i = 1; i < sizeof(rows) / sizeof(rows[0]); i++) {
    struct keyroute_bytes row = keyroute_string(rows[i]);

    fake_server_put_row_cell(server, "t", row, "f", "q", 1, row);
    fake_server_put_row_cell(server, "ns:u", row, "f", "q", 1, row);
  }
  fake_server_put_row_cell(server, "t", b, "f", "q", 1, b);
  fake_server_put_row_cell(server, "ns:u", b, "f", "q", 1, b);
}

/* What is made once: the server, and options, whose memory is not counted as a leak. */
static const struct keyroute_options *prepare(void)
{
  static struct keyroute_options *options;

  if (options == NULL) {
    mem_fail(0);
    options = make_options();
    server = fake_server_new();
    put_rows();
    fake_socket_set_peer(&peer);
    fake_loop_set_inside(false);
  }
  return options;
}

int FUZZ_ENTRY(server)(const uint8_t *data, size_t len)
{
  const struct keyroute_options *options = prepare();
  long live = mem_live();

  script = fuzz_input(data, len);
  unsigned fails = fuzz_u16(&script);
  unsigned setup = fuzz_u8(&script);
  struct keyroute_bytes steps = fuzz_bytes(&script, 2 * (fuzz_u8(&script) % (STEPS_MAX + 1u)));

  call_count = 0;
  pristine = true;
  closing = false;
  plain = (setup & 3) == 0;
  fill_catalog(setup);
  fake_server_set_encoding(server, (enum fake_encoding)((setup >> 2) % 3));
  ((fails & 0x8000) != 0 ? mem_fail_from : mem_fail)(fails & 0x7ff);
  int error = keyroute_open(&conn, options, NULL);

  FUZZ_CHECK(error == 0 || (error == KEYROUTE_E_NO_MEMORY && mem_has_failed()));
  if (error == 0) {
    for (size_t i = 0; i < steps.len; i += 2) {
      const uint8_t *step = (const uint8_t *)steps.data + i;

      do_step(step[0], i + 1 < steps.len ? step[1] : 0);
    }
    if ((setup & 0x80) == 0) {
      one_thread_run_until(all_done);
    }
    close_conn();
  }
  mem_fail(0);
  FUZZ_CHECK(mem_live() == live);
  return 0;
}
