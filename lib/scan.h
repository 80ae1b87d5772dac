#ifndef KR_SCAN_H
#define KR_SCAN_H

#include "lib/cell.h"

/* A small scan of one region of a catalog table, answered in one go. */
struct kr_scan {
  struct keyroute_bytes region; /* region name, e.g. "hbase:meta,,1" */
  struct keyroute_bytes start_row;
  struct keyroute_bytes stop_row; /* empty = the table's end in that direction */
  bool include_start;
  bool include_stop;
  bool reversed;
  uint32_t limit;     /* rows, at least 1 */
  size_t max_len;     /* bytes after which the server is to stop, as it counts; 0 = as it likes */
  const char *family; /* all of its columns */
};

/* What came back: views that live as long as the callback that gets them. */
struct kr_rows {
  const struct kr_row *rows; /* in scan order */
  size_t count;
  bool more; /* fewer rows than asked for, though the region has more: ask again behind them */
  unsigned further; /* requests that it took beyond the first one, also where it failed */
};

#endif
