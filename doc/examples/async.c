#include <keyroute/keyroute.h>
#include <stdio.h>

/* Runs on the connection's own thread. The location is borrowed: keep it with
 * keyroute_location_ref if it is needed after this returns. */
static void answer(void *payload, int error, struct keyroute_location *where,
                   const struct keyroute_detail *detail)
{
  const char *row = payload;

  if (error != 0) {
    fprintf(stderr, "%s: %s: %s\n", row, keyroute_errname(error), detail->message);
    return;
  }
  printf("%s is on %s:%d (%u tries)\n", row, keyroute_location_host(where, 0),
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
    int error = keyroute_locate_async(NULL, conn, "Table2", keyroute_string(rows[i]), &call,
                                      answer, rows[i]);

    if (error != 0) {
      fprintf(stderr, "%s: %s\n", rows[i], keyroute_strerror(error));
    }
  }
  getchar(); /* the application's own work; what is not answered by then ends with CLOSED */
  keyroute_close(conn);
  return 0;
}
