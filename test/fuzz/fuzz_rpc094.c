/* What a server of HBase 0.94 sends, as frames: taken from one run of bytes as rpc.c takes them;
 * each body is read as all that it may be: a row that was closest, rows of a scanner, a scanner, a
 * row that was got. */
#include "lib/hbase094_rpc.h"

#include "lib/bytes.h"
#include "lib/hbase094_get.h"
#include "lib/hbase094_scan.h"
#include "test/fuzz/fuzz.h"

enum { FRAME_MAX = 4096, LIMIT = 10 };

static void check_rows(struct kr_mem *mem, int error, struct kr_hbase094_rows *rows,
                       struct keyroute_bytes body, const struct kr_failure *failure)
{
  fuzz_check_error(error, 0, KEYROUTE_E_PROTOCOL);
  if (error != 0) {
    fuzz_check_failure(failure);
    return;
  }
  FUZZ_CHECK(rows->rows.count <= LIMIT);
  for (size_t i = 0; i < rows->rows.count; i++) {
    const struct kr_row *row = &rows->rows.rows[i];

    FUZZ_CHECK(row->key.len > 0 && row->cell_count > 0);
    FUZZ_CHECK(row->cell_count <= body.len / KR_CELL_MIN_LEN);
    for (size_t at = 0; at < row->cell_count; at++) {
      FUZZ_CHECK(kr_bytes_equal(row->cells[at].row, row->key));
      fuzz_check_inside(row->cells[at].row, body);
      fuzz_check_inside(row->cells[at].value, body);
    }
  }
  kr_hbase094_rows_clear(rows, mem);
}

static void read_rows(struct kr_mem *mem, const struct kr_rpc_reply *reply)
{
  struct kr_hbase094_rows rows;
  struct kr_failure failure;
  int error = kr_hbase094_closest_read(&rows, mem, reply, keyroute_string("t,"), LIMIT, &failure);

  check_rows(mem, error, &rows, reply->body, &failure);
  error = kr_hbase094_next_read(&rows, mem, reply, LIMIT, &failure);
  check_rows(mem, error, &rows, reply->body, &failure);
}

static void read_values(const struct kr_rpc_reply *reply)
{
  struct keyroute_bytes cells;
  struct kr_failure failure;
  size_t count;
  int64_t scanner;
  int error = kr_hbase094_get_read(&cells, &count, reply, &failure);

  fuzz_check_error(error, 0, KEYROUTE_E_PROTOCOL);
  if (error == 0) {
    fuzz_check_inside(cells, reply->body);
    FUZZ_CHECK(count <= cells.len / KR_CELL_MIN_LEN);
  } else {
    fuzz_check_failure(&failure);
  }
  error = kr_hbase094_open_read(&scanner, reply, &failure);
  fuzz_check_error(error, 0, KEYROUTE_E_PROTOCOL);
}

/* Returns whether the connection would go on. */
static bool read_frame(struct kr_mem *mem, struct keyroute_bytes frame)
{
  struct kr_rpc_reply reply;
  struct kr_failure failure;
  int error = kr_hbase094_codec.reply(&reply, mem, frame, &failure);

  fuzz_check_error(error, 0, KEYROUTE_E_PROTOCOL);
  if (error != 0) {
    FUZZ_CHECK(failure.code == error);
    fuzz_check_failure(&failure);
    return false;
  }
  fuzz_check_inside(reply.body, frame);
  FUZZ_CHECK(reply.cells.len == 0);
  FUZZ_CHECK(!reply.for_all || reply.failure.code != 0);
  if (reply.failure.code != 0) {
    FUZZ_CHECK(reply.body.len == 0);
    fuzz_check_failure(&reply.failure);
  } else {
    read_rows(mem, &reply);
    read_values(&reply);
  }
  return !reply.for_all;
}

/* What is told of a frame that is too long, from as much of it as there is. */
static void read_head(struct kr_mem *mem, struct keyroute_bytes in)
{
  struct kr_rpc_reply reply;
  struct kr_failure failure;
  size_t head_len = 99;
  int error = kr_hbase094_codec.head(&reply, &head_len, mem, in, &failure);

  FUZZ_CHECK(error == 0);
  FUZZ_CHECK(head_len == 0 || (head_len >= 13 && head_len <= in.len));
  if (reply.failure.code != 0) {
    fuzz_check_failure(&reply.failure);
  }
}

/* The frame at the head of `in`. Returns its length, 0 if the connection would end or wait. */
static size_t read_next(struct kr_mem *mem, struct keyroute_bytes in)
{
  struct kr_failure failure;
  size_t len = 99;
  int error = kr_hbase094_codec.frame(&len, in, &failure);

  fuzz_check_error(error, 0, KEYROUTE_E_PROTOCOL);
  if (error != 0) {
    fuzz_check_failure(&failure);
    return 0;
  }
  FUZZ_CHECK(len == 0 ? in.len < 9 : len >= 13);
  if (len > FRAME_MAX) {
    read_head(mem, kr_bytes(in.data, len < in.len ? len : in.len));
    return len < in.len ? len : 0;
  }
  return len > 0 && len <= in.len && read_frame(mem, kr_bytes(in.data, len)) ? len : 0;
}

int FUZZ_ENTRY(rpc094)(const uint8_t *data, size_t len)
{
  struct fuzz_input input = fuzz_input(data, len);
  struct kr_mem *mem = fuzz_mem_new(&input);
  struct keyroute_bytes in = fuzz_rest(&input);
  size_t taken;

  while (in.len > 0 && (taken = read_next(mem, in)) > 0) {
    in = kr_bytes((const uint8_t *)in.data + taken, in.len - taken);
  }
  fuzz_mem_done(mem);
  return 0;
}
