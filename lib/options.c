/*
 * What the caller may tune: the public calls about options, and their reading into kr_settings.
 *
 * The work is elsewhere: property.c knows the properties, site_xml.c reads a file, property_set.c
 * decides which of several values stands. This file checks what comes in and turns what stands into
 * typed fields.
 *
 *  1. Every change makes a new set and swaps it in at the end: a bad file or value changes nothing.
 *  2. What a call sets is checked at once, and so is a file, in the values that stand after it was
 *     read. A value whose ${...} is not known yet is left for keyroute_open, since a later file may
 *     define it; so is what may be said but not used (Kerberos, TLS).
 *  3. A source that is stronger wins whatever name it used; under equal sources a property's first
 *     name beats its further one. So -z on a command line beats hbase.client.zookeeper.quorum in a
 *     file, and in one file that beats hbase.zookeeper.quorum.
 *  4. hbase.client.*operation.timeout is HBase's bound for one operation with all its tries: what
 *     keyroute calls the deadline. It stands in where keyroute.deadline.ms is not set.
 *
 * One thread at a time for one set of options; a connection keeps only what it has read.
 * Source: HBase ZKConfig, ConnectionConfiguration, AsyncConnectionConfiguration
 */
#include "lib/options.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/bytes.h"
#include "lib/connect_string.h"
#include "lib/error.h"
#include "lib/property.h"
#include "lib/property_set.h"
#include "lib/site_xml.h"

#define MAX_DEADLINE_MS INT64_C(86400000)
#define NO_LIMIT_MS INT64_C(2147483647)

struct keyroute_options {
  struct kr_mem *mem; /* counted */
  struct kr_property_set *set;
  struct kr_log log;
};

/* ---- New and free --------------------------------------------------------------------------- */

int keyroute_options_new(struct keyroute_options **out, const struct keyroute_allocator *allocator)
{
  if (out == NULL || (allocator != NULL && (allocator->allocate == NULL ||
                                            allocator->reallocate == NULL ||
                                            allocator->release == NULL))) {
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  struct kr_mem *mem = kr_mem_new(allocator);
  struct keyroute_options *options = mem != NULL ? kr_calloc(mem, sizeof(*options)) : NULL;
  if (options == NULL || kr_property_set_new(&options->set, mem) != 0) {
    if (mem != NULL) {
      kr_free(mem, options);
      kr_mem_unref(mem);
    }
    return KEYROUTE_E_NO_MEMORY;
  }
  options->mem = mem;
  *out = options;
  return 0;
}

void keyroute_options_free(struct keyroute_options *options)
{
  if (options == NULL) {
    return;
  }
  struct kr_mem *mem = options->mem;
  kr_property_set_free(options->set);
  kr_free(mem, options);
  kr_mem_unref(mem);
}

/* ---- Checking ------------------------------------------------------------------------------- */

static int succeed(struct keyroute_detail *detail)
{
  if (detail != NULL) {
    detail->error = 0;
    detail->message[0] = '\0';
  }
  return 0;
}

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

/* The ensemble is parsed by who knows how to; only the port of hosts without one is not known here,
 * and any will do to check the rest. */
static int check_quorum(struct kr_mem *mem, const char *name, const char *text, const char *place,
                        struct keyroute_detail *detail)
{
  struct kr_connect_string *ensemble = NULL;
  char reason[256] = "";
  int error = kr_connect_string_parse(&ensemble, mem, text, 2181, reason, sizeof(reason));

  kr_connect_string_free(ensemble);
  if (error == 0) {
    return 0;
  }
  char printed[128];
  kr_bytes_print(printed, sizeof(printed), keyroute_string(text));
  return kr_detail_fail(detail, error, "%sproperty %s is \"%s\": %s", place, name, printed, reason);
}

static int check_value(struct kr_mem *mem, const struct kr_property *property, const char *name,
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

/* Check a name's value as it stands after a change, if it came from this source. */
static int check_changed(struct kr_mem *mem, const struct kr_property_set *set,
                         const struct kr_property *property, const char *name,
                         enum kr_property_layer layer, const char *source,
                         struct keyroute_detail *detail)
{
  struct kr_property_value value;

  if (name == NULL || property->at_open || !kr_property_set_find(set, name, &value) ||
      value.layer != layer || strcmp(value.source, source) != 0) {
    return 0;
  }
  if (value.text != NULL && strstr(value.text, "${") != NULL) {
    return 0;
  }
  return check_value(mem, property, name, &value, detail);
}

static int check_all(struct kr_mem *mem, const struct kr_property_set *set,
                     enum kr_property_layer layer, const char *source,
                     struct keyroute_detail *detail)
{
  int error = 0;

  for (int id = 0; id < KR_PROPERTY_COUNT && error == 0; id++) {
    const struct kr_property *row = kr_property_get((enum kr_property_id)id);

    error = check_changed(mem, set, row, row->name, layer, source, detail);
    if (error == 0) {
      error = check_changed(mem, set, row, row->other, layer, source, detail);
    }
  }
  return error;
}

/* ---- Changing ------------------------------------------------------------------------------- */

/* Add to the options, or leave them as they are. */
static int change(struct keyroute_options *options, enum kr_property_layer layer,
                  const char *source, const struct kr_property_entry *added, size_t count,
                  struct keyroute_detail *detail)
{
  struct kr_property_set *set = NULL;
  int error = kr_property_set_add(&set, options->set, layer, source, added, count, detail);

  if (error == 0) {
    error = check_all(options->mem, set, layer, source, detail);
  }
  if (error != 0) {
    kr_property_set_free(set);
    return error;
  }
  kr_property_set_free(options->set);
  options->set = set;
  return succeed(detail);
}

int keyroute_options_set(struct keyroute_options *options, const char *name, const char *value,
                         struct keyroute_detail *detail)
{
  struct kr_property_entry entry = {.name = name, .value = value};

  if (options == NULL || name == NULL || name[0] == '\0' || value == NULL) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT,
                          "options, the property's name or its value is missing");
  }
  return change(options, KR_LAYER_CALL, "", &entry, 1, detail);
}

