#include "test/fake_server094.h"

#include "lib/bytes.h"
#include "test/loopback.h"
#include "test/must.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNS_MAX = 256, REGIONS_MAX = 512, CELLS_MAX = 256, SCANNERS_MAX = 64, FAULTS_MAX = 16 };

#define OPENING "org.apache.hadoop.hbase.ipc.HRegionInterface"

struct region {
  struct made094 about; /* copies */
  struct kr_buf name;
  int server;
};

struct cell {
  char *table, *row, *family, *qualifier, *value;
  int64_t timestamp;
};

struct fault {
  enum fake094_what what;
  char *method, *class_name, *text;
  int times;
};

struct scanner {
  int64_t id; /* 0 = none */
  bool of_root;
  struct kr_buf region, at, stop;
};

struct server {
  struct fake094 *fake;
  int number, port, listener;
  pthread_t thread;
  int wake[2]; /* a byte = look at `stopped` and `over` */
  bool threaded, stopped;
  struct fake094_counts counts;
  struct fault faults[FAULTS_MAX];
  int fault_count;
};

struct fake094 {
  pthread_mutex_t lock;
  pthread_cond_t changed; /* a server listens, or does not any more */
  struct kr_mem *mem;
  struct server *servers;
  int count, root;
  struct region regions[REGIONS_MAX];
  int region_count;
  struct cell cells[CELLS_MAX];
  int cell_count;
  struct scanner scanners[SCANNERS_MAX];
  int64_t last_scanner;
  char root_text[80];
  bool over;
};

/* ---- What they hold ------------------------------------------------------------------------- */

static int64_t start_code_of(int server)
{
  return 1600000000000 + server;
}

static bool is_meta(const char *table)
{
  return strcmp(table, ".META.") == 0;
}

static struct keyroute_bytes copy_bytes(struct keyroute_bytes bytes)
{
  void *copy = must(malloc(bytes.len > 0 ? bytes.len : 1));

  if (bytes.len > 0) {
    memcpy(copy, bytes.data, bytes.len);
  }
  return kr_bytes(copy, bytes.len);
}

static void free_region(struct region *region)
{
  free((void *)(uintptr_t)region->about.table);
  free((void *)(uintptr_t)region->about.start.data);
  free((void *)(uintptr_t)region->about.end.data);
  free((void *)(uintptr_t)region->about.host);
  kr_buf_clear(&region->name);
}

static struct region *find_region(struct fake094 *fake, struct keyroute_bytes name)
{
  for (int i = 0; i < fake->region_count; i++) {
    if (kr_bytes_equal(kr_buf_view(&fake->regions[i].name), name)) {
      return &fake->regions[i];
    }
  }
  return NULL;
}

static struct region *find_made(struct fake094 *fake, const struct made094 *made)
{
  struct kr_buf name;

  kr_buf_init(&name, fake->mem);
  made094_name(&name, made);
  struct region *found = find_region(fake, kr_buf_view(&name));

  kr_buf_clear(&name);
  return found;
}

void fake094_put(struct fake094 *fake, const struct made094 *made, int server)
{
  char host[] = "127.0.0.1";

  pthread_mutex_lock(&fake->lock);
  struct region *region = find_made(fake, made);

  if (region != NULL) {
    free_region(region);
  } else {
    must_work(fake->region_count < REGIONS_MAX);
    region = &fake->regions[fake->region_count++];
  }
  region->about = *made;
  region->about.table = must(strdup(made->table));
  region->about.start = copy_bytes(made->start);
  region->about.end = copy_bytes(made->end);
  region->about.host = NULL;
  region->server = server;
  if (server >= 0) {
    region->about.host = must(strdup(host));
    region->about.port = fake->servers[server].port;
    region->about.start_code = start_code_of(server);
  }
  kr_buf_init(&region->name, fake->mem);
  made094_name(&region->name, made);
  pthread_mutex_unlock(&fake->lock);
}

