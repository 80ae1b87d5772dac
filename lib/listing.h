#ifndef KR_LISTING_H
#define KR_LISTING_H

#include "lib/buf.h"
#include "lib/catalog.h"

/* What the rows of a catalog, in their order, say about a span of keys. One thread at a time. */

/* One part of the key space; as struct keyroute_span. Keys are views into locations, into what the
 * listing was asked, or into what it owns. */
struct kr_span {
  enum keyroute_span_kind kind;
  bool offline;
  struct keyroute_bytes start, end;
  struct keyroute_location *location, *other; /* counted */
  const char *message;
  char *owned; /* NULL = none: message and start of a row that cannot be believed */
};

/* What is asked; the keys are the asker's. */
struct kr_listing_question {
  struct keyroute_bytes start, end;
  size_t limit;   /* REGION and CORRUPT spans, at least 1 */
  int64_t now_us; /* servers that are refused at that time are known dead */
};

struct kr_listing {
  struct kr_mem *mem;
  struct kr_listing_question question;
  struct kr_span *spans;
  size_t count, room;
  size_t entries; /* of them, those that the limit counts */
  bool anchored;  /* a region that starts below the span was met: none that covers it was missed */
  bool complete;  /* no more rows are wanted */
  bool has_next;  /* there may be more behind it: */
  struct kr_buf next;

  /* Its own. */
  struct keyroute_location *furthest; /* of those shown, the one that ends last; NULL = none is */
};

void kr_listing_init(struct kr_listing *listing, struct kr_mem *mem,
                     const struct kr_listing_question *question);
void kr_listing_clear(struct kr_listing *listing);

/* The next row. Those below the span may come too, and should: from the last region that starts
 * below it. Once complete, rows are ignored. Errors: NO_MEMORY. */
int kr_listing_add(struct kr_listing *listing, const struct kr_catalog_row *row);

/* There are no more rows. Errors: NO_MEMORY. */
int kr_listing_end(struct kr_listing *listing);

/* Is there a hole, were there no more rows? */
bool kr_listing_is_open(const struct kr_listing *listing);

#endif
