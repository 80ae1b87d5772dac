/*
 * Writes the seeds of the fuzzers: inputs that are good, so that a fuzzer begins where the code
 * believes what it reads. "seeds FOLDER" makes FOLDER/NAME/seed-... for each subject.
 *
 * Values come from the tests' own encoders: rows and regioninfo from fake_catalog.c, replies from
 * fake_server.c, znodes from protobuf-c.
 */
#include "lib/proto/hbase.pb-c.h"
#include "test/fake_catalog.h"
#include "test/fake_server.h"
#include "test/fuzz/fuzz.h"
#include "test/fuzz/subjects.h"
#include "test/made094.h"
#include "test/made_chunks.h"

#include "lib/bytes.h"
#include "lib/descriptor.h"
#include "lib/hbase_closest.h"
#include "lib/hbase_get.h"
#include "lib/hbase_multi.h"
#include "lib/hbase_rpc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *folder;
static struct kr_mem *mem;

static void write_seed(const char *subject, const char *name, const struct kr_buf *bytes)
{
  char path[1024];

  snprintf(path, sizeof(path), "%s/%s/seed-%s", folder, subject, name);
  FILE *file = fopen(path, "wb");

  FUZZ_CHECK(file != NULL && !bytes->failed);
  FUZZ_CHECK(fwrite(bytes->data, 1, bytes->len, file) == bytes->len);
  FUZZ_CHECK(fclose(file) == 0);
}

/* A first byte, mostly "no allocation fails", and bytes. */
static void write_bytes(const char *subject, const char *name, struct keyroute_bytes bytes)
{
  struct kr_buf seed;

  kr_buf_init(&seed, mem);
  kr_buf_u8(&seed, 0);
  kr_buf_bytes(&seed, bytes);
  write_seed(subject, name, &seed);
  kr_buf_clear(&seed);
}

static void write_text(const char *subject, const char *name, const char *text)
{
  write_bytes(subject, name, keyroute_string(text));
}

static void make_folders(void)
{
  static const char *const names[] = {
#define NAME(name) #name,
      FUZZ_SUBJECTS(NAME)
#undef NAME
  };
  char path[1024];

  FUZZ_CHECK(mkdir(folder, 0777) == 0 || errno == EEXIST);
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
    FUZZ_CHECK(mkdir(path, 0777) == 0 || errno == EEXIST);
  }
}

/* ---- Regions and rows ----------------------------------------------------------------------- */

static const struct fake_region regions[] = {
    {.table = "t",
     .start = {"", 0},
     .end = {"g", 1},
     .id = 1600000000001,
     .host = "rs1.example",
     .port = 16020,
     .start_code = 1600000000000,
     .seqnum = 12},
    {.table = "ns:t",
     .start = {"a,\0\xff", 4},
     .end = {"", 0},
     .id = 1600000000002,
     .host = "2001:db8::1",
     .port = 16020,
     .start_code = 1600000000000,
     .seqnum = 3,
     .replicas = 3},
    {.table = "t",
     .start = {"g", 1},
     .end = {"p", 1},
     .id = 1600000000003,
     .offline = true,
     .split = true},
};
enum { REGIONS = sizeof(regions) / sizeof(regions[0]) };

static void write_cell(struct kr_buf *out, const struct fake_row *row, const struct fake_cell *cell)
{
  uint32_t key_len = (uint32_t)(12 + row->key_len + strlen(cell->family) + strlen(cell->qualifier));

  kr_buf_u32(out, 8 + key_len + (uint32_t)cell->value_len);
  kr_buf_u32(out, key_len);
  kr_buf_u32(out, (uint32_t)cell->value_len);
  kr_buf_u8(out, (uint8_t)(row->key_len >> 8));
  kr_buf_u8(out, (uint8_t)row->key_len);
  kr_buf_bytes(out, kr_bytes(row->key, row->key_len));
  kr_buf_u8(out, (uint8_t)strlen(cell->family));
  kr_buf_text(out, cell->family);
  kr_buf_text(out, cell->qualifier);
  kr_buf_u32(out, (uint32_t)((uint64_t)cell->timestamp >> 32));
  kr_buf_u32(out, (uint32_t)cell->timestamp);
  kr_buf_u8(out, 4);
  kr_buf_bytes(out, kr_bytes(cell->value, cell->value_len));
}

static void write_row(const char *name, uint8_t table, const struct fake_row *row)
{
  struct kr_buf seed;

  kr_buf_init(&seed, mem);
  kr_buf_u8(&seed, 0);
  kr_buf_u8(&seed, table);
  for (size_t i = 0; i < row->cell_count; i++) {
    write_cell(&seed, row, &row->cells[i]);
    if (strcmp(row->cells[i].qualifier, "regioninfo") == 0) {
      write_bytes("region", name, kr_bytes(row->cells[i].value, row->cells[i].value_len));
    }
  }
  write_seed("catalog", name, &seed);
  write_bytes("cell", name, kr_bytes(seed.data + 2, seed.len - 2));
  write_bytes("region_name", name, kr_bytes(row->key, row->key_len));
  write_bytes("escape", name, kr_bytes(row->key, row->key_len));
  kr_buf_clear(&seed);
}

