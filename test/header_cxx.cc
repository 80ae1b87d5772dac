// The public headers alone, as a C++11 program sees them.
#include "keyroute/keyroute.h"
#include "keyroute/range.h"

/* A function has that name, too. */
static struct keyroute_call call = KEYROUTE_CALL_INIT;
static keyroute_detail detail = KEYROUTE_DETAIL_INIT;
static keyroute_range_change change = KEYROUTE_RANGE_CHANGE_INIT;

int main()
{
  keyroute_location *location = nullptr;
  keyroute_connection *conn = nullptr;

  change.id = KEYROUTE_RANGE_ID_MAX;
  call.flags = KEYROUTE_CACHE_ONLY;
  if (keyroute_open(&conn, nullptr, &detail) != KEYROUTE_OK) {
    return 1;
  }
  int error = keyroute_locate(&location, conn, "t", keyroute_string("row"), &call, &detail);

  keyroute_detail_clear(&detail);
  keyroute_close(conn);
  return error == KEYROUTE_E_NOT_CACHED && keyroute_errname(error)[0] == 'N' ? 0 : 1;
}