void fake094_put_between(struct fake094 *fake, const char *table, const char *start,
                         const char *end, int64_t id, int server)
{
  struct made094 region = made094_region(table, start, end, id);

  fake094_put(fake, &region, server);
}

void fake094_move_silently(struct fake094 *fake, const struct made094 *made, int server)
{
  pthread_mutex_lock(&fake->lock);
  struct region *region = find_made(fake, made);

  must_work(region != NULL);
  region->server = server;
  pthread_mutex_unlock(&fake->lock);
}

void fake094_delete(struct fake094 *fake, const struct made094 *made)
{
  pthread_mutex_lock(&fake->lock);
  struct region *region = find_made(fake, made);

  must_work(region != NULL);
  free_region(region);
  *region = fake->regions[--fake->region_count];
  pthread_mutex_unlock(&fake->lock);
}

void fake094_host_root(struct fake094 *fake, int server)
{
  pthread_mutex_lock(&fake->lock);
  fake->root = server;
  pthread_mutex_unlock(&fake->lock);
}

const char *fake094_root(struct fake094 *fake)
{
  pthread_mutex_lock(&fake->lock);
  snprintf(fake->root_text, sizeof(fake->root_text), "127.0.0.1,%d,%" PRId64,
           fake->servers[fake->root].port, start_code_of(fake->root));
  pthread_mutex_unlock(&fake->lock);
  return fake->root_text;
}

void fake094_put_cell(struct fake094 *fake, const char *table, const char *row, const char *family,
                      const char *qualifier, int64_t timestamp, const char *value)
{
  pthread_mutex_lock(&fake->lock);
  must_work(fake->cell_count < CELLS_MAX);
  fake->cells[fake->cell_count++] =
      (struct cell){must(strdup(table)),     must(strdup(row)),   must(strdup(family)),
                    must(strdup(qualifier)), must(strdup(value)), timestamp};
  pthread_mutex_unlock(&fake->lock);
}

/* ---- Rows of the catalogs -------------------------------------------------------------------- */

/* Append the KeyValues of a region's row. */
static void write_row(struct kr_buf *out, const struct region *region)
{
  struct keyroute_bytes key = kr_buf_view(&region->name);
  struct kr_buf value;
  char address[80];

  kr_buf_init(&value, out->mem);
  made094_info(&value, &region->about);
  made094_cell(out, key, "info", keyroute_string("regioninfo"), 1, kr_buf_view(&value));
  if (region->about.host != NULL) {
    snprintf(address, sizeof(address), "%s:%d", region->about.host, region->about.port);
    made094_cell(out, key, "info", keyroute_string("server"), 2, keyroute_string(address));
    value.len = 0;
    kr_buf_u32(&value, (uint32_t)((uint64_t)region->about.start_code >> 32));
    kr_buf_u32(&value, (uint32_t)region->about.start_code);
    made094_cell(out, key, "info", keyroute_string("serverstartcode"), 2, kr_buf_view(&value));
  }
  kr_buf_clear(&value);
}

static int compare(bool of_root, struct keyroute_bytes a, struct keyroute_bytes b)
{
  return of_root ? made094_compare_root(a, b) : made094_compare_meta(a, b);
}

/* Is this a row of the catalog's region that is asked? NULL = of -ROOT-. */
static bool is_row(const struct region *row, const struct region *asked)
{
  struct keyroute_bytes key = kr_buf_view(&row->name);

  if (asked == NULL || is_meta(row->about.table)) {
    return asked == NULL && is_meta(row->about.table);
  }
  return kr_bytes_compare(key, asked->about.start) >= 0 &&
         (asked->about.end.len == 0 || kr_bytes_compare(key, asked->about.end) < 0);
}

static struct keyroute_bytes table_of(struct keyroute_bytes key)
{
  const char *comma = key.len > 0 ? memchr(key.data, ',', key.len) : NULL;

  return kr_bytes(key.data, comma != NULL ? (size_t)(comma - (const char *)key.data) : key.len);
}

