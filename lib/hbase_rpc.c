/*
 * HBase's protobuf RPC, 0.96 and later, as bytes: how a connection opens, how a request is framed,
 * and how a reply is taken apart. What methods carry is not known here (hbase_scan.c and others).
 *
 *     opening:  "HBas" | 0 | 0x50 (simple authentication) | int32 length | ConnectionHeader
 *     request:  int32 length | varint + RequestHeader | varint + parameter | cell block
 *     reply:    int32 length | varint + ResponseHeader | varint + result | cell block
 *
 *  1. The server says nothing to the opening unless it refuses it: then with a reply to call -1,
 *     which is about the connection, and the end of it.
 *  2. The codec of cell blocks is announced, so results come as KeyValues behind the message. A
 *     server may still put cells into the message; hbase_cells.c reads both.
 *  3. No version is sent: with one of 1.2 or later a server may answer RetryImmediatelyException,
 *     which is of use to multi-requests only.
 *  4. The parts of a reply must fill its frame exactly. A reply with an exception has no result;
 *     what stands behind its header is not looked at.
 *  5. Lengths are Java's ints: zero and negative ones are refused. What is too long is rpc.c's to
 *     say.
 *
 * Threads: any; the machine that uses it (rpc.c) runs on the loop.
 * Source: RPC.proto, HBase ipc.RpcConnection, ipc.IPCUtil, ipc.ServerRpcConnection
 */
#include "lib/hbase_rpc.h"

#include "lib/exception.h"
#include "lib/proto_alloc.h"

#define LENGTH_SIZE 4
#define VARINT_MAX 10
#define AUTH_SIMPLE 0x50
#define CELL_CODEC "org.apache.hadoop.hbase.codec.KeyValueCodec"
#define SERVICE "ClientService"

#define UNREADABLE "a reply with an unreadable header"

/* Field 1, of a length and bytes. */
#define REGION_TAG (1 << 3 | 2)

/* The number of replies that are about the connection: -1. */
#define NO_CALL 0xffffffffu

/* ---- Writing -------------------------------------------------------------------------------- */

/* A message that has been measured. */
static void write_measured(struct kr_buf *out, const ProtobufCMessage *message, size_t len)
{
  uint8_t *to = kr_buf_extend(out, len);

  if (to != NULL) {
    protobuf_c_message_pack(message, to);
  }
}

void kr_hbase_write_message(struct kr_buf *out, const ProtobufCMessage *message)
{
  write_measured(out, message, protobuf_c_message_get_packed_size(message));
}

static void write_delimited(struct kr_buf *out, const ProtobufCMessage *message)
{
  size_t len = protobuf_c_message_get_packed_size(message);

  kr_buf_varint(out, len);
  write_measured(out, message, len);
}

Kr__Pb__RegionSpecifier kr_hbase_region(struct keyroute_bytes name)
{
  Kr__Pb__RegionSpecifier region = KR__PB__REGION_SPECIFIER__INIT;

  region.has_type = true;
  region.type = KR__PB__REGION_SPECIFIER__REGION_SPECIFIER_TYPE__REGION_NAME;
  region.has_value = true;
  region.value = kr_proto_binary(name);
  return region;
}

void kr_hbase_write_region(struct kr_buf *out, struct keyroute_bytes name)
{
  Kr__Pb__RegionSpecifier region = kr_hbase_region(name);

  kr_buf_u8(out, REGION_TAG);
  write_delimited(out, &region.base);
}

/* Leave room for a length; patch_length fills it in with what was written behind it. */
static size_t reserve_length(struct kr_buf *out)
{
  size_t at = out->len;

  kr_buf_u32(out, 0);
  return at;
}

static void patch_length(struct kr_buf *out, size_t at)
{
  if (!out->failed) {
    size_t len = out->len - at - LENGTH_SIZE;

    out->failed = len > INT32_MAX; /* what no length can say is as good as too much for memory */
    for (unsigned i = 0; i < LENGTH_SIZE; i++) {
      out->data[at + i] = (uint8_t)(len >> (8 * (LENGTH_SIZE - 1 - i)));
    }
  }
}

static void write_hello(struct kr_buf *out, const struct kr_settings *settings)
{
  Kr__Pb__UserInformation user = KR__PB__USER_INFORMATION__INIT;
  Kr__Pb__ConnectionHeader header = KR__PB__CONNECTION_HEADER__INIT;

  user.effective_user = settings->user;
  header.user_info = &user;
  header.service_name = (char *)SERVICE;
  header.cell_block_codec_class = (char *)CELL_CODEC;
  kr_buf_text(out, "HBas");
  kr_buf_u8(out, 0);
  kr_buf_u8(out, AUTH_SIMPLE);
  size_t at = reserve_length(out);

  kr_hbase_write_message(out, &header.base);
  patch_length(out, at);
}

static void write_request(struct kr_buf *out, uint32_t id, const struct kr_rpc_call *call)
{
  Kr__Pb__RequestHeader header = KR__PB__REQUEST_HEADER__INIT;
  Kr__Pb__CellBlockMeta meta = KR__PB__CELL_BLOCK_META__INIT;
  int64_t timeout_ms = call->timeout_ms < INT32_MAX ? call->timeout_ms : INT32_MAX;

  header.has_call_id = true;
  header.call_id = id;
  header.method_name = (char *)call->method;
  header.has_request_param = true;
  header.request_param = true;
  header.has_priority = call->priority > 0;
  header.priority = call->priority;
  header.has_timeout = timeout_ms > 0;
  header.timeout = timeout_ms > 0 ? (uint32_t)timeout_ms : 0;
  meta.has_length = true;
  meta.length = (uint32_t)call->cells.len;
  header.cell_block_meta = call->cells.len > 0 ? &meta : NULL;
  size_t at = reserve_length(out);

  write_delimited(out, &header.base);
  kr_buf_varint(out, call->param.len);
  kr_buf_bytes(out, call->param);
  kr_buf_bytes(out, call->cells);
  patch_length(out, at);
}

