#include <keyroute/keyroute.h>
#include <stdio.h>

/* A GetRequest without its field 1: field 2, a Get, whose field 1 is the
 * row "RK10000". A real client has its protobuf library write this. */
static const unsigned char get[] = {0x12, 9,   0x0a, 7,   'R', 'K',
                                    '1',  '0', '0',  '0', '0'};

int main(void)
{
  struct keyroute_connection *conn = NULL;
  struct keyroute_reply *reply = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_method method = KEYROUTE_METHOD_INIT;

  method.name = "Get";
  method.param.data = get;
  method.param.len = sizeof(get);
  method.idempotent = true; /* reading twice does no harm */
  int error = keyroute_open(&conn, NULL, &detail);

  if (error == 0) {
    error = keyroute_call(&reply, conn, "Table2",
                          keyroute_string("RK10000"), &method, NULL,
                          &detail);
  }
  if (error != 0) {
    fprintf(stderr, "%s: %s%s\n", keyroute_errname(error), detail.message,
            detail.maybe_applied ? " (and it may have been applied)" : "");
  } else {
    printf("a GetResponse of %zu bytes, cells of %zu\n",
           keyroute_reply_message(reply).len,
           keyroute_reply_cells(reply).len);
  }
  keyroute_reply_free(reply);
  keyroute_detail_clear(&detail);
  keyroute_close(conn);
  return error != 0;
}
