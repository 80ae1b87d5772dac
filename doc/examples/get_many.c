#include <keyroute/keyroute.h>
#include <stdio.h>

int main(void)
{
  struct keyroute_connection *conn = NULL;
  struct keyroute_result *result = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_key keys[] = {
      {"orders", keyroute_string("apple")},
      {"orders", keyroute_string("grape")},
      {"customers", keyroute_string("0017")},
  };
  size_t count = sizeof(keys) / sizeof(keys[0]), cells;
  int error = keyroute_open(&conn, NULL, &detail);

  if (error == 0) {
    error = keyroute_get_many(&result, conn, keys, count, NULL, NULL,
                              &detail);
  }
  if (error != 0) {
    fprintf(stderr, "%s: %s\n", keyroute_errname(error), detail.message);
  }
  for (size_t i = 0; error == 0 && i < count; i++) {
    if (keyroute_result_error(result, i) != 0) {
      fprintf(stderr, "%s, key %zu: %s\n", keys[i].table, i,
              keyroute_result_message(result, i));
    } else {
      keyroute_result_cells(result, i, &cells);
      printf("%s: %zu cells\n", keys[i].table, cells);
    }
  }
  keyroute_result_free(result);
  keyroute_detail_clear(&detail);
  keyroute_close(conn);
  return error != 0;
}