/* The row at a key or the closest before it, of its table. */
static const struct region *closest(struct fake094 *fake, const struct region *asked,
                                    struct keyroute_bytes key)
{
  bool of_root = asked == NULL;
  const struct region *best = NULL;

  for (int i = 0; i < fake->region_count; i++) {
    const struct region *row = &fake->regions[i];
    struct keyroute_bytes name = kr_buf_view(&row->name);

    if (is_row(row, asked) && kr_bytes_equal(table_of(name), table_of(key)) &&
        compare(of_root, name, key) <= 0 &&
        (best == NULL || compare(of_root, kr_buf_view(&best->name), name) < 0)) {
      best = row;
    }
  }
  return best;
}

/* The first row at or behind a key, but before stop, which may be empty. */
static const struct region *next_row(struct fake094 *fake, const struct region *asked,
                                     struct keyroute_bytes key, struct keyroute_bytes stop)
{
  bool of_root = asked == NULL;
  const struct region *best = NULL;

  for (int i = 0; i < fake->region_count; i++) {
    const struct region *row = &fake->regions[i];
    struct keyroute_bytes name = kr_buf_view(&row->name);

    if (is_row(row, asked) && compare(of_root, name, key) >= 0 &&
        (stop.len == 0 || compare(of_root, name, stop) < 0) &&
        (best == NULL || compare(of_root, name, kr_buf_view(&best->name)) < 0)) {
      best = row;
    }
  }
  return best;
}

/* ---- Requests -------------------------------------------------------------------------------- */

/* A request under way, and what is answered. */
struct request {
  struct fake094 *fake;
  struct server *server;
  uint32_t id;
  char method[40];
  struct kr_reader params; /* behind their number */
  struct kr_buf body;
  const char *class_name; /* instead of a body */
  const char *text;
};

static int64_t read_vint(struct kr_reader *reader)
{
  int first = (int8_t)kr_read_u8(reader);
  int count = first >= -112 ? 0 : -112 - first;
  int64_t value = count == 0 ? first : 0;

  must_work(count <= 2); /* no client sends more, or negative ones */
  while (count-- > 0) {
    value = value << 8 | kr_read_u8(reader);
  }
  return value;
}

static struct keyroute_bytes read_bytes(struct kr_reader *reader)
{
  return kr_read_bytes(reader, (uint64_t)read_vint(reader));
}

static struct keyroute_bytes read_param(struct kr_reader *reader)
{
  must_work(kr_read_u8(reader) == 11);
  return read_bytes(reader);
}

static void refuse(struct request *request, const char *class_name, const char *text)
{
  request->class_name = class_name;
  request->text = text;
}

/* Is the region that a request names one of this server's? *found NULL = it is -ROOT-. */
static bool find_hosted(struct request *request, struct keyroute_bytes name,
                        const struct region **found)
{
  struct region *region = find_region(request->fake, name);
  bool is_root = kr_bytes_equal(name, keyroute_string("-ROOT-,,0"));
  int server = is_root ? request->fake->root : region != NULL ? region->server : -1;

  *found = region;
  if (server != request->server->number) {
    refuse(request, "org.apache.hadoop.hbase.NotServingRegionException",
           "org.apache.hadoop.hbase.NotServingRegionException: Region is not online");
    return false;
  }
  return true;
}

/* As HRegion.checkRow: bytes decide, whatever the order inside. */
static bool holds(struct request *request, const struct region *region, struct keyroute_bytes row)
{
  if (region == NULL ||
      (kr_bytes_compare(row, region->about.start) >= 0 &&
       (region->about.end.len == 0 || kr_bytes_compare(row, region->about.end) < 0))) {
    return true;
  }
  refuse(request, "org.apache.hadoop.hbase.regionserver.WrongRegionException",
         "org.apache.hadoop.hbase.regionserver.WrongRegionException: Requested row out of range");
  return false;
}

