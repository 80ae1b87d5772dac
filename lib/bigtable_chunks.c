/*
 * From chunks to rows: what ReadRows sends, message by message, and what of it is believed.
 *
 * A chunk is a cell or a piece of one. It leaves out what is as in the cell before: the key within
 * a row, the family, the qualifier. A value that was cut announces its length (value_size) with
 * every piece but the last. The last chunk of a row commits it; until then a reset may take all of
 * it back.
 *
 *     row_key family qualifier timestamp value                a cell
 *                              timestamp value                one more of that column
 *                    qualifier timestamp value_size value     its first piece
 *                                                   value     its last piece
 *     reset_row                                               none of that was so
 *     row_key family qualifier timestamp value commit_row     a row
 *
 *  1. A message is read in place: nothing is made of a chunk but the cell that it is, so what is
 *     held goes by what is kept. That is bounded, cells and rows included: an empty chunk is two
 *     bytes on the wire.
 *  2. What a chunk announces allocates nothing. The length of a cut value is not held against its
 *     pieces: servers take it for a hint, and send others than they keep.
 *  3. A row begins with key, family and qualifier; another family comes with a qualifier. A key
 *     within a row is the row's. A piece of a value is nothing but that, a reset not even that. No
 *     row ends, and no answer, within a cell; no answer within a row.
 *  4. Rows come in the order in which they are read, each once; a row that was only looked at
 *     (last_scanned_row_key) counts as one that came.
 *  5. A row longer than allowed is read to its end and keeps no cells: who asked is told of it
 *     alone.
 *  6. The first error stays. What was met until then is not to be used.
 *
 * Threads: any, one at a time.
 * Source: google/bigtable/v2/bigtable.proto (ReadRowsResponse)
 */
#include "lib/bigtable_chunks.h"

#include "lib/bytes.h"
#include "lib/wire.h"

#include <string.h>

/* The tags that are known; a field written in another way is not the one that it claims to be. */
enum {
  RESPONSE_CHUNK = KR_WIRE_BYTES(1),
  RESPONSE_LAST_SCANNED = KR_WIRE_BYTES(2),
  WRAPPED_VALUE = KR_WIRE_BYTES(1),
  CHUNK_KEY = KR_WIRE_BYTES(1),
  CHUNK_FAMILY = KR_WIRE_BYTES(2),
  CHUNK_QUALIFIER = KR_WIRE_BYTES(3),
  CHUNK_TIMESTAMP = KR_WIRE_NUMBER(4),
  CHUNK_LABEL = KR_WIRE_BYTES(5),
  CHUNK_VALUE = KR_WIRE_BYTES(6),
  CHUNK_VALUE_SIZE = KR_WIRE_NUMBER(7),
  CHUNK_RESET = KR_WIRE_NUMBER(8),
  CHUNK_COMMIT = KR_WIRE_NUMBER(9),
};

/* One chunk: views into the message. */
struct chunk {
  struct keyroute_bytes key, family, qualifier, value;
  int64_t timestamp_micros;
  int32_t value_size;
  bool has_family, has_qualifier, has_labels;
  bool reset, commit;
};

/* ---- Reading a message ----------------------------------------------------------------------- */

/* The only field of a StringValue or a BytesValue, absent where it is empty. */
static struct keyroute_bytes read_wrapped(struct kr_reader *outer, struct keyroute_bytes message)
{
  struct kr_reader reader = kr_reader(message);
  struct keyroute_bytes bytes = {NULL, 0};

  while (kr_reader_left(&reader) > 0) {
    struct kr_wire_field field = kr_wire_read(&reader);

    bytes = field.tag == WRAPPED_VALUE ? field.bytes : bytes;
  }
  outer->bad = outer->bad || reader.bad;
  return bytes;
}

static void read_chunk_field(struct chunk *chunk, struct kr_reader *reader)
{
  struct kr_wire_field field = kr_wire_read(reader);

  switch (field.tag) {
  case CHUNK_KEY:
    chunk->key = field.bytes;
    break;
  case CHUNK_FAMILY:
    chunk->has_family = true;
    chunk->family = read_wrapped(reader, field.bytes);
    break;
  case CHUNK_QUALIFIER:
    chunk->has_qualifier = true;
    chunk->qualifier = read_wrapped(reader, field.bytes);
    break;
  case CHUNK_TIMESTAMP:
    chunk->timestamp_micros = (int64_t)field.number;
    break;
  case CHUNK_LABEL:
    chunk->has_labels = true;
    break;
  case CHUNK_VALUE:
    chunk->value = field.bytes;
    break;
  case CHUNK_VALUE_SIZE:
    chunk->value_size = (int32_t)field.number;
    break;
  case CHUNK_RESET:
    chunk->reset = field.number != 0;
    break;
  case CHUNK_COMMIT:
    chunk->commit = field.number != 0;
    break;
  default:
    break;
  }
}

