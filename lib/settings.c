/*
 * The properties that stand, read once into typed fields: what a connection runs with.
 *
 *  1. Everything that is set is checked before anything is read, those values too that were only
 *     waiting for this (a ${...} that a later file might have defined; Kerberos, TLS). What follows
 *     then converts and cannot meet a bad value.
 *  2. A source that is stronger wins whatever name it used; under equal sources a property's first
 *     name beats its further one. So -z on a command line beats hbase.client.zookeeper.quorum in a
 *     file, and in one file that beats hbase.zookeeper.quorum.
 *  3. hbase.client.*operation.timeout is HBase's bound for one operation with all its tries: what
 *     keyroute calls the deadline. It stands in where keyroute.deadline.ms is not set.
 *
 * Called once by open, in the caller's thread.
 * Source: HBase ZKConfig, ConnectionConfiguration, AsyncConnectionConfiguration
 */
#include "lib/settings.h"

#include "lib/bytes.h"
#include "lib/connect_string.h"
#include "lib/error.h"
#include "lib/property.h"
#include "lib/property_set.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define MAX_DEADLINE_MS INT64_C(86400000)
#define NO_LIMIT_MS INT64_C(2147483647)

/* What is read from. */
struct source {
  struct kr_mem *mem;
  const struct kr_property_set *set;
  struct keyroute_detail *detail;
};

/* ---- Checking ------------------------------------------------------------------------------- */

/* "FILE:LINE: " for messages, or "". */
static void print_place(char *out, size_t size, const struct kr_property_value *value)
{
  char printed[256];

  out[0] = '\0';
  if (value->source[0] == '\0') {
    return;
  }
  kr_bytes_print(printed, sizeof(printed), keyroute_string(value->source));
  if (value->line > 0) {
    snprintf(out, size, "%s:%u: ", printed, value->line);
  } else {
    snprintf(out, size, "%s: ", printed);
  }
}

/* The ensemble is parsed by who knows how to, whose reason shows the part that is wrong; only the
 * port of hosts without one is not known here, and any will do to check the rest. */
static int check_quorum(struct kr_mem *mem, const char *name, const char *text, const char *place,
                        struct keyroute_detail *detail)
{
  struct kr_connect_string *ensemble = NULL;
  char reason[300] = "out of memory";
  int error = kr_connect_string_parse(&ensemble, mem, text, 2181, reason, sizeof(reason));

  kr_connect_string_free(ensemble);
  if (error == 0) {
    return 0;
  }
  return kr_detail_fail(detail, error, "%sproperty %s: %s", place, name, reason);
}

int kr_setting_check(struct kr_mem *mem, const struct kr_property *property, const char *name,
                     const struct kr_property_value *value, struct keyroute_detail *detail)
{
  char place[300];

  print_place(place, sizeof(place), value);
  if (value->text == NULL) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT,
                          "%sproperty %s: ${...} nests too deeply in its value", place, name);
  }
  int error = kr_property_check(property, name, value->text, place, detail);
  if (error == 0 && property == kr_property_get(KR_PROPERTY_QUORUM)) {
    error = check_quorum(mem, name, value->text, place, detail);
  }
  return error;
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* The value that stands for a property and the name it goes by; false if nobody set it. */
static bool standing(const struct source *from, enum kr_property_id id,
                     struct kr_property_value *value, const char **name)
{
  const struct kr_property *property = kr_property_get(id);
  struct kr_property_value other;
  bool has_name = kr_property_set_find(from->set, property->name, value);

  *name = property->name;
  if (property->other != NULL && kr_property_set_find(from->set, property->other, &other) &&
      (!has_name || other.layer > value->layer)) {
    *value = other;
    *name = property->other;
    return true;
  }
  return has_name;
}

static bool is_set(const struct source *from, enum kr_property_id id)
{
  struct kr_property_value value;
  const char *name;

  return standing(from, id, &value, &name);
}

/* Check everything that is set; what follows then only converts. */
static int check_standing(const struct source *from)
{
  bool registry_chosen = is_set(from, KR_PROPERTY_REGISTRY);
  struct kr_property_value value;
  const char *name;
  int error = 0;

  for (int id = 0; id < KR_PROPERTY_COUNT && error == 0; id++) {
    bool overruled = id == KR_PROPERTY_REGISTRY_IMPL && registry_chosen;

    if (!overruled && standing(from, (enum kr_property_id)id, &value, &name)) {
      error = kr_setting_check(from->mem, kr_property_get((enum kr_property_id)id), name, &value,
                               from->detail);
    }
  }
  return error;
}

