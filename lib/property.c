/*
 * Which properties does keyroute know, and what may each of them be?
 *
 * One row a property. The row is the only place where a name, a range or a default is written:
 * setting, reading a file and opening check by it, keyroute_options_get answers its default, and
 * test/man_test.c compares the table in libkeyroute(3) with it.
 *
 *  1. A property goes by HBase's own name where HBase has one; keyroute.* is what HBase lacks.
 *  2. Where a row has two names, `name` beats `other`: that is how HBase treats its client-only
 *     twins (hbase.client.zookeeper.quorum) and its deprecated names. options.c weighs the sources
 *     first: what a call has set beats a file, under either name.
 *  3. Numbers are read as Hadoop reads them: blanks around are cut off, 0x is hexadecimal, and a
 *     unit such as "10s" is an error, since getInt would throw. The range is checked, which Java
 *     leaves undone.
 *  4. Some rows stand here to be refused (at_open): who is to use a cluster with Kerberos learns it
 *     from keyroute_open, not from a reset connection. The file that says so may still be read.
 *
 * Pure: any thread, no memory.
 * Source: HBase HConstants, ConnectionConfiguration, RpcClient, hbase-default.xml
 */
#include "lib/property.h"

#include "lib/bytes.h"
#include "lib/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define INT_MAX_MS INT64_C(2147483647) /* what fits a Java int */

/* ---- Checks of texts ------------------------------------------------------------------------ */

static const char *check_any(const char *value)
{
  return value[0] == '\0' ? "it is empty" : NULL;
}

/* ZooKeeper's own rules for paths (PathUtils.validatePath), but for a trailing slash, which HBase
 * users write and which is ignored. */
static const char *check_znode_path(const char *value)
{
  if (value[0] != '/') {
    return "it does not begin with '/'";
  }
  for (const char *at = value; *at != '\0';) {
    size_t len = strcspn(at + 1, "/");

    if ((len == 0 && at[1] == '/') || (len == 1 && at[1] == '.') ||
        (len == 2 && at[1] == '.' && at[2] == '.')) {
      return "a part of the path is empty, '.' or '..'";
    }
    at += 1 + len;
  }
  return NULL;
}

static const char *check_znode_name(const char *value)
{
  if (value[0] == '\0' || strchr(value, '/') != NULL || strcmp(value, ".") == 0 ||
      strcmp(value, "..") == 0) {
    return "it is not the name of one znode";
  }
  return NULL;
}

/* The full path of one znode, which is not the root of the tree. */
static const char *check_znode(const char *value)
{
  size_t len = strlen(value);

  if (len < 2 || value[len - 1] == '/') {
    return "it is not the path of one znode";
  }
  return check_znode_path(value);
}

static const char *check_layout(const char *value)
{
  static const char *const layouts[] = {"auto", "meta", "root", "range"};

  for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
    if (strcmp(value, layouts[i]) == 0) {
      return NULL;
    }
  }
  return "no such layout";
}

/* "projects/PROJECT/instances/INSTANCE"; neither part is empty or holds what a path or a header
 * would take for something else. */
static const char *check_instance(const char *value)
{
  static const char wrong[] = "it is not projects/PROJECT/instances/INSTANCE";
  static const char projects[] = "projects/", instances[] = "/instances/";
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_.:";

  if (strncmp(value, projects, strlen(projects)) != 0) {
    return wrong;
  }
  const char *project = value + strlen(projects);
  size_t len = strspn(project, letters);
  if (len == 0 || strncmp(project + len, instances, strlen(instances)) != 0) {
    return wrong;
  }
  const char *instance = project + len + strlen(instances);
  return instance[0] != '\0' && instance[strspn(instance, letters)] == '\0' ? NULL : wrong;
}

static const char *check_registry(const char *value)
{
  return strcmp(value, "zookeeper") == 0 || strcmp(value, "static") == 0 ? NULL
                                                                         : "no such registry";
}