static void answer_result(struct request *request, const struct kr_buf *cells)
{
  kr_buf_bytes(&request->body, kr_bytes("\x25\x25", 2));
  kr_buf_u32(&request->body, (uint32_t)cells->len);
  kr_buf_bytes(&request->body, kr_buf_view(cells));
}

static void serve_closest(struct request *request)
{
  struct keyroute_bytes name = read_param(&request->params);
  struct keyroute_bytes row = read_param(&request->params);
  const struct region *region;
  struct kr_buf cells;

  must_work(row.len <= INT16_MAX);
  if (kr_bytes_equal(name, keyroute_string("-ROOT-,,0"))) {
    request->server->counts.root_reads++;
  } else {
    request->server->counts.meta_reads++;
  }
  if (!find_hosted(request, name, &region) || !holds(request, region, row)) {
    return;
  }
  const struct region *found = closest(request->fake, region, row);

  if (found == NULL) {
    kr_buf_bytes(&request->body, kr_bytes("\x0e\x11\x25", 3));
    return;
  }
  kr_buf_init(&cells, request->fake->mem);
  write_row(&cells, found);
  answer_result(request, &cells);
  kr_buf_clear(&cells);
}

static struct scanner *find_scanner(struct request *request, int64_t id)
{
  for (int i = 0; i < SCANNERS_MAX; i++) {
    if (request->fake->scanners[i].id == id) {
      return &request->fake->scanners[i];
    }
  }
  refuse(request, "org.apache.hadoop.hbase.UnknownScannerException",
         "org.apache.hadoop.hbase.UnknownScannerException: Name");
  return NULL;
}

static int64_t read_scanner(struct request *request)
{
  must_work(kr_read_u8(&request->params) == 6);
  return (int64_t)kr_read_u64(&request->params);
}

static void serve_open(struct request *request)
{
  struct keyroute_bytes name = read_param(&request->params);
  const struct region *region;

  request->server->counts.opens++;
  must_work(kr_read_u8(&request->params) == 39 && kr_read_u8(&request->params) == 39 &&
            kr_read_u8(&request->params) == 2);
  struct keyroute_bytes start = read_bytes(&request->params);
  struct keyroute_bytes stop = read_bytes(&request->params);

  if (!find_hosted(request, name, &region)) {
    return;
  }
  struct scanner *scanner = find_scanner(request, 0);

  must_work(scanner != NULL);
  scanner->id = ++request->fake->last_scanner;
  scanner->of_root = region == NULL;
  kr_buf_bytes(&scanner->region, name);
  kr_buf_bytes(&scanner->at, start);
  kr_buf_bytes(&scanner->stop, stop);
  kr_buf_u8(&request->body, 6);
  kr_buf_u32(&request->body, 0);
  kr_buf_u32(&request->body, (uint32_t)scanner->id);
}

static void serve_next(struct request *request)
{
  struct scanner *scanner = find_scanner(request, read_scanner(request));
  const struct region *region, *row;
  struct kr_buf rows;
  uint32_t count = 0;

  request->server->counts.nexts++;
  must_work(kr_read_u8(&request->params) == 5);
  uint32_t limit = kr_read_u32(&request->params);

  if (scanner == NULL || !find_hosted(request, kr_buf_view(&scanner->region), &region)) {
    return;
  }
  kr_buf_init(&rows, request->fake->mem);
  while (count < limit && (row = next_row(request->fake, region, kr_buf_view(&scanner->at),
                                          kr_buf_view(&scanner->stop))) != NULL) {
    kr_buf_u32(&rows, row->about.host != NULL ? 3 : 1);
    write_row(&rows, row);
    scanner->at.len = 0;
    kr_buf_bytes(&scanner->at, kr_buf_view(&row->name));
    kr_buf_u8(&scanner->at, 0);
    count++;
  }
  kr_buf_bytes(&request->body, kr_bytes("\x26\x01", 2));
  kr_buf_u32(&request->body, count);
  if (count > 0) {
    kr_buf_u32(&request->body, (uint32_t)rows.len);
    kr_buf_bytes(&request->body, kr_buf_view(&rows));
  }
  kr_buf_clear(&rows);
}

