#include <keyroute/keyroute.h>
#include <stdio.h>

int main(void)
{
  struct keyroute_options *options = NULL;
  struct keyroute_connection *conn = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  int error = keyroute_options_new(&options, NULL);

  if (error == 0) {
    error = keyroute_options_read_environment(options, &detail);
  }
  if (error == 0) {
    error = keyroute_options_set(options, "hbase.zookeeper.quorum",
                                 "zk1,zk2,zk3", &detail);
  }
  if (error == 0) {
    error = keyroute_options_set(options, "keyroute.deadline.ms", "2000",
                                 &detail);
  }
  if (error == 0) {
    error = keyroute_open(&conn, options, &detail);
  }
  if (error != 0) {
    fprintf(stderr, "%s: %s\n", keyroute_errname(error), detail.message);
  }
  keyroute_options_free(options);
  keyroute_detail_clear(&detail);
  keyroute_close(conn);
  return error != 0;
}
