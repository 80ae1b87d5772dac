/*
 * What the caller may tune: the public calls about options.
 *
 * The work is elsewhere: property.c knows the properties, site_xml.c reads a file, property_set.c
 * decides which of several values stands, settings.c reads what stands into typed fields.
 *
 *  1. Every change makes a new set and swaps it in at the end: a bad file or value changes nothing.
 *  2. What a call sets is checked at once, and so is a file, in the values that stand after it was
 *     read. A value whose ${...} is not known yet is left for keyroute_open, since a later file may
 *     define it; so is what may be said but not used (Kerberos, TLS).
 *
 * One thread at a time for one set of options; a connection keeps only what it has read.
 */
#include "lib/options.h"

#include "lib/bytes.h"
#include "lib/error.h"
#include "lib/property.h"
#include "lib/property_set.h"
#include "lib/site_xml.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct keyroute_options {
  struct kr_mem *mem; /* counted */
  struct kr_property_set *set;
  struct kr_log log;
  keyroute_post_cb post;
  void *post_payload;
  bool drain;
};

/* ---- New and free --------------------------------------------------------------------------- */

int keyroute_options_new(struct keyroute_options **out, const struct keyroute_allocator *allocator)
{
  if (out == NULL ||
      (allocator != NULL && (allocator->allocate == NULL || allocator->reallocate == NULL ||
                             allocator->release == NULL))) {
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  struct kr_mem *mem = kr_mem_new(allocator);
  struct keyroute_options *options = mem != NULL ? kr_calloc(mem, sizeof(*options)) : NULL;
  if (options == NULL || kr_property_set_new(&options->set, mem) != 0) {
    if (mem != NULL) {
      kr_free(mem, options);
      kr_mem_release(mem);
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
  kr_mem_release(mem);
}

/* ---- Changing ------------------------------------------------------------------------------- */

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
  return kr_setting_check(mem, property, name, &value, detail);
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
  keyroute_detail_clear(detail);
  return 0;
}

int keyroute_options_set(struct keyroute_options *options, const char *name, const char *value,
                         struct keyroute_detail *detail)
{
  struct kr_property_entry entry = {.name = name, .value = value};

  char printed[128];

  if (options == NULL) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT, "the options are NULL");
  }
  if (name == NULL || name[0] == '\0') {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT, "the property's name is %s",
                          name == NULL ? "NULL" : "empty");
  }
  kr_bytes_print(printed, sizeof(printed), keyroute_string(name));
  if (value == NULL) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT, "property %s: the value is NULL",
                          printed);
  }
  if (kr_property_misspelt(name)) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT,
                          "property %s: keyroute has no such property", printed);
  }
  return change(options, KR_LAYER_CALL, "", &entry, 1, detail);
}

int keyroute_options_read_file(struct keyroute_options *options, const char *path,
                               struct keyroute_detail *detail)
{
  struct kr_site *site = NULL;
  struct kr_property_entry *entries = NULL;

  if (options == NULL || path == NULL) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT,
                          options == NULL ? "the options are NULL" : "the file's path is NULL");
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
  error = entries != NULL ? change(options, KR_LAYER_FILE, path, entries, site->count, detail)
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
  struct kr_property_entry entry = {.name = kr_property_get(KR_PROPERTY_USER)->name, .value = user};
  int error = 0;

  if (options == NULL) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT, "the options are NULL");
  }
  if (folder != NULL && folder[0] != '\0') {
    error = read_conf_dir(options, folder, detail);
  }
  if (error == 0 && user != NULL && user[0] != '\0') {
    error = change(options, KR_LAYER_FILE, "HADOOP_USER_NAME", &entry, 1, detail);
  }
  if (error == 0) {
    keyroute_detail_clear(detail);
  }
  return error;
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

void keyroute_options_set_log(struct keyroute_options *options, enum keyroute_log_level level,
                              keyroute_log_cb cb, void *payload)
{
  if (options != NULL) {
    options->log = (struct kr_log){level, cb, payload};
  }
}

void keyroute_options_set_post(struct keyroute_options *options, keyroute_post_cb post,
                               void *payload)
{
  if (options != NULL) {
    options->post = post;
    options->post_payload = payload;
  }
}

void keyroute_options_set_drain(struct keyroute_options *options, bool drain)
{
  if (options != NULL) {
    options->drain = drain;
  }
}

/* ---- Settings ------------------------------------------------------------------------------- */

static int read_settings(struct kr_settings **out, const struct keyroute_options *options,
                         struct keyroute_detail *detail)
{
  if (options->post != NULL && options->drain) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT,
                          "keyroute_options_set_post and keyroute_options_set_drain exclude each "
                          "other");
  }
  int error = kr_settings_read(out, options->mem, options->set, &options->log, detail);

  if (error == 0) {
    (*out)->post = options->post;
    (*out)->post_payload = options->post_payload;
    (*out)->drain = options->drain;
  }
  return error;
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
  error = keyroute_options_read_environment(defaults, detail);
  if (error == 0) {
    error = read_settings(out, defaults, detail);
  }
  keyroute_options_free(defaults);
  return error;
}
