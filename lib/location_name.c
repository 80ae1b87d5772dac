/*
 * What a location's region is called, and what each of its replicas.
 *
 * A name is written where it is wanted, part by part: the table's, the start key, and the end as
 * the catalog spells it (spelling.c). Most are made anew each time: that takes one MD5, which next
 * to any request to a server is nothing; who asks for the length alone pays for none.
 *
 * The name of a replica other than the primary is never kept (HBase RegionInfo: "_%04X" is put
 * behind the region id, before the MD5). Ranges have one name each, whoever is asked.
 *
 * Any thread: all that is read here is immutable.
 */
#include "lib/location.h"

#include "lib/bytes.h"
#include "lib/region.h"
#include "lib/spelling.h"

#include <assert.h>
#include <string.h>

/* What stands behind the id, ".encoded.", and room for "id_RRRR.encoded." and a NUL. */
enum { BEHIND_ID = 1 + KR_REGION_ENCODED_LEN + 1, TAIL_ROOM = KR_REGION_ID_ROOM + BEHIND_ID + 1 };

/* Of a location that has one of its own: it stands behind the start key. */
static struct kr_spelling own_spelling(const struct keyroute_location *location)
{
  struct keyroute_bytes start = keyroute_location_start_key(location);

  return kr_spelling_kept((const uint8_t *)start.data + start.len);
}

static size_t copy_out(void *out, size_t size, struct keyroute_bytes bytes)
{
  size_t len = bytes.len < size ? bytes.len : size;

  if (len > 0) {
    memcpy(out, bytes.data, len);
  }
  return bytes.len;
}

static bool has_primary_name(const struct keyroute_location *location, int replica)
{
  return replica <= 0 || location->one_name;
}

/* Does a replica's name end with its encoded name? */
static bool shows_encoded(const struct keyroute_location *location)
{
  if (!location->is_spelt) {
    return true;
  }
  struct kr_spelling spelling = own_spelling(location);

  return kr_spelling_shows_encoded(&spelling);
}

static void make_encoded(char out[KR_REGION_ENCODED_LEN + 1],
                         const struct keyroute_location *location, int replica)
{
  kr_region_encoded_name(out, keyroute_location_table(location),
                         keyroute_location_start_key(location), location->region_id,
                         replica > 0 ? replica : 0);
}

size_t keyroute_location_encoded_name(const struct keyroute_location *location, int replica,
                                      void *out, size_t size)
{
  char encoded[KR_REGION_ENCODED_LEN + 1];

  if (has_primary_name(location, replica) && location->is_spelt) {
    return copy_out(out, size, own_spelling(location).encoded);
  }
  if (!shows_encoded(location)) {
    return 0; /* a catalog region's: a hash of another kind, which nothing here needs */
  }
  make_encoded(encoded, location, replica);
  return copy_out(out, size, keyroute_string(encoded));
}

/* Make what ends a name that is not kept; its length. Who wants no more than the id of it, or the
 * length alone, pays for no hash. */
static size_t make_tail(char out[TAIL_ROOM], const struct keyroute_location *location, int replica,
                        size_t wanted)
{
  size_t id_len = kr_region_id_text(out, location->region_id, replica);

  if (!shows_encoded(location)) {
    return id_len;
  }
  memset(out + id_len, '.', BEHIND_ID);
  if (wanted > id_len + 1) {
    make_encoded(out + id_len + 1, location, replica);
    out[id_len + BEHIND_ID - 1] = '.'; /* a NUL until now */
  }
  return id_len + BEHIND_ID;
}

/* Room for a name, which is written part by part; what does not fit is counted all the same. */
struct room {
  uint8_t *out;
  size_t size, len;
};

static size_t room_left(const struct room *room)
{
  return room->len < room->size ? room->size - room->len : 0;
}

static void add(struct room *room, struct keyroute_bytes part)
{
  size_t left = room_left(room);

  if (left > 0) {
    copy_out(room->out + room->len, left, part);
  }
  room->len += part.len;
}

size_t keyroute_location_region_name(const struct keyroute_location *location, int replica,
                                     void *out, size_t size)
{
  struct room room = {out, size, 0};

  add(&room, keyroute_location_table(location));
  add(&room, kr_bytes(",", 1));
  add(&room, keyroute_location_start_key(location));
  add(&room, kr_bytes(",", 1));
  if (has_primary_name(location, replica) && location->is_spelt) {
    add(&room, own_spelling(location).tail);
  } else {
    char tail[TAIL_ROOM];
    size_t len = make_tail(tail, location, replica, room_left(&room));

    add(&room, kr_bytes(tail, len));
  }
  return room.len;
}

struct keyroute_bytes kr_location_replica_name(const struct keyroute_location *location,
                                               int replica, struct kr_buf *room)
{
  size_t at = room->len;
  size_t len = keyroute_location_region_name(location, replica, NULL, 0);
  uint8_t *to = kr_buf_extend(room, len);

  if (to == NULL) {
    return kr_bytes(NULL, 0);
  }
  keyroute_location_region_name(location, replica, to, len);
  return kr_bytes(room->data + at, len);
}

char *kr_location_print(char *out, size_t size, const struct keyroute_location *location)
{
  char name[KR_LOCATION_PRINT_MAX];

  assert(size <= sizeof(name));
  /* No byte takes less than its own room: a name that is cut here does not fit out either. */
  size_t len = keyroute_location_region_name(location, 0, name, size);

  return kr_bytes_print(out, size, kr_bytes(name, len < size ? len : size));
}

bool kr_location_same_name(const struct keyroute_location *a, const struct keyroute_location *b)
{
  bool same_table = a->label == b->label ||
                    kr_bytes_equal(keyroute_location_table(a), keyroute_location_table(b));

  if (!same_table || a->is_spelt != b->is_spelt ||
      !kr_bytes_equal(keyroute_location_start_key(a), keyroute_location_start_key(b))) {
    return false;
  }
  if (a->is_spelt) {
    return kr_bytes_equal(own_spelling(a).tail, own_spelling(b).tail);
  }
  return a->region_id == b->region_id;
}