static void write_rows(void)
{
  struct fake_catalog *catalog = fake_catalog_new();

  for (size_t i = 0; i < REGIONS; i++) {
    const struct fake_row *row;
    struct fake_scan scan = {.family = "info", .limit = 1};
    bool more;
    char name[16];

    fake_catalog_clear(catalog);
    fake_catalog_put_region(catalog, &regions[i]);
    FUZZ_CHECK(fake_catalog_scan(catalog, &scan, &row, &more) == 1);
    snprintf(name, sizeof(name), "region%zu", i);
    write_row(name, strncmp(regions[i].table, "ns", 2) == 0, row);
  }
  fake_catalog_free(catalog);
  write_text("region_name", "meta", "hbase:meta,,1");
  write_text("region_name", "old", "t,row,1234567890");
}

/* ---- Replies -------------------------------------------------------------------------------- */

static void write_framed(struct kr_buf *out, const struct kr_buf *inner)
{
  kr_buf_u32(out, (uint32_t)inner->len);
  kr_buf_bytes(out, kr_buf_view(inner));
}

static void write_message(struct kr_buf *out, const ProtobufCMessage *message, bool delimited)
{
  size_t len = protobuf_c_message_get_packed_size(message);

  if (delimited) {
    kr_buf_varint(out, len);
  }
  protobuf_c_message_pack(message, kr_buf_extend(out, len));
}

/* What a client opens a connection with. */
static void write_hello(struct kr_buf *out)
{
  Kr__Pb__ConnectionHeader header = KR__PB__CONNECTION_HEADER__INIT;
  struct kr_buf inner;

  header.cell_block_codec_class = (char *)"KeyValueCodec";
  kr_buf_init(&inner, mem);
  write_message(&inner, &header.base, false);
  kr_buf_bytes(out, kr_bytes("HBas\0\x50", 6));
  write_framed(out, &inner);
  kr_buf_clear(&inner);
}

/* A scan of all of meta. */
static void write_request(struct kr_buf *out)
{
  Kr__Pb__RequestHeader header = KR__PB__REQUEST_HEADER__INIT;
  Kr__Pb__ScanRequest request = KR__PB__SCAN_REQUEST__INIT;
  Kr__Pb__RegionSpecifier region = KR__PB__REGION_SPECIFIER__INIT;
  Kr__Pb__Scan scan = KR__PB__SCAN__INIT;
  Kr__Pb__Column column = KR__PB__COLUMN__INIT;
  Kr__Pb__Column *columns[] = {&column};
  struct kr_buf inner;

  header.has_call_id = header.has_request_param = header.request_param = true;
  header.call_id = 1;
  header.method_name = (char *)"Scan";
  region.has_type = region.has_value = true;
  region.type = KR__PB__REGION_SPECIFIER__REGION_SPECIFIER_TYPE__REGION_NAME;
  region.value = (ProtobufCBinaryData){13, (uint8_t *)"hbase:meta,,1"};
  column.has_family = true;
  column.family = (ProtobufCBinaryData){4, (uint8_t *)"info"};
  scan.n_column = 1;
  scan.column = columns;
  request.region = &region;
  request.scan = &scan;
  request.has_number_of_rows = request.has_close_scanner = request.close_scanner = true;
  request.number_of_rows = 10;
  kr_buf_init(&inner, mem);
  write_message(&inner, &header.base, true);
  write_message(&inner, &request.base, true);
  write_framed(out, &inner);
  kr_buf_clear(&inner);
}

/* The result and the cells of a reply behind the bytes that a subject reads first. */
static void write_parts(const char *subject, const char *name, struct keyroute_bytes first,
                        struct keyroute_bytes frame)
{
  struct kr_reader reader = kr_reader(frame);
  struct kr_buf seed;

  kr_read_u32(&reader);
  kr_read_bytes(&reader, kr_read_varint(&reader));
  struct keyroute_bytes body = kr_read_bytes(&reader, kr_read_varint(&reader));

  if (reader.bad) {
    return; /* an exception has neither */
  }
  kr_buf_init(&seed, mem);
  kr_buf_bytes(&seed, first);
  kr_buf_u8(&seed, (uint8_t)(body.len >> 8));
  kr_buf_u8(&seed, (uint8_t)body.len);
  kr_buf_bytes(&seed, body);
  kr_buf_bytes(&seed, kr_read_bytes(&reader, kr_reader_left(&reader)));
  write_seed(subject, name, &seed);
  kr_buf_clear(&seed);
}

