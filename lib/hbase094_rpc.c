/*
 * HBase 0.94's Writable RPC as bytes: how a connection opens, how a request is framed, and how a
 * reply is taken apart. What methods carry is not known here (hbase094_scan.c, hbase094_get.c).
 *
 *     opening:  "hrpc" | 3 | int32 length | vint length + name of the protocol
 *     request:  int32 length | int32 call id | 1 | uint16 length + method | int64 client version |
 *               int32 fingerprint | int32 number of parameters | parameters
 *     reply:    int32 call id | flags | int32 length, all of this included | int32 state | body
 *
 *  1. The server says nothing to the opening unless it refuses it: then with a reply to call 0, of
 *     state -1. Requests are numbered from 1 by rpc.c, so no call is that one.
 *  2. State -1 ends the connection, as in Java's client, whichever call it answers: the server had
 *     not understood what it was sent.
 *  3. A reply that does not say how long it is can't be skipped, and what is behind it not found.
 *     Servers before 0.92 send such; they are refused in words.
 *  4. A body with an exception is its class and its text, Java's stack trace. There is no flag that
 *     forbids another try: the class alone says so (exception.c).
 *  5. The fingerprint is of the client's interface; 0 is taken. So is whoever says that his version
 *     is the server's: that of all 0.94 is 29.
 *  6. No user is named: a server without security believes nobody and asks nobody.
 *
 * Threads: any; the machine that uses it (rpc.c) runs on the loop.
 * Source: HBase 0.94 ipc.HBaseClient, ipc.HBaseServer, ipc.Invocation, ipc.ConnectionHeader
 */
#include "lib/hbase094_rpc.h"

#include "lib/exception.h"
#include "lib/writable.h"

#include <string.h>

#define PROTOCOL "org.apache.hadoop.hbase.ipc.HRegionInterface"

enum { LENGTH_SIZE = 4, HELLO_VERSION = 3, RPC_VERSION = 1, CLIENT_VERSION = 29 };

/* What stands in front of a reply's body: call id, flags, length, and behind that the state. */
enum { FRAME_HEAD_LEN = 4 + 1 + 4, HEAD_LEN = FRAME_HEAD_LEN + 4 };

enum { FLAG_LENGTH = 2 };

enum { STATE_GOOD = 0, STATE_FATAL = -1 };

/* Of an exception's class and text: more than is shown of them. */
enum { CLASS_MAX = 256, TEXT_MAX = 2048 };

/* ---- Writing -------------------------------------------------------------------------------- */

static void write_hello(struct kr_buf *out, const struct kr_settings *settings)
{
  (void)settings;
  kr_buf_text(out, "hrpc");
  kr_buf_u8(out, HELLO_VERSION);
  kr_buf_u32(out, 1 + sizeof(PROTOCOL) - 1); /* its length takes one byte */
  kr_write_vbytes(out, keyroute_string(PROTOCOL));
}

static void write_request(struct kr_buf *out, uint32_t id, const struct kr_rpc_call *call)
{
  size_t method_len = strlen(call->method);
  size_t len = 4 + 1 + 2 + method_len + 8 + 4 + call->param.len;

  if (len > INT32_MAX) {
    out->failed = true; /* what no length can say is as good as too much for memory */
    return;
  }
  kr_buf_u32(out, (uint32_t)len);
  kr_buf_u32(out, id);
  kr_buf_u8(out, RPC_VERSION);
  kr_write_u16(out, (uint16_t)method_len);
  kr_buf_text(out, call->method);
  kr_write_u64(out, CLIENT_VERSION);
  kr_buf_u32(out, 0);
  kr_buf_bytes(out, call->param);
}

/* ---- Reading -------------------------------------------------------------------------------- */

static int find_frame(size_t *len, struct keyroute_bytes in, struct kr_failure *failure)
{
  struct kr_reader reader = kr_reader(in);

  *len = 0;
  kr_read_u32(&reader);
  uint8_t flags = kr_read_u8(&reader);

  if (reader.bad) {
    return 0;
  }
  if ((flags & FLAG_LENGTH) == 0) {
    return kr_fail(failure, KEYROUTE_E_PROTOCOL, "a reply that does not say how long it is");
  }
  int32_t frame_len = (int32_t)kr_read_u32(&reader);

  if (reader.bad) {
    return 0;
  }
  if (frame_len < HEAD_LEN) {
    return kr_fail(failure, KEYROUTE_E_PROTOCOL, "a reply of %ld bytes", (long)frame_len);
  }
  *len = (size_t)frame_len;
  return 0;
}

/* Bytes that nobody has ended with a NUL, as text of at most size - 1. */
static const char *copy_text(char *out, size_t size, struct keyroute_bytes from)
{
  size_t len = from.len < size ? from.len : size - 1;

  if (len > 0) {
    memcpy(out, from.data, len);
  }
  out[len] = '\0';
  return out;
}

/* Where both strings end is where the reader is then; it is bad as long as they are not whole. */
static void take_exception(struct kr_rpc_reply *out, struct kr_reader *reader)
{
  char class_name[CLASS_MAX], text[TEXT_MAX];
  struct keyroute_bytes name = kr_read_string(reader);
  struct kr_exception exception = {
      .class_name = copy_text(class_name, sizeof(class_name), name),
      .text = copy_text(text, sizeof(text), kr_read_string(reader)),
  };

  if (!reader->bad) {
    kr_exception_map(&out->failure, &exception);
  }
}

/* Read up to the body, or to the end of an exception. The reader is bad if that is not there. */
static void take_head(struct kr_rpc_reply *out, struct kr_reader *reader)
{
  static const struct kr_rpc_reply nothing;

  *out = nothing;
  out->id = kr_read_u32(reader);
  kr_read_u8(reader);
  kr_read_u32(reader);
  int32_t state = (int32_t)kr_read_u32(reader);

  out->for_all = state == STATE_FATAL;
  if (state != STATE_GOOD && !reader->bad) {
    take_exception(out, reader);
  }
}

static int read_head(struct kr_rpc_reply *out, size_t *len, struct kr_mem *mem,
                     struct keyroute_bytes in, struct kr_failure *failure)
{
  struct kr_reader reader = kr_reader(in);

  (void)mem;
  (void)failure;
  take_head(out, &reader);
  *len = reader.bad ? 0 : in.len - kr_reader_left(&reader);
  return 0;
}

static int read_reply(struct kr_rpc_reply *out, struct kr_mem *mem, struct keyroute_bytes frame,
                      struct kr_failure *failure)
{
  struct kr_reader reader = kr_reader(frame);

  (void)mem;
  take_head(out, &reader);
  if (reader.bad) {
    return kr_fail(failure, KEYROUTE_E_PROTOCOL, "a reply with an unreadable exception");
  }
  if (out->failure.code == 0) {
    out->body = kr_read_bytes(&reader, kr_reader_left(&reader));
  }
  return 0;
}

const struct kr_rpc_codec kr_hbase094_codec = {
    .hello = write_hello,
    .request = write_request,
    .frame = find_frame,
    .head = read_head,
    .reply = read_reply,
};
