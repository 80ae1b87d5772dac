#ifndef KR_SPELLING_H
#define KR_SPELLING_H

#include "lib/bytes.h"

/* What stands behind the last comma of a region's name, "id.encoded." mostly, and the encoded name:
 * a view into the tail, or text of its own where that lacks it. */
struct kr_spelling {
  struct keyroute_bytes tail, encoded;
};

/* Is it the one that HBase makes? name is all of the region's, which ends with that tail. */
bool kr_spelling_is_usual(const struct kr_spelling *spelling, struct keyroute_bytes name,
                          int64_t id);

bool kr_spelling_shows_encoded(const struct kr_spelling *spelling);

/* Keep one as bytes, and have it back: views into them. */
size_t kr_spelling_kept_len(const struct kr_spelling *spelling);
void kr_spelling_keep(uint8_t **to, const struct kr_spelling *spelling);
struct kr_spelling kr_spelling_kept(const uint8_t *at);

#endif
