/*
 * What do the bytes of a znode of HBase say?
 *
 * HBase puts a header before what it writes: 0xFF, a length, and that many bytes that name the
 * writer. Versions before 0.92 wrote none, so a payload that begins otherwise is data as it stands.
 * The data of today's znodes is "PBUF" and a message.
 *
 *  1. Anybody who may write to ZooKeeper can put anything here: every length is checked, a port and
 *     a start code must be in range, and a host that holds other than printable, unspaced ASCII is
 *     refused before it reaches a resolver or a log.
 *  2. Each refusal has its own static text, for the znode is often the first thing an operator gets
 *     wrong: another parent, another cluster's version, a hand-made node.
 *  3. A state this code has no name for is OTHER, not an error: that it is not OPEN is what counts.
 *
 * Pure: any thread. Source: hbase-zookeeper RecoverableZooKeeper, ZNodePaths; hbase-client
 * ProtobufUtil; ZooKeeper.proto.
 */
#include "lib/znode.h"

#include "lib/buf.h"
#include "lib/bytes.h"
#include "lib/error.h"
#include "lib/proto/hbase.pb-c.h"
#include "lib/proto_alloc.h"

#include <string.h>

#define HEADER_MARK 0xff
#define PBUF_MAGIC 0x50425546u /* "PBUF" */

int kr_znode_unwrap(struct keyroute_bytes *out, struct keyroute_bytes payload)
{
  struct kr_reader reader = kr_reader(payload);

  if (kr_read_u8(&reader) != HEADER_MARK) {
    if (!reader.bad) {
      *out = payload;
    }
    return reader.bad ? KEYROUTE_E_CORRUPT : 0;
  }
  uint32_t len = kr_read_u32(&reader);

  kr_read_bytes(&reader, len);
  if (reader.bad) {
    return KEYROUTE_E_CORRUPT;
  }
  *out = kr_read_bytes(&reader, kr_reader_left(&reader));
  return 0;
}

static enum kr_region_state state_of(const Kr__Pb__MetaRegionServer *message)
{
  static const enum kr_region_state states[] = {
      [KR__PB__META_REGION_SERVER__STATE__OFFLINE] = KR_STATE_OFFLINE,
      [KR__PB__META_REGION_SERVER__STATE__PENDING_OPEN] = KR_STATE_OPENING,
      [KR__PB__META_REGION_SERVER__STATE__OPENING] = KR_STATE_OPENING,
      [KR__PB__META_REGION_SERVER__STATE__OPEN] = KR_STATE_OPEN,
      [KR__PB__META_REGION_SERVER__STATE__PENDING_CLOSE] = KR_STATE_CLOSING,
      [KR__PB__META_REGION_SERVER__STATE__CLOSING] = KR_STATE_CLOSING,
      [KR__PB__META_REGION_SERVER__STATE__CLOSED] = KR_STATE_CLOSED,
      [KR__PB__META_REGION_SERVER__STATE__SPLITTING] = KR_STATE_SPLITTING,
      [KR__PB__META_REGION_SERVER__STATE__SPLIT] = KR_STATE_SPLIT,
      [KR__PB__META_REGION_SERVER__STATE__FAILED_OPEN] = KR_STATE_FAILED_OPEN,
      [KR__PB__META_REGION_SERVER__STATE__FAILED_CLOSE] = KR_STATE_FAILED_CLOSE,
      [KR__PB__META_REGION_SERVER__STATE__MERGING] = KR_STATE_MERGING,
      [KR__PB__META_REGION_SERVER__STATE__MERGED] = KR_STATE_MERGED,
      [KR__PB__META_REGION_SERVER__STATE__SPLITTING_NEW] = KR_STATE_SPLITTING_NEW,
      [KR__PB__META_REGION_SERVER__STATE__MERGING_NEW] = KR_STATE_MERGING_NEW,
      [KR__PB__META_REGION_SERVER__STATE__ABNORMALLY_CLOSED] = KR_STATE_ABNORMALLY_CLOSED,
  };
  /* protobuf-c keeps numbers it has no name for, negative ones too. */
  size_t number = (size_t)message->state;

