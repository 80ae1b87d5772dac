#include <keyroute/keyroute.h>
#include <stdio.h>

int main(void)
{
  struct keyroute_connection *conn = NULL;
  struct keyroute_location *where = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

  int error = keyroute_open(&conn, NULL, &detail);
  if (error == 0) {
    error = keyroute_locate(&where, conn, "Table2",
                            keyroute_string("RK10000"), NULL, &detail);
  }
  if (error == 0) {
    printf("%s:%d\n", keyroute_location_host(where, 0),
           keyroute_location_port(where, 0));
  } else {
    fprintf(stderr, "%s: %s\n", keyroute_errname(error), detail.message);
  }
  keyroute_location_release(where);
  keyroute_detail_clear(&detail);
  keyroute_close(conn);
  return error != 0;
}
