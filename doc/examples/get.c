#include <keyroute/keyroute.h>
#include <stdio.h>

int main(void)
{
  struct keyroute_connection *conn = NULL;
  struct keyroute_result *result = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_column column = {keyroute_string("info"), {NULL, 0}};
  struct keyroute_read read = KEYROUTE_READ_INIT;
  size_t count;

  read.columns = &column; /* all of family info */
  read.column_count = 1;
  int error = keyroute_open(&conn, NULL, &detail);

  if (error == 0) {
    error = keyroute_get(&result, conn, "Table2",
                         keyroute_string("RK10000"), &read, NULL, &detail);
  }
  if (error != 0) {
    fprintf(stderr, "%s: %s\n", keyroute_errname(error), detail.message);
  } else {
    const struct keyroute_cell *cells =
        keyroute_result_cells(result, 0, &count);

    for (size_t i = 0; i < count; i++) {
      printf("%.*s: %zu bytes\n", (int)cells[i].qualifier.len,
             (const char *)cells[i].qualifier.data, cells[i].value.len);
    }
  }
  keyroute_result_free(result);
  keyroute_detail_clear(&detail);
  keyroute_close(conn);
  return error != 0;
}
