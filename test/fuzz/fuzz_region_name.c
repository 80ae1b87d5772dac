/* Region names: what parses is written back to the same bytes. */
#include "lib/region.h"

#include "lib/bytes.h"
#include "test/fuzz/fuzz.h"
#include "test/named.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void write_name(struct kr_buf *out, const struct kr_region_name *name)
{
  char id[32];

  snprintf(id, sizeof(id), ",%" PRId64, name->id);
  kr_buf_bytes(out, name->table);
  kr_buf_u8(out, ',');
  kr_buf_bytes(out, name->start_key);
  kr_buf_text(out, id);
  if (name->encoded.len > 0) {
    kr_buf_u8(out, '.');
    kr_buf_bytes(out, name->encoded);
    kr_buf_u8(out, '.');
  }
}

/* The text of the id: it begins behind the comma behind the start key. */
static const char *id_of(const struct kr_region_name *name)
{
  return (const char *)name->start_key.data + name->start_key.len + 1;
}

static void check_name(struct kr_mem *mem, const struct kr_region_name *name,
                       struct keyroute_bytes bytes)
{
  struct kr_region_name again;
  struct kr_buf written;

  fuzz_check_inside(name->table, bytes);
  fuzz_check_inside(name->start_key, bytes);
  fuzz_check_inside(name->encoded, bytes);
  FUZZ_CHECK(name->table.len > 0 && name->id >= 0);
  FUZZ_CHECK(memchr(name->table.data, ',', name->table.len) == NULL);
  kr_buf_init(&written, mem);
  write_name(&written, name);
  if (!written.failed) {
    FUZZ_CHECK(kr_region_name_parse(&again, kr_buf_view(&written)) == 0);
    FUZZ_CHECK(kr_bytes_equal(again.table, name->table) && again.id == name->id);
    FUZZ_CHECK(kr_bytes_equal(again.start_key, name->start_key));
    FUZZ_CHECK(kr_bytes_equal(again.encoded, name->encoded));
    /* Only zeros in front of an id get lost. */
    FUZZ_CHECK(written.len < bytes.len || kr_bytes_equal(kr_buf_view(&written), bytes));
    FUZZ_CHECK(written.len == bytes.len || id_of(name)[0] == '0');
  }
  kr_buf_clear(&written);
}

/* The name as a location keeps it, and its replicas' names. */
static void check_kept(struct kr_mem *mem, const struct kr_region_name *name,
                       struct keyroute_bytes bytes)
{
  struct kr_replica replicas[2] = {{NULL, -1}, {NULL, -1}};
  struct kr_location_parts parts = {
      .name = bytes,
      .table_len = name->table.len,
      .start_len = name->start_key.len,
      .encoded = name->encoded,
      .region_id = name->id,
      .replicas = replicas,
      .replica_count = 2,
  };
  struct keyroute_location *location = kr_location_new(mem, &parts);

  if (location == NULL) {
    FUZZ_CHECK(fuzz_mem_failed());
    return;
  }
  fuzz_check_location(location);
  FUZZ_CHECK(is_named(location, bytes));
  FUZZ_CHECK(keyroute_location_region_name(location, 0, NULL, 0) == bytes.len);
  FUZZ_CHECK(kr_bytes_equal(keyroute_location_start_key(location), name->start_key));
  keyroute_location_release(location);
}

int FUZZ_ENTRY(region_name)(const uint8_t *data, size_t len)
{
  struct fuzz_input input = fuzz_input(data, len);
  struct kr_mem *mem = fuzz_mem_new(&input);
  struct keyroute_bytes bytes = fuzz_rest(&input);
  struct kr_region_name name = {.id = -99};
  int error = kr_region_name_parse(&name, bytes);

  fuzz_check_error(error, 0, KEYROUTE_E_CORRUPT);
  if (error == 0) {
    check_name(mem, &name, bytes);
    if (name.start_key.len <= KR_LOCATION_KEY_MAX) {
      check_kept(mem, &name, bytes);
    }
  } else {
    FUZZ_CHECK(name.id == -99);
  }
  fuzz_mem_done(mem);
  return 0;
}
