/*
 * How the scripted region server answers a Get that says closest_row_before: as HBase before 2.0
 * does for hbase:meta, if it has been told to look down in no other way; else as 2.0 does.
 *
 * Source: HBase 0.98 HRegionServer.get, GetClosestRowBeforeTracker; 2.0 RSRpcServices.get
 */
#include "test/fake_server_state.h"

#include "test/must.h"

#include <string.h>

void fake_server_set_downward(struct fake_server *server, enum fake_downward downward)
{
  pthread_mutex_lock(&server->lock);
  server->downward = downward;
  pthread_mutex_unlock(&server->lock);
}

/* The table of a key, with its comma. */
static struct keyroute_bytes table_of(ProtobufCBinaryData key)
{
  const uint8_t *comma = key.len > 0 ? memchr(key.data, ',', key.len) : NULL;

  return (struct keyroute_bytes){key.data, comma != NULL ? (size_t)(comma + 1 - key.data) : 0};
}

/* Only rows of the key's own table are looked at. */
static bool is_candidate(const struct fake_row *row, ProtobufCBinaryData key)
{
  struct keyroute_bytes table = table_of(key);

  return table.len > 0 && row->key_len >= table.len && memcmp(row->key, table.data, table.len) == 0;
}

static void find_closest(struct fake_result *out, struct fake_server *server,
                         const Kr__Pb__Get *get, char *family, size_t size)
{
  struct fake_scan scan = {.start = {get->row.data, get->row.len},
                           .include_start = true,
                           .reversed = true,
                           .family = family,
                           .limit = 1};
  const struct fake_row *row;
  bool more;

  memset(out, 0, sizeof(*out));
  fake_note_bytes(family, size, get->column[0]->family);
  if (fake_catalog_scan(server->catalog, &scan, &row, &more) == 0 || !is_candidate(row, get->row)) {
    return;
  }
  out->cells = must(calloc(row->cell_count, sizeof(*out->cells)));
  for (size_t i = 0; i < row->cell_count; i++) {
    if (strcmp(row->cells[i].family, family) == 0) {
      out->cells[out->count++] = fake_catalog_cell(row, &row->cells[i]);
    }
  }
  server->counts.rows++;
}

static bool refuses(struct fake_exception *wrong, const struct fake_server *server,
                    const Kr__Pb__Get *get)
{
  if (server->downward == FAKE_SCANS_DOWN) {
    *wrong = fake_exception_of("org.apache.hadoop.hbase.exceptions.UnknownProtocolException",
                               "getClosestRowBefore was removed in hbase-2.0.0");
  } else if (get->n_column != 1) {
    *wrong = fake_exception_of("org.apache.hadoop.hbase.DoNotRetryIOException",
                               "get ClosestRowBefore supports one and only one family now");
  } else {
    return false;
  }
  wrong->do_not_retry = true;
  return true;
}

bool fake_get_is_closest(const Kr__Pb__GetRequest *request)
{
  return request->region != NULL && request->get != NULL && request->get->closest_row_before &&
         fake_is_catalog(request->region);
}

bool fake_read_closest(struct fake_result *out, struct fake_server *server, const Kr__Pb__Get *get,
                       struct fake_exception *wrong)
{
  char family[64];

  if (refuses(wrong, server, get)) {
    return false;
  }
  find_closest(out, server, get, family, sizeof(family));
  return true;
}
