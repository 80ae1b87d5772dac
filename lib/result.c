/*
 * What was read of rows: the object that applications get.
 *
 *  1. Cells are where the transport put them: in blocks of memory, one for each answer of a server,
 *     which the result keeps. Nothing is copied once more.
 *  2. A row takes 32 bytes. Rows that failed for one reason share its text.
 *  3. A row is set or failed once. When the result is given out it does not change any more, so any
 *     thread may read it; its memory is the connection's allocator's, which it counts.
 */
#include "lib/result.h"

#include "lib/bytes.h"

#include <string.h>

struct keyroute_result *kr_result_new(struct kr_mem *mem, size_t count)
{
  struct keyroute_result *result =
      count <= (SIZE_MAX - sizeof(*result)) / sizeof(result->rows[0])
          ? kr_calloc(mem, sizeof(*result) + count * sizeof(result->rows[0]))
          : NULL;

  if (result != NULL) {
    result->mem = kr_mem_ref(mem);
    result->count = count;
  }
  return result;
}

static void free_blocks(struct kr_mem *mem, struct kr_cell_block *blocks)
{
  while (blocks != NULL) {
    struct kr_cell_block *next = blocks->next;

    kr_free(mem, blocks);
    blocks = next;
  }
}

void keyroute_result_free(struct keyroute_result *result)
{
  if (result == NULL) {
    return;
  }
  struct kr_mem *mem = result->mem;

  for (size_t i = 0; i < result->count; i++) {
    keyroute_location_release(result->rows[i].location);
  }
  free_blocks(mem, result->blocks);
  free_blocks(mem, result->texts);
  kr_free(mem, result);
  kr_mem_release(mem);
}

/* ---- Filling -------------------------------------------------------------------------------- */

void kr_result_keep(struct keyroute_result *result, struct kr_cell_block *block)
{
  if (block != NULL) {
    block->next = result->blocks;
    result->blocks = block;
  }
}

void kr_result_set(struct keyroute_result *result, size_t index, const struct kr_got_row *row,
                   struct keyroute_location *location, int replica)
{
  result->rows[index] = (struct kr_result_row){
      .cells = row->cells,
      .cell_count = (uint32_t)row->cell_count,
      .replica = (uint8_t)replica,
      .stale = row->stale,
      .location = keyroute_location_ref(location),
  };
}

const char *kr_result_text(struct keyroute_result *result, const char *message)
{
  size_t size = strlen(message) + 1;
  struct kr_cell_block *block = kr_alloc(result->mem, sizeof(*block) + size);

  if (block == NULL) {
    return NULL;
  }
  block->next = result->texts;
  result->texts = block;
  return memcpy(block + 1, message, size);
}

void kr_result_fail(struct keyroute_result *result, size_t index, int error, const char *message)
{
  result->rows[index].error = (int16_t)error;
  result->rows[index].message = message != NULL ? message : keyroute_strerror(error);
  result->failed++;
}

/* ---- Reading -------------------------------------------------------------------------------- */

size_t keyroute_result_count(const struct keyroute_result *result)
{
  return result != NULL ? result->count : 0;
}

size_t keyroute_result_failed(const struct keyroute_result *result)
{
  return result != NULL ? result->failed : 0;
}

/* NULL = there is no such row. */
static const struct kr_result_row *row_at(const struct keyroute_result *result, size_t index)
{
  return result != NULL && index < result->count ? &result->rows[index] : NULL;
}

int keyroute_result_error(const struct keyroute_result *result, size_t index)
{
  const struct kr_result_row *row = row_at(result, index);

  return row != NULL ? row->error : KEYROUTE_E_INVALID_ARGUMENT;
}

const char *keyroute_result_message(const struct keyroute_result *result, size_t index)
{
  const struct kr_result_row *row = row_at(result, index);

  return row != NULL && row->message != NULL ? row->message : "";
}

const struct keyroute_cell *keyroute_result_cells(const struct keyroute_result *result,
                                                  size_t index, size_t *count)
{
  const struct kr_result_row *row = row_at(result, index);

  if (count != NULL) {
    *count = row != NULL ? row->cell_count : 0;
  }
  return row != NULL && row->cell_count > 0 ? row->cells : NULL;
}

const struct keyroute_cell *keyroute_result_find(const struct keyroute_result *result, size_t index,
                                                 struct keyroute_bytes family,
                                                 struct keyroute_bytes qualifier)
{
  size_t count;
  const struct keyroute_cell *cells = keyroute_result_cells(result, index, &count);

  for (size_t i = 0; i < count; i++) {
    if (kr_bytes_equal(cells[i].family, family) && kr_bytes_equal(cells[i].qualifier, qualifier)) {
      return &cells[i];
    }
  }
  return NULL;
}

const struct keyroute_location *keyroute_result_location(const struct keyroute_result *result,
                                                         size_t index)
{
  const struct kr_result_row *row = row_at(result, index);

  return row != NULL ? row->location : NULL;
}

int keyroute_result_replica(const struct keyroute_result *result, size_t index)
{
  const struct kr_result_row *row = row_at(result, index);

  return row != NULL ? row->replica : 0;
}

bool keyroute_result_stale(const struct keyroute_result *result, size_t index)
{
  const struct kr_result_row *row = row_at(result, index);

  return row != NULL && row->stale;
}
