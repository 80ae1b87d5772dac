/*
 * A listing: which regions cover a span of keys, and where there is none or more than one.
 *
 * Rows come in the catalog's order, which is that of start keys; those of one start key by id. Each
 * row makes at most a hole, an overlap and an entry of its own:
 *
 *  1. A row that can be believed and is no split parent is a region, also when it is offline: what
 *     covers a key is one thing, whether it can be had another. (Rows of replicas, and those of
 *     regions that were merged away and deleted, are not in the catalog; a row that says so in its
 *     state only is taken for what its key says, as lookups do.)
 *  2. A region is held against the one that, of those before it, ends last. If it starts behind
 *     that end there is a hole; if below it, the two overlap. So each key that two or more regions
 *     cover lies in an overlap, each region that overlaps another is named in one, and there is at
 *     most one overlap a region. Two regions with one start key are no special case: both are
 *     shown, and all that the shorter one has is an overlap.
 *  3. Regions are shown whole, holes and overlaps cut to the span that was asked about.
 *  4. A row that cannot be believed covers nothing. It is shown where its key would have it start,
 *     unless that is below the span; holes of which it is in the midst come before it.
 *  5. The listing is cut, once `limit` entries are there, in front of a row that starts where no
 *     region shown reaches. What comes before does not depend on what comes behind and the other
 *     way round: listings of any limit, one after another, tell the same. A hole is cut only where
 *     rows that cannot be believed are in it. An overlap is never cut, but for one of more than
 *     OVER_MAX regions: its rest is listed without the region that began it.
 *
 * Pure, the catalog's layout is not known here. Source: HBase HBaseFsck, class TableInfo, for which
 * faults there are
 */
#include "lib/listing.h"

#include "lib/bytes.h"
#include "lib/check.h"

#include <string.h>

/* How many entries more than asked for an overlap may bring. */
enum { OVER_MAX = 10000 };

void kr_listing_init(struct kr_listing *listing, struct kr_mem *mem,
                     const struct kr_listing_question *question)
{
  *listing = (struct kr_listing){.mem = mem, .question = *question};
  kr_buf_init(&listing->next, mem);
}

void kr_listing_clear(struct kr_listing *listing)
{
  for (size_t i = 0; i < listing->count; i++) {
    keyroute_location_release(listing->spans[i].location);
    keyroute_location_release(listing->spans[i].other);
    kr_free(listing->mem, listing->spans[i].owned);
  }
  kr_free(listing->mem, listing->spans);
  kr_buf_clear(&listing->next);
  listing->spans = NULL;
  listing->count = listing->room = 0;
}

/* ---- Keys ---- */

/* The end of what has been shown without a gap; false = it has none. */
static bool find_open(const struct kr_listing *listing, struct keyroute_bytes *key)
{
  *key = listing->furthest != NULL ? keyroute_location_end_key(listing->furthest)
                                   : listing->question.start;
  return listing->furthest == NULL || key->len > 0;
}

static bool is_behind(const struct kr_listing *listing, struct keyroute_bytes key)
{
  struct keyroute_bytes end = listing->question.end;

  return end.len > 0 && kr_bytes_compare(key, end) >= 0;
}

bool kr_listing_is_open(const struct kr_listing *listing)
{
  struct keyroute_bytes open;

  return find_open(listing, &open) && !is_behind(listing, open);
}

/* Of two end keys the lower one. */
static struct keyroute_bytes lower_end(struct keyroute_bytes a, struct keyroute_bytes b)
{
  bool first = b.len == 0 || (a.len > 0 && kr_bytes_compare(a, b) <= 0);

  return first ? a : b;
}

/* ---- Spans ---- */

/* Room for a span at an index; what stands there and behind moves up. NULL = out of memory. */
static struct kr_span *insert(struct kr_listing *listing, size_t index,
                              enum keyroute_span_kind kind)
{
  if (listing->count == listing->room) {
    size_t room = listing->room > 0 ? 2 * listing->room : 16;
    struct kr_span *spans = kr_realloc(listing->mem, listing->spans, room * sizeof(*spans));

    if (spans == NULL) {
      return NULL;
    }
    listing->spans = spans;
    listing->room = room;
  }
  struct kr_span *span = &listing->spans[index];

  memmove(span + 1, span, (listing->count - index) * sizeof(*span));
  listing->count++;
  *span = (struct kr_span){.kind = kind, .message = ""};
  return span;
}