  if (!message->has_state) {
    return KR_STATE_OPEN;
  }
  return number < sizeof(states) / sizeof(states[0]) ? states[number] : KR_STATE_OTHER;
}

static bool is_host(const char *host)
{
  size_t len = strlen(host);

  for (size_t i = 0; i < len; i++) {
    if (host[i] <= ' ' || host[i] > '~') {
      return false;
    }
  }
  return len > 0 && len <= KR_HOST_MAX;
}

/* Why a message is not the place of a server; NULL = it is. */
static const char *objection(const Kr__Pb__MetaRegionServer *message)
{
  const Kr__Pb__ServerName *server = message->server;

  if (server == NULL) {
    return "it names no server";
  }
  if (server->host_name == NULL || !is_host(server->host_name)) {
    return "its server has no proper host name";
  }
  if (!server->has_port || server->port == 0 || server->port > UINT16_MAX) {
    return "its server has no proper port";
  }
  if (server->start_code > INT64_MAX) {
    return "its server's start code is out of range";
  }
  return NULL;
}

/* Copy what a message says into one allocation; NULL = out of memory. */
static struct kr_meta_region_server *meta_new(struct kr_mem *mem,
                                              const Kr__Pb__MetaRegionServer *message)
{
  const Kr__Pb__ServerName *server = message->server;
  size_t len = strlen(server->host_name);
  struct kr_meta_region_server *meta = kr_alloc(mem, sizeof(*meta) + len + 1);

  if (meta == NULL) {
    return NULL;
  }
  meta->host = kr_bytes(memcpy(meta + 1, server->host_name, len + 1), len);
  meta->port = (int)server->port;
  meta->start_code = (int64_t)server->start_code;
  meta->state = state_of(message);
  return meta;
}

/* Find the message in a payload. Gives the objection, NULL = none. */
static const char *find_message(struct keyroute_bytes *message, struct keyroute_bytes payload)
{
  struct keyroute_bytes data;

  if (payload.len == 0) {
    return "it is empty";
  }
  if (kr_znode_unwrap(&data, payload) != 0) {
    return "it ends inside its header";
  }
  struct kr_reader reader = kr_reader(data);

  if (kr_read_u32(&reader) != PBUF_MAGIC) {
    return "it holds no PBUF message";
  }
  *message = kr_read_bytes(&reader, kr_reader_left(&reader));
  return NULL;
}

int kr_meta_region_server_parse(struct kr_meta_region_server **out, struct kr_mem *mem,
                                struct keyroute_bytes payload, const char **reason)
{
  ProtobufCAllocator allocator = kr_proto_allocator(mem);
  struct keyroute_bytes body = {NULL, 0};
  struct kr_meta_region_server *meta = NULL;
  const char *wrong = find_message(&body, payload);

  if (wrong != NULL) {
    *reason = wrong;
    return KEYROUTE_E_CORRUPT;
  }
  bool is_short;
  Kr__Pb__MetaRegionServer *message =
      kr_proto_unpack(&kr__pb__meta_region_server__descriptor, mem, body, &is_short);

  if (is_short) {
    return KEYROUTE_E_NO_MEMORY;
  }
  wrong = message != NULL ? objection(message) : "its message cannot be read";
  if (wrong == NULL) {
    meta = meta_new(mem, message);
  } else {
    *reason = wrong;
  }
  if (message != NULL) {
    kr__pb__meta_region_server__free_unpacked(message, &allocator);
  }
  if (meta == NULL) {
    return wrong != NULL ? KEYROUTE_E_CORRUPT : KEYROUTE_E_NO_MEMORY;
  }
  *out = meta;
  return 0;
}