int keyroute_options_read_file(struct keyroute_options *options, const char *path,
                               struct keyroute_detail *detail)
{
  struct kr_site *site = NULL;
  struct kr_property_entry *entries = NULL;

  if (options == NULL || path == NULL) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT, "options or path is missing");
  }
  int error = kr_site_xml_read(&site, options->mem, path, detail);
  if (error != 0) {
    return error;
  }
  entries = kr_alloc(options->mem, site->count * sizeof(*entries));
  for (size_t i = 0; entries != NULL && i < site->count; i++) {
    const struct kr_site_property *from = &site->properties[i];

    entries[i] = (struct kr_property_entry){from->name, from->value, from->line, from->final};
  }
  error = entries != NULL
              ? change(options, KR_LAYER_FILE, path, entries, site->count, detail)
              : kr_detail_fail(detail, KEYROUTE_E_NO_MEMORY, "out of memory");
  kr_free(options->mem, entries);
  kr_site_free(site);
  return error;
}

/* $HBASE_CONF_DIR/hbase-site.xml, where there is one. */
static int read_conf_dir(struct keyroute_options *options, const char *folder,
                         struct keyroute_detail *detail)
{
  static const char file[] = "/hbase-site.xml";
  size_t size = strlen(folder) + sizeof(file);
  char *path = kr_alloc(options->mem, size);
  struct stat about;
  int error = 0;

  if (path == NULL) {
    return kr_detail_fail(detail, KEYROUTE_E_NO_MEMORY, "out of memory");
  }
  snprintf(path, size, "%s%s", folder, file);
  if (stat(path, &about) == 0 || (errno != ENOENT && errno != ENOTDIR)) {
    error = keyroute_options_read_file(options, path, detail);
  }
  kr_free(options->mem, path);
  return error;
}