/* One reply to a scan, by a server that misbehaves in one way. */
static void write_reply(const char *name, enum fake_encoding encoding, enum fake_what what)
{
  struct fake_server *server = fake_server_new();
  unsigned number = fake_server_accept(server);
  struct fake_fault fault = {
      .what = what,
      .rows = 1,
      .class_name = "org.apache.hadoop.hbase.NotServingRegionException",
      .text = "hbase:meta,,1 is not online on rs1.example,16020,1600000000000",
  };
  struct kr_buf in;
  bool closes;

  kr_buf_init(&in, mem);
  write_hello(&in);
  write_request(&in);
  for (size_t i = 0; i < REGIONS; i++) {
    fake_server_put_region(server, &regions[i]);
  }
  fake_server_set_encoding(server, encoding);
  fake_server_fault(server, &fault);
  struct keyroute_bytes frame = fake_server_exchange(server, number, kr_buf_view(&in), &closes);

  FUZZ_CHECK(frame.data != NULL);
  write_bytes("rpc", name, frame);
  if (what != FAKE_EXCEPTION && what != FAKE_FATAL) {
    write_parts("scan", name, kr_bytes("\0\x09", 2), frame);
  }
  free((void *)(uintptr_t)frame.data);
  kr_buf_clear(&in);
  fake_server_free(server);
}

static void write_replies(void)
{
  write_reply("block", FAKE_CELL_BLOCK, FAKE_ANSWER);
  write_reply("packed", FAKE_CELL_BLOCK_PACKED, FAKE_ANSWER);
  write_reply("inline", FAKE_INLINE, FAKE_ANSWER);
  write_reply("heartbeat", FAKE_CELL_BLOCK, FAKE_HEARTBEAT);
  write_reply("early-stop", FAKE_INLINE, FAKE_EARLY_STOP);
  write_reply("exception", FAKE_CELL_BLOCK, FAKE_EXCEPTION);
  write_reply("fatal", FAKE_CELL_BLOCK, FAKE_FATAL);
}

/* ---- Reads of rows --------------------------------------------------------------------------- */

/* What the subject "multi" makes of the byte 0xe4: one, two, three and four rows. */
static const struct fake_region tablets[] = {
    {.table = "t", .start = {"", 0}, .end = {"b", 1}, .id = 1},
    {.table = "t", .start = {"b", 1}, .end = {"d", 1}, .id = 2},
    {.table = "t", .start = {"d", 1}, .end = {"g", 1}, .id = 3},
    {.table = "t", .start = {"g", 1}, .end = {"", 0}, .id = 4},
};
enum { TABLETS = sizeof(tablets) / sizeof(tablets[0]), LETTERS = 10 };

/* Send one request. Returns its answer; the memory is the caller's. */
static struct keyroute_bytes ask(struct fake_server *server, const char *method,
                                 const struct kr_buf *param)
{
  unsigned number = fake_server_accept(server);
  struct kr_buf in;
  bool closes;

  kr_buf_init(&in, mem);
  write_hello(&in);
  kr_hbase_codec.request(&in, 1,
                         &(struct kr_rpc_call){.method = method, .param = kr_buf_view(param)});
  struct keyroute_bytes frame = fake_server_exchange(server, number, kr_buf_view(&in), &closes);

  FUZZ_CHECK(frame.data != NULL);
  kr_buf_clear(&in);
  return frame;
}

/* Ask a server for the rows in one request. */
static struct keyroute_bytes ask_for(struct fake_server *server, const struct kr_gets *gets,
                                     const char *method)
{
  struct kr_buf param;

  kr_buf_init(&param, mem);
  if (gets->row_count > 1) {
    kr_hbase_multi_write(&param, gets);
  } else {
    kr_hbase_get_write(&param, gets);
  }
  struct keyroute_bytes frame = ask(server, method, &param);

  kr_buf_clear(&param);
  return frame;
}

static struct fake_server *new_letters_server(enum fake_encoding encoding,
                                              const struct fake_fault *fault)
{
  struct fake_server *server = fake_server_new();

  for (size_t i = 0; i < TABLETS; i++) {
    fake_server_host_region(server, &tablets[i], 0);
  }
  for (size_t i = 0; i < LETTERS; i++) {
    for (int64_t time = 0; time < (int64_t)(i % 3); time++) { /* some rows do not exist */
      fake_server_put_row_cell(server, "t", kr_bytes(&"abcdefghij"[i], 1), "f", "q", time,
                               keyroute_string("value"));
    }
  }
  fake_server_put_row_cell(server, "t", kr_bytes("r", 1), "f", "", 1, keyroute_string("v"));
  fake_server_put_row_cell(server, "t", kr_bytes("r", 1), "g", "q", 2, keyroute_string("w"));
  fake_server_set_encoding(server, encoding);
  fake_server_fault(server, fault);
  return server;
}