/* The text of a checked property, trimmed, or its default; false if it has none. */
static bool get_text(const struct source *from, enum kr_property_id id,
                     char out[KR_PROPERTY_VALUE_MAX])
{
  struct kr_property_value value;
  const char *fallback = kr_property_get(id)->fallback;
  const char *name;

  if (standing(from, id, &value, &name)) {
    return kr_property_trim(out, value.text);
  }
  return fallback != NULL && kr_property_trim(out, fallback);
}

static int64_t get_number(const struct source *from, enum kr_property_id id)
{
  char text[KR_PROPERTY_VALUE_MAX];

  return get_text(from, id, text) ? kr_property_number(text) : 0;
}

/* A copy of a text property; NULL if it has no value or memory is short. */
static char *copy_text(const struct source *from, enum kr_property_id id)
{
  char text[KR_PROPERTY_VALUE_MAX];

  return get_text(from, id, text) ? kr_copy(from->mem, keyroute_string(text)) : NULL;
}

static int64_t get_deadline(const struct source *from)
{
  static const enum kr_property_id stand_ins[] = {KR_PROPERTY_META_OPERATION_TIMEOUT,
                                                  KR_PROPERTY_OPERATION_TIMEOUT};

  for (size_t i = 0; i < 2 && !is_set(from, KR_PROPERTY_DEADLINE); i++) {
    if (is_set(from, stand_ins[i])) {
      int64_t timeout = get_number(from, stand_ins[i]);

      return timeout == 0 || timeout > MAX_DEADLINE_MS ? MAX_DEADLINE_MS : timeout;
    }
  }
  return get_number(from, KR_PROPERTY_DEADLINE);
}

static void fill_numbers(struct kr_settings *settings, const struct source *from)
{
  int64_t overloaded = get_number(from, KR_PROPERTY_PAUSE_OVERLOADED);
  int64_t rpc_timeout = get_number(from, KR_PROPERTY_RPC_TIMEOUT);

  settings->session_timeout_ms = get_number(from, KR_PROPERTY_SESSION_TIMEOUT);
  settings->session_idle_ms = get_number(from, KR_PROPERTY_SESSION_IDLE);
  settings->connect_timeout_ms = get_number(from, KR_PROPERTY_CONNECT_TIMEOUT);
  settings->rpc_timeout_ms = rpc_timeout > 0 ? rpc_timeout : NO_LIMIT_MS;
  settings->connection_idle_ms = get_number(from, KR_PROPERTY_CONNECTION_IDLE);
  settings->max_frame_len = (size_t)get_number(from, KR_PROPERTY_FRAME_MAX);
  settings->max_queue_len = (size_t)get_number(from, KR_PROPERTY_SERVER_QUEUE_MAX);
  settings->max_pending = (uint64_t)get_number(from, KR_PROPERTY_PENDING_MAX);
  settings->deadline_ms = get_deadline(from);
  settings->retries = (int)get_number(from, KR_PROPERTY_RETRIES);
  settings->pause_ms = get_number(from, KR_PROPERTY_PAUSE);
  settings->pause_overloaded_ms = overloaded > settings->pause_ms ? overloaded : settings->pause_ms;
  settings->pause_max_ms = get_number(from, KR_PROPERTY_PAUSE_MAX);
  settings->prefetch = (int)get_number(from, KR_PROPERTY_PREFETCH);
  settings->scans_per_table = (int)get_number(from, KR_PROPERTY_SCANS_PER_TABLE);
  settings->scans_max = (int)get_number(from, KR_PROPERTY_SCANS_MAX);
  settings->failed_server_ms = get_number(from, KR_PROPERTY_FAILED_SERVER);
  settings->cache_max_regions = (size_t)get_number(from, KR_PROPERTY_CACHE_MAX_REGIONS);
  settings->cache_max_bytes = (size_t)get_number(from, KR_PROPERTY_CACHE_MAX_BYTES);
  settings->cache_ttl_ms = get_number(from, KR_PROPERTY_CACHE_TTL);
  settings->cache_idle_ms = get_number(from, KR_PROPERTY_CACHE_IDLE);
  settings->grpc_keepalive_ms = get_number(from, KR_PROPERTY_GRPC_KEEPALIVE);
  settings->cache_sweep_ms = get_number(from, KR_PROPERTY_CACHE_SWEEP);
}

