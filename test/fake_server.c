/*
 * The scripted region server: one thread, poll, plain sockets.
 *
 * The thread sleeps in poll until a socket has bytes, an answer is due, or a call here has written
 * to its wake pipe. Everything else happens under one lock: calls from the test and the thread's
 * work take turns.
 *
 *  1. Each scan takes one turn of the first fault in the queue; without faults it is answered.
 *  2. Answers are made at once, from the catalog as it is then, and wait in `answers` until they
 *     are due: a delayed one holds up nobody.
 *  3. A connection is known by its serial number; answers to one that has gone are dropped.
 *  4. Sending blocks, for two seconds at most: answers are small.
 *
 * Of the library only the messages are used, so that its mistakes do not cancel out here.
 *
 * Source: HBase ipc.ServerRpcConnection, RSRpcServices.scan
 */
#include "test/fake_server.h"

#include "lib/proto/hbase.pb-c.h"
#include "test/loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_CONNS 512
#define FATAL_ID 0xffffffffu
#define HELLO_FIXED_LEN 10 /* preamble and length */
#define META_NAME "hbase:meta,,1"
#define META_ENCODED "1588230740"

struct out {
  uint8_t *data;
  size_t len, cap;
};

struct conn {
  int fd;
  unsigned serial;
  bool greeted;
  bool has_codec;
  uint8_t *in;
  size_t in_len, in_cap;
  char user[64], service[64], codec[80];
};

enum after { KEEP_OPEN, CLOSE, RESET };

struct answer {
  struct answer *next;
  int64_t due_ms;
  unsigned serial;
  struct out bytes;
  bool trickle;
  enum after after;
};

struct fault {
  struct fault *next;
  struct fake_fault fault; /* its texts are ours */
};

struct fake_server {
  pthread_t thread;
  bool runs; /* the thread: set once */
  pthread_mutex_t lock;
  pthread_cond_t changed; /* a count has changed */
  int wake[2];
  int port;
  int listener; /* all below: under the lock; -1 = refused */
  bool ending, silent;
  unsigned next_serial;
  struct conn *conns[MAX_CONNS];
  size_t conn_count;
  struct answer *answers;
  unsigned unsent;     /* answers */
  struct answer *held; /* FAKE_REVERSE, the last one first */
  struct fault *faults;
  struct fake_catalog *catalog;
  enum fake_encoding encoding;
  struct fake_counts counts;
  struct fake_seen seen;
  uint64_t next_scanner;
};

static void *must(void *memory)
{
  if (memory == NULL) {
    abort();
  }
  return memory;
}

static void must_work(bool good)
{
  if (!good) {
    perror("fake_server");
    abort();
  }
}