static const char *read_chunk(struct chunk *chunk, struct keyroute_bytes message)
{
  struct kr_reader reader = kr_reader(message);

  memset(chunk, 0, sizeof(*chunk));
  while (kr_reader_left(&reader) > 0) {
    read_chunk_field(chunk, &reader);
  }
  return reader.bad ? "an unreadable chunk" : NULL;
}

/* ---- Keeping --------------------------------------------------------------------------------- */

static struct kr_bigtable_view keep(struct kr_bigtable_chunks *chunks, struct keyroute_bytes bytes)
{
  struct kr_bigtable_view view = {chunks->bytes.len, bytes.len};

  kr_buf_bytes(&chunks->bytes, bytes);
  return view;
}

static struct kr_bigtable_row *row_at(const struct kr_bigtable_chunks *chunks, size_t index)
{
  return (struct kr_bigtable_row *)(void *)chunks->rows.data + index;
}

/* The row under way. */
static struct kr_bigtable_row *this_row(const struct kr_bigtable_chunks *chunks)
{
  return row_at(chunks, kr_bigtable_chunks_count(chunks) - 1);
}

static bool has_failed(const struct kr_bigtable_chunks *chunks)
{
  return chunks->rows.failed || chunks->cells.failed || chunks->bytes.failed ||
         chunks->last_key.failed;
}

