#ifndef KR_SITE_XML_H
#define KR_SITE_XML_H

#include "lib/mem.h"

/* The largest file read. */
#define KR_SITE_XML_MAX ((size_t)16 * 1024 * 1024)

/* One <property> as written: its value neither trimmed nor substituted. */
struct kr_site_property {
  char *name;
  char *value;
  unsigned line; /* of <property> */
  bool final;
};

/* What one hbase-site.xml says, in the order of the file. */
struct kr_site {
  struct kr_mem *mem; /* counted */
  struct kr_site_property *properties;
  size_t count;
  size_t room;
};

/* Read a file. out  give back with kr_site_free. detail  NULL, or told file, line and reason.
 * Errors: INVALID_ARGUMENT, NO_MEMORY.  Blocks: reads the file. */
int kr_site_xml_read(struct kr_site **out, struct kr_mem *mem, const char *path,
                     struct keyroute_detail *detail);
void kr_site_free(struct kr_site *site); /* NULL is accepted */

#endif
