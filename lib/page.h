#ifndef KR_PAGE_H
#define KR_PAGE_H

#include "lib/listing.h"

/* Make a page of a complete listing; locations are counted anew, all else is copied. Released with
 * keyroute_page_free. NULL = out of memory. */
struct keyroute_page *kr_page_new(struct kr_mem *mem, const struct kr_listing *listing);

#endif
