/*
 * Which value does a property have, when several files, the environment and calls name it?
 *
 * This is what Hadoop's Configuration does with resources, `final` and ${...}, and was compared
 * with it:
 *  1. A call beats every file. Among files, and within one, the later beats the earlier, unless the
 *     earlier is final. A call may change what a file made final, as Configuration.set may.
 *  2. ${name} is replaced by, in this order, what Java would have as system property (of these
 *     user.name and user.home are known here), then the property of that name, innermost first. An
 *     unknown name ends the replacing: the rest stays as written.
 *  3. More than 20 replacements in one value are too many (a loop): that value is unusable, which
 *     only who asks for it is told. Hadoop throws at the same place.
 *  4. A set is immutable: adding makes a new one, which shares the entries (counted) and replaces
 *     ${...} anew. So a file that turns out to be bad leaves nothing behind, and what
 *     keyroute_options_get gave out stays valid until the next change.
 *  5. Entries are sorted by name. Adding sorts what is added and merges, so that a file of a
 *     hundred thousand properties costs no quadratic time; the work on ${...} has a budget,
 *     because twenty replacements of long values by long values multiply.
 *
 * One thread at a time for each chain of sets. Source: Hadoop Configuration.loadProperty,
 * substituteVars
 */
#include "lib/property_set.h"

#include "lib/buf.h"
#include "lib/bytes.h"
#include "lib/error.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_REPLACEMENTS 20
#define MAX_VALUE_LEN ((size_t)1024 * 1024)
#define MAX_WORK ((size_t)64 * 1024 * 1024) /* bytes written while replacing, for one set */

/* One property, shared by the sets it is in; the texts are behind it in the same allocation. */
struct entry {
  size_t refs;
  size_t order; /* among what is added together; the later one wins */
  enum kr_property_layer layer;
  bool final;
  unsigned line;
  const char *name;
  const char *raw;
  const char *source;
};

struct kr_property_set {
  struct kr_mem *mem; /* counted */
  size_t count;
  struct entry **entries; /* sorted by name */
  char **values;          /* what ${...} became; NULL where raw has none, or it went too deep */
  bool *too_deep;
};

static void release_entry(struct kr_mem *mem, struct entry *entry)
{
  if (entry != NULL && --entry->refs == 0) {
    kr_free(mem, entry);
  }
}

static struct entry *new_entry(struct kr_mem *mem, enum kr_property_layer layer, const char *source,
                               const struct kr_property_entry *from, size_t order)
{
  size_t name_size = strlen(from->name) + 1;
  size_t value_size = strlen(from->value) + 1;
  size_t source_size = strlen(source) + 1;
  struct entry *entry = kr_alloc(mem, sizeof(*entry) + name_size + value_size + source_size);

  if (entry == NULL) {
    return NULL;
  }
  char *texts = (char *)(entry + 1);
  *entry = (struct entry){.refs = 1,
                          .order = order,
                          .layer = layer,
                          .final = from->final,
                          .line = from->line,
                          .name = texts,
                          .raw = texts + name_size,
                          .source = texts + name_size + value_size};
  memcpy(texts, from->name, name_size);
  memcpy(texts + name_size, from->value, value_size);
  memcpy(texts + name_size + value_size, source, source_size);
  return entry;
}

/* ---- Making a set --------------------------------------------------------------------------- */

static struct kr_property_set *new_set(struct kr_mem *mem, size_t room)
{
  struct kr_property_set *set = kr_calloc(mem, sizeof(*set));

  if (set == NULL) {
    return NULL;
  }
  set->mem = kr_mem_ref(mem);
  set->entries = kr_calloc(mem, (room + 1) * sizeof(struct entry *));
  set->values = kr_calloc(mem, (room + 1) * sizeof(char *));
  set->too_deep = kr_calloc(mem, (room + 1) * sizeof(bool));
  if (set->entries == NULL || set->values == NULL || set->too_deep == NULL) {
    kr_property_set_free(set);
    return NULL;
  }
  return set;
}