/* One reply to a read of the rows that a subject asks for. */
static void write_get(const char *name, enum fake_encoding encoding)
{
  struct fake_server *server =
      new_letters_server(encoding, &(struct fake_fault){.what = FAKE_ANSWER});
  struct kr_read read = {.max_versions = 3};
  struct kr_get_region region = {fake_region_name(&tablets[TABLETS - 1]), 0, 1};
  struct keyroute_bytes row = kr_bytes("r", 1);
  struct kr_gets gets = {
      .read = &read, .regions = &region, .region_count = 1, .rows = &row, .row_count = 1};
  struct keyroute_bytes frame = ask_for(server, &gets, "Get");

  write_parts("get", name, kr_bytes("\0\xff", 2), frame);
  free((void *)(uintptr_t)frame.data);
  free((void *)(uintptr_t)region.name.data);
  fake_server_free(server);
}

/* The first region of table t, or what is below it: nothing. */
static void write_closest(const char *name, enum fake_encoding encoding, const char *key)
{
  struct fake_server *server = fake_server_new();
  struct kr_scan scan = {.region = keyroute_string("hbase:meta,,1"),
                         .start_row = keyroute_string(key),
                         .stop_row = keyroute_string("t,,"),
                         .include_start = true,
                         .family = "info"};
  struct kr_buf param;

  kr_buf_init(&param, mem);
  kr_hbase_closest_write(&param, &scan);
  for (size_t i = 0; i < REGIONS; i++) {
    fake_server_put_region(server, &regions[i]);
  }
  fake_server_set_encoding(server, encoding);
  fake_server_set_downward(server, FAKE_NO_SUCH_SCAN);
  struct keyroute_bytes frame = ask(server, "Get", &param);

  write_parts("closest", name, kr_bytes("\0\0", 2), frame);
  free((void *)(uintptr_t)frame.data);
  kr_buf_clear(&param);
  fake_server_free(server);
}

static void write_multi(const char *name, enum fake_encoding encoding,
                        const struct fake_fault *fault)
{
  struct fake_server *server = new_letters_server(encoding, fault);
  struct kr_read read = {.max_versions = 3};
  struct kr_get_region named[TABLETS];
  struct keyroute_bytes rows[LETTERS];
  struct kr_gets gets = {.read = &read, .regions = named, .rows = rows, .row_count = LETTERS};

  for (size_t i = 0, first = 0; i < TABLETS; first += ++i) {
    named[i] = (struct kr_get_region){fake_region_name(&tablets[i]), first, i + 1};
  }
  for (size_t i = 0; i < LETTERS; i++) {
    rows[i] = kr_bytes(&"abcdefghij"[i], 1);
  }
  gets.region_count = TABLETS;
  struct keyroute_bytes frame = ask_for(server, &gets, "Multi");

  write_parts("multi", name, kr_bytes("\0\x05\xe4", 3), frame);
  free((void *)(uintptr_t)frame.data);
  for (size_t i = 0; i < TABLETS; i++) {
    free((void *)(uintptr_t)named[i].name.data);
  }
  fake_server_free(server);
}

static void write_reads(void)
{
  const struct fake_fault any_order = {.method = "Multi", .what = FAKE_ANY_ORDER};
  const struct fake_fault twice = {.method = "Multi", .what = FAKE_INDEX_TWICE};
  const struct fake_fault row = {.method = "Multi",
                                 .what = FAKE_EXCEPTION,
                                 .class_name = "org.apache.hadoop.hbase.RegionTooBusyException",
                                 .text = "busy",
                                 .row = kr_bytes("c", 1)};
  const struct fake_fault region = {
      .method = "Multi",
      .what = FAKE_EXCEPTION,
      .class_name = "org.apache.hadoop.hbase.exceptions.RegionMovedException",
      .text = "Region moved to: hostname=h port=1 startCode=2. As of locationSeqNum=3.",
      .region = &tablets[2]};

  write_closest("inline", FAKE_INLINE, "t,k,1600000000001.0f.");
  write_closest("block", FAKE_CELL_BLOCK, "t,k,1600000000001.0f.");
  write_closest("none", FAKE_CELL_BLOCK, "a,k,1600000000001.0f.");
  write_get("inline", FAKE_INLINE);
  write_get("block", FAKE_CELL_BLOCK);
  write_multi("inline", FAKE_INLINE, &any_order);
  write_multi("block", FAKE_CELL_BLOCK, &any_order);
  write_multi("row-exception", FAKE_CELL_BLOCK, &row);
  write_multi("region-exception", FAKE_CELL_BLOCK, &region);
  write_multi("index-twice", FAKE_INLINE, &twice);
}

/* ---- The root ------------------------------------------------------------------------------- */