/* ---- Reading -------------------------------------------------------------------------------- */

static int find_frame(size_t *len, struct keyroute_bytes in, struct kr_failure *failure)
{
  struct kr_reader reader = kr_reader(in);
  int32_t frame_len = (int32_t)kr_read_u32(&reader);

  *len = 0;
  if (reader.bad) {
    return 0;
  }
  if (frame_len <= 0) {
    kr_fail(failure, KEYROUTE_E_PROTOCOL, "a reply of %ld bytes", (long)frame_len);
    return KEYROUTE_E_PROTOCOL;
  }
  *len = LENGTH_SIZE + (size_t)frame_len;
  return 0;
}

static void take_exception(struct kr_rpc_reply *out, const Kr__Pb__ExceptionResponse *from)
{
  struct kr_exception exception = {
      .class_name = from->exception_class_name,
      .text = from->stack_trace,
      .do_not_retry = from->has_do_not_retry && from->do_not_retry,
      .server_overloaded = from->has_server_overloaded && from->server_overloaded,
  };

  kr_exception_map(&out->failure, &exception);
}

/* Read a header's fields into out. Returns NULL, or what cannot be believed. */
static const char *take_header(struct kr_rpc_reply *out, const Kr__Pb__ResponseHeader *header)
{
  if (!header->has_call_id) {
    return "a reply without a call id";
  }
  out->id = header->call_id;
  out->for_all = header->call_id == NO_CALL;
  if (header->exception != NULL) {
    take_exception(out, header->exception);
  } else if (out->for_all) {
    return "a reply to no call, without an exception";
  }
  return NULL;
}

/* Where a frame's header ends, and how long it says the cell block to be. */
struct head {
  size_t len; /* with the frame's length in front; 0 = the header is not whole */
  uint32_t cells_len;
};

static int fail_head(struct kr_failure *failure, const char *trouble)
{
  kr_fail(failure, KEYROUTE_E_PROTOCOL, "%s", trouble);
  return KEYROUTE_E_PROTOCOL;
}

static int unpack_header(struct kr_rpc_reply *out, struct head *head, struct kr_mem *mem,
                         struct keyroute_bytes bytes, struct kr_failure *failure)
{
  ProtobufCAllocator allocator = kr_proto_allocator(mem);
  bool is_short;
  Kr__Pb__ResponseHeader *header =
      kr_proto_unpack(&kr__pb__response_header__descriptor, mem, bytes, &is_short);

  if (is_short) {
    kr_fail(failure, KEYROUTE_E_NO_MEMORY, "a reply: out of memory");
    return KEYROUTE_E_NO_MEMORY;
  }
  if (header == NULL) {
    return fail_head(failure, UNREADABLE);
  }
  const Kr__Pb__CellBlockMeta *meta = header->cell_block_meta;
  const char *trouble = take_header(out, header);

  head->cells_len = meta != NULL && meta->has_length ? meta->length : 0;
  kr__pb__response_header__free_unpacked(header, &allocator);
  return trouble == NULL ? 0 : fail_head(failure, trouble);
}

static int take_head(struct kr_rpc_reply *out, struct head *head, struct kr_mem *mem,
                     struct keyroute_bytes in, struct kr_failure *failure)
{
  static const struct kr_rpc_reply nothing;
  struct kr_reader reader = kr_reader(in);

  *out = nothing;
  *head = (struct head){0, 0};
  kr_read_u32(&reader);
  uint64_t header_len = kr_read_varint(&reader);

  if (reader.bad && in.len >= LENGTH_SIZE + VARINT_MAX) {
    return fail_head(failure, UNREADABLE); /* more bytes would not help */
  }
  struct keyroute_bytes bytes = kr_read_bytes(&reader, header_len);

  if (reader.bad) {
    return 0;
  }
  head->len = in.len - kr_reader_left(&reader);
  return unpack_header(out, head, mem, bytes, failure);
}

static int read_head(struct kr_rpc_reply *out, size_t *len, struct kr_mem *mem,
                     struct keyroute_bytes in, struct kr_failure *failure)
{
  struct head head;
  int error = take_head(out, &head, mem, in, failure);

  *len = head.len;
  return error;
}

/* Split what stands behind the header into result and cell block. */
static bool take_parts(struct kr_rpc_reply *out, struct kr_reader *reader, uint32_t cells_len)
{
  out->body = kr_read_bytes(reader, kr_read_varint(reader));
  out->cells = kr_read_bytes(reader, cells_len);
  return !reader->bad && kr_reader_left(reader) == 0;
}

static int read_reply(struct kr_rpc_reply *out, struct kr_mem *mem, struct keyroute_bytes frame,
                      struct kr_failure *failure)
{
  struct kr_reader reader = kr_reader(frame);
  struct head head;
  int error = take_head(out, &head, mem, frame, failure);

  if (error != 0) {
    return error;
  }
  if (head.len == 0) {
    return fail_head(failure, UNREADABLE);
  }
  kr_read_bytes(&reader, head.len);
  if (out->failure.code == 0 && !take_parts(out, &reader, head.cells_len)) {
    return fail_head(failure, "a reply whose parts do not fill its frame");
  }
  return 0;
}

const struct kr_rpc_codec kr_hbase_codec = {
    .hello = write_hello,
    .request = write_request,
    .frame = find_frame,
    .head = read_head,
    .reply = read_reply,
};