/* Forget what was kept of the row under way, but not that it is. */
static void drop_cells(struct kr_bigtable_chunks *chunks)
{
  chunks->cells.len = chunks->kept_cells;
  chunks->bytes.len = chunks->kept_len;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Is the key one that may come now? */
static bool is_next_key(const struct kr_bigtable_chunks *chunks, struct keyroute_bytes key)
{
  int order = chunks->any_key ? kr_bytes_compare(kr_buf_view(&chunks->last_key), key) : 0;

  return !chunks->any_key || (chunks->limits.reversed ? order > 0 : order < 0);
}

static void note_key(struct kr_bigtable_chunks *chunks, struct keyroute_bytes key)
{
  chunks->last_key.len = 0;
  kr_buf_bytes(&chunks->last_key, key);
  chunks->any_key = true;
}

static const char *begin_row(struct kr_bigtable_chunks *chunks, const struct chunk *chunk)
{
  if (chunk->key.len == 0) {
    return "a row without a key";
  }
  if (!is_next_key(chunks, chunk->key)) {
    return "rows that are not in order";
  }
  if (!chunk->has_family || !chunk->has_qualifier) {
    return "a row whose first cell has no column";
  }
  struct kr_bigtable_row *row = (void *)kr_buf_extend(&chunks->rows, sizeof(*row));

  if (row != NULL) {
    chunks->kept_len = chunks->bytes.len;
    chunks->kept_cells = chunks->cells.len;
    *row =
        (struct kr_bigtable_row){.key = keep(chunks, chunk->key),
                                 .first_cell = chunks->cells.len / sizeof(struct kr_bigtable_cell)};
    chunks->in_row = true;
  }
  return NULL;
}

/* The key is where the row's bytes begin, cells or not. */
static void end_row(struct kr_bigtable_chunks *chunks)
{
  note_key(chunks, kr_bigtable_chunks_bytes(chunks, this_row(chunks)->key));
  chunks->in_row = false;
}

static const char *reset_row(struct kr_bigtable_chunks *chunks, const struct chunk *chunk)
{
  if (!chunks->in_row) {
    return "a reset where no row is under way";
  }
  if (chunk->key.len > 0 || chunk->has_family || chunk->has_qualifier || chunk->value.len > 0 ||
      chunk->value_size != 0 || chunk->timestamp_micros != 0 || chunk->has_labels ||
      chunk->commit) {
    return "a reset that holds data";
  }
  drop_cells(chunks);
  chunks->rows.len -= sizeof(struct kr_bigtable_row);
  chunks->in_row = chunks->in_cell = false;
  return NULL;
}

/* ---- Cells ----------------------------------------------------------------------------------- */

static bool is_kept(const struct kr_bigtable_chunks *chunks, struct kr_bigtable_view view,
                    struct keyroute_bytes bytes)
{
  return kr_bytes_equal(kr_bigtable_chunks_bytes(chunks, view), bytes);
}

/* Is the chunk a cell that may come now? */
static const char *check_cell(const struct kr_bigtable_chunks *chunks, const struct chunk *chunk)
{
  if (chunk->key.len > 0 && !is_kept(chunks, this_row(chunks)->key, chunk->key)) {
    return "two rows in one";
  }
  if (chunk->has_family && !chunk->has_qualifier) {
    return "a family without a qualifier";
  }
  return chunk->has_family && chunk->family.len == 0 ? "a cell without a family" : NULL;
}

/* The row has become longer than allowed: keep its key. */
static void give_row_up(struct kr_bigtable_chunks *chunks, struct kr_bigtable_row *row)
{
  size_t key_len = row->key.len;

  drop_cells(chunks);
  chunks->bytes.len += key_len;
  row->too_large = true;
  row->cell_count = 0;
}

/* Count bytes for the row under way. */
static void add_len(struct kr_bigtable_chunks *chunks, uint64_t len)
{
  struct kr_bigtable_row *row = this_row(chunks);

  row->len += len;
  if (!row->too_large && row->len > chunks->limits.max_row_len) {
    give_row_up(chunks, row);
  }
}

/* The columns of a row given up are only counted. */
static void name_column(struct kr_bigtable_chunks *chunks, const struct chunk *chunk, bool is_first)
{
  struct kr_bigtable_cell *now = &chunks->now;
  bool counted = this_row(chunks)->too_large;

  if (counted) {
    now->family.len = chunk->has_family ? chunk->family.len : now->family.len;
    now->qualifier.len = chunk->has_qualifier ? chunk->qualifier.len : now->qualifier.len;
    return;
  }
  if (chunk->has_family && (is_first || !is_kept(chunks, now->family, chunk->family))) {
    now->family = keep(chunks, chunk->family);
  }
  if (chunk->has_qualifier) {
    now->qualifier = keep(chunks, chunk->qualifier);
  }
}

static const char *begin_cell(struct kr_bigtable_chunks *chunks, const struct chunk *chunk)
{
  bool is_first = !chunks->in_row;
  const char *trouble = is_first ? begin_row(chunks, chunk) : NULL;

  trouble = trouble == NULL && !has_failed(chunks) ? check_cell(chunks, chunk) : trouble;
  if (trouble != NULL || has_failed(chunks)) {
    return trouble;
  }
  name_column(chunks, chunk, is_first);
  chunks->now.timestamp_micros = chunk->timestamp_micros;
  chunks->now.value = (struct kr_bigtable_view){chunks->bytes.len, 0};
  add_len(chunks, this_row(chunks)->key.len + chunks->now.family.len + chunks->now.qualifier.len);
  return NULL;
}

static const char *check_piece(const struct chunk *chunk)
{
  bool more = chunk->key.len > 0 || chunk->has_family || chunk->has_qualifier ||
              chunk->timestamp_micros != 0 || chunk->has_labels;

  return more ? "a cell that begins within another" : NULL;
}

static void end_cell(struct kr_bigtable_chunks *chunks)
{
  struct kr_bigtable_row *row = this_row(chunks);

  if (!row->too_large) {
    kr_buf_bytes(&chunks->cells, kr_bytes(&chunks->now, sizeof(chunks->now)));
    row->cell_count++;
  }
}

/* Add what a chunk has of the cell's value, and end what it ends. */
static const char *take_value(struct kr_bigtable_chunks *chunks, const struct chunk *chunk)
{
  chunks->in_cell = chunk->value_size > 0;
  if (chunk->commit && chunks->in_cell) {
    return "a row that ends within a cell";
  }
  add_len(chunks, chunk->value.len);
  if (!this_row(chunks)->too_large) {
    chunks->now.value.len += keep(chunks, chunk->value).len;
  }
  if (!chunks->in_cell) {
    end_cell(chunks);
  }
  if (chunk->commit) {
    end_row(chunks);
  }
  return NULL;
}

/* ---- Messages -------------------------------------------------------------------------------- */

static const char *take_chunk(struct kr_bigtable_chunks *chunks, struct keyroute_bytes message)
{
  struct chunk chunk;
  const char *trouble = read_chunk(&chunk, message);

  if (trouble != NULL || chunk.reset) {
    return trouble != NULL ? trouble : reset_row(chunks, &chunk);
  }
  if (chunk.value_size < 0) {
    return "a value of negative length";
  }
  trouble = chunks->in_cell ? check_piece(&chunk) : begin_cell(chunks, &chunk);
  return trouble != NULL || has_failed(chunks) ? trouble : take_value(chunks, &chunk);
}

static const char *take_scanned(struct kr_bigtable_chunks *chunks, struct keyroute_bytes key)
{
  if (key.len == 0) {
    return NULL;
  }
  if (chunks->in_row) {
    return "a row passed over within another";
  }
  if (!is_next_key(chunks, key)) {
    return "rows that are not in order";
  }
  note_key(chunks, key);
  return NULL;
}

static const char *take_field(struct kr_bigtable_chunks *chunks, struct kr_reader *reader)
{
  struct kr_wire_field field = kr_wire_read(reader);

  if (reader->bad) {
    return "an unreadable message";
  }
  switch (field.tag) {
  case RESPONSE_CHUNK:
    return take_chunk(chunks, field.bytes);
  case RESPONSE_LAST_SCANNED:
    return take_scanned(chunks, field.bytes);
  default:
    return NULL;
  }
}

static int fail(struct kr_bigtable_chunks *chunks, int error, const char *trouble)
{
  chunks->error = error;
  chunks->trouble = trouble;
  return error;
}

int kr_bigtable_chunks_take(struct kr_bigtable_chunks *chunks, struct keyroute_bytes message)
{
  struct kr_reader reader = kr_reader(message);

  chunks->wire_len += message.len;
  while (chunks->error == 0 && kr_reader_left(&reader) > 0) {
    const char *trouble = take_field(chunks, &reader);

    if (trouble != NULL) {
      fail(chunks, KEYROUTE_E_PROTOCOL, trouble);
    } else if (has_failed(chunks)) {
      fail(chunks, KEYROUTE_E_NO_MEMORY, NULL);
    } else if (kr_bigtable_chunks_held(chunks) > chunks->limits.max_len) {
      fail(chunks, KEYROUTE_E_TOO_LARGE, NULL);
    }
  }
  return chunks->error;
}

int kr_bigtable_chunks_end(struct kr_bigtable_chunks *chunks)
{
  if (chunks->error == 0 && chunks->in_row) {
    return fail(chunks, KEYROUTE_E_PROTOCOL, "an answer that ends within a row");
  }
  return chunks->error;
}

/* ---- All of it ------------------------------------------------------------------------------- */

void kr_bigtable_chunks_init(struct kr_bigtable_chunks *chunks, struct kr_mem *mem,
                             const struct kr_bigtable_limits *limits)
{
  memset(chunks, 0, sizeof(*chunks));
  chunks->limits = *limits;
  kr_buf_init(&chunks->rows, mem);
  kr_buf_init(&chunks->cells, mem);
  kr_buf_init(&chunks->bytes, mem);
  kr_buf_init(&chunks->last_key, mem);
}

void kr_bigtable_chunks_clear(struct kr_bigtable_chunks *chunks)
{
  kr_buf_clear(&chunks->rows);
  kr_buf_clear(&chunks->cells);
  kr_buf_clear(&chunks->bytes);
  kr_buf_clear(&chunks->last_key);
}

size_t kr_bigtable_chunks_count(const struct kr_bigtable_chunks *chunks)
{
  return chunks->rows.len / sizeof(struct kr_bigtable_row);
}

const struct kr_bigtable_row *kr_bigtable_chunks_row(const struct kr_bigtable_chunks *chunks,
                                                     size_t index)
{
  return row_at(chunks, index);
}

const struct kr_bigtable_cell *kr_bigtable_chunks_cells(const struct kr_bigtable_chunks *chunks,
                                                        const struct kr_bigtable_row *row)
{
  const struct kr_bigtable_cell *cells = (const void *)chunks->cells.data;

  return row->cell_count > 0 ? cells + row->first_cell : NULL;
}

struct keyroute_bytes kr_bigtable_chunks_bytes(const struct kr_bigtable_chunks *chunks,
                                               struct kr_bigtable_view view)
{
  return kr_bytes(chunks->bytes.data + view.at, view.len);
}

size_t kr_bigtable_chunks_held(const struct kr_bigtable_chunks *chunks)
{
  return chunks->rows.len + chunks->cells.len + chunks->bytes.len;
}