static int64_t now_ms(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- Bytes out ------------------------------------------------------------------------------ */

static uint8_t *out_extend(struct out *out, size_t len)
{
  if (out->len + len > out->cap) {
    out->cap = 2 * (out->len + len);
    out->data = must(realloc(out->data, out->cap));
  }
  out->len += len;
  return out->data + out->len - len;
}

static void out_bytes(struct out *out, const void *data, size_t len)
{
  if (len > 0) {
    memcpy(out_extend(out, len), data, len);
  }
}

static void out_int(struct out *out, uint64_t value, unsigned width)
{
  uint8_t *to = out_extend(out, width);

  for (unsigned i = 0; i < width; i++) {
    to[i] = (uint8_t)(value >> (8 * (width - 1 - i)));
  }
}

static void out_varint(struct out *out, uint64_t value)
{
  for (; value >= 0x80; value >>= 7) {
    out_int(out, (value & 0x7f) | 0x80, 1);
  }
  out_int(out, value, 1);
}

static void out_message(struct out *out, const ProtobufCMessage *message)
{
  size_t len = protobuf_c_message_get_packed_size(message);

  out_varint(out, len);
  protobuf_c_message_pack(message, out_extend(out, len));
}

/* Put the length in front of what was written. */
static struct out framed(struct out *inner)
{
  struct out frame = {0};

  out_int(&frame, inner->len, 4);
  out_bytes(&frame, inner->data, inner->len);
  free(inner->data);
  return frame;
}

static void out_cell(struct out *out, const struct fake_row *row, const struct fake_cell *cell)
{
  size_t family_len = strlen(cell->family);
  size_t qualifier_len = strlen(cell->qualifier);
  size_t key_len = 2 + row->key_len + 1 + family_len + qualifier_len + 8 + 1;

  out_int(out, 8 + key_len + cell->value_len, 4);
  out_int(out, key_len, 4);
  out_int(out, cell->value_len, 4);
  out_int(out, row->key_len, 2);
  out_bytes(out, row->key, row->key_len);
  out_int(out, family_len, 1);
  out_bytes(out, cell->family, family_len);
  out_bytes(out, cell->qualifier, qualifier_len);
  out_int(out, (uint64_t)cell->timestamp, 8);
  out_int(out, 4, 1);
  out_bytes(out, cell->value, cell->value_len);
}

/* ---- Answers -------------------------------------------------------------------------------- */

/* What a scan found, and how to write it down. */
struct found {
  const struct fake_row **rows;
  size_t count;
  const char *family;
  bool more, heartbeat, partial;
  enum fake_what spoil; /* FAKE_ANSWER = nothing */
};

static bool wanted(const struct found *found, const struct fake_cell *cell)
{
  return found->family[0] == '\0' || strcmp(cell->family, found->family) == 0;
}

static uint32_t count_wanted(const struct found *found, const struct fake_row *row)
{
  uint32_t count = 0;

  for (size_t i = 0; i < row->cell_count; i++) {
    count += wanted(found, &row->cells[i]);
  }
  return count;
}

/* The fields of a ScanResponse that do not depend on the encoding, written by hand because HBase
 * declares repeated numbers unpacked and a packed form is to be tested too. */
static void out_flags(struct out *body, const struct found *found, uint64_t scanner)
{
  out_int(body, 2 << 3, 1); /* scanner_id */
  out_varint(body, scanner);
  out_int(body, 3 << 3, 1); /* more_results */
  out_int(body, 1, 1);
  for (size_t i = 0; i < found->count; i++) {
    out_int(body, 7 << 3, 1); /* partial_flag_per_result */
    out_int(body, found->partial && i + 1 == found->count, 1);
  }
  out_int(body, 8 << 3, 1); /* more_results_in_region */
  out_int(body, found->more, 1);
  if (found->heartbeat) {
    out_int(body, 9 << 3, 1);
    out_int(body, 1, 1);
  }
}

/* How many cells each row has, spoilt as told. Returns how many rows are announced. */
static size_t announce(const struct found *found, uint32_t *counts)
{
  size_t rows = 0;

  if (found->spoil == FAKE_EMPTY_ROW) {
    counts[rows++] = 0;
  }
  for (size_t i = 0; i < found->count; i++) {
    counts[rows++] = count_wanted(found, found->rows[i]);
  }
  if (found->spoil == FAKE_BAD_COUNTS && rows > 0) {
    counts[rows - 1]++;
  }
  if (found->spoil == FAKE_MIXED_ROW && rows > 1) {
    counts[0] += counts[1];
    rows--;
    memmove(counts + 1, counts + 2, (rows - 1) * sizeof(*counts));
  }
  return rows;
}

static void out_counts(struct out *body, const struct found *found, bool packed)
{
  uint32_t *counts = must(calloc(found->count + 2, sizeof(*counts)));
  size_t rows = announce(found, counts);
  struct out list = {0};

  for (size_t i = 0; i < rows; i++) {
    if (!packed) {
      out_int(body, 1 << 3, 1);
      out_varint(body, counts[i]);
    }
    out_varint(&list, counts[i]);
  }
  if (packed && rows > 0) {
    out_int(body, 1 << 3 | 2, 1);
    out_varint(body, list.len);
    out_bytes(body, list.data, list.len);
  }
  free(list.data);
  free(counts);
}

static ProtobufCBinaryData binary(const void *data, size_t len)
{
  return (ProtobufCBinaryData){len, (uint8_t *)data};
}

/* One Result with its cells, as field 5 of the body. */
static void out_result(struct out *body, const struct found *found, const struct fake_row *row)
{
  Kr__Pb__Result result = KR__PB__RESULT__INIT;
  Kr__Pb__Cell *cells = must(calloc(row->cell_count + 1, sizeof(*cells)));
  Kr__Pb__Cell **list = must(calloc(row->cell_count + 1, sizeof(*list)));

  for (size_t i = 0; i < row->cell_count; i++) {
    const struct fake_cell *from = &row->cells[i];
    Kr__Pb__Cell *cell = &cells[result.n_cell];

    if (wanted(found, from)) {
      kr__pb__cell__init(cell);
      cell->has_row = cell->has_family = cell->has_qualifier = cell->has_timestamp = true;
      cell->has_cell_type = cell->has_value = true;
      cell->row = binary(row->key, row->key_len);
      cell->family = binary(from->family, strlen(from->family));
      cell->qualifier = binary(from->qualifier, strlen(from->qualifier));
      cell->timestamp = (uint64_t)from->timestamp;
      cell->cell_type = 4;
      cell->value = binary(from->value, from->value_len);
      list[result.n_cell++] = cell;
    }
  }
  result.cell = list;
  out_int(body, 5 << 3 | 2, 1);
  out_message(body, &result.base);
  free(list);
  free(cells);
}

static void out_block(struct out *block, const struct found *found)
{
  for (size_t i = 0; i < found->count; i++) {
    for (size_t k = 0; k < found->rows[i]->cell_count; k++) {
      if (wanted(found, &found->rows[i]->cells[k])) {
        out_cell(block, found->rows[i], &found->rows[i]->cells[k]);
      }
    }
  }
  if (found->spoil == FAKE_SPARE_BYTES) {
    out_bytes(block, "spare", 5);
  }
}

/* A whole reply frame with the rows found. */
static struct out scan_reply(uint32_t call_id, const struct found *found,
                             enum fake_encoding encoding, uint64_t scanner)
{
  Kr__Pb__ResponseHeader header = KR__PB__RESPONSE_HEADER__INIT;
  Kr__Pb__CellBlockMeta meta = KR__PB__CELL_BLOCK_META__INIT;
  struct out body = {0}, block = {0}, inner = {0};

  if (encoding == FAKE_INLINE) {
    for (size_t i = 0; i < found->count; i++) {
      out_result(&body, found, found->rows[i]);
    }
    if (found->spoil == FAKE_EMPTY_ROW) {
      out_bytes(&body, "\x2a\x00", 2);
    }
  } else {
    out_counts(&body, found, encoding == FAKE_CELL_BLOCK_PACKED);
    out_block(&block, found);
  }
  out_flags(&body, found, scanner);
  if (found->spoil == FAKE_BAD_MESSAGE) {
    memset(body.data, 0xff, body.len);
  }
  header.has_call_id = true;
  header.call_id = call_id;
  meta.has_length = true;
  meta.length = (uint32_t)block.len;
  header.cell_block_meta = block.len > 0 ? &meta : NULL;
  out_message(&inner, &header.base);
  out_varint(&inner, body.len);
  out_bytes(&inner, body.data, body.len);
  out_bytes(&inner, block.data, block.len);
  free(body.data);
  free(block.data);
  return framed(&inner);
}

static struct out exception_reply(uint32_t call_id, const struct fake_fault *fault)
{
  Kr__Pb__ResponseHeader header = KR__PB__RESPONSE_HEADER__INIT;
  Kr__Pb__ExceptionResponse exception = KR__PB__EXCEPTION_RESPONSE__INIT;
  struct out inner = {0};
  char trace[600];

  snprintf(trace, sizeof(trace), "%.200s%s%.300s\n\tat org.apache.hadoop.hbase.Fake(Fake.java:1)\n",
           fault->class_name, fault->text != NULL ? ": " : "",
           fault->text != NULL ? fault->text : "");
  exception.exception_class_name = (char *)fault->class_name;
  exception.stack_trace = trace;
  exception.has_do_not_retry = true;
  exception.do_not_retry = fault->do_not_retry;
  exception.has_server_overloaded = fault->overloaded;
  exception.server_overloaded = fault->overloaded;
  header.has_call_id = true;
  header.call_id = call_id;
  header.exception = &exception;
  out_message(&inner, &header.base);
  return framed(&inner);
}

/* ---- Sending -------------------------------------------------------------------------------- */

static void remove_conn(struct fake_server *server, size_t index)
{
  struct conn *conn = server->conns[index];

  if (conn->fd >= 0) {
    close(conn->fd);
  }
  free(conn->in);
  free(conn);
  server->conns[index] = server->conns[--server->conn_count];
  server->counts.connections = (unsigned)server->conn_count;
  pthread_cond_broadcast(&server->changed);
}

static size_t find_conn(const struct fake_server *server, unsigned serial)
{
  size_t index = 0;

  while (index < server->conn_count && server->conns[index]->serial != serial) {
    index++;
  }
  return index;
}

static void send_bytes(int fd, const uint8_t *data, size_t len, size_t piece)
{
  while (len > 0) {
    size_t now = len < piece ? len : piece;
    ssize_t sent = send(fd, data, now, MSG_NOSIGNAL);

    if (sent <= 0) {
      return; /* the client has gone; poll will tell */
    }
    data += sent;
    len -= (size_t)sent;
  }
}

static void deliver(struct fake_server *server, struct answer *answer)
{
  size_t index = find_conn(server, answer->serial);

  if (index < server->conn_count) {
    int fd = server->conns[index]->fd;

    send_bytes(fd, answer->bytes.data, answer->bytes.len, answer->trickle ? 1 : SIZE_MAX);
    if (answer->after == RESET) {
      struct linger at_once = {1, 0};

      setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    }
    if (answer->after != KEEP_OPEN) {
      remove_conn(server, index);
    }
  }
  free(answer->bytes.data);
  free(answer);
}

/* Keep an answer until it is due; equal times stay in order. Takes the bytes. */
static void queue_answer(struct fake_server *server, const struct answer *from)
{
  struct answer *answer = must(malloc(sizeof(*answer)));
  struct answer **at = &server->answers;

  *answer = *from;
  while (*at != NULL && (*at)->due_ms <= answer->due_ms) {
    at = &(*at)->next;
  }
  answer->next = *at;
  *at = answer;
  server->unsent++;
  if (server->unsent > server->counts.most_unsent) {
    server->counts.most_unsent = server->unsent;
  }
}

static void send_due(struct fake_server *server)
{
  int64_t now = now_ms();

  while (server->answers != NULL && server->answers->due_ms <= now) {
    struct answer *answer = server->answers;

    server->answers = answer->next;
    server->unsent--;
    deliver(server, answer);
  }
}

/* FAKE_REVERSE: what was held goes out, the last one first. */
static void release_held(struct fake_server *server)
{
  while (server->held != NULL) {
    struct answer *answer = server->held;

    server->held = answer->next;
    queue_answer(server, answer);
    free(answer);
  }
}

/* ---- Scans ---------------------------------------------------------------------------------- */

static void copy_text(char *to, size_t size, const char *from)
{
  snprintf(to, size, "%s", from != NULL ? from : "");
}

static size_t copy_data(char *to, size_t size, ProtobufCBinaryData from)
{
  size_t len = from.len < size - 1 ? from.len : size - 1;

  if (len > 0) {
    memcpy(to, from.data, len);
  }
  to[len] = '\0';
  return len;
}

static void note_scan(struct fake_server *server, const struct conn *conn,
                      const Kr__Pb__RequestHeader *header, const Kr__Pb__ScanRequest *request)
{
  struct fake_seen *seen = &server->seen;
  const Kr__Pb__Scan *scan = request->scan;

  memset(seen, 0, sizeof(*seen));
  copy_text(seen->user, sizeof(seen->user), conn->user);
  copy_text(seen->service, sizeof(seen->service), conn->service);
  copy_text(seen->codec, sizeof(seen->codec), conn->codec);
  copy_data(seen->region, sizeof(seen->region), request->region->value);
  if (scan->n_column > 0) {
    copy_data(seen->family, sizeof(seen->family), scan->column[0]->family);
  }
  seen->start_len = copy_data(seen->start, sizeof(seen->start), scan->start_row);
  seen->stop_len = copy_data(seen->stop, sizeof(seen->stop), scan->stop_row);
  seen->include_start = scan->include_start_row;
  seen->include_stop = scan->include_stop_row;
  seen->reversed = scan->reversed;
  seen->small = scan->small;
  seen->pread = scan->read_type == KR__PB__SCAN__READ_TYPE__PREAD;
  seen->max_versions = scan->max_versions;
  seen->close_scanner = request->close_scanner;
  seen->number_of_rows = request->number_of_rows;
  seen->has_limit_of_rows = request->has_limit_of_rows;
  seen->handles_partials = request->client_handles_partials;
  seen->handles_heartbeats = request->client_handles_heartbeats;
  seen->priority = header->priority;
  seen->timeout_ms = header->timeout;
  seen->call_id = header->call_id;
}

/* Take one turn of the first fault. *last tells that it was its last one. */
static struct fake_fault take_fault(struct fake_server *server, bool *last)
{
  struct fault *first = server->faults;
  struct fake_fault fault = {.what = FAKE_ANSWER};

  *last = false;
  if (first == NULL) {
    return fault;
  }
  fault = first->fault;
  *last = first->fault.times == 1;
  if (first->fault.times > 0) {
    first->fault.times--;
  }
  return fault;
}

/* The texts of a fault live until its last turn has been played. */
static void drop_fault(struct fake_server *server)
{
  struct fault *first = server->faults;

  server->faults = first->next;
  free((void *)first->fault.class_name);
  free((void *)first->fault.text);
  free(first);
}

/* Find a scan's rows and write the answer down. */
static struct out answer_scan(struct fake_server *server, const struct conn *conn, uint32_t call_id,
                              const Kr__Pb__ScanRequest *request, const struct fake_fault *fault)
{
  const Kr__Pb__Scan *from = request->scan;
  size_t limit = request->number_of_rows;
  struct found found = {.family = server->seen.family, .spoil = fault->what};

  if (fault->what == FAKE_NO_LIMIT) {
    limit = limit + 3;
  } else if (fault->what == FAKE_EARLY_STOP || fault->what == FAKE_HEARTBEAT) {
    limit = fault->rows < limit ? fault->rows : limit;
  }
  struct fake_scan scan = {
      .start = {from->start_row.data, from->start_row.len},
      .stop = {from->stop_row.data, from->stop_row.len},
      .include_start = from->include_start_row,
      .include_stop = from->include_stop_row,
      .reversed = from->reversed,
      .family = found.family[0] != '\0' ? found.family : NULL,
      .limit = limit,
  };

  found.rows = must(calloc(limit + 1, sizeof(*found.rows)));
  found.count = fake_catalog_scan(server->catalog, &scan, found.rows, &found.more);
  found.heartbeat = fault->what == FAKE_HEARTBEAT;
  found.more = found.more || found.heartbeat;
  found.partial = fault->what == FAKE_PARTIAL_ROW;
  server->counts.rows += (unsigned)found.count;
  struct out bytes =
      scan_reply(fault->what == FAKE_WRONG_ID ? call_id + 1000000 : call_id, &found,
                 conn->has_codec ? server->encoding : FAKE_INLINE, server->next_scanner++);

  free(found.rows);
  return bytes;
}

/* Frames that are no answer at all. */
static struct out nonsense(enum fake_what what)
{
  struct out out = {0};

  out_int(&out, what == FAKE_GARBAGE ? 24 : what == FAKE_HUGE_LENGTH ? 0x7fffffff : 0xffffffff, 4);
  memset(out_extend(&out, 24), 0xff, 24);
  return out;
}

/* Play a fault: make the answer and say what becomes of the connection. */
static struct answer play(struct fake_server *server, const struct conn *conn, uint32_t call_id,
                          const Kr__Pb__ScanRequest *request, const struct fake_fault *fault)
{
  struct answer answer = {.due_ms = now_ms() + fault->delay_ms, .serial = conn->serial};

  switch (fault->what) {
  case FAKE_EXCEPTION:
    answer.bytes = exception_reply(call_id, fault);
    break;
  case FAKE_FATAL:
    answer.bytes = exception_reply(FATAL_ID, fault);
    answer.after = CLOSE;
    break;
  case FAKE_CLOSE:
    answer.after = CLOSE;
    break;
  case FAKE_RESET:
    answer.after = RESET;
    break;
  case FAKE_GARBAGE:
  case FAKE_HUGE_LENGTH:
  case FAKE_NEGATIVE_LENGTH:
    answer.bytes = nonsense(fault->what);
    break;
  default:
    answer.bytes = answer_scan(server, conn, call_id, request, fault);
    break;
  }
  if (fault->what == FAKE_HALF) {
    answer.bytes.len /= 2;
    answer.after = CLOSE;
  }
  answer.trickle = fault->what == FAKE_TRICKLE;
  return answer;
}

static void hold_answer(struct fake_server *server, const struct answer *from, bool last)
{
  struct answer *answer = must(malloc(sizeof(*answer)));

  *answer = *from;
  answer->next = server->held;
  server->held = answer;
  if (last) {
    release_held(server);
  }
}

static void queue_copy(struct fake_server *server, const struct answer *from)
{
  struct answer copy = *from;

  copy.bytes = (struct out){0};
  out_bytes(&copy.bytes, from->bytes.data, from->bytes.len);
  queue_answer(server, &copy);
}

static void play_scan(struct fake_server *server, const struct conn *conn, uint32_t call_id,
                      const Kr__Pb__ScanRequest *request)
{
  bool last;
  struct fake_fault fault = take_fault(server, &last);
  struct answer answer = play(server, conn, call_id, request, &fault);

  if (fault.what == FAKE_NEVER) {
    free(answer.bytes.data);
  } else if (fault.what == FAKE_REVERSE) {
    hold_answer(server, &answer, last);
  } else {
    if (fault.what == FAKE_TWICE) {
      queue_copy(server, &answer);
    }
    queue_answer(server, &answer);
  }
  if (last) {
    drop_fault(server);
  }
}

static void refuse_call(struct fake_server *server, const struct conn *conn, uint32_t call_id,
                        const char *class_name, const char *text)
{
  struct fake_fault fault = {.class_name = class_name, .text = text};
  struct answer answer = {.due_ms = now_ms(), .serial = conn->serial};

  answer.bytes = exception_reply(call_id, &fault);
  queue_answer(server, &answer);
}

static bool is_meta(const Kr__Pb__RegionSpecifier *region)
{
  const char *name = region->type == KR__PB__REGION_SPECIFIER__REGION_SPECIFIER_TYPE__REGION_NAME
                         ? META_NAME
                         : META_ENCODED;

  return region->value.len == strlen(name) && memcmp(region->value.data, name, strlen(name)) == 0;
}

static void run_scan(struct fake_server *server, const struct conn *conn,
                     const Kr__Pb__RequestHeader *header, const Kr__Pb__ScanRequest *request)
{
  server->counts.scans++;
  if (request->has_scanner_id) {
    if (request->close_scanner && server->counts.scanners > 0) {
      server->counts.scanners--;
    }
    refuse_call(server, conn, header->call_id, "org.apache.hadoop.hbase.UnknownScannerException",
                "only opening scans are played");
  } else if (request->region == NULL || request->scan == NULL || !is_meta(request->region)) {
    refuse_call(server, conn, header->call_id, "org.apache.hadoop.hbase.NotServingRegionException",
                "region is not online here");
  } else {
    server->counts.scanners += !request->close_scanner;
    note_scan(server, conn, header, request);
    play_scan(server, conn, header->call_id, request);
  }
}

/* ---- Requests ------------------------------------------------------------------------------- */

/* Read a varint; moves *at. Zero past the end. */
static uint64_t in_varint(const uint8_t **at, const uint8_t *end)
{
  uint64_t value = 0;

  for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
    uint8_t byte = *(*at)++;

    value |= (uint64_t)(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) {
      break;
    }
  }
  return value;
}

