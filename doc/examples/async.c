#include <keyroute/keyroute.h>
#include <stdio.h>

/* Runs on the connection's own thread. The location, NULL on error, is
 * borrowed: keep it with keyroute_location_ref if it is needed later. */
static void answer(void *payload, int error,
                   struct keyroute_location *where,
                   const struct keyroute_detail *detail)
{
  const char *row = payload;

  if (error != 0) {
    fprintf(stderr, "%s: %s: %s\n", row, keyroute_errname(error),
            detail->message);
    return;
  }
  printf("%s is on %s:%d (%u tries)\n", row,
         keyroute_location_host(where, 0),
         keyroute_location_port(where, 0), detail->attempts);
}

int main(void)
{
  static char *rows[] = {"RK10000", "RK20000", "RK30000"};
  struct keyroute_call call = KEYROUTE_CALL_INIT;
  struct keyroute_connection *conn = NULL;

  if (keyroute_open(&conn, NULL, NULL) != 0) {
    return 1;
  }
  call.deadline_ms = 2000;
  for (size_t i = 0; i < 3; i++) {
    struct keyroute_bytes row = keyroute_string(rows[i]);
    int error = keyroute_locate_async(NULL, conn, "Table2", row, &call,
                                      answer, rows[i]);

    if (error != 0) {
      fprintf(stderr, "%s: %s\n", rows[i], keyroute_strerror(error));
    }
  }

  /* The application's own work. What is not answered by then ends with
   * KEYROUTE_E_CLOSED. */
  getchar();
  keyroute_close(conn);
  return 0;
}