static void write_znode(const char *name, const char *host, bool header)
{
  Kr__Pb__MetaRegionServer message = KR__PB__META_REGION_SERVER__INIT;
  Kr__Pb__ServerName server = KR__PB__SERVER_NAME__INIT;
  struct kr_buf seed;

  server.host_name = (char *)(uintptr_t)host;
  server.has_port = server.has_start_code = true;
  server.port = 16020;
  server.start_code = 1600000000000;
  message.server = &server;
  message.has_state = true;
  message.state = KR__PB__META_REGION_SERVER__STATE__OPEN;
  kr_buf_init(&seed, mem);
  kr_buf_u8(&seed, 0);
  if (header) {
    kr_buf_bytes(&seed, kr_bytes("\xff\0\0\0\x11master:16000:1234", 5 + 17));
  }
  kr_buf_text(&seed, "PBUF");
  write_message(&seed, &message.base, false);
  write_seed("znode", name, &seed);
  kr_buf_clear(&seed);
}

static void write_roots(void)
{
  write_znode("header", "rs1.example", true);
  write_znode("bare", "2001:db8::1", false);
  write_text("znode", "text", "rs1.example:16020:1600000000000");
  write_text("znode", "address", "[2001:db8::1]:16020");
  write_text("znode", "old", "rs1.example,60020,1600000000000");
  write_bytes("znode", "old-header",
              kr_bytes("\xff\0\0\0\x11master:16000:1234rs1.example,60020,1600", 5 + 17 + 22));
}

/* ---- Descriptors of ranges ------------------------------------------------------------------- */

static void write_descriptor(const char *name, const struct kr_descriptor *descriptor)
{
  struct kr_buf value;

  kr_buf_init(&value, mem);
  kr_descriptor_write(&value, descriptor);
  write_bytes("descriptor", name, kr_buf_view(&value));
  kr_buf_clear(&value);
}

/* As the znode holds it. */
static void write_znode_of_meta1(const struct kr_descriptor *descriptor)
{
  struct kr_buf value;

  kr_buf_init(&value, mem);
  kr_descriptor_write(&value, descriptor);
  write_bytes("znode", "meta1", kr_buf_view(&value));
  kr_buf_clear(&value);
}

/* As a row of meta2 holds it. */
static void write_index_row(const char *name, const struct kr_descriptor *descriptor)
{
  struct kr_buf value, key, seed;

  kr_buf_init(&value, mem);
  kr_buf_init(&key, mem);
  kr_buf_init(&seed, mem);
  kr_descriptor_write(&value, descriptor);
  kr_buf_u8(&key, 2);
  kr_buf_bytes(&key, descriptor->start_key);
  struct fake_cell cell = {
      .family = (char *)"r", .qualifier = (char *)"d", .value = value.data, .value_len = value.len};
  struct fake_row row = {.key = key.data, .key_len = key.len};

  kr_buf_u8(&seed, 0);
  kr_buf_u8(&seed, 0); /* asked for is table t, which is of that level, too */
  write_cell(&seed, &row, &cell);
  write_seed("catalog", name, &seed);
  kr_buf_clear(&seed);
  kr_buf_clear(&key);
  kr_buf_clear(&value);
}

static void write_descriptors(void)
{
  static const struct kr_descriptor_replica replicas[] = {
      {.node_id = 3, .host = {"node3.example", 13}, .port = 8967},
      {.node_id = 1, .host = {"2001:db8::1", 11}, .port = 65535},
  };
  struct kr_descriptor descriptor = {
      .id = 1, .replicas = replicas, .replica_count = 1}; /* of meta1 */

  write_descriptor("meta1", &descriptor);
  write_znode_of_meta1(&descriptor);
  descriptor.id = 300;
  descriptor.generation = 12;
  descriptor.start_key = kr_bytes("b,\0\xff", 4);
  descriptor.end_key = kr_bytes("m", 1);
  descriptor.replica_count = 2;
  write_descriptor("two-replicas", &descriptor);
  write_index_row("range", &descriptor);
  descriptor.start_key = kr_bytes("\x02k5", 3);
  descriptor.end_key = kr_bytes(NULL, 0);
  write_descriptor("of-meta2", &descriptor);
}

/* ---- Texts ---------------------------------------------------------------------------------- */

static void write_exception(const char *name, const char *class_name, const char *text)
{
  struct kr_buf seed;

  kr_buf_init(&seed, mem);
  kr_buf_u8(&seed, 0);
  kr_buf_u8(&seed, (uint8_t)strlen(class_name));
  kr_buf_text(&seed, class_name);
  kr_buf_text(&seed, text);
  write_seed("exception", name, &seed);
  kr_buf_clear(&seed);
}

