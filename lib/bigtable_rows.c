/*
 * Rows of ReadRows, as scans and gets want them.
 *
 * A scan's rows are views: they live as long as the callback that gets them. What an application
 * reads outlives the answer, so all of it is copied, for all regions of a request into one piece of
 * memory:
 *
 *     kr_cell_block | keyroute_cell of all rows | bytes
 *
 *  1. A region's rows come in order, whatever the order in which they were asked for: these are
 *     sorted, and both are walked once. A row asked for twice is copied once.
 *  2. A row that was not asked for condemns the whole answer, for it shows that answers are mixed
 *     up. One that was asked for and did not come is good: there is no such row.
 *  3. A region's failure is that of its rows alone; a row of more bytes than allowed fails alone.
 *  4. A row's key is copied once for all its cells, and a family that follows its like not again.
 *  5. Timestamps are whole milliseconds here: what is below is cut off.
 *  6. Nobody says of a row whether it is stale: it is taken for that where a replica was good
 *     enough.
 *
 * Threads: any.
 */
#include "lib/bigtable_rows.h"

#include "lib/bytes.h"

#include <inttypes.h>
#include <stdlib.h>

/* HBase's type of a cell that was put. */
enum { PUT = 4 };

struct kr_bigtable_failed {
  struct kr_failure failure;
  struct kr_bigtable_failed *next;
};

/* Where the copies go. */
struct room {
  struct kr_cell_block block;
  struct keyroute_cell cells[];
};

/* A row that came, and one that was asked for. */
struct pair {
  const struct kr_bigtable_chunks *chunks;
  const struct kr_bigtable_row *row; /* NULL = it did not come */
  struct keyroute_bytes key;
  size_t index; /* in kr_gets.rows */
};

/* What the copies take. */
struct total {
  size_t cells;
  size_t len;
};

struct writer {
  struct keyroute_cell *cell;
  uint8_t *at;
};

static int64_t whole_ms(int64_t micros)
{
  return micros / 1000 - (micros % 1000 < 0);
}

/* ---- Scans ----------------------------------------------------------------------------------- */

static void view_cells(struct kr_cell *out, const struct kr_bigtable_chunks *chunks,
                       const struct kr_bigtable_row *row)
{
  const struct kr_bigtable_cell *cells = kr_bigtable_chunks_cells(chunks, row);

  for (size_t i = 0; i < row->cell_count; i++) {
    out[i] = (struct kr_cell){
        .row = kr_bigtable_chunks_bytes(chunks, row->key),
        .family = kr_bigtable_chunks_bytes(chunks, cells[i].family),
        .qualifier = kr_bigtable_chunks_bytes(chunks, cells[i].qualifier),
        .value = kr_bigtable_chunks_bytes(chunks, cells[i].value),
        .timestamp = whole_ms(cells[i].timestamp_micros),
        .type = PUT,
    };
  }
}

