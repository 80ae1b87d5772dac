#ifndef KR_PUBLISH_NOTE_H
#define KR_PUBLISH_NOTE_H

#include "lib/cell.h"
#include "lib/publish_plan.h"

/* What is written down, in a row of meta1, while a change is being made. */

/* The row's key, below all that readers look at, and the column that is always there. */
#define KR_NOTE_FAMILY "r"
#define KR_NOTE_QUALIFIER "level"
struct keyroute_bytes kr_note_key(void);

/* A note that was read. */
struct kr_note {
  struct kr_change change; /* points into kept */
  struct kr_descriptor *kept[2 * KR_CHANGE_RANGES];
};

/* The cells of a change's note: views into bytes, which is cleared with kr_buf_clear. */
struct kr_note_cells {
  struct kr_buf bytes;
  struct kr_cell cells[1 + 2 * KR_CHANGE_RANGES];
  size_t count;
};

/* Look at out->bytes.failed afterwards. */
void kr_note_write(struct kr_note_cells *out, struct kr_mem *mem, const struct kr_change *change);

/* Read a note's row. out  kr_note_free. Errors: CORRUPT (failure says what), NO_MEMORY. */
int kr_note_read(struct kr_note **out, struct kr_mem *mem, const struct kr_row *row,
                 struct kr_failure *failure);
void kr_note_free(struct kr_mem *mem, struct kr_note *note); /* NULL is accepted */

/* Do two changes say the same? */
bool kr_note_same(const struct kr_change *a, const struct kr_change *b);

#endif
