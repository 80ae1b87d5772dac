#ifndef PAGE_TEXT_H
#define PAGE_TEXT_H

/* Pages as text, for tests: "a-m hole m-p p-" are two regions and what is between them; "k-m=1&2"
 * an overlap of the regions with these ids, "bad c" a row that cannot be believed, "> p" where the
 * next page begins. */

#include "keyroute/keyroute.h"

#include <stdio.h>
#include <string.h>

static inline void page_text_key(char *out, size_t size, struct keyroute_bytes key)
{
  size_t len = strlen(out);

  keyroute_escape(out + len, size - len, key);
}

static inline void page_text_put(char *out, size_t size, const char *text)
{
  size_t len = strlen(out);

  snprintf(out + len, size - len, "%s", text);
}

static inline void page_text_span(char *out, size_t size, const struct keyroute_span *span)
{
  static const char *const words[] = {[KEYROUTE_SPAN_HOLE] = "hole ",
                                      [KEYROUTE_SPAN_CORRUPT] = "bad ",
                                      [KEYROUTE_SPAN_REGION] = "",
                                      [KEYROUTE_SPAN_OVERLAP] = ""};
  char ids[64];

  page_text_put(out, size, out[0] != '\0' ? " " : "");
  page_text_put(out, size, words[span->kind]);
  page_text_key(out, size, span->start);
  if (span->kind != KEYROUTE_SPAN_CORRUPT) {
    page_text_put(out, size, "-");
    page_text_key(out, size, span->end);
  }
  if (span->kind == KEYROUTE_SPAN_OVERLAP) {
    snprintf(ids, sizeof(ids), "=%lld&%lld", (long long)keyroute_location_region_id(span->location),
             (long long)keyroute_location_region_id(span->other));
    page_text_put(out, size, ids);
  }
}

/* What stands in out already stays. */
static inline void page_text_spans(char *out, size_t size, const struct keyroute_page *page)
{
  struct keyroute_span span = {.size = sizeof(span)};

  for (size_t i = 0; keyroute_page_span(page, i, &span) == 0; i++) {
    page_text_span(out, size, &span);
  }
}

static inline void page_text(char *out, size_t size, const struct keyroute_page *page)
{
  struct keyroute_bytes next;

  out[0] = '\0';
  page_text_spans(out, size, page);
  if (keyroute_page_next(page, &next)) {
    page_text_put(out, size, " > ");
    page_text_key(out, size, next);
  }
}

#endif