int kr_bigtable_rows_make(struct kr_rows *out, void **memory, struct kr_mem *mem,
                          const struct kr_bigtable_chunks *chunks, uint32_t limit)
{
  size_t count = kr_bigtable_chunks_count(chunks);
  size_t cell_count = 0;

  count = count < limit ? count : limit;
  for (size_t i = 0; i < count; i++) {
    cell_count += kr_bigtable_chunks_row(chunks, i)->cell_count;
  }
  struct kr_row *rows = kr_alloc(mem, count * sizeof(*rows) + cell_count * sizeof(struct kr_cell));

  if (rows == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  struct kr_cell *cells = (struct kr_cell *)(rows + count);

  for (size_t i = 0; i < count; i++) {
    const struct kr_bigtable_row *row = kr_bigtable_chunks_row(chunks, i);

    rows[i] = (struct kr_row){kr_bigtable_chunks_bytes(chunks, row->key), cells, row->cell_count};
    view_cells(cells, chunks, row);
    cells += row->cell_count;
  }
  *out = (struct kr_rows){.rows = rows, .count = count};
  *memory = rows;
  return 0;
}

/* ---- Which row is which ---------------------------------------------------------------------- */

static int compare_pairs(const void *left, const void *right)
{
  const struct pair *a = left, *b = right;

  return kr_bytes_compare(a->key, b->key);
}

/* Find what came of the rows of one region, which are put in order. False = a row came that was
 * not asked for. */
static bool match_region(struct pair *pairs, const struct kr_gets *gets,
                         const struct kr_get_region *region,
                         const struct kr_bigtable_chunks *chunks)
{
  size_t at = 0;

  for (size_t i = 0; i < region->count; i++) {
    pairs[i] = (struct pair){
        .chunks = chunks, .key = gets->rows[region->first + i], .index = region->first + i};
  }
  qsort(pairs, region->count, sizeof(pairs[0]), compare_pairs);
  for (size_t i = 0; i < kr_bigtable_chunks_count(chunks); i++) {
    const struct kr_bigtable_row *row = kr_bigtable_chunks_row(chunks, i);
    struct keyroute_bytes key = kr_bigtable_chunks_bytes(chunks, row->key);

    while (at < region->count && kr_bytes_compare(pairs[at].key, key) < 0) {
      at++;
    }
    if (at == region->count || !kr_bytes_equal(pairs[at].key, key)) {
      return false;
    }
    for (; at < region->count && kr_bytes_equal(pairs[at].key, key); at++) {
      pairs[at].row = row;
    }
  }
  return true;
}

/* A pair for each row that was asked for; a region that failed has empty ones. False as before. */
static bool match_all(struct pair *pairs, const struct kr_gets *gets,
                      const struct kr_bigtable_answer *answers)
{
  bool good = true;

  for (size_t i = 0; good && i < gets->region_count; i++) {
    const struct kr_get_region *region = &gets->regions[i];

    if (answers[i].failure == NULL) {
      good = match_region(&pairs[region->first], gets, region, answers[i].chunks);
    }
  }
  return good;
}

/* ---- Copying --------------------------------------------------------------------------------- */

/* Is it the same row as the one before, asked for once more? */
static bool is_again(const struct pair *pairs, size_t index)
{
  return index > 0 && pairs[index].row == pairs[index - 1].row;
}

/* Will the cell's family be copied, or does the one before it have it already? */
static bool is_new_family(const struct kr_bigtable_cell *cells, size_t index)
{
  return index == 0 || cells[index].family.at != cells[index - 1].family.at;
}

static void measure_row(struct total *total, const struct pair *pair)
{
  const struct kr_bigtable_cell *cells = kr_bigtable_chunks_cells(pair->chunks, pair->row);

  total->cells += pair->row->cell_count;
  total->len += pair->row->key.len;
  for (size_t i = 0; i < pair->row->cell_count; i++) {
    total->len += cells[i].qualifier.len + cells[i].value.len;
    total->len += is_new_family(cells, i) ? cells[i].family.len : 0;
  }
}

static void copy_row(struct writer *to, const struct pair *pair)
{
  const struct kr_bigtable_chunks *chunks = pair->chunks;
  const struct kr_bigtable_cell *cells = kr_bigtable_chunks_cells(chunks, pair->row);
  struct keyroute_bytes key = kr_bytes_put(&to->at, pair->key), family = {NULL, 0};

  for (size_t i = 0; i < pair->row->cell_count; i++) {
    if (is_new_family(cells, i)) {
      family = kr_bytes_put(&to->at, kr_bigtable_chunks_bytes(chunks, cells[i].family));
    }
    *to->cell++ = (struct keyroute_cell){
        .row = key,
        .family = family,
        .qualifier = kr_bytes_put(&to->at, kr_bigtable_chunks_bytes(chunks, cells[i].qualifier)),
        .value = kr_bytes_put(&to->at, kr_bigtable_chunks_bytes(chunks, cells[i].value)),
        .tags = {NULL, 0},
        .timestamp = whole_ms(cells[i].timestamp_micros),
        .type = PUT,
    };
  }
}

static bool has_cells(const struct pair *pair)
{
  return pair->row != NULL && pair->row->cell_count > 0;
}

/* Errors: NO_MEMORY. */
static int copy_all(struct kr_bigtable_got *got, const struct pair *pairs)
{
  struct total total = {0, 0};

  for (size_t i = 0; i < got->got.row_count; i++) {
    if (has_cells(&pairs[i]) && !is_again(pairs, i)) {
      measure_row(&total, &pairs[i]);
    }
  }
  if (total.cells == 0) {
    return 0;
  }
  struct room *room =
      kr_alloc(got->mem, sizeof(*room) + total.cells * sizeof(struct keyroute_cell) + total.len);

  if (room == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  struct writer to = {room->cells, (uint8_t *)(room->cells + total.cells)};

  room->block.next = NULL;
  got->got.block = &room->block;
  for (size_t i = 0; i < got->got.row_count; i++) {
    if (has_cells(&pairs[i])) {
      struct kr_got_row *row = &got->rows[pairs[i].index];

      row->cells = is_again(pairs, i) ? got->rows[pairs[i - 1].index].cells : to.cell;
      row->cell_count = pairs[i].row->cell_count;
      if (!is_again(pairs, i)) {
        copy_row(&to, &pairs[i]);
      }
    }
  }
  return 0;
}

/* ---- Failures -------------------------------------------------------------------------------- */

/* NULL = out of memory. */
static const struct kr_failure *too_large(struct kr_bigtable_got *got,
                                          const struct kr_bigtable_row *row, size_t max_len,
                                          const char *server)
{
  struct kr_bigtable_failed *failed = kr_alloc(got->mem, sizeof(*failed));

  if (failed == NULL) {
    return NULL;
  }
  failed->next = got->failed;
  got->failed = failed;
  kr_fail(&failed->failure, KEYROUTE_E_TOO_LARGE,
          "a row of %" PRIu64 " bytes, over the limit of %zu for one row", row->len, max_len);
  kr_fail_name_server(&failed->failure, server);
  failed->failure.sent = true;
  return &failed->failure;
}

/* Say of each row what is true of it without its cells. Errors: NO_MEMORY. */
static int judge_rows(struct kr_bigtable_got *got, const struct pair *pairs,
                      const struct kr_gets *gets, const char *server)
{
  for (size_t i = 0; i < gets->row_count; i++) {
    if (pairs[i].chunks != NULL) {
      struct kr_got_row *row = &got->rows[pairs[i].index];

      row->stale = gets->timeline;
      if (pairs[i].row != NULL && pairs[i].row->too_large) {
        row->failure = too_large(got, pairs[i].row, gets->read->max_result_len, server);
        if (row->failure == NULL) {
          return KEYROUTE_E_NO_MEMORY;
        }
      }
    }
  }
  return 0;
}

static void fail_regions(struct kr_bigtable_got *got, const struct kr_gets *gets,
                         const struct kr_bigtable_answer *answers)
{
  for (size_t i = 0; i < gets->region_count; i++) {
    const struct kr_get_region *region = &gets->regions[i];

    got->got.len += answers[i].failure == NULL ? answers[i].chunks->wire_len : 0;
    for (size_t k = 0; k < region->count; k++) {
      got->rows[region->first + k].failure = answers[i].failure;
    }
  }
}

/* ---- Gets ------------------------------------------------------------------------------------ */

/* pairs has room for each row. Errors: PROTOCOL, NO_MEMORY. */
static int fill_got(struct kr_bigtable_got *got, struct pair *pairs, const struct kr_gets *gets,
                    const struct kr_bigtable_answer *answers, const char *server)
{
  fail_regions(got, gets, answers);
  if (!match_all(pairs, gets, answers)) {
    return KEYROUTE_E_PROTOCOL;
  }
  if (judge_rows(got, pairs, gets, server) != 0) {
    return KEYROUTE_E_NO_MEMORY;
  }
  return copy_all(got, pairs);
}

int kr_bigtable_got_make(struct kr_bigtable_got *out, struct kr_mem *mem,
                         const struct kr_gets *gets, const struct kr_bigtable_answer *answers,
                         const char *server)
{
  struct kr_bigtable_got got = {.mem = mem};
  struct pair *pairs = kr_calloc(mem, gets->row_count * sizeof(*pairs));
  int error = KEYROUTE_E_NO_MEMORY;

  got.rows = kr_calloc(mem, gets->row_count * sizeof(*got.rows));
  got.got.rows = got.rows;
  got.got.row_count = gets->row_count;
  if (pairs != NULL && got.rows != NULL) {
    error = fill_got(&got, pairs, gets, answers, server);
  }
  kr_free(mem, pairs);
  if (error == 0) {
    *out = got;
  } else {
    kr_bigtable_got_clear(&got);
  }
  return error;
}

void kr_bigtable_got_clear(struct kr_bigtable_got *got)
{
  while (got->failed != NULL) {
    struct kr_bigtable_failed *failed = got->failed;

    got->failed = failed->next;
    kr_free(got->mem, failed);
  }
  kr_free(got->mem, got->rows);
  got->rows = NULL;
}
