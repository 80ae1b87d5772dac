#include <keyroute/keyroute.h>
#include <stdio.h>

/* One request of the application's own client. */
static void send(const struct keyroute_server_group *server,
                 const struct keyroute_region_group *region)
{
  printf("%s:%d: %zu rows of one region\n", server->host, server->port,
         region->row_count);
}

int main(void)
{
  struct keyroute_connection *conn = NULL;
  struct keyroute_groups *groups = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_key keys[] = {
      {"orders", keyroute_string("apple")},
      {"orders", keyroute_string("grape")},
  };
  int error = keyroute_open(&conn, NULL, &detail);

  if (error == 0) {
    error = keyroute_group(&groups, conn, keys, 2, NULL, &detail);
  }
  if (error != 0 || keyroute_groups_failed(groups) > 0) {
    fprintf(stderr, "%s\n", detail.message);
  }
  for (size_t i = 0; i < keyroute_groups_server_count(groups); i++) {
    struct keyroute_server_group server = {.size = sizeof(server)};
    struct keyroute_region_group region = {.size = sizeof(region)};

    keyroute_groups_server(groups, i, &server);
    for (size_t j = 0; j < server.region_count; j++) {
      keyroute_groups_region(groups, server.first_region + j, &region);
      send(&server, &region);
    }
  }
  keyroute_groups_free(groups);
  keyroute_detail_clear(&detail);
  keyroute_close(conn);
  return error != 0;
}