/* The login name as the Java client would find it, or the user's number. */
static char *login_name(struct kr_mem *mem)
{
  struct passwd entry;
  struct passwd *found = NULL;
  char room[4096];
  char number[24];

  if (getpwuid_r(getuid(), &entry, room, sizeof(room), &found) == 0 && found != NULL) {
    return kr_copy(mem, keyroute_string(entry.pw_name));
  }
  snprintf(number, sizeof(number), "%lu", (unsigned long)getuid());
  return kr_copy(mem, keyroute_string(number));
}

static int fill_ensemble(struct kr_settings *settings, const struct source *from)
{
  struct kr_connect_string *ensemble = NULL;
  char text[KR_PROPERTY_VALUE_MAX] = "";
  char reason[256] = "";
  int port = (int)get_number(from, KR_PROPERTY_CLIENT_PORT);

  get_text(from, KR_PROPERTY_QUORUM, text);
  int error = kr_connect_string_parse(&ensemble, from->mem, text, port, reason, sizeof(reason));
  if (error != 0) {
    return kr_detail_fail(from->detail, error, "property hbase.zookeeper.quorum: %s", reason);
  }
  settings->zookeeper = kr_connect_string_format(ensemble);
  settings->chroot = kr_copy(from->mem, keyroute_string(ensemble->chroot));
  kr_connect_string_free(ensemble);
  return 0;
}

/* Cut a path at its last slash: the znode's name, a copy. NULL = out of memory. */
static char *cut_name(struct kr_mem *mem, char *path)
{
  char *slash = path != NULL ? strrchr(path, '/') : NULL;

  if (slash == NULL) {
    return NULL;
  }
  *slash = '\0';
  return kr_copy(mem, keyroute_string(slash + 1));
}

/* Where a range directory's meta1 is found. */
static bool fill_range(struct kr_settings *settings, const struct source *from)
{
  settings->parent = copy_text(from, KR_PROPERTY_RANGE_ZNODE);
  settings->range_znode = cut_name(from->mem, settings->parent);
  settings->range_instance = copy_text(from, KR_PROPERTY_RANGE_INSTANCE);
  return settings->range_znode != NULL && settings->range_instance != NULL;
}

/* Which znodes may tell where the root is: that of the layout, both where it is to be found out. */
static bool fill_hbase(struct kr_settings *settings, const struct source *from)
{
  bool meta = strcmp(settings->layout, "root") != 0;
  bool root = strcmp(settings->layout, "meta") != 0;

  settings->parent = copy_text(from, KR_PROPERTY_PARENT);
  settings->meta_znode = meta ? copy_text(from, KR_PROPERTY_META_ZNODE) : NULL;
  settings->root_znode = root ? copy_text(from, KR_PROPERTY_ROOT_ZNODE) : NULL;
  if (settings->parent == NULL || (meta && settings->meta_znode == NULL) ||
      (root && settings->root_znode == NULL)) {
    return false;
  }
  size_t len = strlen(settings->parent);

  if (settings->parent[len - 1] == '/') {
    settings->parent[len - 1] = '\0';
  }
  return true;
}

static bool fill_znodes(struct kr_settings *settings, const struct source *from)
{
  settings->layout = copy_text(from, KR_PROPERTY_LAYOUT);
  if (settings->layout == NULL) {
    return false;
  }
  return strcmp(settings->layout, "range") == 0 ? fill_range(settings, from)
                                                : fill_hbase(settings, from);
}

/* A text that may be absent. False = out of memory. */
static bool fill_text(char **out, const struct source *from, enum kr_property_id id)
{
  *out = copy_text(from, id);
  return *out != NULL || !is_set(from, id);
}

/* How range nodes are spoken to. */
static int fill_grpc(struct kr_settings *settings, const struct source *from)
{
  char text[KR_PROPERTY_VALUE_MAX] = "";

  get_text(from, KR_PROPERTY_GRPC_TLS, text);
  settings->grpc_tls = strcasecmp(text, "true") == 0;
  if (fill_text(&settings->grpc_tls_roots, from, KR_PROPERTY_GRPC_TLS_ROOTS) &&
      fill_text(&settings->grpc_tls_certificate, from, KR_PROPERTY_GRPC_TLS_CERTIFICATE) &&
      fill_text(&settings->grpc_tls_key, from, KR_PROPERTY_GRPC_TLS_KEY) &&
      fill_text(&settings->grpc_tls_server_name, from, KR_PROPERTY_GRPC_TLS_SERVER_NAME)) {
    return 0;
  }
  return kr_detail_fail(from->detail, KEYROUTE_E_NO_MEMORY, "out of memory");
}