/* "host:port" or "host:port:startcode"; an IPv6 address has brackets. */
static const char *check_root(const char *value)
{
  static const char digits[] = "0123456789";
  size_t host = value[0] == '[' ? strcspn(value, "]") + 1 : strcspn(value, ":");

  if (host < (value[0] == '[' ? 3 : 1) || host > strlen(value) || value[host] != ':') {
    return "it is not host:port (an IPv6 address needs brackets)";
  }
  const char *port = value + host + 1;
  size_t port_len = strspn(port, digits);
  long number = port_len > 0 && port_len <= 5 ? strtol(port, NULL, 10) : 0;
  if (number < 1 || number > 65535) {
    return "the port is not 1 to 65535";
  }
  const char *code = port + port_len;
  if (code[0] == '\0') {
    return NULL;
  }
  return code[0] == ':' && code[1] != '\0' && code[1 + strspn(code + 1, digits)] == '\0'
             ? NULL
             : "what follows the port is not a start code";
}

static const char *check_authentication(const char *value)
{
  return strcasecmp(value, "simple") == 0 ? NULL : "Kerberos is not built yet";
}

static const char *check_switch(const char *value)
{
  return strcasecmp(value, "true") == 0 || strcasecmp(value, "false") == 0
             ? NULL
             : "it is neither true nor false";
}

static const char *check_tls(const char *value)
{
  /* As Configuration.getBoolean: what is neither true nor false is the default. */
  return strcasecmp(value, "true") == 0 ? "TLS to HBase is not built yet" : NULL;
}

static const char *check_registry_impl(const char *value)
{
  static const char *const zookeeper[] = {"ZKConnectionRegistry", "ZKAsyncRegistry",
                                          "ZooKeeperRegistry"};
  static const char package[] = "org.apache.hadoop.hbase.client.";

  if (strncmp(value, package, strlen(package)) == 0) {
    for (size_t i = 0; i < sizeof(zookeeper) / sizeof(zookeeper[0]); i++) {
      if (strcmp(value + strlen(package), zookeeper[i]) == 0) {
        return NULL;
      }
    }
  }
  return "this library finds the root through ZooKeeper; set keyroute.registry to say so";
}

/* ---- The table ------------------------------------------------------------------------------ */