/* The next delimited piece; moves *at. */
static ProtobufCBinaryData in_piece(const uint8_t **at, const uint8_t *end)
{
  uint64_t len = in_varint(at, end);

  must_work(len <= (uint64_t)(end - *at)); /* the client under test sent nonsense */
  *at += len;
  return (ProtobufCBinaryData){(size_t)len, (uint8_t *)*at - len};
}

static void run_request(struct fake_server *server, const struct conn *conn, const uint8_t *frame,
                        size_t len)
{
  const uint8_t *at = frame;
  ProtobufCBinaryData head = in_piece(&at, frame + len);
  Kr__Pb__RequestHeader *header = kr__pb__request_header__unpack(NULL, head.len, head.data);

  must_work(header != NULL && header->has_call_id && header->method_name != NULL &&
            header->request_param);
  ProtobufCBinaryData param = in_piece(&at, frame + len);

  must_work(at == frame + len);
  server->counts.rpcs++;
  if (strcmp(header->method_name, "Scan") == 0) {
    Kr__Pb__ScanRequest *request = kr__pb__scan_request__unpack(NULL, param.len, param.data);

    must_work(request != NULL);
    run_scan(server, conn, header, request);
    kr__pb__scan_request__free_unpacked(request, NULL);
  } else {
    refuse_call(server, conn, header->call_id, "org.apache.hadoop.hbase.DoNotRetryIOException",
                "method is not played");
  }
  kr__pb__request_header__free_unpacked(header, NULL);
  pthread_cond_broadcast(&server->changed);
}

