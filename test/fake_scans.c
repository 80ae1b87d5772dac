/*
 * How the scripted region server answers Scan of hbase:meta.
 *
 * Only opening scans are played: the library makes no others.
 *
 * Source: HBase RSRpcServices.scan
 */
#include "test/fake_server_state.h"

#include "test/must.h"

#include <stdio.h>
#include <string.h>

#define CATALOG_PREFIX "hbase:"
#define META_ENCODED "1588230740"

/* ---- Answers -------------------------------------------------------------------------------- */

/* What a scan found, and how to write it down. */
struct found {
  const struct fake_row **rows;
  size_t count;
  const char *family;
  bool more, heartbeat, partial;
  bool is_old;          /* as servers before 1.1 */
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
static void out_flags(struct fake_out *body, const struct found *found, uint64_t scanner)
{
  fake_out_int(body, 2 << 3, 1); /* scanner_id */
  fake_out_varint(body, scanner);
  fake_out_int(body, 3 << 3, 1); /* more_results */
  fake_out_int(body, 1, 1);
  for (size_t i = 0; i < found->count; i++) {
    fake_out_int(body, 7 << 3, 1); /* partial_flag_per_result */
    fake_out_int(body, found->partial && i + 1 == found->count, 1);
  }
  if (!found->is_old) {
    fake_out_int(body, 8 << 3, 1); /* more_results_in_region */
    fake_out_int(body, found->more, 1);
  }
  if (found->heartbeat) {
    fake_out_int(body, 9 << 3, 1);
    fake_out_int(body, 1, 1);
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

static void out_counts(struct fake_out *body, const struct found *found, bool packed)
{
  uint32_t *counts = must(calloc(found->count + 2, sizeof(*counts)));
  size_t rows = announce(found, counts);
  struct fake_out list = {0};

  for (size_t i = 0; i < rows; i++) {
    if (!packed) {
      fake_out_int(body, 1 << 3, 1);
      fake_out_varint(body, counts[i]);
    }
    fake_out_varint(&list, counts[i]);
  }
  if (packed && rows > 0) {
    fake_out_int(body, 1 << 3 | 2, 1);
    fake_out_varint(body, list.len);
    fake_out_bytes(body, list.data, list.len);
  }
  free(list.data);
  free(counts);
}

struct fake_key_value fake_catalog_cell(const struct fake_row *row, const struct fake_cell *cell)
{
  return (struct fake_key_value){
      .row = {row->key, row->key_len},
      .family = keyroute_string(cell->family),
      .qualifier = keyroute_string(cell->qualifier),
      .value = {cell->value, cell->value_len},
      .timestamp = cell->timestamp,
      .type = 4,
  };
}

/* One Result with its cells, as field 5 of the body. */
static void out_result(struct fake_out *body, const struct found *found, const struct fake_row *row)
{
  Kr__Pb__Result result = KR__PB__RESULT__INIT;
  Kr__Pb__Cell *cells = must(calloc(row->cell_count + 1, sizeof(*cells)));
  Kr__Pb__Cell **list = must(calloc(row->cell_count + 1, sizeof(*list)));

  for (size_t i = 0; i < row->cell_count; i++) {
    const struct fake_cell *from = &row->cells[i];
    Kr__Pb__Cell *cell = &cells[result.n_cell];

    if (wanted(found, from)) {
      struct fake_key_value view = fake_catalog_cell(row, from);

      fake_cell_message(cell, &view);
      list[result.n_cell++] = cell;
    }
  }
  result.cell = list;
  fake_out_int(body, 5 << 3 | 2, 1);
  fake_out_message(body, &result.base);
  free(list);
  free(cells);
}

static void out_block(struct fake_out *block, const struct found *found)
{
  for (size_t i = 0; i < found->count; i++) {
    for (size_t k = 0; k < found->rows[i]->cell_count; k++) {
      if (wanted(found, &found->rows[i]->cells[k])) {
        struct fake_key_value view = fake_catalog_cell(found->rows[i], &found->rows[i]->cells[k]);

        fake_out_key_value(block, &view);
      }
    }
  }
  if (found->spoil == FAKE_SPARE_BYTES) {
    fake_out_bytes(block, "spare", 5);
  }
}

/* A whole reply frame with the rows found. */
static struct fake_out scan_reply(uint32_t call_id, const struct found *found,
                                  enum fake_encoding encoding, uint64_t scanner)
{
  struct fake_out body = {0}, block = {0};

  if (encoding == FAKE_INLINE) {
    for (size_t i = 0; i < found->count; i++) {
      out_result(&body, found, found->rows[i]);
    }
    if (found->spoil == FAKE_EMPTY_ROW) {
      fake_out_bytes(&body, "\x2a\x00", 2);
    }
  } else {
    out_counts(&body, found, encoding == FAKE_CELL_BLOCK_PACKED);
    out_block(&block, found);
  }
  out_flags(&body, found, scanner);
  if (found->spoil == FAKE_BAD_MESSAGE) {
    memset(body.data, 0xff, body.len);
  }
  return fake_reply(call_id, &body, &block);
}

/* ---- Scans ---------------------------------------------------------------------------------- */

static void note_scan(struct fake_server *server, const struct fake_request *from)
{
  struct fake_seen *seen = &server->seen;
  const Kr__Pb__ScanRequest *request = from->message;
  const Kr__Pb__Scan *scan = request->scan;

  memset(seen, 0, sizeof(*seen));
  fake_note_text(seen->user, sizeof(seen->user), from->conn->user);
  fake_note_text(seen->service, sizeof(seen->service), from->conn->service);
  fake_note_text(seen->codec, sizeof(seen->codec), from->conn->codec);
  fake_note_bytes(seen->region, sizeof(seen->region), request->region->value);
  if (scan->n_column > 0) {
    fake_note_bytes(seen->family, sizeof(seen->family), scan->column[0]->family);
  }
  seen->start_len = fake_note_bytes(seen->start, sizeof(seen->start), scan->start_row);
  seen->stop_len = fake_note_bytes(seen->stop, sizeof(seen->stop), scan->stop_row);
  seen->include_start = scan->include_start_row;
  seen->include_stop = scan->include_stop_row;
  seen->reversed = scan->reversed;
  seen->small = scan->small;
  seen->pread = scan->read_type == KR__PB__SCAN__READ_TYPE__PREAD;
  seen->max_versions = scan->max_versions;
  seen->max_result_size = scan->max_result_size;
  seen->close_scanner = request->close_scanner;
  seen->number_of_rows = request->number_of_rows;
  seen->has_limit_of_rows = request->has_limit_of_rows;
  seen->handles_partials = request->client_handles_partials;
  seen->handles_heartbeats = request->client_handles_heartbeats;
  seen->priority = from->header->priority;
  seen->timeout_ms = from->header->timeout;
  seen->call_id = from->header->call_id;
}

static void turn_round(const struct fake_row **rows, size_t count)
{
  for (size_t i = 0; i < count / 2; i++) {
    const struct fake_row *row = rows[i];

    rows[i] = rows[count - 1 - i];
    rows[count - 1 - i] = row;
  }
}

/* How many rows are found, where so many were asked for. */
static size_t spoilt_limit(const struct fake_fault *fault, size_t limit)
{
  switch (fault->what) {
  case FAKE_NO_LIMIT:
    return limit + 3;
  case FAKE_EARLY_STOP:
  case FAKE_HEARTBEAT:
  case FAKE_SILENT_STOP:
    return fault->rows < limit ? fault->rows : limit;
  default:
    return limit;
  }
}

/* A server that does not know the word scans up; whether the stop row, which it has passed already,
 * stops it depends. A key without a comma is before all rows, to those of 0.96. */
static void turn_up(struct fake_scan *scan, enum fake_downward downward)
{
  if (scan->start.len > 0 && memchr(scan->start.data, ',', scan->start.len) == NULL) {
    scan->start = (struct keyroute_bytes){NULL, 0};
  }
  scan->reversed = false;
  scan->stop = (struct keyroute_bytes){NULL, 0};
  scan->limit = downward == FAKE_MEETS_STOP_ROW ? 0 : scan->limit;
}

/* Find a scan's rows and write the answer down. */
static struct fake_out answer_scan(struct fake_server *server, const struct fake_request *asked,
                                   const struct fake_fault *fault)
{
  const Kr__Pb__ScanRequest *request = asked->message;
  const Kr__Pb__Scan *from = request->scan;
  size_t limit = spoilt_limit(fault, request->number_of_rows);
  struct found found = {.family = server->seen.family, .spoil = fault->what};
  struct fake_scan scan = {
      .start = {from->start_row.data, from->start_row.len},
      .stop = {from->stop_row.data, from->stop_row.len},
      .include_start = from->include_start_row,
      .include_stop = from->include_stop_row,
      .reversed = from->reversed,
      .family = found.family[0] != '\0' ? found.family : NULL,
      .limit = limit,
  };

  found.is_old = server->downward != FAKE_SCANS_DOWN;
  if (found.is_old && scan.reversed) {
    turn_up(&scan, server->downward);
  }
  found.rows = must(calloc(limit + 1, sizeof(*found.rows)));
  found.count = fake_catalog_scan(server->catalog, &scan, found.rows, &found.more);
  found.heartbeat = fault->what == FAKE_HEARTBEAT;
  found.more = (found.more || found.heartbeat) && fault->what != FAKE_SILENT_STOP;
  if (fault->what == FAKE_BACKWARDS) {
    turn_round(found.rows, found.count);
  }
  found.partial = fault->what == FAKE_PARTIAL_ROW;
  server->counts.rows += (unsigned)found.count;
  fake_note_executed(server, asked->header->method_name);
  struct fake_out bytes =
      scan_reply(asked->call_id, &found, fake_encoding_for(server, asked), server->next_scanner++);

  free(found.rows);
  return bytes;
}

bool fake_is_catalog(const Kr__Pb__RegionSpecifier *region)
{
  const char *name = region->type == KR__PB__REGION_SPECIFIER__REGION_SPECIFIER_TYPE__REGION_NAME
                         ? CATALOG_PREFIX
                         : META_ENCODED;

  return region->value.len >= strlen(name) && memcmp(region->value.data, name, strlen(name)) == 0;
}

static void refuse(struct fake_server *server, const struct fake_request *request,
                   const char *class_name, const char *text)
{
  fake_refuse(server, request->conn, request->header->call_id, class_name, text);
}

static void run_scan(struct fake_server *server, const struct fake_request *asked)
{
  const Kr__Pb__ScanRequest *request = asked->message;

  server->counts.scans++;
  if (request->has_scanner_id) {
    if (request->close_scanner && server->counts.scanners > 0) {
      server->counts.scanners--;
    }
    refuse(server, asked, "org.apache.hadoop.hbase.UnknownScannerException",
           "only opening scans are played");
  } else if (request->region == NULL || request->scan == NULL ||
             !fake_is_catalog(request->region)) {
    refuse(server, asked, "org.apache.hadoop.hbase.NotServingRegionException",
           "region is not online here");
  } else if (request->scan->reversed && server->downward == FAKE_NO_SUCH_SCAN) {
    note_scan(server, asked);
    refuse(server, asked, "org.apache.hadoop.hbase.DoNotRetryIOException",
           "reversed scans are not supported");
  } else {
    server->counts.scanners += !request->close_scanner;
    note_scan(server, asked);
    fake_play(server, asked, answer_scan);
  }
}

void fake_run_scan(struct fake_server *server, struct fake_request *asked)
{
  Kr__Pb__ScanRequest *request =
      kr__pb__scan_request__unpack(NULL, asked->param.len, asked->param.data);

  must_work(request != NULL);
  asked->message = request;
  run_scan(server, asked);
  kr__pb__scan_request__free_unpacked(request, NULL);
}