static void write_exceptions(void)
{
  write_exception("throttled", "org.apache.hadoop.hbase.quotas.RpcThrottlingException",
                  "org.apache.hadoop.hbase.quotas.RpcThrottlingException: number of requests "
                  "exceeded - wait 1mins, 3sec, 20ms\n\tat org.apache...");
  write_exception("old-throttled", "org.apache.hadoop.hbase.quotas.ThrottlingException",
                  "number of requests exceeded - wait 0.50sec");
  write_exception("moved", "org.apache.hadoop.hbase.exceptions.RegionMovedException",
                  "Region moved to: hostname=rs2.example port=16020 startCode=1600000000000. As "
                  "of locationSeqNum=12.\n");
  write_exception("nested", "org.apache.hadoop.hbase.ipc.RpcServer$CallQueueTooBigException",
                  "Call queue is full");
  write_exception("unknown", "java.lang.Error", "\xff\x01");
}

static void write_texts(void)
{
  write_text("site_xml", "plain",
             "<?xml version=\"1.0\"?>\n<configuration>\n <property>\n  "
             "<name>hbase.zookeeper.quorum</name>\n  <value>a.example,b.example:2182</value>\n "
             "</property>\n <property name=\"hbase.client.pause\" value=\"100\" final=\"true\"/>\n"
             "</configuration>\n");
  write_text("site_xml", "variables",
             "<configuration><property><name>dir</name><value>${user.name}/${x}</value>"
             "</property><property><name>x</name><value><![CDATA[1]]></value><final>true</final>"
             "</property><property><name>zookeeper.znode.parent</name><value>/${x}</value>"
             "</property></configuration>");
  write_text("property", "numbers",
             "hbase.client.pause=0x10\nhbase.client.retries.number= 15 \nhbase.rpc.timeout=60000\n"
             "keyroute.deadline.ms=1000\n");
  write_text("property", "variables",
             "a=${b}${b}\nb=${c}\nc=1\nkeyroute.user=${user.name}-${a}\nloop=${loop}\n"
             "zookeeper.znode.parent=/${a}/\n");
  write_text("property", "names",
             "hbase.zookeeper.quorum=a,b:1,[::1]:2/c\nkeyroute.registry=static\n"
             "keyroute.registry.static.root=h:1:2\nkeyroute.layout=meta\n");
  write_text("connect_string", "list", "a.example:2181,b.example, [::1]:2182/prod/hbase");
  write_text("connect_string", "scoped", "[fe80::1%eth0],h_1/");
  write_text("escape", "text", "a\\x00b\\xFF\\x5C");
  write_text("table_name", "plain", "ns:t_1-2.3");
  write_text("table_name", "default", "default:t");
  write_text("table_name", "letters", "\xc3\xa9\xe2\x82\xac:x");
}

/* ---- Writables ------------------------------------------------------------------------------- */

#define WRITE(subject, name, bytes) write_bytes(subject, name, kr_bytes(bytes, sizeof(bytes) - 1))

/* Replies of a server: each body in a frame of its own. */
static void write_replies094(void)
{
  static const char *const bodies[] = {
      "25250000001c000000180000000f000000010001740166710000000000000001 0476",
      "2601 00000002 00000044 00000001 00000018 0000000f 00000001 0001 74 01 66 71"
      "0000000000000001 04 76 00000001 00000018 0000000f 00000001 0001 75 01 66 71"
      "0000000000000001 04 76",
      "06 7f0ad0435fe7d508", "0e1125", "0e1126"};
  struct kr_buf seed, body;

  kr_buf_init(&seed, mem);
  kr_buf_init(&body, mem);
  kr_buf_u8(&seed, 0);
  for (uint32_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
    body.len = 0;
    made094_hex(&body, bodies[i]);
    made094_reply(&seed, i + 1, 0, kr_buf_view(&body));
  }
  made094_exception(&seed, 9, 1, "org.apache.hadoop.hbase.NotServingRegionException",
                    "org.apache.hadoop.hbase.NotServingRegionException: t,,1.x.\n\tat x");
  made094_exception(&seed, 0, -1, "org.apache.hadoop.ipc.RPC$VersionMismatch", "");
  write_seed("rpc094", "replies", &seed);
  seed.len = 1;
  made094_hex(&seed, "00000001 02 00002000 00000000 2525 00001ff0 00");
  write_seed("rpc094", "long", &seed);
  kr_buf_clear(&body);
  kr_buf_clear(&seed);
}

/* A row of .META., and the HRegionInfo in it. */
static void write_region094(const char *name, const struct made094 *region)
{
  struct kr_buf key, info, seed;

  kr_buf_init(&key, mem);
  kr_buf_init(&info, mem);
  kr_buf_init(&seed, mem);
  made094_name(&key, region);
  made094_info(&info, region);
  write_bytes("region094", name, kr_buf_view(&info));
  kr_buf_u8(&seed, 0);
  kr_buf_u8(&seed, 0);
  made094_cell(&seed, kr_buf_view(&key), "info", keyroute_string("regioninfo"), 1,
               kr_buf_view(&info));
  made094_cell(&seed, kr_buf_view(&key), "info", keyroute_string("server"), 1,
               keyroute_string("rs1.example:60020"));
  made094_cell(&seed, kr_buf_view(&key), "info", keyroute_string("serverstartcode"), 1,
               kr_bytes("\0\0\1\xa2\x2a\2\x09\xb0", 8));
  write_seed("catalog", name, &seed);
  kr_buf_clear(&seed);
  kr_buf_clear(&info);
  kr_buf_clear(&key);
}

