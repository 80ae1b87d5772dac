/* What the registry keeps: the bytes of the znodes meta-region-server and root-region-server, with
 * HBase's header and without, the descriptor of meta1, and a root that somebody wrote down. */
#include "lib/znode.h"

#include "lib/bytes.h"
#include "lib/catalog.h"
#include "test/fuzz/fuzz.h"

#include <string.h>

static void unwrap(struct keyroute_bytes payload)
{
  struct keyroute_bytes view = kr_bytes("untouched", 9);
  int error = kr_znode_unwrap(&view, payload);

  fuzz_check_error(error, 0, KEYROUTE_E_CORRUPT);
  if (error == 0) {
    fuzz_check_inside(view, payload);
  } else {
    FUZZ_CHECK(view.len == 9);
  }
}

static void parse_place(struct kr_mem *mem, struct keyroute_bytes payload)
{
  struct kr_meta_region_server *place = NULL;
  const char *reason = NULL;
  int error = kr_meta_region_server_parse(&place, mem, payload, &reason);

  fuzz_check_error(error, 0, KEYROUTE_E_CORRUPT);
  FUZZ_CHECK((place != NULL) == (error == 0));
  FUZZ_CHECK((reason != NULL) == (error == KEYROUTE_E_CORRUPT));
  if (place != NULL) {
    fuzz_check_line(place->host.data);
    FUZZ_CHECK(strlen(place->host.data) == place->host.len);
    FUZZ_CHECK(place->port >= 1 && place->port <= 65535 && place->start_code >= 0);
    FUZZ_CHECK(kr_region_state_name(place->state) != NULL);
  }
  kr_free(mem, place);
}

/* The payload for the primary and, as the same bytes, for a second replica. */
static void parse_root(const struct kr_catalog *catalog, struct kr_mem *mem, bool text,
                       struct keyroute_bytes payload)
{
  struct kr_root_value values[] = {{0, text, payload}, {1, text, payload}, {-1, text, payload}};
  struct kr_root root = {.values = values, .count = 3, .place = "the place"};
  struct kr_failure failure = {.code = 0};
  struct kr_servers *servers = kr_servers_new(mem);

  if (servers == NULL) {
    FUZZ_CHECK(fuzz_mem_failed());
    return;
  }
  struct keyroute_location *location = catalog->parse_root(&failure, mem, servers, &root);

  if (location != NULL) {
    FUZZ_CHECK(keyroute_location_host(location, 0) != NULL);
    fuzz_check_location(location);
  } else {
    fuzz_check_error(failure.code, KEYROUTE_E_BOOTSTRAP, KEYROUTE_E_BOOTSTRAP);
    fuzz_check_failure(&failure);
  }
  keyroute_location_release(location);
  kr_servers_free(servers);
}

int FUZZ_ENTRY(znode)(const uint8_t *data, size_t len)
{
  struct fuzz_input input = fuzz_input(data, len);
  struct kr_mem *mem = fuzz_mem_new(&input);
  struct keyroute_bytes payload = fuzz_rest(&input);

  unwrap(payload);
  parse_place(mem, payload);
  parse_root(&kr_catalog_meta, mem, false, payload);
  parse_root(&kr_catalog_meta, mem, true, payload);
  parse_root(&kr_catalog_root, mem, false, payload);
  parse_root(&kr_catalog_root, mem, true, payload);
  parse_root(&kr_catalog_range, mem, false, payload);
  parse_root(&kr_catalog_range, mem, true, payload);
  fuzz_mem_done(mem);
  return 0;
}