int keyroute_options_read_environment(struct keyroute_options *options,
                                      struct keyroute_detail *detail)
{
  const char *folder = getenv("HBASE_CONF_DIR");
  const char *user = getenv("HADOOP_USER_NAME");
  struct kr_property_entry entry = {.name = kr_property_get(KR_PROPERTY_USER)->name,
                                    .value = user};
  int error = 0;

  if (options == NULL) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT, "options is missing");
  }
  if (folder != NULL && folder[0] != '\0') {
    error = read_conf_dir(options, folder, detail);
  }
  if (error == 0 && user != NULL && user[0] != '\0') {
    error = change(options, KR_LAYER_FILE, "HADOOP_USER_NAME", &entry, 1, detail);
  }
  return error == 0 ? succeed(detail) : error;
}

/* ---- Setters and getters of one property ---------------------------------------------------- */

const char *keyroute_options_get(const struct keyroute_options *options, const char *name)
{
  struct kr_property_value value;

  if (options == NULL || name == NULL) {
    return NULL;
  }
  if (kr_property_set_find(options->set, name, &value)) {
    return value.text;
  }
  const struct kr_property *property = kr_property_find(name);
  return property != NULL ? property->fallback : NULL;
}

int keyroute_options_set_zookeeper(struct keyroute_options *options, const char *ensemble)
{
  return keyroute_options_set(options, "hbase.zookeeper.quorum", ensemble, NULL);
}

int keyroute_options_set_parent(struct keyroute_options *options, const char *znode)
{
  return keyroute_options_set(options, "zookeeper.znode.parent", znode, NULL);
}

int keyroute_options_set_layout(struct keyroute_options *options, const char *layout)
{
  return keyroute_options_set(options, "keyroute.layout", layout, NULL);
}

static int set_number(struct keyroute_options *options, const char *name, int64_t number)
{
  char text[32];

  snprintf(text, sizeof(text), "%" PRId64, number);
  return keyroute_options_set(options, name, text, NULL);
}

int keyroute_options_set_retries(struct keyroute_options *options, int retries)
{
  return set_number(options, "hbase.client.retries.number", retries);
}

int keyroute_options_set_pause_ms(struct keyroute_options *options, int64_t pause_ms)
{
  return set_number(options, "hbase.client.pause", pause_ms);
}

int keyroute_options_set_deadline_ms(struct keyroute_options *options, int64_t deadline_ms)
{
  return set_number(options, "keyroute.deadline.ms", deadline_ms);
}

void keyroute_options_set_log(struct keyroute_options *options, keyroute_log_cb cb, void *user,
                              enum keyroute_log_level level)
{
  if (options != NULL) {
    options->log = (struct kr_log){cb, user, level};
  }
}

/* ---- Reading into settings ------------------------------------------------------------------ */

/* The value that stands for a property and the name it goes by; false if nobody set it. */
static bool standing(const struct keyroute_options *options, enum kr_property_id id,
                     struct kr_property_value *value, const char **name)
{
  const struct kr_property *property = kr_property_get(id);
  struct kr_property_value other;
  bool has_name = kr_property_set_find(options->set, property->name, value);

  *name = property->name;
  if (property->other != NULL && kr_property_set_find(options->set, property->other, &other) &&
      (!has_name || other.layer > value->layer)) {
    *value = other;
    *name = property->other;
    return true;
  }
  return has_name;
}

static bool is_set(const struct keyroute_options *options, enum kr_property_id id)
{
  struct kr_property_value value;
  const char *name;

  return standing(options, id, &value, &name);
}

/* Check everything that is set; what follows then only converts. */
static int check_standing(const struct keyroute_options *options, struct keyroute_detail *detail)
{
  bool registry_chosen = is_set(options, KR_PROPERTY_REGISTRY);
  struct kr_property_value value;
  const char *name;
  int error = 0;

  for (int id = 0; id < KR_PROPERTY_COUNT && error == 0; id++) {
    bool overruled = id == KR_PROPERTY_REGISTRY_IMPL && registry_chosen;

    if (!overruled && standing(options, (enum kr_property_id)id, &value, &name)) {
      error = check_value(options->mem, kr_property_get((enum kr_property_id)id), name, &value,
                          detail);
    }
  }
  return error;
}