static const struct kr_property properties[KR_PROPERTY_COUNT] = {
    [KR_PROPERTY_QUORUM] =
        {.name = "hbase.client.zookeeper.quorum",
         .other = "hbase.zookeeper.quorum",
         .fallback = "localhost",
         .accepts = "host[:port],...[/chroot]",
         .check = check_any,
         .reason = "The ZooKeeper ensemble that knows where the root of the catalog is."},
    [KR_PROPERTY_CLIENT_PORT] =
        {.name = "hbase.client.zookeeper.property.clientPort",
         .other = "hbase.zookeeper.property.clientPort",
         .unit = "",
         .min = 1,
         .max = 65535,
         .fallback = "2181",
         .reason = "The port of every ZooKeeper server that is named without one."},
    [KR_PROPERTY_PARENT] =
        {.name = "zookeeper.znode.parent",
         .fallback = "/hbase",
         .accepts = "an absolute path",
         .check = check_znode_path,
         .reason = "The znode below which the cluster keeps its own; HBase's default."},
    [KR_PROPERTY_META_ZNODE] =
        {.name = "zookeeper.znode.metaserver",
         .fallback = "meta-region-server",
         .accepts = "the name of one znode",
         .check = check_znode_name,
         .reason = "The znode below the parent that names the server of meta; HBase's default."},
    [KR_PROPERTY_ROOT_ZNODE] =
        {.name = "zookeeper.znode.rootserver",
         .fallback = "root-region-server",
         .accepts = "the name of one znode",
         .check = check_znode_name,
         .reason = "The znode below the parent that names the server of -ROOT- in clusters before "
                   "HBase 0.96; HBase's default."},
    [KR_PROPERTY_SESSION_TIMEOUT] =
        {.name = "zookeeper.session.timeout",
         .unit = "ms",
         .min = 1,
         .max = INT_MAX_MS,
         .fallback = "90000",
         .reason = "Asked of ZooKeeper, which may grant less; HBase's default."},
    [KR_PROPERTY_SESSION_IDLE] =
        {.name = "keyroute.zookeeper.session.idle.ms",
         .other = "zookeeper.keep-alive.time",
         .unit = "ms",
         .min = 0,
         .max = INT_MAX_MS,
         .fallback = "0",
         .reason =
             "The ZooKeeper session ends after so long without a read; 0 keeps it, so that a move "
             "of meta is told by a watch instead of being found out by a failure."},
    [KR_PROPERTY_LAYOUT] =
        {.name = "keyroute.layout",
         .fallback = "auto",
         .accepts = "auto, meta, root or range",
         .check = check_layout,
         .reason = "How many tiers the catalog has: meta two, of HBase 0.96 and later, root three, "
                   "of 0.94; auto looks at the znodes of these. range is a range directory."},
    [KR_PROPERTY_RANGE_ZNODE] =
        {.name = "keyroute.range.znode",
         .fallback = "/keyroute/meta1",
         .accepts = "an absolute path",
         .check = check_znode,
         .reason = "The znode that holds the descriptor of a range directory's meta1."},
    [KR_PROPERTY_RANGE_INSTANCE] =
        {.name = "keyroute.range.instance",
         .fallback = "projects/keyroute/instances/keyroute",
         .accepts = "projects/PROJECT/instances/INSTANCE",
         .check = check_instance,
         .reason = "The Bigtable instance whose tables a range directory's nodes serve."},
    [KR_PROPERTY_GRPC_TLS] =
        {.name = "keyroute.grpc.tls",
         .fallback = "false",
         .accepts = "true or false",
         .check = check_switch,
         .reason = "Whether the nodes of a range directory are spoken to with TLS. The four that "
                   "follow are refused at keyroute_open where they are not."},
    [KR_PROPERTY_GRPC_TLS_ROOTS] = {.name = "keyroute.grpc.tls.roots",
                                    .computed = "those of the system, as gRPC finds them",
                                    .accepts = "the path of a file",
                                    .check = check_any,
                                    .reason =
                                        "The certificates (PEM) of those who vouch for nodes."},
    [KR_PROPERTY_GRPC_TLS_CERTIFICATE] =
        {.name = "keyroute.grpc.tls.certificate",
         .accepts = "the path of a file",
         .check = check_any,
         .reason = "The certificate (PEM) that nodes are shown; it takes keyroute.grpc.tls.key."},
    [KR_PROPERTY_GRPC_TLS_KEY] = {.name = "keyroute.grpc.tls.key",
                                  .accepts = "the path of a file",
                                  .check = check_any,
                                  .reason = "The private key (PEM) of that certificate."},
    [KR_PROPERTY_GRPC_TLS_SERVER_NAME] = {.name = "keyroute.grpc.tls.server.name",
                                          .computed = "the host that the directory names",
                                          .accepts = "a name",
                                          .check = check_any,
                                          .reason =
                                              "The name that the certificates of all nodes hold."},
    [KR_PROPERTY_GRPC_KEEPALIVE] =
        {.name = "keyroute.grpc.keepalive.ms",
         .unit = "ms",
         .min = 0,
         .max = INT_MAX_MS,
         .fallback = "300000",
         .reason = "A node that owes an answer and has been silent for so long is asked whether it "
                   "is there; 0 is never. Servers break the connection with whoever asks more "
                   "often than they allow: once in five minutes, if they were told nothing else."},
    [KR_PROPERTY_REGISTRY] =
        {.name = "keyroute.registry",
         .fallback = "zookeeper",
         .accepts = "zookeeper or static",
         .check = check_registry,
         .reason =
             "Who tells where the root is; static takes keyroute.registry.static.root, for tests "
             "and tunnels. Setting it overrules hbase.client.registry.impl."},
    [KR_PROPERTY_STATIC_ROOT] =
        {.name = "keyroute.registry.static.root",
         .accepts = "host:port[:startcode]",
         .check = check_root,
         .reason = "The server of the root where keyroute.registry is static, and needed there."},
    [KR_PROPERTY_USER] =
        {.name = "keyroute.user",
         .other = "hbase.client.user",
         .computed = "HADOOP_USER_NAME where the environment is read, else the login name",
         .accepts = "a name",
         .check = check_any,
         .reason = "The user that servers are told; they believe it, as Kerberos is not in use."},
    [KR_PROPERTY_DEADLINE] =
        {.name = "keyroute.deadline.ms",
         .unit = "ms",
         .min = 1,
         .max = 86400000,
         .fallback = "30000",
         .computed =
             "hbase.client.meta.operation.timeout, else hbase.client.operation.timeout, where "
             "they are set; else 30000",
         .reason =
             "The deadline of calls that name none, everything included; HBase's 20 minutes are "
             "too long to wait for one row's address."},
    [KR_PROPERTY_META_OPERATION_TIMEOUT] =
        {.name = "hbase.client.meta.operation.timeout",
         .unit = "ms",
         .min = 0,
         .max = INT_MAX_MS,
         .reason =
             "Stands in for keyroute.deadline.ms where that is not set; 0, and what is more than "
             "a day, mean one day."},
    [KR_PROPERTY_OPERATION_TIMEOUT] =
        {.name = "hbase.client.operation.timeout",
         .unit = "ms",
         .min = 0,
         .max = INT_MAX_MS,
         .reason = "Stands in for hbase.client.meta.operation.timeout where that is not set, as in "
                   "HBase."},
    [KR_PROPERTY_RETRIES] =
        {.name = "hbase.client.retries.number",
         .unit = "tries",
         .min = 0,
         .max = 1000,
         .fallback = "15",
         .reason =
             "Further tries after a first failure; HBase's default, and the deadline ends them "
             "too."},
    [KR_PROPERTY_PAUSE] =
        {.name = "hbase.client.pause",
         .unit = "ms",
         .min = 1,
         .max = 60000,
         .fallback = "100",
         .reason =
             "The unit of the wait between tries, which grows from try to try; HBase's default."},
    [KR_PROPERTY_PAUSE_OVERLOADED] =
        {.name = "hbase.client.pause.server.overloaded",
         .other = "hbase.client.pause.cqtbe",
         .unit = "ms",
         .min = 1,
         .max = 60000,
         .computed = "hbase.client.pause",
         .reason = "The same after a server said it is overloaded; less than hbase.client.pause is "
                   "raised to it, as in HBase."},
    [KR_PROPERTY_PAUSE_MAX] = {.name = "keyroute.pause.max.ms",
                               .unit = "ms",
                               .min = 1,
                               .max = 3600000,
                               .fallback = "10000",
                               .reason =
                                   "No wait between tries is longer: HBase's last ones take 20 s."},
    [KR_PROPERTY_CONNECT_TIMEOUT] =
        {.name = "hbase.ipc.client.socket.timeout.connect",
         .unit = "ms",
         .min = 1,
         .max = INT_MAX_MS,
         .fallback = "10000",
         .reason =
             "How long connecting to a server may take; HBase's default, and never more than what "
             "is left of the deadline."},
    [KR_PROPERTY_RPC_TIMEOUT] =
        {.name = "hbase.rpc.timeout",
         .unit = "ms",
         .min = 0,
         .max = INT_MAX_MS,
         .fallback = "60000",
         .reason = "How long one request to a server may take, 0 as long as the deadline lets it; "
                   "HBase's default."},
    [KR_PROPERTY_CONNECTION_IDLE] =
        {.name = "hbase.ipc.client.connection.minIdleTimeBeforeClose",
         .unit = "ms",
         .min = 0,
         .max = INT_MAX_MS,
         .fallback = "120000",
         .reason = "A connection to a server is closed after so long without a request; HBase's "
                   "default."},
    [KR_PROPERTY_FAILED_SERVER] =
        {.name = "hbase.ipc.client.failed.servers.expiry",
         .unit = "ms",
         .min = 0,
         .max = INT_MAX_MS,
         .fallback = "2000",
         .reason = "How long a server is not tried again after connecting to it failed; HBase's "
                   "default."},
    [KR_PROPERTY_PREFETCH] =
        {.name = "hbase.client.locate.prefetch.limit",
         .unit = "rows",
         .min = 1,
         .max = 1000,
         .fallback = "10",
         .reason =
             "Rows of one catalog scan when misses come close together, unless the regions below"
             " are known anyway; HBase's default."},
    [KR_PROPERTY_SCANS_PER_TABLE] =
        {.name = "hbase.client.meta.max.concurrent.locate.per.table",
         .unit = "scans",
         .min = 1,
         .max = 1000,
         .fallback = "8",
         .reason = "Catalog scans under way for one table at a time; HBase's default."},
    [KR_PROPERTY_SCANS_MAX] =
        {.name = "keyroute.scans.max",
         .unit = "scans",
         .min = 1,
         .max = 100000,
         .fallback = "32",
         .reason = "Catalog scans under way for all tables of a connection at a time, so that a "
                   "cold start of many threads does not storm the catalog."},
    [KR_PROPERTY_FRAME_MAX] =
        {.name = "keyroute.frame.max.bytes",
         .unit = "bytes",
         .min = 65536,
         .max = 1073741824,
         .fallback = "67108864",
         .reason =
             "A longer reply is not kept: a read of rows is TOO_LARGE, and a scan of the catalog, "
             "which answers some kilobytes, is not believed."},
    [KR_PROPERTY_PENDING_MAX] =
        {.name = "keyroute.max.pending",
         .unit = "calls",
         .min = 0,
         .max = 2147483647,
         .fallback = "100000",
         .reason =
             "Calls under way at a time; what the cache cannot answer is OVERLOADED beyond, at "
             "once; 0 is no bound, and the default is some 300 MB of calls."},
    [KR_PROPERTY_SERVER_QUEUE_MAX] =
        {.name = "keyroute.server.queue.max.bytes",
         .unit = "bytes",
         .min = 65536,
         .max = 1073741824,
         .fallback = "16777216",
         .reason = "Bytes of requests that wait to be sent to one server; a request beyond is "
                   "OVERLOADED at once, as the server takes in less than it is asked."},
    [KR_PROPERTY_CACHE_MAX_REGIONS] =
        {.name = "keyroute.cache.max.regions",
         .unit = "regions",
         .min = 0,
         .max = 1000000000,
         .fallback = "1000000",
         .reason =
             "With more than so many regions in the cache those that were not used lately go, the "
             "catalog's own last; 0 is no bound. A million is more than most clusters have."},
    [KR_PROPERTY_CACHE_MAX_BYTES] =
        {.name = "keyroute.cache.max.bytes",
         .unit = "bytes",
         .min = 0,
         .max = INT64_C(1099511627776),
         .fallback = "268435456",
         .reason = "The same for the memory of the cache's tables and regions; 0 is no bound. The "
                   "default is room for 400 000 regions with keys of 200 bytes, 900 000 with keys "
                   "of 16."},
    [KR_PROPERTY_CACHE_TTL] =
        {.name = "keyroute.cache.ttl.ms",
         .unit = "ms",
         .min = 0,
         .max = INT_MAX_MS,
         .fallback = "0",
         .reason =
             "A region leaves the cache so long after it was last read, or up to a third earlier, "
             "each at a time of its own; 0 is never, since a stale location is found out where it "
             "is used."},
    [KR_PROPERTY_CACHE_IDLE] =
        {.name = "keyroute.cache.idle.ms",
         .unit = "ms",
         .min = 0,
         .max = INT_MAX_MS,
         .fallback = "3600000",
         .reason =
             "A region that was not used for so long leaves the cache, up to a quarter later; 0 is "
             "never. An hour lets go what belongs to dropped tables."},
    [KR_PROPERTY_CACHE_SWEEP] =
        {.name = "keyroute.cache.sweep.ms",
         .unit = "ms",
         .min = 10,
         .max = 3600000,
         .fallback = "1000",
         .reason = "How often the cache is looked through in part for regions that are to leave by "
                   "these two; with both 0, or with an empty cache, never."},
    [KR_PROPERTY_AUTHENTICATION] =
        {.name = "hbase.security.authentication",
         .fallback = "simple",
         .accepts = "simple",
         .at_open = true,
         .check = check_authentication,
         .reason = "Anything else is refused at keyroute_open, since Kerberos is not built yet."},
    [KR_PROPERTY_TLS] =
        {.name = "hbase.client.netty.tls.enabled",
         .fallback = "false",
         .accepts = "false",
         .at_open = true,
         .check = check_tls,
         .reason = "True is refused at keyroute_open, since TLS to HBase is not built yet."},
    [KR_PROPERTY_REGISTRY_IMPL] =
        {.name = "hbase.client.registry.impl",
         .fallback = "org.apache.hadoop.hbase.client.ZKConnectionRegistry",
         .accepts = "HBase's class for ZooKeeper",
         .at_open = true,
         .check = check_registry_impl,
         .reason = "Another class is refused at keyroute_open unless keyroute.registry is set."},
};

