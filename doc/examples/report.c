#include <keyroute/keyroute.h>
#include <stdio.h>

/* The application's own request to a server: 0, or the exception that
 * came back. */
static int send_request(const char *host, int port,
                        const char **class_name, const char **text)
{
  (void)host;
  (void)port;
  *class_name = "org.apache.hadoop.hbase.NotServingRegionException";
  *text = "Table2,,1.c5f9987a58264d61b8312c955f8a2914. is not online";
  return -1;
}

int main(void)
{
  struct keyroute_connection *conn = NULL;
  int error = keyroute_open(&conn, NULL, NULL);

  for (int tries = 0; tries < 3 && error == 0; tries++) {
    struct keyroute_location *where = NULL;
    enum keyroute_fault fault;
    const char *class_name, *text;

    error = keyroute_locate(&where, conn, "Table2",
                            keyroute_string("RK10000"), NULL, NULL);
    if (error != 0) {
      break;
    }
    if (send_request(keyroute_location_host(where, 0),
                     keyroute_location_port(where, 0), &class_name,
                     &text) == 0) {
      keyroute_location_release(where);
      break;
    }
    /* The next locate does not get this location any more. */
    if (keyroute_report_exception(&fault, conn, where, class_name, text,
                                  0) == 0) {
      fprintf(stderr, "%s\n", keyroute_fault_name(fault));
    }
    keyroute_location_release(where);
  }
  keyroute_close(conn);
  return error != 0;
}
