#include <keyroute/keyroute.h>
#include <stdio.h>

/* The port that serves a row, from the cache or else by asking. */
static int find_port(struct keyroute_table *table,
                     struct keyroute_bytes row)
{
  struct keyroute_location *asked = NULL;
  int port = 0;

  keyroute_peek_begin();
  const struct keyroute_location *cached = keyroute_peek(table, row);
  if (cached != NULL) {
    port = keyroute_location_port(cached, 0);
  }
  keyroute_peek_end();
  if (port == 0 &&
      keyroute_table_locate(&asked, table, row, NULL, NULL) == 0) {
    port = keyroute_location_port(asked, 0);
    keyroute_location_release(asked);
  }
  return port;
}

int main(void)
{
  struct keyroute_connection *conn = NULL;
  struct keyroute_table *table = NULL;
  int port = 0;

  if (keyroute_open(&conn, NULL, NULL) == 0 &&
      keyroute_table_get(&table, conn, "Table2") == 0) {
    port = find_port(table, keyroute_string("RK10000"));
    printf("%d\n", port);
  }
  keyroute_table_release(table);
  keyroute_close(conn);
  return port == 0;
}
