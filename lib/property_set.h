#ifndef KR_PROPERTY_SET_H
#define KR_PROPERTY_SET_H

#include "lib/mem.h"

/* Properties from files, the environment and calls, as one set that never changes once made. */
struct kr_property_set;

/* Where a value came from, weakest first. */
enum kr_property_layer {
  KR_LAYER_FILE, /* a file, or the environment: a later one beats an earlier one */
  KR_LAYER_CALL  /* keyroute_options_set: beats every file */
};

/* One property to be added. Borrowed for the call. */
struct kr_property_entry {
  const char *name;
  const char *value;
  unsigned line; /* in its file, 0 = none */
  bool final;    /* later files do not change it */
};

/* What stands in a set. */
struct kr_property_value {
  const char *text;   /* with ${...} replaced; NULL if they nest too deeply */
  const char *source; /* the file, or "" */
  unsigned line;
  enum kr_property_layer layer;
};

int kr_property_set_new(struct kr_property_set **out, struct kr_mem *mem);
void kr_property_set_free(struct kr_property_set *set); /* NULL is accepted */

/* A new set: the old one, and what is added to it in the order given. The old one stays as it is.
 * source  names the file, "" for none.  Errors: INVALID_ARGUMENT more ${...} than any file needs,
 * NO_MEMORY. */
int kr_property_set_add(struct kr_property_set **out, const struct kr_property_set *old,
                        enum kr_property_layer layer, const char *source,
                        const struct kr_property_entry *added, size_t count,
                        struct keyroute_detail *detail);

/* False if the set has no such name. What *out points to lives as long as the set. */
bool kr_property_set_find(const struct kr_property_set *set, const char *name,
                          struct kr_property_value *out);

/* The names in a set, in their order, by index; NULL behind the last. */
const char *kr_property_set_name(const struct kr_property_set *set, size_t index);

#endif