/* The text of a checked property, trimmed, or its default; false if it has none. */
static bool get_text(const struct keyroute_options *options, enum kr_property_id id,
                     char out[KR_PROPERTY_VALUE_MAX])
{
  struct kr_property_value value;
  const char *fallback = kr_property_get(id)->fallback;
  const char *name;

  if (standing(options, id, &value, &name)) {
    return kr_property_trim(out, value.text);
  }
  return fallback != NULL && kr_property_trim(out, fallback);
}

static int64_t get_number(const struct keyroute_options *options, enum kr_property_id id)
{
  char text[KR_PROPERTY_VALUE_MAX];

  return get_text(options, id, text) ? kr_property_number(text) : 0;
}

/* A copy of a text property; NULL if it has no value or memory is short. */
static char *copy_text(const struct keyroute_options *options, enum kr_property_id id)
{
  char text[KR_PROPERTY_VALUE_MAX];

  return get_text(options, id, text) ? kr_copy(options->mem, keyroute_string(text)) : NULL;
}

static int64_t get_deadline(const struct keyroute_options *options)
{
  static const enum kr_property_id stand_ins[] = {KR_PROPERTY_META_OPERATION_TIMEOUT,
                                                  KR_PROPERTY_OPERATION_TIMEOUT};

  for (size_t i = 0; i < 2 && !is_set(options, KR_PROPERTY_DEADLINE); i++) {
    if (is_set(options, stand_ins[i])) {
      int64_t timeout = get_number(options, stand_ins[i]);

      return timeout == 0 || timeout > MAX_DEADLINE_MS ? MAX_DEADLINE_MS : timeout;
    }
  }
  return get_number(options, KR_PROPERTY_DEADLINE);
}