static void serve_close(struct request *request)
{
  struct scanner *scanner = find_scanner(request, read_scanner(request));

  request->server->counts.closes++;
  if (scanner != NULL) {
    scanner->id = 0;
    scanner->region.len = scanner->at.len = scanner->stop.len = 0;
    kr_buf_bytes(&request->body, kr_bytes("\x0e\x11\x09", 3));
  }
}

static void serve_get(struct request *request)
{
  struct keyroute_bytes name = read_param(&request->params);
  const struct region *region;
  struct kr_buf cells;

  request->server->counts.gets++;
  must_work(kr_read_u8(&request->params) == 32 && kr_read_u8(&request->params) == 32 &&
            kr_read_u8(&request->params) == 2);
  struct keyroute_bytes row = read_bytes(&request->params);

  if (!find_hosted(request, name, &region) || !holds(request, region, row)) {
    return;
  }
  kr_buf_init(&cells, request->fake->mem);
  for (int i = 0; i < request->fake->cell_count; i++) {
    const struct cell *cell = &request->fake->cells[i];

    if (strcmp(cell->table, region->about.table) == 0 &&
        kr_bytes_equal(keyroute_string(cell->row), row)) {
      made094_cell(&cells, row, cell->family, keyroute_string(cell->qualifier), cell->timestamp,
                   keyroute_string(cell->value));
    }
  }
  answer_result(request, &cells);
  kr_buf_clear(&cells);
}

static const struct {
  const char *method;
  void (*serve)(struct request *request);
} methods[] = {
    {"getClosestRowBefore", serve_closest},
    {"openScanner", serve_open},
    {"next", serve_next},
    {"close", serve_close},
    {"get", serve_get},
};

/* ---- Faults ---------------------------------------------------------------------------------- */

static void free_faults(struct server *server)
{
  for (int i = 0; i < server->fault_count; i++) {
    free(server->faults[i].method);
    free(server->faults[i].class_name);
    free(server->faults[i].text);
  }
  server->fault_count = 0;
}

static bool has_faults(const struct server *server)
{
  for (int i = 0; i < server->fault_count; i++) {
    if (server->faults[i].times > 0) {
      return true;
    }
  }
  return false;
}

static char *copy_text(const char *text)
{
  return text != NULL ? must(strdup(text)) : NULL;
}

void fake094_fault(struct fake094 *fake, int server, const struct fake094_fault *fault)
{
  struct server *at = &fake->servers[server];

  pthread_mutex_lock(&fake->lock);
  if (!has_faults(at)) {
    free_faults(at);
  }
  must_work(at->fault_count < FAULTS_MAX);
  at->faults[at->fault_count++] =
      (struct fault){fault->what, copy_text(fault->method), copy_text(fault->class_name),
                     copy_text(fault->text), fault->times > 0 ? fault->times : 1};
  pthread_mutex_unlock(&fake->lock);
}

/* The fault whose turn it is, or NULL. It stays, with no times left. */
static struct fault *take_fault(struct server *server, const char *method)
{
  for (int i = 0; i < server->fault_count; i++) {
    struct fault *fault = &server->faults[i];

    if (fault->times > 0 && (fault->method == NULL || strcmp(fault->method, method) == 0)) {
      fault->times--;
      return fault;
    }
  }
  return NULL;
}

static const char *or_empty(const char *text)
{
  return text != NULL ? text : "";
}

