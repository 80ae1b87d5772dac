/*
 * What every public call that changes or shows a range directory begins and ends with: the
 * arguments that all have, the deadline, the connection entered and left, the detail.
 *
 * Threads: the caller's, never the loop.
 */
#include "lib/range_call.h"

#include "lib/clock.h"

#include <string.h>

int kr_range_call_check_table(enum kr_level *out, const char *table, struct kr_failure *failure)
{
  for (int level = KR_META1; table != NULL && level <= KR_MAP; level++) {
    if (strcmp(table, kr_level_name((enum kr_level)level)) == 0) {
      *out = (enum kr_level)level;
      return 0;
    }
  }
  return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT,
                 "a range directory has the tables map, meta2 and meta1");
}

int kr_range_call_check_key(struct keyroute_bytes key, struct kr_failure *failure)
{
  if (key.len > 0 && key.data == NULL) {
    return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT, "the key has a length and no data");
  }
  if (key.len > KR_DESCRIPTOR_KEY_MAX) {
    return kr_fail(failure, KEYROUTE_E_INVALID_ARGUMENT, "the key has %zu bytes, not at most %d",
                   key.len, KR_DESCRIPTOR_KEY_MAX);
  }
  return 0;
}

int kr_range_call_begin(struct kr_range_call *range_call, struct keyroute_connection *conn,
                        const struct keyroute_call *call, struct keyroute_detail *detail)
{
  int error = kr_call_may_wait(conn, conn, detail);

  memset(range_call, 0, sizeof(*range_call));
  range_call->conn = conn;
  if (error == 0) {
    error = kr_call_terms(&range_call->terms, conn, call, 0, detail);
  }
  if (error == 0 && strcmp(conn->settings->layout, "range") != 0) {
    error = kr_fail_invalid(detail, "the connection is not of layout range");
  }
  if (error == 0 && !kr_connection_enter(conn)) {
    error = kr_fail_closed(conn, detail);
  }
  range_call->terms.began_us = kr_clock_us();
  return error;
}

int kr_range_call_reach(struct kr_range_call *range_call, bool changes)
{
  return kr_publish_conn_open(&range_call->publish, range_call->conn,
                              range_call->terms.began_us + range_call->terms.deadline_ms * 1000,
                              changes, &range_call->failure);
}

int kr_range_call_end(struct kr_range_call *range_call, int error, struct keyroute_ranges **out,
                      struct keyroute_ranges *ranges, struct keyroute_detail *detail)
{
  struct keyroute_detail whole = KEYROUTE_DETAIL_INIT;

  if (range_call->publish.conn != NULL) {
    kr_publish_conn_close(&range_call->publish);
  }
  whole.error = error;
  whole.elapsed_us = kr_clock_us() - range_call->terms.began_us;
  if (error != 0) {
    memcpy(whole.server, range_call->failure.server, sizeof(whole.server));
    memcpy(whole.message, range_call->failure.message, sizeof(whole.message));
  }
  kr_detail_take(detail, &whole);
  if (error == 0 && out != NULL) {
    *out = ranges;
  } else {
    keyroute_ranges_free(ranges);
  }
  kr_connection_leave(range_call->conn);
  return error;
}