const struct kr_property *kr_property_get(enum kr_property_id id)
{
  return &properties[id];
}

const struct kr_property *kr_property_find(const char *name)
{
  for (size_t i = 0; i < KR_PROPERTY_COUNT; i++) {
    const struct kr_property *row = &properties[i];

    if (strcmp(row->name, name) == 0 || (row->other != NULL && strcmp(row->other, name) == 0)) {
      return row;
    }
  }
  return NULL;
}

bool kr_property_misspelt(const char *name)
{
  static const char ours[] = "keyroute.";

  return strncmp(name, ours, strlen(ours)) == 0 && kr_property_find(name) == NULL;
}

/* ---- Values --------------------------------------------------------------------------------- */

bool kr_property_trim(char out[KR_PROPERTY_VALUE_MAX], const char *value)
{
  while (*value != '\0' && (unsigned char)*value <= ' ') {
    value++;
  }
  size_t len = strlen(value);
  while (len > 0 && (unsigned char)value[len - 1] <= ' ') {
    len--;
  }
  if (len >= KR_PROPERTY_VALUE_MAX) {
    return false;
  }
  memcpy(out, value, len);
  out[len] = '\0';
  return true;
}

/* A trimmed number as Integer.parseInt and Configuration.getHexDigits take it. */
static bool parse_number(int64_t *out, const char *text)
{
  static const char decimal[] = "0123456789";
  static const char hexadecimal[] = "0123456789abcdefABCDEF";
  const char *digits = text + (text[0] == '-' || text[0] == '+');
  bool hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X') && text[0] != '+';
  char *end = NULL;

  digits += hex ? 2 : 0;
  if (digits[0] == '\0' || digits[strspn(digits, hex ? hexadecimal : decimal)] != '\0') {
    return false;
  }
  errno = 0;
  *out = strtoll(digits, &end, hex ? 16 : 10);
  if (errno != 0) {
    return false;
  }
  *out = text[0] == '-' ? -*out : *out;
  return true;
}