/* Write the answer as a fault has it. False = close the connection. */
static bool write_spoilt(struct kr_buf *out, const struct request *request,
                         const struct fault *fault)
{
  size_t at = out->len;

  switch (fault->what) {
  case FAKE094_EXCEPTION:
  case FAKE094_FATAL:
    made094_exception(out, request->id, fault->what == FAKE094_FATAL ? -1 : 1,
                      or_empty(fault->class_name), or_empty(fault->text));
    return true;
  case FAKE094_NEVER:
    return true;
  case FAKE094_CLOSE:
    return false;
  case FAKE094_HALF:
    made094_reply(out, request->id, 0, kr_buf_view(&request->body));
    out->len -= (out->len - at) / 2;
    return false;
  case FAKE094_GARBAGE:
    made094_reply(out, request->id, 0, kr_bytes("garbage", 7));
    return true;
  case FAKE094_HUGE:
    made094_reply(out, request->id, 0, kr_buf_view(&request->body));
    memcpy(out->data + at + 5, "\x7f\xff\xff\xff", 4);
    return true;
  case FAKE094_OLD:
    made094_reply(out, request->id, 0, kr_buf_view(&request->body));
    out->data[at + 4] = 0;
    return true;
  }
  return true;
}

/* ---- Serving --------------------------------------------------------------------------------- */

/* Answer one request. False = close the connection. */
static bool serve_request(struct server *server, struct keyroute_bytes frame, struct kr_buf *out)
{
  struct request request = {.fake = server->fake, .server = server, .params = kr_reader(frame)};
  struct kr_reader *reader = &request.params;

  request.id = kr_read_u32(reader);
  must_work(kr_read_u8(reader) == 1);
  struct keyroute_bytes method = kr_read_bytes(reader, kr_read_u16(reader));

  must_work(!reader->bad && method.len < sizeof(request.method));
  memcpy(request.method, method.data, method.len);
  must_work(kr_read_u64(reader) == 29);
  kr_read_u32(reader); /* the fingerprint */
  kr_read_u32(reader); /* how many parameters */
  kr_buf_init(&request.body, server->fake->mem);
  server->counts.requests++;
  refuse(&request, "java.io.IOException", "java.io.IOException: java.lang.NoSuchMethodException");
  for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
    if (strcmp(methods[i].method, request.method) == 0) {
      request.class_name = NULL;
      methods[i].serve(&request);
    }
  }
  struct fault *fault = take_fault(server, request.method);
  bool stays = true;

  if (fault != NULL) {
    stays = write_spoilt(out, &request, fault);
  } else if (request.class_name != NULL) {
    made094_exception(out, request.id, 1, request.class_name, request.text);
  } else {
    made094_reply(out, request.id, 0, kr_buf_view(&request.body));
  }
  kr_buf_clear(&request.body);
  return stays;
}

static void drop_front(struct kr_buf *in, size_t len)
{
  memmove(in->data, in->data + len, in->len - len);
  in->len -= len;
}

static size_t opening_len(void)
{
  return 4 + 1 + 4 + 1 + strlen(OPENING);
}

/* Take the opening from the front. False = it is not whole yet. */
static bool take_opening(struct server *server, struct kr_buf *in)
{
  if (in->len < opening_len()) {
    return false;
  }
  must_work(memcmp(in->data, "hrpc\3\0\0\0\x2d\x2c" OPENING, opening_len()) == 0);
  drop_front(in, opening_len());
  server->counts.connects++;
  return true;
}

bool fake094_serve(struct fake094 *fake, int number, bool *opened, struct kr_buf *in,
                   struct kr_buf *out)
{
  struct server *server = &fake->servers[number];
  bool stays = true;

  pthread_mutex_lock(&fake->lock);
  *opened = *opened || take_opening(server, in);
  while (*opened && stays && in->len >= 4) {
    struct kr_reader reader = kr_reader(kr_buf_view(in));
    size_t len = kr_read_u32(&reader);

    if (kr_reader_left(&reader) < len) {
      break;
    }
    stays = serve_request(server, kr_read_bytes(&reader, len), out);
    drop_front(in, 4 + len);
  }
  pthread_mutex_unlock(&fake->lock);
  return stays;
}

/* ---- Threads and sockets --------------------------------------------------------------------- */

struct conn {
  int fd;
  bool opened;
  struct kr_buf in;
};

struct conns {
  struct conn all[CONNS_MAX];
  nfds_t count;
};

