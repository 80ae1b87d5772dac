/* The public headers alone, as a strict C11 program sees them. */
#include "keyroute/keyroute.h"
#include "keyroute/range.h"

static struct keyroute_call call = KEYROUTE_CALL_INIT;
static struct keyroute_fault_detail fault = KEYROUTE_FAULT_DETAIL_INIT;
static struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
static struct keyroute_range_change change = KEYROUTE_RANGE_CHANGE_INIT;

int main(void)
{
  struct keyroute_bytes row = keyroute_string("row");
  struct keyroute_location *location = NULL;
  struct keyroute_connection *conn = NULL;
  char text[8];

  change.id = KEYROUTE_RANGE_ID_MAX;
  call.replica = KEYROUTE_REPLICA_ANY;
  call.flags = KEYROUTE_CACHE_ONLY;
  if (keyroute_open(&conn, NULL, &detail) != 0) {
    return 1;
  }
  int error = keyroute_locate(&location, conn, "t", row, &call, &detail);

  keyroute_report(conn, location, KEYROUTE_FAULT_MOVED, &fault);
  keyroute_detail_clear(&detail);
  keyroute_close(conn);
  return error == KEYROUTE_E_NOT_CACHED && keyroute_escape(text, sizeof(text), row) == 3 ? 0 : 1;
}
