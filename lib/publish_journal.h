#ifndef KR_PUBLISH_JOURNAL_H
#define KR_PUBLISH_JOURNAL_H

#include "lib/cell.h"
#include "lib/publish_plan.h"

/* What is written down, in a row of meta1, while a change is being made. */

/* The row's key, below all that readers look at, and the column that is always there. */
#define KR_JOURNAL_FAMILY "r"
#define KR_JOURNAL_QUALIFIER "level"
struct keyroute_bytes kr_journal_key(void);

/* A journal that was read. */
struct kr_journal {
  struct kr_change change; /* points into kept */
  struct kr_descriptor *kept[2 * KR_CHANGE_RANGES];
};

/* The cells of a change's journal: views into bytes, which is cleared with kr_buf_clear. */
struct kr_journal_cells {
  struct kr_buf bytes;
  struct kr_cell cells[1 + 2 * KR_CHANGE_RANGES];
  size_t count;
};

/* Look at out->bytes.failed afterwards. */
void kr_journal_write(struct kr_journal_cells *out, struct kr_mem *mem,
                      const struct kr_change *change);

/* Read a journal's row. out  kr_journal_free. Errors: CORRUPT (failure says what), NO_MEMORY. */
int kr_journal_read(struct kr_journal **out, struct kr_mem *mem, const struct kr_row *row,
                    struct kr_failure *failure);
void kr_journal_free(struct kr_mem *mem, struct kr_journal *journal); /* NULL is accepted */

/* Do two changes say the same? */
bool kr_journal_same(const struct kr_change *a, const struct kr_change *b);

#endif