int kr_property_set_new(struct kr_property_set **out, struct kr_mem *mem)
{
  struct kr_property_set *set = new_set(mem, 0);

  if (set == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  *out = set;
  return 0;
}

void kr_property_set_free(struct kr_property_set *set)
{
  if (set == NULL) {
    return;
  }
  struct kr_mem *mem = set->mem;
  for (size_t i = 0; i < set->count; i++) {
    release_entry(mem, set->entries[i]);
    kr_free(mem, set->values[i]);
  }
  kr_free(mem, set->entries);
  kr_free(mem, set->values);
  kr_free(mem, set->too_deep);
  kr_free(mem, set);
  kr_mem_release(mem);
}

static int compare_entries(const void *a, const void *b)
{
  const struct entry *left = *(struct entry *const *)a;
  const struct entry *right = *(struct entry *const *)b;
  int order = strcmp(left->name, right->name);

  return order != 0 ? order : (left->order > right->order) - (left->order < right->order);
}

/* Does the later of two entries of one name take the earlier one's place? */
static bool beats(const struct entry *later, const struct entry *earlier)
{
  if (later->layer != earlier->layer) {
    return later->layer > earlier->layer;
  }
  return later->layer == KR_LAYER_CALL || !earlier->final;
}

/* Append an entry to a set that is being merged in order of names. */
static void merge_entry(struct kr_property_set *set, struct entry *entry)
{
  struct entry **last = set->count > 0 ? &set->entries[set->count - 1] : NULL;

  if (last == NULL || strcmp((*last)->name, entry->name) != 0) {
    entry->refs++;
    set->entries[set->count++] = entry;
  } else if (beats(entry, *last)) {
    entry->refs++;
    release_entry(set->mem, *last);
    *last = entry;
  }
}

static void merge(struct kr_property_set *set, const struct kr_property_set *old,
                  struct entry **added, size_t count)
{
  size_t from_old = 0;
  size_t from_added = 0;

  while (from_old < old->count || from_added < count) {
    bool take_old =
        from_added == count || (from_old < old->count &&
                                strcmp(old->entries[from_old]->name, added[from_added]->name) <= 0);

    merge_entry(set, take_old ? old->entries[from_old] : added[from_added]);
    *(take_old ? &from_old : &from_added) += 1;
  }
}

/* ---- Replacing ${...} ----------------------------------------------------------------------- */

/* The entry of a name; its index, or set->count. */
static size_t find(const struct kr_property_set *set, const char *name)
{
  size_t low = 0;
  size_t high = set->count;

  while (low < high) {
    size_t middle = low + (high - low) / 2;
    int order = strcmp(set->entries[middle]->name, name);

    if (order == 0) {
      return middle;
    }
    *(order < 0 ? &low : &high) = order < 0 ? middle + 1 : middle;
  }
  return set->count;
}

/* The first innermost ${name}: its offset and length, name included. Java's pattern lets a name
 * hold anything but '}', '$' and a blank. False if there is none. */
static bool find_variable(const char *text, size_t *at, size_t *len)
{
  for (const char *dollar = strstr(text, "${"); dollar != NULL; dollar = strstr(dollar + 1, "${")) {
    size_t name_len = strcspn(dollar + 2, "}$ ");

    if (name_len > 0 && dollar[2 + name_len] == '}') {
      *at = (size_t)(dollar - text);
      *len = name_len + 3;
      return true;
    }
  }
  return false;
}

/* What Java would know about the user, copied: *out is NULL if name is no such thing.
 * Errors: NO_MEMORY. */
static int system_property(char **out, struct kr_mem *mem, const char *name)
{
  struct passwd entry;
  struct passwd *found = NULL;
  char room[4096];
  bool is_name = strcmp(name, "user.name") == 0;

  *out = NULL;
  if (!is_name && strcmp(name, "user.home") != 0) {
    return 0;
  }
  if (getpwuid_r(getuid(), &entry, room, sizeof(room), &found) != 0 || found == NULL) {
    return 0;
  }
  *out = kr_copy(mem, keyroute_string(is_name ? entry.pw_name : entry.pw_dir));
  return *out != NULL ? 0 : KEYROUTE_E_NO_MEMORY;
}

/* Put a value in the place of the variable at `at`. Returns 1, or NO_MEMORY. */
static int put_in(const struct kr_property_set *set, char **text, size_t at, size_t len,
                  const char *value, size_t *budget)
{
  struct kr_buf out;

  kr_buf_init(&out, set->mem);
  kr_buf_bytes(&out, kr_bytes(*text, at));
  kr_buf_text(&out, value);
  kr_buf_text(&out, *text + at + len);
  kr_buf_u8(&out, 0);
  *budget -= out.len < *budget ? out.len : *budget;
  if (out.failed) {
    kr_buf_clear(&out);
    return KEYROUTE_E_NO_MEMORY;
  }
  kr_free(set->mem, *text);
  *text = (char *)out.data;
  return 1;
}

/* Put the value of a name in the place of the variable at `at`. Returns 1 if there is one, 0 if
 * not, or NO_MEMORY. */
static int put_in_value(const struct kr_property_set *set, char **text, size_t at, size_t len,
                        const char *name, size_t *budget)
{
  char *own;
  int result = system_property(&own, set->mem, name);

  if (result == 0) {
    size_t index = find(set, name);
    const char *value = own != NULL ? own : index < set->count ? set->entries[index]->raw : NULL;

    result = value != NULL ? put_in(set, text, at, len, value, budget) : 0;
  }
  kr_free(set->mem, own);
  return result;
}

/* Replace the first variable of *text. Returns 1 if it did, 0 if nothing is left to do, or
 * NO_MEMORY. */
static int replace_one(const struct kr_property_set *set, char **text, size_t *budget)
{
  size_t at = 0;
  size_t len = 0;

  if (!find_variable(*text, &at, &len)) {
    return 0;
  }
  char *name = kr_copy(set->mem, kr_bytes(*text + at + 2, len - 3));
  if (name == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  int result = put_in_value(set, text, at, len, name, budget);

  kr_free(set->mem, name);
  return result;
}

/* Fill in the value of one entry. */
static int expand(struct kr_property_set *set, size_t index, size_t *budget)
{
  char *text = kr_copy(set->mem, keyroute_string(set->entries[index]->raw));
  int result = text != NULL ? 1 : KEYROUTE_E_NO_MEMORY;

  for (int i = 0; result == 1; i++) {
    if (i > MAX_REPLACEMENTS || strlen(text) > MAX_VALUE_LEN || *budget == 0) {
      set->too_deep[index] = true;
      break;
    }
    result = replace_one(set, &text, budget);
  }
  if (result < 0 || set->too_deep[index]) {
    kr_free(set->mem, text);
    return result < 0 ? result : 0;
  }
  set->values[index] = text;
  return 0;
}

static int expand_all(struct kr_property_set *set, struct keyroute_detail *detail)
{
  size_t budget = MAX_WORK;

  for (size_t i = 0; i < set->count; i++) {
    if (strstr(set->entries[i]->raw, "${") == NULL) {
      continue;
    }
    if (expand(set, i, &budget) != 0) {
      return kr_detail_fail(detail, KEYROUTE_E_NO_MEMORY, "out of memory");
    }
    if (budget == 0) {
      char name[128];

      kr_bytes_print(name, sizeof(name), keyroute_string(set->entries[i]->name));
      return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT,
                            "property %s: replacing ${...} up to here made over 64 MiB", name);
    }
  }
  return 0;
}

/* ---- The calls ------------------------------------------------------------------------------ */

static void free_added(struct kr_mem *mem, struct entry **added, size_t count)
{
  for (size_t i = 0; added != NULL && i < count; i++) {
    release_entry(mem, added[i]);
  }
  kr_free(mem, added);
}

/* Entries for what is to be added, sorted; NULL = out of memory. */
static struct entry **new_added(struct kr_mem *mem, enum kr_property_layer layer,
                                const char *source, const struct kr_property_entry *from,
                                size_t count)
{
  struct entry **added = kr_calloc(mem, (count + 1) * sizeof(struct entry *));

  for (size_t i = 0; added != NULL && i < count; i++) {
    added[i] = new_entry(mem, layer, source, &from[i], i);
    if (added[i] == NULL) {
      free_added(mem, added, count);
      return NULL;
    }
  }
  if (added != NULL && count > 1) {
    qsort(added, count, sizeof(struct entry *), compare_entries);
  }
  return added;
}

int kr_property_set_add(struct kr_property_set **out, const struct kr_property_set *old,
                        enum kr_property_layer layer, const char *source,
                        const struct kr_property_entry *added, size_t count,
                        struct keyroute_detail *detail)
{
  struct kr_mem *mem = old->mem;
  struct entry **entries = new_added(mem, layer, source, added, count);
  struct kr_property_set *set = entries != NULL ? new_set(mem, old->count + count) : NULL;
  int error;

  if (set == NULL) {
    error = kr_detail_fail(detail, KEYROUTE_E_NO_MEMORY, "out of memory");
  } else {
    merge(set, old, entries, count);
    error = expand_all(set, detail);
  }
  free_added(mem, entries, count);
  if (error != 0) {
    kr_property_set_free(set);
    return error;
  }
  *out = set;
  return 0;
}

bool kr_property_set_find(const struct kr_property_set *set, const char *name,
                          struct kr_property_value *out)
{
  size_t index = find(set, name);

  if (index == set->count) {
    return false;
  }
  const struct entry *entry = set->entries[index];
  const char *text = set->values[index] != NULL ? set->values[index] : entry->raw;
  *out = (struct kr_property_value){.text = set->too_deep[index] ? NULL : text,
                                    .source = entry->source,
                                    .line = entry->line,
                                    .layer = entry->layer};
  return true;
}

const char *kr_property_set_name(const struct kr_property_set *set, size_t index)
{
  return index < set->count ? set->entries[index]->name : NULL;
}
