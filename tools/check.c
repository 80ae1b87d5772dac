/*
 * Is the command line wrong about the table or a row? All rows that are arguments or stand in a
 * regular file are looked at before the first is asked about; a bad line of a pipe comes too late.
 */
#include "tools/check.h"

#include "tools/cli.h"
#include "tools/connect.h"
#include "tools/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int check_row(struct keyroute_connection *conn, const char *table, struct keyroute_bytes row)
{
  struct keyroute_call call = KEYROUTE_CALL_INIT;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_location *location = NULL;

  call.flags = KEYROUTE_CACHE_ONLY;
  int error = keyroute_locate(&location, conn, table, row, &call, &detail);
  int status = error == KEYROUTE_E_INVALID_ARGUMENT ? connect_fail(error, &detail) : -1;
  keyroute_location_release(location);
  keyroute_detail_clear(&detail);
  return status;
}

/* Say which row cannot be read. An argument is shown as it was written where that is printable: its
 * backslashes are what is wrong with it. */
static int fail_row(const struct rows *rows, const struct row *row)
{
  char *text = text_bytes(row_bytes(row), false);
  bool printable = true;

  for (size_t i = 0; i < row->len; i++) {
    printable = printable && row->data[i] >= ' ' && row->data[i] <= '~';
  }
  if (row->line > 0) {
    cli_complain("%s:%zu: INVALID_ARGUMENT: %s", rows_name(rows), row->line, row->reason);
  } else {
    const char *shown = printable ? row->data : text;

    cli_complain("row %.80s: INVALID_ARGUMENT: %s", shown[0] != '\0' ? shown : "\"\"", row->reason);
  }
  free(text);
  return CLI_USAGE;
}

int check_rows(struct keyroute_connection *conn, const char *table, struct rows *rows)
{
  struct row row;
  int status = -1;
  int more = 1;

  if (!rows_can_rewind(rows)) {
    return -1;
  }
  while (status == -1 && (more = rows_next(rows, &row)) > 0) {
    if (row.reason != NULL) {
      status = fail_row(rows, &row);
    } else if (row.line == 0) {
      status = check_row(conn, table, row_bytes(&row));
    }
    free(row.data);
  }
  if (more < 0) {
    cli_complain("%s: %s", rows_name(rows), strerror(errno));
    return CLI_USAGE;
  }
  rows_rewind(rows);
  return status;
}
