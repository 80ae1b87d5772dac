/*
 * A page: what a listing came to, for the application to keep.
 *
 * One allocation: the spans, then the keys and messages that are no location's. It counts its
 * locations and the allocator, and so may outlive its connection. Immutable: any thread may look at
 * it.
 *
 * Regions are nearly all that a page has, and their bounds are their locations' own. So of the rest
 * everything is copied, without a look at whose it is.
 */
#include "lib/page.h"

#include "lib/bytes.h"

#include <string.h>

struct keyroute_page {
  struct kr_mem *mem; /* counted */
  bool has_next;
  struct keyroute_bytes next;
  size_t count;
  struct kr_span spans[];
};

/* Room that a span's own texts take. */
static size_t text_size(const struct kr_span *span)
{
  size_t size = span->owned != NULL ? strlen(span->message) + 1 : 0;

  return span->kind == KEYROUTE_SPAN_REGION ? size : size + span->start.len + span->end.len;
}

static size_t page_size(const struct kr_listing *listing)
{
  size_t size = sizeof(struct keyroute_page) + listing->count * sizeof(struct kr_span);

  for (size_t i = 0; i < listing->count; i++) {
    size += text_size(&listing->spans[i]);
  }
  return listing->has_next ? size + listing->next.len : size;
}

static struct kr_span copy_span(const struct kr_span *from, uint8_t **at)
{
  struct kr_span span = *from;

  if (from->location != NULL) {
    keyroute_location_ref(from->location);
  }
  if (from->other != NULL) {
    keyroute_location_ref(from->other);
  }
  if (from->kind != KEYROUTE_SPAN_REGION) {
    span.start = kr_bytes_put(at, from->start);
    span.end = kr_bytes_put(at, from->end);
  }
  if (from->owned != NULL) {
    span.message = kr_bytes_put(at, kr_bytes(from->message, strlen(from->message) + 1)).data;
    span.owned = NULL;
  }
  return span;
}

struct keyroute_page *kr_page_new(struct kr_mem *mem, const struct kr_listing *listing)
{
  struct keyroute_page *page = kr_alloc(mem, page_size(listing));

  if (page == NULL) {
    return NULL;
  }
  uint8_t *at = (uint8_t *)(page->spans + listing->count);

  *page = (struct keyroute_page){
      .mem = kr_mem_ref(mem), .has_next = listing->has_next, .count = listing->count};
  for (size_t i = 0; i < listing->count; i++) {
    page->spans[i] = copy_span(&listing->spans[i], &at);
  }
  if (listing->has_next) {
    page->next = kr_bytes_put(&at, kr_buf_view(&listing->next));
  }
  return page;
}

void keyroute_page_free(struct keyroute_page *page)
{
  if (page == NULL) {
    return;
  }
  struct kr_mem *mem = page->mem;

  for (size_t i = 0; i < page->count; i++) {
    keyroute_location_release(page->spans[i].location);
    keyroute_location_release(page->spans[i].other);
  }
  kr_free(mem, page);
  kr_mem_release(mem);
}

size_t keyroute_page_count(const struct keyroute_page *page)
{
  return page != NULL ? page->count : 0;
}

int keyroute_page_span(const struct keyroute_page *page, size_t index, struct keyroute_span *span)
{
  if (page == NULL || span == NULL || span->size == 0 || index >= page->count) {
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  const struct kr_span *from = &page->spans[index];
  struct keyroute_span whole = {
      .size = span->size,
      .kind = from->kind,
      .start = from->start,
      .end = from->end,
      .location = from->location,
      .other = from->other,
      .offline = from->offline,
      .message = from->message,
  };

  memcpy(span, &whole, span->size < sizeof(whole) ? span->size : sizeof(whole));
  return 0;
}

bool keyroute_page_next(const struct keyroute_page *page, struct keyroute_bytes *start)
{
  if (page == NULL || !page->has_next) {
    return false;
  }
  if (start != NULL) {
    *start = page->next;
  }
  return true;
}
