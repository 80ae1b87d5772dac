#include <keyroute/keyroute.h>
#include <stdio.h>

/* A MutateRequest without its field 1: field 2, a MutationProto that adds 1 to
 * info:visits of row "RK10000". A real client has its protobuf library write
 * this. */
static const unsigned char increment[] = {
    0x12, 39, /* mutation: */
    0x0a, 7, 'R', 'K', '1', '0', '0', '0', '0', /* row */
    0x10, 1, /* mutate_type: INCREMENT */
    0x1a, 26, /* column_value: */
    0x0a, 4, 'i', 'n', 'f', 'o', /* family */
    0x12, 18, /* qualifier_value: */
    0x0a, 6, 'v', 'i', 's', 'i', 't', 's', /* qualifier */
    0x12, 8, 0, 0, 0, 0, 0, 0, 0, 1, /* value */
};

int main(void)
{
  struct keyroute_connection *conn = NULL;
  struct keyroute_reply *reply = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_method method = KEYROUTE_METHOD_INIT;

  method.name = "Mutate";
  method.param.data = increment;
  method.param.len = sizeof(increment);
  method.idempotent = false; /* applied twice it counts twice */
  int error = keyroute_open(&conn, NULL, &detail);

  if (error == 0) {
    error = keyroute_call(&reply, conn, "Table2",
                          keyroute_string("RK10000"), &method, NULL,
                          &detail);
  }
  if (error == 0) {
    printf("a MutateResponse of %zu bytes, cells of %zu\n",
           keyroute_reply_message(reply).len,
           keyroute_reply_cells(reply).len);
  } else {
    fprintf(stderr, "%s: %s\n%s\n", keyroute_errname(error), detail.message,
            detail.maybe_applied ? "perhaps counted: look before trying again"
                                 : "not counted");
  }
  keyroute_reply_free(reply);
  keyroute_detail_clear(&detail);
  keyroute_close(conn);
  return error != 0;
}