static uint32_t in_length(const uint8_t *at)
{
  return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void refuse_hello(struct fake_server *server, const struct conn *conn)
{
  struct fake_fault fault = {.class_name = "org.apache.hadoop.hbase.ipc.FatalConnectionException",
                             .text = "Expected HEADER=HBas but received something else"};
  struct answer answer = {.due_ms = now_ms(), .serial = conn->serial, .after = CLOSE};

  answer.bytes = exception_reply(FATAL_ID, &fault);
  queue_answer(server, &answer);
}

/* Read preamble and ConnectionHeader. Returns how many bytes they took, 0 if they are not there yet
 * or not to be believed. */
static size_t run_hello(struct fake_server *server, struct conn *conn)
{
  if (conn->in_len < HELLO_FIXED_LEN) {
    return 0;
  }
  if (memcmp(conn->in, "HBas\0\x50", 6) != 0) {
    refuse_hello(server, conn);
    conn->in_len = 0;
    return 0;
  }
  size_t len = in_length(conn->in + 6);

  if (conn->in_len < HELLO_FIXED_LEN + len) {
    return 0;
  }
  Kr__Pb__ConnectionHeader *header =
      kr__pb__connection_header__unpack(NULL, len, conn->in + HELLO_FIXED_LEN);

  must_work(header != NULL);
  copy_text(conn->user, sizeof(conn->user),
            header->user_info != NULL ? header->user_info->effective_user : NULL);
  copy_text(conn->service, sizeof(conn->service), header->service_name);
  copy_text(conn->codec, sizeof(conn->codec), header->cell_block_codec_class);
  conn->has_codec = header->cell_block_codec_class != NULL;
  conn->greeted = true;
  server->counts.hellos++;
  kr__pb__connection_header__free_unpacked(header, NULL);
  return HELLO_FIXED_LEN + len;
}

/* One hello or request from the head of what was read; 0 = nothing whole is there. */
static size_t run_head(struct fake_server *server, struct conn *conn, size_t taken)
{
  const uint8_t *at = conn->in + taken;
  size_t left = conn->in_len - taken;

  if (!conn->greeted) {
    return run_hello(server, conn);
  }
  if (left < 4 || left - 4 < in_length(at)) {
    return 0;
  }
  run_request(server, conn, at + 4, in_length(at));
  return 4 + (size_t)in_length(at);
}

static void run_input(struct fake_server *server, struct conn *conn)
{
  size_t taken = 0;
  size_t len;

  do {
    len = run_head(server, conn, taken);
    taken += len;
  } while (len > 0);
  memmove(conn->in, conn->in + taken, conn->in_len - taken);
  conn->in_len -= taken;
}

static void make_room(struct conn *conn, size_t len)
{
  if (conn->in_cap - conn->in_len < len) {
    conn->in_cap += len;
    conn->in = must(realloc(conn->in, conn->in_cap));
  }
}

/* Read what is there. False = the client has gone. */
static bool read_conn(struct fake_server *server, struct conn *conn)
{
  make_room(conn, 65536);
  ssize_t len = recv(conn->fd, conn->in + conn->in_len, conn->in_cap - conn->in_len, MSG_DONTWAIT);

  if (len <= 0) {
    return len < 0 && (errno == EAGAIN || errno == EINTR);
  }
  conn->in_len += (size_t)len;
  run_input(server, conn);
  return true;
}

/* ---- The thread ----------------------------------------------------------------------------- */

static void add_conn(struct fake_server *server, struct conn *conn)
{
  conn->serial = server->next_serial++;
  server->conns[server->conn_count++] = conn;
  server->counts.connects++;
  server->counts.connections = (unsigned)server->conn_count;
  pthread_cond_broadcast(&server->changed);
}

static void accept_conn(struct fake_server *server)
{
  struct timeval patience = {2, 0};
  int yes = 1;
  int fd = accept(server->listener, NULL, NULL);

  if (fd < 0) {
    return;
  }
  must_work(server->conn_count < MAX_CONNS);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  struct conn *conn = must(calloc(1, sizeof(*conn)));

  conn->fd = fd;
  add_conn(server, conn);
}

/* Fill in what to wait for: the pipe, the listener, then the connections. */
static nfds_t list_fds(const struct fake_server *server, struct pollfd *fds, unsigned *serials)
{
  nfds_t count = 2;

  fds[0] = (struct pollfd){.fd = server->wake[0], .events = POLLIN};
  fds[1] = (struct pollfd){.fd = server->listener, .events = POLLIN};
  for (size_t i = 0; !server->silent && i < server->conn_count; i++) {
    serials[count] = server->conns[i]->serial;
    fds[count++] = (struct pollfd){.fd = server->conns[i]->fd, .events = POLLIN};
  }
  return count;
}

static int wait_ms(const struct fake_server *server)
{
  if (server->answers == NULL) {
    return -1;
  }
  int64_t left = server->answers->due_ms - now_ms();

  return left > 0 ? (int)left : 0;
}

static void handle(struct fake_server *server, const struct pollfd *fds, nfds_t count,
                   const unsigned *serials)
{
  char byte[64];

  if (fds[0].revents != 0) {
    must_work(read(server->wake[0], byte, sizeof(byte)) > 0);
  }
  if (fds[1].revents != 0 && fds[1].fd == server->listener) {
    accept_conn(server);
  }
  for (nfds_t i = 2; i < count && !server->silent; i++) {
    size_t index = find_conn(server, serials[i]);

    if (fds[i].revents != 0 && index < server->conn_count &&
        !read_conn(server, server->conns[index])) {
      remove_conn(server, index);
    }
  }
  send_due(server);
}

static void *serve(void *arg)
{
  struct fake_server *server = arg;
  struct pollfd fds[MAX_CONNS + 2];
  unsigned serials[MAX_CONNS + 2];

  pthread_mutex_lock(&server->lock);
  while (!server->ending) {
    nfds_t count = list_fds(server, fds, serials);
    int timeout_ms = wait_ms(server);

    pthread_mutex_unlock(&server->lock);
    int ready = poll(fds, count, timeout_ms);

    must_work(ready >= 0 || errno == EINTR);
    pthread_mutex_lock(&server->lock);
    if (ready >= 0) {
      handle(server, fds, count, serials);
    }
  }
  pthread_mutex_unlock(&server->lock);
  return NULL;
}

/* Without a thread nobody would read what is written here. */
static void wake_up(struct fake_server *server)
{
  ssize_t written = 1;

  if (server->runs) {
    do {
      written = write(server->wake[1], "w", 1);
    } while (written < 0 && errno == EINTR);
  }
  must_work(written == 1);
}

/* ---- Starting and stopping ------------------------------------------------------------------ */

static int listen_on(int *port, int backlog)
{
  struct sockaddr_in address = loopback(*port);
  socklen_t len = sizeof(address);
  int yes = 1;
  /* Not blocking: who was to be accepted may have gone again. */
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

  must_work(fd >= 0);
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  must_work(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
  must_work(listen(fd, backlog) == 0);
  must_work(getsockname(fd, (struct sockaddr *)&address, &len) == 0);
  *port = ntohs(address.sin_port);
  return fd;
}

/* A server without a port. */
static struct fake_server *make_server(void)
{
  struct fake_server *server = must(calloc(1, sizeof(*server)));
  pthread_condattr_t monotonic;

  server->listener = -1;
  server->catalog = fake_catalog_new();
  server->next_scanner = 1;
  must_work(pipe(server->wake) == 0);
  pthread_mutex_init(&server->lock, NULL);
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&server->changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  return server;
}

struct fake_server *fake_server_start(int port)
{
  struct fake_server *server = make_server();

  server->port = port;
  server->listener = listen_on(&server->port, 128);
  server->runs = true;
  must_work(pthread_create(&server->thread, NULL, serve, server) == 0);
  return server;
}

int fake_server_port(const struct fake_server *server)
{
  return server->port;
}

static void close_conns_locked(struct fake_server *server)
{
  while (server->conn_count > 0) {
    remove_conn(server, 0);
  }
}

void fake_server_drop_connections(struct fake_server *server)
{
  pthread_mutex_lock(&server->lock);
  close_conns_locked(server);
  wake_up(server);
  pthread_mutex_unlock(&server->lock);
}

void fake_server_stop(struct fake_server *server)
{
  pthread_mutex_lock(&server->lock);
  if (server->listener >= 0) {
    /* A thread in poll holds on to the listener, so that closing it alone would not refuse. */
    shutdown(server->listener, SHUT_RDWR);
    close(server->listener);
    server->listener = -1;
  }
  close_conns_locked(server);
  wake_up(server);
  pthread_mutex_unlock(&server->lock);
}

void fake_server_restart(struct fake_server *server)
{
  pthread_mutex_lock(&server->lock);
  if (server->listener < 0) {
    server->listener = listen_on(&server->port, 128);
  }
  wake_up(server);
  pthread_mutex_unlock(&server->lock);
}

void fake_server_set_silent(struct fake_server *server, bool silent)
{
  pthread_mutex_lock(&server->lock);
  server->silent = silent;
  wake_up(server);
  pthread_mutex_unlock(&server->lock);
}

static void free_answers(struct answer *answer)
{
  while (answer != NULL) {
    struct answer *next = answer->next;

    free(answer->bytes.data);
    free(answer);
    answer = next;
  }
}

void fake_server_free(struct fake_server *server)
{
  if (server == NULL) {
    return;
  }
  fake_server_stop(server);
  pthread_mutex_lock(&server->lock);
  server->ending = true;
  wake_up(server);
  pthread_mutex_unlock(&server->lock);
  if (server->runs) {
    pthread_join(server->thread, NULL);
  }
  while (server->faults != NULL) {
    drop_fault(server);
  }
  free_answers(server->answers);
  free_answers(server->held);
  fake_catalog_free(server->catalog);
  close(server->wake[0]);
  close(server->wake[1]);
  pthread_cond_destroy(&server->changed);
  pthread_mutex_destroy(&server->lock);
  free(server);
}

/* ---- What it holds, how it behaves ---------------------------------------------------------- */

void fake_server_put_region(struct fake_server *server, const struct fake_region *region)
{
  pthread_mutex_lock(&server->lock);
  fake_catalog_put_region(server->catalog, region);
  pthread_mutex_unlock(&server->lock);
}

void fake_server_delete_region(struct fake_server *server, const struct fake_region *region)
{
  struct keyroute_bytes name = fake_region_name(region);

  fake_server_delete_row(server, name);
  free((void *)name.data);
}

void fake_server_put_cell(struct fake_server *server, struct keyroute_bytes row, const char *family,
                          const char *qualifier, struct keyroute_bytes value)
{
  pthread_mutex_lock(&server->lock);
  fake_catalog_put_cell(server->catalog, row, family, qualifier, value);
  pthread_mutex_unlock(&server->lock);
}

void fake_server_delete_cell(struct fake_server *server, struct keyroute_bytes row,
                             const char *family, const char *qualifier)
{
  pthread_mutex_lock(&server->lock);
  fake_catalog_delete_cell(server->catalog, row, family, qualifier);
  pthread_mutex_unlock(&server->lock);
}

void fake_server_delete_row(struct fake_server *server, struct keyroute_bytes row)
{
  pthread_mutex_lock(&server->lock);
  fake_catalog_delete_row(server->catalog, row);
  pthread_mutex_unlock(&server->lock);
}

void fake_server_clear_catalog(struct fake_server *server)
{
  pthread_mutex_lock(&server->lock);
  fake_catalog_clear(server->catalog);
  pthread_mutex_unlock(&server->lock);
}

void fake_server_put_table_state(struct fake_server *server, const char *table, int state)
{
  uint8_t value[2] = {1 << 3, (uint8_t)state};

  fake_server_put_cell(server, keyroute_string(table), "table", "state",
                       (struct keyroute_bytes){value, sizeof(value)});
}

void fake_server_set_encoding(struct fake_server *server, enum fake_encoding encoding)
{
  pthread_mutex_lock(&server->lock);
  server->encoding = encoding;
  pthread_mutex_unlock(&server->lock);
}

void fake_server_fault(struct fake_server *server, const struct fake_fault *from)
{
  struct fault *fault = must(calloc(1, sizeof(*fault)));

  fault->fault = *from;
  fault->fault.times = from->times == 0 ? 1 : from->times;
  fault->fault.class_name =
      must(strdup(from->class_name != NULL ? from->class_name : "java.io.IOException"));
  fault->fault.text = from->text != NULL ? must(strdup(from->text)) : NULL;
  pthread_mutex_lock(&server->lock);
  struct fault **at = &server->faults;

  while (*at != NULL) {
    at = &(*at)->next;
  }
  *at = fault;
  pthread_mutex_unlock(&server->lock);
}

void fake_server_clear_faults(struct fake_server *server)
{
  pthread_mutex_lock(&server->lock);
  while (server->faults != NULL) {
    drop_fault(server);
  }
  release_held(server);
  wake_up(server);
  pthread_mutex_unlock(&server->lock);
}

/* ---- What it saw ---------------------------------------------------------------------------- */

struct fake_counts fake_server_counts(struct fake_server *server)
{
  pthread_mutex_lock(&server->lock);
  struct fake_counts counts = server->counts;

  pthread_mutex_unlock(&server->lock);
  return counts;
}

struct fake_seen fake_server_last_scan(struct fake_server *server)
{
  pthread_mutex_lock(&server->lock);
  struct fake_seen seen = server->seen;

  pthread_mutex_unlock(&server->lock);
  return seen;
}

/* Wait until *count is at least (or, with `at_most`, at most) so many. */
static bool wait_count(struct fake_server *server, const unsigned *count, unsigned wanted_count,
                       bool at_most, int timeout_ms)
{
  struct timespec until;
  bool good;

  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += timeout_ms / 1000;
  until.tv_nsec += timeout_ms % 1000 * 1000000L;
  until.tv_sec += until.tv_nsec / 1000000000L;
  until.tv_nsec %= 1000000000L;
  pthread_mutex_lock(&server->lock);
  int error = 0;

  while (!(good = at_most ? *count <= wanted_count : *count >= wanted_count) && error == 0) {
    error = pthread_cond_timedwait(&server->changed, &server->lock, &until);
  }
  pthread_mutex_unlock(&server->lock);
  return good;
}

bool fake_server_wait_scans(struct fake_server *server, unsigned scans, int timeout_ms)
{
  return wait_count(server, &server->counts.scans, scans, false, timeout_ms);
}

bool fake_server_wait_connects(struct fake_server *server, unsigned connects, int timeout_ms)
{
  return wait_count(server, &server->counts.connects, connects, false, timeout_ms);
}

bool fake_server_wait_closed(struct fake_server *server, unsigned connections, int timeout_ms)
{
  return wait_count(server, &server->counts.connections, connections, true, timeout_ms);
}

/* ---- Without a socket ----------------------------------------------------------------------- */

struct fake_server *fake_server_new(void)
{
  struct fake_server *server = make_server();

  server->next_serial = 1;
  return server;
}

unsigned fake_server_accept(struct fake_server *server)
{
  struct conn *conn = must(calloc(1, sizeof(*conn)));

  must_work(server->conn_count < MAX_CONNS);
  conn->fd = -1;
  add_conn(server, conn);
  return conn->serial;
}

void fake_server_hang_up(struct fake_server *server, unsigned number)
{
  size_t index = find_conn(server, number);

  if (index < server->conn_count) {
    remove_conn(server, index);
  }
}

/* The first answer to a connection, unlinked; NULL = none. */
static struct answer *take_answer(struct fake_server *server, unsigned serial)
{
  struct answer **at = &server->answers;

  while (*at != NULL && (*at)->serial != serial) {
    at = &(*at)->next;
  }
  struct answer *answer = *at;

  if (answer != NULL) {
    *at = answer->next;
  }
  return answer;
}

struct keyroute_bytes fake_server_exchange(struct fake_server *server, unsigned number,
                                           struct keyroute_bytes bytes, bool *closes)
{
  size_t index = find_conn(server, number);

  if (index < server->conn_count && bytes.len > 0) {
    struct conn *conn = server->conns[index];

    make_room(conn, bytes.len);
    memcpy(conn->in + conn->in_len, bytes.data, bytes.len);
    conn->in_len += bytes.len;
    run_input(server, conn);
  }
  struct answer *answer = take_answer(server, number);
  struct keyroute_bytes out = {NULL, 0};

  *closes = answer != NULL && answer->after != KEEP_OPEN;
  if (*closes) {
    fake_server_hang_up(server, number);
  }
  if (answer != NULL) {
    out.len = answer->bytes.len;
    out.data = answer->bytes.data != NULL ? answer->bytes.data : must(malloc(1));
    free(answer);
  }
  return out;
}

/* ---- Ports where nobody answers ------------------------------------------------------------- */

#define FILLERS 8

struct fake_black_hole {
  int listener;
  int port;
  int fillers[FILLERS];
};

/* With a full queue Linux drops the handshakes of those who come later. */
struct fake_black_hole *fake_black_hole_open_at(int port)
{
  struct fake_black_hole *hole = must(calloc(1, sizeof(*hole)));

  hole->port = port;
  hole->listener = listen_on(&hole->port, 0);
  for (unsigned i = 0; i < FILLERS; i++) {
    struct sockaddr_in address = loopback(hole->port);

    hole->fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    must_work(hole->fillers[i] >= 0);
    must_work(connect(hole->fillers[i], (struct sockaddr *)&address, sizeof(address)) == 0 ||
              errno == EINPROGRESS);
  }
  return hole;
}

struct fake_black_hole *fake_black_hole_open(int *port)
{
  struct fake_black_hole *hole = fake_black_hole_open_at(0);

  *port = hole->port;
  return hole;
}

void fake_black_hole_close(struct fake_black_hole *hole)
{
  for (unsigned i = 0; i < FILLERS; i++) {
    close(hole->fillers[i]);
  }
  close(hole->listener);
  free(hole);
}

int fake_closed_port(void)
{
  int port = 0;
  int fd = listen_on(&port, 1);

  close(fd);
  return port;
}
