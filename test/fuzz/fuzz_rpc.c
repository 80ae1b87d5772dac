/* What a server sends, as frames: taken from one run of bytes as rpc.c takes them, and the result
 * of each read as a Scan's. */
#include "lib/hbase_rpc.h"

#include "lib/bytes.h"
#include "lib/hbase_scan.h"
#include "test/fuzz/fuzz.h"

enum { FRAME_MAX = 4096, LIMIT = 10 };

static void read_scan(struct kr_mem *mem, const struct kr_rpc_reply *reply)
{
  struct kr_hbase_rows rows;
  struct kr_failure failure;
  int error = kr_hbase_scan_read(&rows, mem, reply, LIMIT, &failure);

  fuzz_check_error(error, 0, KEYROUTE_E_PROTOCOL);
  if (error == 0) {
    FUZZ_CHECK(rows.rows.count <= LIMIT);
    kr_hbase_rows_clear(&rows, mem);
  } else {
    fuzz_check_failure(&failure);
  }
}

/* Returns whether the connection would go on. */
static bool read_frame(struct kr_mem *mem, struct keyroute_bytes frame)
{
  struct kr_rpc_reply reply;
  struct kr_failure failure;
  int error = kr_hbase_codec.reply(&reply, mem, frame, &failure);

  fuzz_check_error(error, 0, KEYROUTE_E_PROTOCOL);
  if (error != 0) {
    FUZZ_CHECK(failure.code == error);
    fuzz_check_failure(&failure);
    return false;
  }
  fuzz_check_inside(reply.body, frame);
  fuzz_check_inside(reply.cells, frame);
  FUZZ_CHECK(!reply.for_all || reply.failure.code != 0);
  if (reply.failure.code != 0) {
    FUZZ_CHECK(reply.body.len == 0 && reply.cells.len == 0);
    fuzz_check_failure(&reply.failure);
  } else {
    read_scan(mem, &reply);
  }
  return !reply.for_all;
}

/* What is told of a frame that is too long, from as much of it as there is. */
static void read_head(struct kr_mem *mem, struct keyroute_bytes in)
{
  struct kr_rpc_reply reply;
  struct kr_failure failure;
  size_t head_len = 99;
  int error = kr_hbase_codec.head(&reply, &head_len, mem, in, &failure);

  fuzz_check_error(error, 0, KEYROUTE_E_PROTOCOL);
  if (error != 0) {
    fuzz_check_failure(&failure);
    return;
  }
  FUZZ_CHECK(head_len == 0 || (head_len > 4 && head_len <= in.len));
  if (reply.failure.code != 0) {
    fuzz_check_failure(&reply.failure);
  }
}

/* The frame at the head of `in`. Returns its length, 0 if the connection would end or wait. */
static size_t read_next(struct kr_mem *mem, struct keyroute_bytes in)
{
  struct kr_failure failure;
  size_t len = 99;
  int error = kr_hbase_codec.frame(&len, in, &failure);

  fuzz_check_error(error, 0, KEYROUTE_E_PROTOCOL);
  if (error != 0) {
    fuzz_check_failure(&failure);
    return 0;
  }
  FUZZ_CHECK(len == 0 ? in.len < 4 : len > 4);
  if (len > FRAME_MAX) {
    read_head(mem, kr_bytes(in.data, len < in.len ? len : in.len));
    return len < in.len ? len : 0;
  }
  return len > 0 && len <= in.len && read_frame(mem, kr_bytes(in.data, len)) ? len : 0;
}

int FUZZ_ENTRY(rpc)(const uint8_t *data, size_t len)
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