static struct kr_span *append(struct kr_listing *listing, enum keyroute_span_kind kind)
{
  return insert(listing, listing->count, kind);
}

/* The last span, if it is a row that starts where nothing has been shown to reach. */
static const struct kr_span *last_stray(const struct kr_listing *listing,
                                        struct keyroute_bytes open)
{
  if (listing->count == 0) {
    return NULL;
  }
  const struct kr_span *last = &listing->spans[listing->count - 1];
  bool is_stray = last->kind == KEYROUTE_SPAN_CORRUPT && kr_bytes_compare(last->start, open) >= 0;

  return is_stray ? last : NULL;
}

/* In front of the rows that are in its midst (invariant 4). */
static int add_hole(struct kr_listing *listing, struct keyroute_bytes start,
                    struct keyroute_bytes end)
{
  size_t index = listing->count;

  while (index > 0 && listing->spans[index - 1].kind == KEYROUTE_SPAN_CORRUPT &&
         kr_bytes_compare(listing->spans[index - 1].start, start) >= 0) {
    index--;
  }
  struct kr_span *span = insert(listing, index, KEYROUTE_SPAN_HOLE);

  if (span == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  span->start = start;
  span->end = end;
  span->message = "no region covers it";
  return 0;
}

/* The part that a region shares with the one that reaches furthest. */
static int add_overlap(struct kr_listing *listing, struct keyroute_location *location)
{
  struct kr_span *span = append(listing, KEYROUTE_SPAN_OVERLAP);
  struct keyroute_bytes start = keyroute_location_start_key(location);
  bool is_below = kr_bytes_compare(start, listing->question.start) < 0;

  if (span == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  span->location = keyroute_location_ref(listing->furthest);
  span->other = keyroute_location_ref(location);
  span->start = is_below ? listing->question.start : start;
  span->end = lower_end(keyroute_location_end_key(listing->furthest),
                        lower_end(keyroute_location_end_key(location), listing->question.end));
  span->message = location->region_id == listing->furthest->region_id
                      ? "two regions cover it and neither is newer"
                      : "two regions cover it, of which the newer one answers";
  return 0;
}

/* What a region lacks; "" = nothing. */
static const char *lack_of(const struct kr_listing *listing, const struct kr_catalog_row *row)
{
  struct kr_failure failure;

  if (row->offline) {
    return "the region is offline";
  }
  if (kr_check_replica(&failure, row->location, 0, listing->question.now_us)) {
    return "";
  }
  return keyroute_strerror(failure.code);
}

static int add_entry(struct kr_listing *listing, const struct kr_catalog_row *row)
{
  struct kr_span *span = append(listing, KEYROUTE_SPAN_REGION);

  if (span == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  listing->entries++;
  span->location = keyroute_location_ref(row->location);
  span->start = keyroute_location_start_key(row->location);
  span->end = keyroute_location_end_key(row->location);
  span->offline = row->offline;
  span->message = lack_of(listing, row);
  return 0;
}

/* ---- Cutting (invariant 5) ---- */

/* Cut in front of a row that starts at `start`, so that the next listing begins at `next`. */
static int cut(struct kr_listing *listing, struct keyroute_bytes next)
{
  kr_buf_bytes(&listing->next, next);
  if (listing->next.failed) {
    return KEYROUTE_E_NO_MEMORY;
  }
  listing->complete = true;
  listing->has_next = true;
  return 0;
}

/* Does a row start above all that has been shown? */
static bool is_above_all(const struct kr_listing *listing, struct keyroute_bytes start)
{
  return listing->count > 0 &&
         kr_bytes_compare(start, listing->spans[listing->count - 1].start) > 0 &&
         kr_bytes_compare(start, listing->question.start) > 0;
}

/* Complete the listing, if it is full and may be cut in front of a row that starts there. */
static int cut_if_full(struct kr_listing *listing, struct keyroute_bytes start)
{
  struct keyroute_bytes open;
  bool has_open = find_open(listing, &open);
  const struct kr_span *stray = has_open ? last_stray(listing, open) : NULL;

  if (listing->entries < listing->question.limit) {
    return 0;
  }
  if (has_open && kr_bytes_compare(start, open) >= 0) {
    if (stray == NULL) {
      return cut(listing, open);
    }
    if (kr_bytes_compare(start, stray->start) <= 0) {
      return 0;
    }
    int error = cut(listing, start);

    return error != 0 ? error : add_hole(listing, open, kr_buf_view(&listing->next));
  }
  if (listing->entries >= listing->question.limit + OVER_MAX && is_above_all(listing, start)) {
    return cut(listing, start);
  }
  return 0;
}

/* ---- Rows ---- */

/* What comes before the region: a hole, an overlap, or nothing. */
static int add_seam(struct kr_listing *listing, struct keyroute_location *location)
{
  struct keyroute_bytes start = keyroute_location_start_key(location);
  struct keyroute_bytes open;
  bool has_open = find_open(listing, &open);

  if (has_open && kr_bytes_compare(start, open) > 0) {
    return add_hole(listing, open, start);
  }
  if (listing->furthest != NULL && (!has_open || kr_bytes_compare(start, open) < 0)) {
    return add_overlap(listing, location);
  }
  return 0;
}

static void extend(struct kr_listing *listing, struct keyroute_location *location)
{
  struct keyroute_bytes end = keyroute_location_end_key(location);
  struct keyroute_bytes open;

  if (listing->furthest == NULL ||
      (find_open(listing, &open) && (end.len == 0 || kr_bytes_compare(end, open) > 0))) {
    listing->furthest = location;
  }
}

static int add_region(struct kr_listing *listing, const struct kr_catalog_row *row)
{
  struct keyroute_bytes end = keyroute_location_end_key(row->location);
  struct keyroute_bytes start = keyroute_location_start_key(row->location);
  int error;

  listing->anchored = listing->anchored || kr_bytes_compare(start, listing->question.start) < 0;
  if (end.len > 0 && kr_bytes_compare(end, listing->question.start) <= 0) {
    return 0;
  }
  if (is_behind(listing, start)) {
    return kr_listing_end(listing);
  }
  if ((error = cut_if_full(listing, start)) != 0 || listing->complete ||
      (error = add_seam(listing, row->location)) != 0) {
    return error;
  }
  error = add_entry(listing, row);
  if (error == 0) {
    extend(listing, row->location);
  }
  return error;
}

/* Where a row that cannot be believed is shown. One whose key does not tell: where the last one
 * was. */
static struct keyroute_bytes place_of(const struct kr_listing *listing,
                                      const struct kr_catalog_row *row)
{
  if (row->start_key.data != NULL || listing->count == 0) {
    return row->start_key.data != NULL ? row->start_key : listing->question.start;
  }
  struct keyroute_bytes last = listing->spans[listing->count - 1].start;

  return kr_bytes_compare(last, listing->question.start) > 0 ? last : listing->question.start;
}

/* The message and the key in one piece of memory. */
static int own(struct kr_span *span, struct kr_mem *mem, const struct kr_catalog_row *row,
               struct keyroute_bytes start)
{
  size_t text_len = strlen(row->failure.message) + 1;

  span->owned = kr_alloc(mem, text_len + start.len);
  if (span->owned == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  memcpy(span->owned, row->failure.message, text_len);
  memcpy(span->owned + text_len, start.len > 0 ? start.data : "", start.len);
  span->message = span->owned;
  span->start = span->end = kr_bytes(span->owned + text_len, start.len);
  return 0;
}

static int add_corrupt(struct kr_listing *listing, const struct kr_catalog_row *row)
{
  struct keyroute_bytes start = place_of(listing, row);
  int error;

  if (kr_bytes_compare(start, listing->question.start) < 0) {
    return 0;
  }
  if (is_behind(listing, start)) {
    return kr_listing_end(listing);
  }
  if ((error = cut_if_full(listing, start)) != 0 || listing->complete) {
    return error;
  }
  struct kr_span *span = append(listing, KEYROUTE_SPAN_CORRUPT);

  if (span == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  listing->entries++;
  return own(span, listing->mem, row, start);
}

int kr_listing_add(struct kr_listing *listing, const struct kr_catalog_row *row)
{
  if (listing->complete || (row->location != NULL && row->split)) {
    return 0;
  }
  return row->location != NULL ? add_region(listing, row) : add_corrupt(listing, row);
}

int kr_listing_end(struct kr_listing *listing)
{
  struct keyroute_bytes open;

  if (listing->complete) {
    return 0;
  }
  listing->complete = true;
  if (find_open(listing, &open) && !is_behind(listing, open)) {
    return add_hole(listing, open, listing->question.end);
  }
  return 0;
}