static void write_writables(void)
{
  struct made094 region = {.table = "t",
                           .start = keyroute_string("a"),
                           .end = keyroute_string("c"),
                           .id = 1600000000001};

  WRITE("writable", "numbers",
        "\x7f\xff\x90\x8f\x80\x8e\x01\x00\x87\x70\x86\x01\x00\x8c\x7f\xff\xff\xff"
        "\x88\x7f\xff\xff\xff\xff\xff\xff\xff\x80\x7f\xff\xff\xff\xff\xff\xff\xff");
  WRITE("writable", "bytes", "\x03row\0\0\0\x04info\0\xff\xff\xff\xff");
  write_region094("user094", &region);
  region.old = region.split = region.offline = true;
  write_region094("old094", &region);
  write_replies094();
  WRITE("region094", "meta", "\1\0\0\0\0\0\0\0\0\0\1\x09.META.,,1\0\0\x06.META.\x2b\x9c\xa4\xdd");
}

/* ---- Runs of a server ----------------------------------------------------------------------- */

/* Two bytes of memory, the set-up, the number of steps, the steps, the network. */
static void write_run(const char *name, struct keyroute_bytes bytes)
{
  struct kr_buf seed;

  kr_buf_init(&seed, mem);
  kr_buf_u8(&seed, 0);
  kr_buf_u8(&seed, 0);
  kr_buf_bytes(&seed, bytes);
  write_seed("server", name, &seed);
  kr_buf_clear(&seed);
}

#define RUN(name, bytes) write_run(name, kr_bytes(bytes, sizeof(bytes) - 1))

static void write_runs(void)
{
  RUN("found", "\x00\x03\x42\x03\x41\x00\x44\x03");
  RUN("inline-beside", "\x08\x05\x02\x00\x04\x04\x05\x08\x0a\x60\x41\x01");
  RUN("holed", "\x01\x04\x41\x03\x42\x00\x47\x04\x51\x03");
  RUN("split", "\x02\x04\x42\x03\x44\x00\x45\x03\x06\x08");
  RUN("overlapping", "\x07\x04\x42\x03\x44\x00\x45\x03\x06\x80");
  RUN("cancel-clear-peek", "\x00\x06\x42\x00\x61\x00\x80\x00\xc2\x00\x81\x01\x42\x00");
  RUN("odd-cell", "\x00\x02\xe2\x01\x42\x00\x04:xyz\x00");
  RUN("exception", "\x00\x01\x42\x03\x00\x00\x0e\x00\x01\x03\x20number exceeded - wait 0.50sec");
  RUN("pieces", "\x00\x02\x42\x03\x44\x00\x00\x00\x90");
  RUN("report", "\x00\x03\x42\x80\x44\x80\x42\x01\x00\x00\x00\x01\x30"
                "Region moved to: hostname=h port=1 startCode=2.");
  RUN("get", "\x00\x04\x22\x00\x24\x0c\x22\x01\x32\x00");
  RUN("get-inline", "\x08\x02\x22\x0c\x25\x03");
  RUN("get-replica", "\x00\x03\x2a\x42\x2a\x40\x2a\x4d");
  RUN("call", "\x00\x03\x22\x04\x24\x08\x22\x84");
  RUN("get-moved", "\x00\x01\x22\x03\x00\x00\x00\x00\x00\x00\x0e\x10\x01\x01\x45"
                   "Region moved to: hostname=h port=1 startCode=2. As of locationSeqNum=9.");
  RUN("get-again", "\x00\x01\x22\x03\x00\x00\x00\x00\x00\x00\x0e\x10\x01\x00\x00");
  RUN("get-spoilt", "\x00\x01\x22\x00\x00\x00\x00\x00\x00\x00\x03\x00\x10");
  RUN("once-lost", "\x00\x01\x22\x08\x00\x00\x00\x00\x00\x00\x09");
  RUN("get-many", "\x00\x04\xc2\x04\xc4\x07\xcd\x44\xd2\x04");
  RUN("get-many-spoilt", "\x00\x01\xc2\x04\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x30");
  RUN("get-many-lost", "\x00\x01\xc2\x04\x00\x00\x00\x00\x00\x00\x0e\x10\x1b\x00\x00");
  RUN("get-many-split", "\x02\x02\xc2\x04\xc5\x05");
  RUN("group", "\x00\x03\xc2\x08\xc4\x0b\xcd\x48");
  RUN("group-holed", "\x01\x02\xc1\x08\xc5\x08");
  RUN("regions", "\x00\x03\xc0\x0c\xc3\x0f\xd1\x0c");
  RUN("regions-holed", "\x01\x02\xc0\x0c\xc5\x8c");
  RUN("regions-overlapping", "\x03\x02\xc0\x0c\xc5\x0c");
  RUN("close-early", "\x80\x03\x02\x00\x04\x00\x06\x00\x06");
}