int64_t kr_property_number(const char *value)
{
  char text[KR_PROPERTY_VALUE_MAX];
  int64_t number = 0;

  if (kr_property_trim(text, value)) {
    parse_number(&number, text);
  }
  return number;
}

void kr_property_range(char out[KR_PROPERTY_RANGE_MAX], const struct kr_property *property)
{
  if (property->unit == NULL) {
    snprintf(out, KR_PROPERTY_RANGE_MAX, "%s", property->accepts);
    return;
  }
  snprintf(out, KR_PROPERTY_RANGE_MAX, "%" PRId64 " to %" PRId64 "%s%s", property->min,
           property->max, property->unit[0] != '\0' ? " " : "", property->unit);
}

/* Why a trimmed value will not do, or NULL. */
static const char *refuse(const struct kr_property *property, const char *text)
{
  int64_t number;

  if (property->unit == NULL) {
    return property->check(text);
  }
  if (!parse_number(&number, text)) {
    return "it is not a whole number";
  }
  return number < property->min || number > property->max ? "it is out of range" : NULL;
}

int kr_property_check(const struct kr_property *property, const char *name, const char *value,
                      const char *where, struct keyroute_detail *detail)
{
  char text[KR_PROPERTY_VALUE_MAX];
  char range[KR_PROPERTY_RANGE_MAX];
  char printed[128];
  const char *reason = "it is too long";

  if (kr_property_trim(text, value)) {
    reason = refuse(property, text);
  }
  if (reason == NULL) {
    return 0;
  }
  kr_property_range(range, property);
  kr_bytes_print(printed, sizeof(printed), keyroute_string(value));
  return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT,
                        "%sproperty %s is \"%s\": %s (it may be %s)", where, name, printed, reason,
                        range);
}