static void close_conn(struct conns *conns, nfds_t index)
{
  close(conns->all[index].fd);
  kr_buf_clear(&conns->all[index].in);
  conns->all[index] = conns->all[--conns->count];
}

static void accept_conn(struct server *server, struct conns *conns)
{
  int fd = accept(server->listener, NULL, NULL);

  must_work(fd >= 0 && conns->count < CONNS_MAX);
  conns->all[conns->count] = (struct conn){.fd = fd};
  kr_buf_init(&conns->all[conns->count++].in, server->fake->mem);
}

static bool send_all(int fd, const struct kr_buf *out)
{
  for (size_t sent = 0; sent < out->len;) {
    ssize_t len = send(fd, out->data + sent, out->len - sent, MSG_NOSIGNAL);

    if (len <= 0) {
      return false;
    }
    sent += (size_t)len;
  }
  return true;
}

/* False = the connection is over. */
static bool read_conn(struct server *server, struct conn *conn)
{
  char bytes[65536];
  ssize_t len = recv(conn->fd, bytes, sizeof(bytes), 0);
  struct kr_buf out;

  if (len <= 0) {
    return false;
  }
  kr_buf_init(&out, server->fake->mem);
  kr_buf_bytes(&conn->in, kr_bytes(bytes, (size_t)len));
  bool stays = fake094_serve(server->fake, server->number, &conn->opened, &conn->in, &out);

  stays = send_all(conn->fd, &out) && stays;
  kr_buf_clear(&out);
  return stays;
}