/* ---- Range directories ----------------------------------------------------------------------- */

/* End a message that began at `from`, two bytes behind the place of its length. */
static void end_message(struct kr_buf *seed, size_t from)
{
  seed->data[from - 2] = (uint8_t)((seed->len - from) >> 8);
  seed->data[from - 1] = (uint8_t)(seed->len - from);
}

static size_t begin_message(struct kr_buf *seed)
{
  kr_buf_bytes(seed, kr_bytes("\0", 2));
  return seed->len;
}

/* One answer to a ReadRows, in two messages. head  the bytes before them */
static void write_chunks(const char *name, const char *head, const struct made_chunk *chunks,
                         size_t count)
{
  struct kr_buf seed;

  kr_buf_init(&seed, mem);
  kr_buf_bytes(&seed, kr_bytes(head, 4));
  size_t from = begin_message(&seed);

  for (size_t i = 0; i < count; i++) {
    if (i == count / 2) {
      end_message(&seed, from);
      from = begin_message(&seed);
    }
    made_chunk(&seed, &chunks[i]);
  }
  end_message(&seed, from);
  write_seed("bigtable_chunks", name, &seed);
  kr_buf_clear(&seed);
}

static void write_read_rows(void)
{
  const struct made_chunk rows[] = {
      {.key = "a", .family = "f", .qualifier = "p", .micros = 1000, .value = "one"},
      {.micros = 500, .value = "two"},
      {.qualifier = "q", .value = "thr", .value_size = 5},
      {.value = "ee", .commit = true},
      {.key = "b", .family = "f", .qualifier = "q", .value = "no"},
      {.reset = true},
      {.key = "b", .family = "g", .qualifier = "", .value = "yes", .commit = true},
  };
  const struct made_chunk backwards[] = {
      {.key = "b", .family = "r", .qualifier = "d", .value = "1", .commit = true},
      {.key = "a", .family = "r", .qualifier = "d", .value = "2", .commit = true},
  };

  write_chunks("rows", "\0\0\xff\xff", rows, sizeof(rows) / sizeof(rows[0]));
  write_chunks("too-large", "\0\0\x02\xff", rows, sizeof(rows) / sizeof(rows[0]));
  write_chunks("backwards", "\0\x01\xff\xff", backwards, 2);
}

static void write_detail(struct kr_buf *details, const char *type, struct keyroute_bytes value)
{
  struct kr_buf any;

  kr_buf_init(&any, mem);
  made_field(&any, 1, keyroute_string(type));
  made_field(&any, 2, value);
  made_field(details, 3, kr_buf_view(&any));
  kr_buf_clear(&any);
}

static void write_statuses(void)
{
  const struct kr_descriptor_replica replica = {1, keyroute_string("n2"), 7001};
  const struct kr_descriptor descriptor = {
      .id = 12, .generation = 8, .replicas = &replica, .replica_count = 1};
  struct kr_buf seed, encoded;

  kr_buf_init(&seed, mem);
  kr_buf_init(&encoded, mem);
  kr_descriptor_write(&encoded, &descriptor);
  kr_buf_bytes(&seed, kr_bytes("\0\x05\0\x04gone", 8));
  write_detail(&seed, "t/google.rpc.RetryInfo", kr_bytes("\x0a\x02\x08\x01", 4));
  write_detail(&seed, "t/keyroute.RangeDescriptor",
               kr_bytes(encoded.data + 4, encoded.len - 4)); /* the message alone */
  write_seed("bigtable_status", "moved", &seed);
  write_bytes("bigtable_status", "refused", kr_bytes("\x0e\x01\x07refused", 10));
  write_bytes("bigtable_status", "too-long",
              kr_bytes("\x08\x04\x2bReceived message larger than max (70 vs. 60)", 47));
  kr_buf_clear(&encoded);
  kr_buf_clear(&seed);
}

int main(int argc, char **argv)
{
  FUZZ_CHECK(argc == 2);
  folder = argv[1];
  mem = kr_mem_new(NULL);
  make_folders();
  write_rows();
  write_replies();
  write_reads();
  write_roots();
  write_read_rows();
  write_statuses();
  write_descriptors();
  write_exceptions();
  write_texts();
  write_writables();
  write_runs();
  kr_mem_release(mem);
  return EXIT_SUCCESS;
}
