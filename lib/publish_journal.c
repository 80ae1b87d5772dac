/*
 * How is a change written down that is being made?
 *
 * A row of meta1, "\x00change": readers look at keys from \x01 on, so none meets it. Its cells, of
 * family r, are
 *
 *     level        meta1, meta2 or map: whose ranges
 *     old0, old1   the descriptors of the ranges that give way, in the order of keys
 *     new0, new1   those of the ranges that take their keys
 *
 * and are written by one request, so that there is all of it or nothing. There is one such row, for
 * one change is made at a time. Whoever finds it knows which tables may be left over, and what it
 * takes to carry the change out.
 *
 * Threads: any.
 */
#include "lib/publish_journal.h"

#include "lib/bytes.h"

#include <string.h>

struct keyroute_bytes kr_journal_key(void)
{
  static const char key[] = "\0change";

  return kr_bytes(key, sizeof(key) - 1);
}

static const char *const old_names[KR_CHANGE_RANGES] = {"old0", "old1"};
static const char *const new_names[KR_CHANGE_RANGES] = {"new0", "new1"};

/* ---- Writing ---- */

static void add_cell(struct kr_journal_cells *out, const char *name, size_t from)
{
  struct kr_cell *cell = &out->cells[out->count++];

  *cell = (struct kr_cell){.family = keyroute_string(KR_JOURNAL_FAMILY),
                           .qualifier = keyroute_string(name),
                           .value = kr_bytes(NULL, out->bytes.len - from)};
}

/* The buffer has grown for the last time: where does each value stand? */
static void place_values(struct kr_journal_cells *out)
{
  const uint8_t *at = out->bytes.data;

  for (size_t i = 0; i < out->count; i++) {
    out->cells[i].row = kr_journal_key();
    out->cells[i].value.data = at;
    at += out->cells[i].value.len;
  }
}

void kr_journal_write(struct kr_journal_cells *out, struct kr_mem *mem,
                      const struct kr_change *change)
{
  memset(out, 0, sizeof(*out));
  kr_buf_init(&out->bytes, mem);
  kr_buf_text(&out->bytes, kr_level_name(change->level));
  add_cell(out, KR_JOURNAL_QUALIFIER, 0);
  for (size_t i = 0; i < change->old_count; i++) {
    size_t from = out->bytes.len;

    kr_descriptor_write(&out->bytes, &change->olds[i]);
    add_cell(out, old_names[i], from);
  }
  for (size_t i = 0; i < change->new_count; i++) {
    size_t from = out->bytes.len;

    kr_descriptor_write(&out->bytes, &change->news[i]);
    add_cell(out, new_names[i], from);
  }
  if (!out->bytes.failed) {
    place_values(out);
  }
}

/* ---- Reading ---- */

static int corrupt(struct kr_failure *failure, const char *reason)
{
  return kr_fail(
      failure, KEYROUTE_E_CORRUPT,
      "row \\x00change of meta1, the journal of an interrupted change, cannot be believed: %s",
      reason);
}

static bool read_level(enum kr_level *out, const struct kr_row *row)
{
  const struct kr_cell *cell = kr_row_find(row, KR_JOURNAL_FAMILY, KR_JOURNAL_QUALIFIER);

  for (int level = KR_META1; cell != NULL && level <= KR_MAP; level++) {
    if (kr_bytes_is(cell->value, kr_level_name((enum kr_level)level))) {
      *out = (enum kr_level)level;
      return true;
    }
  }
  return false;
}

/* Read the descriptors of these names; *count of them are there. */
static int read_ranges(struct kr_descriptor *ranges, size_t *count, struct kr_descriptor **kept,
                       const char *const *names, struct kr_mem *mem, const struct kr_row *row,
                       struct kr_failure *failure)
{
  for (size_t i = 0; i < KR_CHANGE_RANGES; i++) {
    const struct kr_cell *cell = kr_row_find(row, KR_JOURNAL_FAMILY, names[i]);
    const char *reason = "";

    if (cell == NULL) {
      break;
    }
    int error = kr_descriptor_read(&kept[i], mem, cell->value, &reason);

    if (error == KEYROUTE_E_NO_MEMORY) {
      return kr_fail(failure, error, "out of memory");
    }
    if (error != 0) {
      return corrupt(failure, reason);
    }
    ranges[(*count)++] = *kept[i];
  }
  return *count > 0 ? 0 : corrupt(failure, "it names no ranges");
}

static int read_change(struct kr_journal *journal, struct kr_mem *mem, const struct kr_row *row,
                       struct kr_failure *failure)
{
  struct kr_change *change = &journal->change;

  if (!read_level(&change->level, row)) {
    return corrupt(failure, "it names no level");
  }
  int error =
      read_ranges(change->olds, &change->old_count, journal->kept, old_names, mem, row, failure);

  if (error == 0) {
    error = read_ranges(change->news, &change->new_count, journal->kept + KR_CHANGE_RANGES,
                        new_names, mem, row, failure);
  }
  if (error == 0 && change->old_count + change->new_count > 1 + KR_CHANGE_RANGES) {
    error = corrupt(failure, "it names too many ranges");
  }
  return error;
}

int kr_journal_read(struct kr_journal **out, struct kr_mem *mem, const struct kr_row *row,
                    struct kr_failure *failure)
{
  struct kr_journal *journal = kr_calloc(mem, sizeof(*journal));

  if (journal == NULL) {
    return kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  }
  int error = read_change(journal, mem, row, failure);

  if (error != 0) {
    kr_journal_free(mem, journal);
    return error;
  }
  *out = journal;
  return 0;
}

void kr_journal_free(struct kr_mem *mem, struct kr_journal *journal)
{
  for (size_t i = 0; journal != NULL && i < 2 * KR_CHANGE_RANGES; i++) {
    kr_free(mem, journal->kept[i]);
  }
  kr_free(mem, journal);
}

/* ---- Comparing ---- */

static bool same_ranges(const struct kr_descriptor *a, const struct kr_descriptor *b, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    if (!kr_same_range(&a[i], &b[i])) {
      return false;
    }
  }
  return true;
}

bool kr_journal_same(const struct kr_change *a, const struct kr_change *b)
{
  return a->level == b->level && a->old_count == b->old_count && a->new_count == b->new_count &&
         same_ranges(a->olds, b->olds, a->old_count) && same_ranges(a->news, b->news, a->new_count);
}