static void listen_again(struct server *server)
{
  struct sockaddr_in address = loopback(server->port);
  socklen_t size = sizeof(address);
  int on = 1;

  server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  must_work(server->listener >= 0);
  must_work(setsockopt(server->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0);
  must_work(bind(server->listener, (struct sockaddr *)&address, size) == 0);
  must_work(listen(server->listener, 64) == 0);
  must_work(getsockname(server->listener, (struct sockaddr *)&address, &size) == 0);
  server->port = ntohs(address.sin_port);
}

/* Do what was asked for from outside. False = it is over. */
static bool heed(struct server *server, struct conns *conns)
{
  struct fake094 *fake = server->fake;
  char byte;

  must_work(read(server->wake[0], &byte, 1) == 1);
  pthread_mutex_lock(&fake->lock);
  bool over = fake->over;

  if ((over || server->stopped) && server->listener >= 0) {
    close(server->listener);
    server->listener = -1;
    while (conns->count > 0) {
      close_conn(conns, 0);
    }
  } else if (!server->stopped && server->listener < 0) {
    listen_again(server);
  }
  pthread_cond_broadcast(&fake->changed);
  pthread_mutex_unlock(&fake->lock);
  return !over;
}

static void run_once(struct server *server, struct conns *conns, const struct pollfd *polled,
                     nfds_t count)
{
  for (nfds_t i = count; i-- > 0;) {
    if (polled[2 + i].revents != 0 && !read_conn(server, &conns->all[i])) {
      close_conn(conns, i);
    }
  }
  if (polled[1].revents != 0) {
    accept_conn(server, conns);
  }
}

static void *run_server(void *arg)
{
  struct server *server = arg;
  struct conns *conns = must(calloc(1, sizeof(*conns)));
  bool over = false;

  while (!over) {
    struct pollfd polled[2 + CONNS_MAX] = {{server->wake[0], POLLIN, 0},
                                           {server->listener, POLLIN, 0}};
    nfds_t count = conns->count;

    for (nfds_t i = 0; i < count; i++) {
      polled[2 + i] = (struct pollfd){conns->all[i].fd, POLLIN, 0};
    }
    must_work(poll(polled, 2 + count, -1) >= 0);
    if (polled[0].revents != 0) {
      over = !heed(server, conns);
    } else {
      run_once(server, conns, polled, count);
    }
  }
  free(conns);
  return NULL;
}

static void wake(struct server *server)
{
  must_work(write(server->wake[1], "", 1) == 1);
}

static void set_stopped(struct fake094 *fake, int number, bool stopped)
{
  struct server *server = &fake->servers[number];

  pthread_mutex_lock(&fake->lock);
  server->stopped = stopped;
  wake(server);
  while ((server->listener < 0) != stopped) {
    pthread_cond_wait(&fake->changed, &fake->lock);
  }
  pthread_mutex_unlock(&fake->lock);
}

void fake094_stop(struct fake094 *fake, int server)
{
  set_stopped(fake, server, true);
}

void fake094_restart(struct fake094 *fake, int server)
{
  set_stopped(fake, server, false);
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

struct fake094 *fake094_new(int servers)
{
  struct fake094 *fake = must(calloc(1, sizeof(*fake)));

  pthread_mutex_init(&fake->lock, NULL);
  pthread_cond_init(&fake->changed, NULL);
  fake->mem = must(kr_mem_new(NULL));
  fake->servers = must(calloc((size_t)servers, sizeof(*fake->servers)));
  fake->count = servers;
  for (int i = 0; i < servers; i++) {
    fake->servers[i].fake = fake;
    fake->servers[i].number = i;
    fake->servers[i].port = 60020 + i;
  }
  for (int i = 0; i < SCANNERS_MAX; i++) {
    kr_buf_init(&fake->scanners[i].region, fake->mem);
    kr_buf_init(&fake->scanners[i].at, fake->mem);
    kr_buf_init(&fake->scanners[i].stop, fake->mem);
  }
  return fake;
}

struct fake094 *fake094_start(int servers)
{
  struct fake094 *fake = fake094_new(servers);

  for (int i = 0; i < servers; i++) {
    struct server *server = &fake->servers[i];

    server->port = 0;
    listen_again(server);
    must_work(pipe(server->wake) == 0);
    server->threaded = true;
    must_work(pthread_create(&server->thread, NULL, run_server, server) == 0);
  }
  return fake;
}

static void end_threads(struct fake094 *fake)
{
  pthread_mutex_lock(&fake->lock);
  fake->over = true;
  pthread_mutex_unlock(&fake->lock);
  for (int i = 0; i < fake->count; i++) {
    struct server *server = &fake->servers[i];

    if (server->threaded) {
      wake(server);
      pthread_join(server->thread, NULL);
      close(server->wake[0]);
      close(server->wake[1]);
    }
  }
}

void fake094_free(struct fake094 *fake)
{
  end_threads(fake);
  for (int i = 0; i < fake->region_count; i++) {
    free_region(&fake->regions[i]);
  }
  for (int i = 0; i < fake->cell_count; i++) {
    struct cell *cell = &fake->cells[i];

    free(cell->table);
    free(cell->row);
    free(cell->family);
    free(cell->qualifier);
    free(cell->value);
  }
  for (int i = 0; i < SCANNERS_MAX; i++) {
    kr_buf_clear(&fake->scanners[i].region);
    kr_buf_clear(&fake->scanners[i].at);
    kr_buf_clear(&fake->scanners[i].stop);
  }
  for (int i = 0; i < fake->count; i++) {
    free_faults(&fake->servers[i]);
  }
  free(fake->servers);
  kr_mem_release(fake->mem);
  pthread_cond_destroy(&fake->changed);
  pthread_mutex_destroy(&fake->lock);
  free(fake);
}

int fake094_port(const struct fake094 *fake, int server)
{
  return fake->servers[server].port;
}

struct fake094_counts fake094_counts(struct fake094 *fake, int server)
{
  pthread_mutex_lock(&fake->lock);
  struct fake094_counts counts = fake->servers[server].counts;

  pthread_mutex_unlock(&fake->lock);
  return counts;
}

unsigned fake094_scanners(struct fake094 *fake)
{
  unsigned open = 0;

  pthread_mutex_lock(&fake->lock);
  for (int i = 0; i < SCANNERS_MAX; i++) {
    open += fake->scanners[i].id != 0;
  }
  pthread_mutex_unlock(&fake->lock);
  return open;
}