static int fill_texts(struct kr_settings *settings, const struct source *from)
{
  settings->registry = copy_text(from, KR_PROPERTY_REGISTRY);
  settings->user =
      is_set(from, KR_PROPERTY_USER) ? copy_text(from, KR_PROPERTY_USER) : login_name(from->mem);
  bool filled = fill_znodes(settings, from);
  int error = fill_ensemble(settings, from);

  if (error != 0) {
    return error;
  }
  if (!filled || settings->registry == NULL || settings->user == NULL ||
      settings->zookeeper == NULL || settings->chroot == NULL) {
    return kr_detail_fail(from->detail, KEYROUTE_E_NO_MEMORY, "out of memory");
  }
  return 0;
}

static int fill_static_root(struct kr_settings *settings, const struct source *from)
{
  if (strcmp(settings->registry, "static") != 0) {
    return 0;
  }
  if (!is_set(from, KR_PROPERTY_STATIC_ROOT)) {
    return kr_detail_fail(from->detail, KEYROUTE_E_INVALID_ARGUMENT,
                          "property %s is needed where %s is static",
                          kr_property_get(KR_PROPERTY_STATIC_ROOT)->name,
                          kr_property_get(KR_PROPERTY_REGISTRY)->name);
  }
  settings->static_root = copy_text(from, KR_PROPERTY_STATIC_ROOT);
  return settings->static_root != NULL
             ? 0
             : kr_detail_fail(from->detail, KEYROUTE_E_NO_MEMORY, "out of memory");
}

/* A file may hold names of keyroute's that are none, since other versions read it too; but whoever
 * misspelt a bound shall have a chance to see it. */
static void warn_of_misspelt(const struct source *from, const struct kr_log *log)
{
  struct kr_property_value value;
  char place[300];
  char printed[128];
  const char *name;

  for (size_t i = 0; (name = kr_property_set_name(from->set, i)) != NULL; i++) {
    if (kr_property_misspelt(name) && kr_property_set_find(from->set, name, &value)) {
      print_place(place, sizeof(place), &value);
      kr_log_line(log, KEYROUTE_LOG_WARNING, "%sproperty %s: keyroute has no such property", place,
                  kr_bytes_print(printed, sizeof(printed), keyroute_string(name)));
    }
  }
}

int kr_settings_read(struct kr_settings **out, struct kr_mem *mem,
                     const struct kr_property_set *set, const struct kr_log *log,
                     struct keyroute_detail *detail)
{
  const struct source from = {mem, set, detail};
  int error = check_standing(&from);

  if (error != 0) {
    return error;
  }
  struct kr_settings *settings = kr_calloc(mem, sizeof(*settings));
  if (settings == NULL) {
    return kr_detail_fail(detail, KEYROUTE_E_NO_MEMORY, "out of memory");
  }
  settings->mem = kr_mem_ref(mem);
  settings->log = *log;
  fill_numbers(settings, &from);
  error = fill_texts(settings, &from);
  if (error == 0) {
    error = fill_static_root(settings, &from);
  }
  if (error == 0) {
    error = fill_grpc(settings, &from);
  }
  if (error != 0) {
    kr_settings_free(settings);
    return error;
  }
  warn_of_misspelt(&from, log);
  *out = settings;
  return 0;
}

void kr_settings_free(struct kr_settings *settings)
{
  if (settings == NULL) {
    return;
  }
  struct kr_mem *mem = settings->mem;
  char *texts[] = {settings->layout,
                   settings->registry,
                   settings->static_root,
                   settings->zookeeper,
                   settings->chroot,
                   settings->parent,
                   settings->meta_znode,
                   settings->root_znode,
                   settings->user,
                   settings->range_znode,
                   settings->range_instance,
                   settings->grpc_tls_roots,
                   settings->grpc_tls_certificate,
                   settings->grpc_tls_key,
                   settings->grpc_tls_server_name};

  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    kr_free(mem, texts[i]);
  }
  kr_free(mem, settings);
  kr_mem_release(mem);
}