static void fill_numbers(struct kr_settings *settings, const struct keyroute_options *options)
{
  int64_t overloaded = get_number(options, KR_PROPERTY_PAUSE_OVERLOADED);
  int64_t rpc_timeout = get_number(options, KR_PROPERTY_RPC_TIMEOUT);

  settings->session_timeout_ms = get_number(options, KR_PROPERTY_SESSION_TIMEOUT);
  settings->session_idle_ms = get_number(options, KR_PROPERTY_SESSION_IDLE);
  settings->connect_timeout_ms = get_number(options, KR_PROPERTY_CONNECT_TIMEOUT);
  settings->rpc_timeout_ms = rpc_timeout > 0 ? rpc_timeout : NO_LIMIT_MS;
  settings->connection_idle_ms = get_number(options, KR_PROPERTY_CONNECTION_IDLE);
  settings->max_frame = (size_t)get_number(options, KR_PROPERTY_FRAME_MAX);
  settings->deadline_ms = get_deadline(options);
  settings->retries = (int)get_number(options, KR_PROPERTY_RETRIES);
  settings->pause_ms = get_number(options, KR_PROPERTY_PAUSE);
  settings->pause_overloaded_ms = overloaded > settings->pause_ms ? overloaded : settings->pause_ms;
  settings->pause_max_ms = get_number(options, KR_PROPERTY_PAUSE_MAX);
  settings->prefetch = (int)get_number(options, KR_PROPERTY_PREFETCH);
  settings->scans_per_table = (int)get_number(options, KR_PROPERTY_SCANS_PER_TABLE);
  settings->failed_server_ms = get_number(options, KR_PROPERTY_FAILED_SERVER);
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

static int fill_ensemble(struct kr_settings *settings, const struct keyroute_options *options,
                         struct keyroute_detail *detail)
{
  struct kr_connect_string *ensemble = NULL;
  char text[KR_PROPERTY_VALUE_MAX] = "";
  char reason[256] = "";
  int port = (int)get_number(options, KR_PROPERTY_CLIENT_PORT);

  get_text(options, KR_PROPERTY_QUORUM, text);
  int error = kr_connect_string_parse(&ensemble, options->mem, text, port, reason, sizeof(reason));
  if (error != 0) {
    return kr_detail_fail(detail, error, "property hbase.zookeeper.quorum: %s", reason);
  }
  settings->zookeeper = kr_connect_string_format(ensemble);
  settings->chroot = kr_copy(options->mem, keyroute_string(ensemble->chroot));
  kr_connect_string_free(ensemble);
  return 0;
}

static int fill_texts(struct kr_settings *settings, const struct keyroute_options *options,
                      struct keyroute_detail *detail)
{
  settings->layout = copy_text(options, KR_PROPERTY_LAYOUT);
  settings->registry = copy_text(options, KR_PROPERTY_REGISTRY);
  settings->parent = copy_text(options, KR_PROPERTY_PARENT);
  settings->meta_znode = copy_text(options, KR_PROPERTY_META_ZNODE);
  settings->user = is_set(options, KR_PROPERTY_USER) ? copy_text(options, KR_PROPERTY_USER)
                                                     : login_name(options->mem);
  int error = fill_ensemble(settings, options, detail);
  if (error != 0) {
    return error;
  }
  if (settings->layout == NULL || settings->registry == NULL || settings->parent == NULL ||
      settings->meta_znode == NULL || settings->user == NULL || settings->zookeeper == NULL ||
      settings->chroot == NULL) {
    return kr_detail_fail(detail, KEYROUTE_E_NO_MEMORY, "out of memory");
  }
  size_t len = strlen(settings->parent);
  if (settings->parent[len - 1] == '/') {
    settings->parent[len - 1] = '\0';
  }
  return 0;
}

static int fill_static_root(struct kr_settings *settings, const struct keyroute_options *options,
                            struct keyroute_detail *detail)
{
  if (strcmp(settings->registry, "static") != 0) {
    return 0;
  }
  if (!is_set(options, KR_PROPERTY_STATIC_ROOT)) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT,
                          "property %s is needed where %s is static",
                          kr_property_get(KR_PROPERTY_STATIC_ROOT)->name,
                          kr_property_get(KR_PROPERTY_REGISTRY)->name);
  }
  settings->static_root = copy_text(options, KR_PROPERTY_STATIC_ROOT);
  return settings->static_root != NULL
             ? 0
             : kr_detail_fail(detail, KEYROUTE_E_NO_MEMORY, "out of memory");
}

static int read_settings(struct kr_settings **out, const struct keyroute_options *options,
                         struct keyroute_detail *detail)
{
  int error = check_standing(options, detail);

  if (error != 0) {
    return error;
  }
  struct kr_settings *settings = kr_calloc(options->mem, sizeof(*settings));
  if (settings == NULL) {
    return kr_detail_fail(detail, KEYROUTE_E_NO_MEMORY, "out of memory");
  }
  settings->mem = kr_mem_ref(options->mem);
  settings->log = options->log;
  fill_numbers(settings, options);
  error = fill_texts(settings, options, detail);
  if (error == 0) {
    error = fill_static_root(settings, options, detail);
  }
  if (error != 0) {
    kr_settings_free(settings);
    return error;
  }
  *out = settings;
  return 0;
}

int kr_options_settings(struct kr_settings **out, const struct keyroute_options *options,
                        struct keyroute_detail *detail)
{
  struct keyroute_options *defaults = NULL;

  if (options != NULL) {
    return read_settings(out, options, detail);
  }
  int error = keyroute_options_new(&defaults, NULL);
  if (error != 0) {
    return kr_detail_fail(detail, error, "out of memory");
  }
  error = read_settings(out, defaults, detail);
  keyroute_options_free(defaults);
  return error;
}

void kr_settings_free(struct kr_settings *settings)
{
  if (settings == NULL) {
    return;
  }
  struct kr_mem *mem = settings->mem;
  char *texts[] = {settings->layout,  settings->registry,   settings->static_root,
                   settings->zookeeper, settings->chroot,   settings->parent,
                   settings->meta_znode, settings->user};

  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
    kr_free(mem, texts[i]);
  }
  kr_free(mem, settings);
  kr_mem_unref(mem);
}
