/* A row of hbase:meta, .META. or a range directory's index: its key, its regioninfo or descriptor
 * and its columns, whatever they say. The input: which table is asked for, then KeyValues; those of
 * the first one's row are the row. */
#include "lib/catalog.h"

#include "lib/bytes.h"
#include "lib/region.h"
#include "test/fuzz/fuzz.h"
#include "test/named.h"

enum { CELLS_MAX = 64 };

static size_t read_cells(struct kr_cell *cells, struct keyroute_bytes bytes)
{
  struct kr_reader reader = kr_reader(bytes);
  size_t count = 0;

  while (count < CELLS_MAX && kr_reader_left(&reader) > 0) {
    cells[count] = kr_cell_read(&reader);
    if (!reader.bad && kr_bytes_equal(cells[count].row, cells[0].row)) {
      count++;
    }
  }
  return count;
}

/* A row that is believed says what its key says. */
static void check_range(const struct kr_catalog_row *row, struct keyroute_bytes table)
{
  const struct keyroute_location *location = row->location;

  fuzz_check_location(location);
  FUZZ_CHECK(kr_bytes_equal(keyroute_location_table(location), table));
  FUZZ_CHECK(row->key.len == keyroute_location_start_key(location).len + 1);
  FUZZ_CHECK(kr_bytes_equal(row->start_key, keyroute_location_start_key(location)));
  FUZZ_CHECK(keyroute_location_region_id(location) >= 0);
}

static void check_region(const struct kr_catalog_row *row, struct keyroute_bytes table)
{
  const struct keyroute_location *location = row->location;
  struct kr_region_name name;

  fuzz_check_location(location);
  FUZZ_CHECK(is_named(location, row->key));
  FUZZ_CHECK(kr_bytes_equal(keyroute_location_table(location), table));
  FUZZ_CHECK(kr_region_name_parse(&name, row->key) == 0);
  FUZZ_CHECK(kr_bytes_equal(name.start_key, keyroute_location_start_key(location)));
  FUZZ_CHECK(name.id == keyroute_location_region_id(location));
}

static void parse(const struct kr_catalog *catalog, struct kr_mem *mem, struct kr_servers *servers,
                  struct keyroute_bytes table, const struct kr_row *row)
{
  struct kr_catalog_row out;
  int error = catalog->parse_row(&out, mem, servers, table, row);

  fuzz_check_error(error, 0, 0);
  FUZZ_CHECK(error == 0 || out.location == NULL);
  FUZZ_CHECK(error != 0 || (out.location != NULL) == (out.failure.code == 0));
  if (error == 0 && out.location == NULL) {
    FUZZ_CHECK(out.failure.code == KEYROUTE_E_CORRUPT);
    fuzz_check_failure(&out.failure);
  } else if (error == 0 && catalog == &kr_catalog_range) {
    check_range(&out, table);
  } else if (error == 0) {
    check_region(&out, table);
  }
  keyroute_location_release(out.location);
}

int FUZZ_ENTRY(catalog)(const uint8_t *data, size_t len)
{
  static const char *const tables[] = {"t", "ns:t", "hbase:meta", "t,"};
  struct fuzz_input input = fuzz_input(data, len);
  struct kr_mem *mem = fuzz_mem_new(&input);
  struct keyroute_bytes table = keyroute_string(tables[fuzz_u8(&input) % 4]);
  struct kr_cell cells[CELLS_MAX];
  struct kr_row row = {.cells = cells, .cell_count = read_cells(cells, fuzz_rest(&input))};
  struct kr_servers *servers = kr_servers_new(mem);

  if (servers != NULL && row.cell_count > 0 && cells[0].row.len > 0) {
    row.key = cells[0].row;
    parse(&kr_catalog_meta, mem, servers, table, &row);
    parse(&kr_catalog_root, mem, servers, table, &row);
    parse(&kr_catalog_range, mem, servers, table, &row);
  }
  kr_servers_free(servers);
  fuzz_mem_done(mem);
  return 0;
}
