#include <inttypes.h>
#include <keyroute/keyroute.h>
#include <stdio.h>

int main(void)
{
  struct keyroute_connection *conn = NULL;
  struct keyroute_stats stats = {.size = sizeof(stats)};
  struct keyroute_location *where = NULL;

  if (keyroute_open(&conn, NULL, NULL) != 0) {
    return 1;
  }
  for (int i = 0; i < 2; i++) {
    if (keyroute_locate(&where, conn, "Table2",
                        keyroute_string("RK10000"), NULL, NULL) == 0) {
      keyroute_location_release(where);
    }
  }
  keyroute_stats(conn, &stats);
  printf("%" PRIu64 " hits, %" PRIu64 " misses, %" PRIu64 " requests\n",
         stats.hits, stats.misses, stats.rpcs);
  keyroute_close(conn);
  return 0;
}
