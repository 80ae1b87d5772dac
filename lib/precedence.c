/*
 * Which of two things that the catalog said is believed: what is known, or what was read.
 *
 *  1. The same region (equal name): replica by replica the higher sequence number stays, unless a
 *     later read says that the replica is on no server. With one and the same number (a region that
 *     is opened elsewhere after its server was killed may get its old one) the read sent later is
 *     right. What is on a dropped server is not known.
 *  2. Another region that overlaps: a read sent after that one was stored is newer knowledge and
 *     wins, whatever the ids, for a restored snapshot brings old ids back. Of reads that overlap in
 *     time the larger region id wins, for it was made later.
 *  3. What is retired never stands in the way.
 *
 * Times are the cache's logical ones. Loop thread: what is known changes there only.
 */
#include "lib/precedence.h"

#include "lib/bytes.h"

bool kr_precedence_outranks(const struct keyroute_location *known,
                            const struct keyroute_location *fresh, uint64_t sent)
{
  return !kr_location_retired(known) && !kr_location_same_name(known, fresh) &&
         sent <= kr_location_stored(known) && known->region_id > fresh->region_id;
}

/* Is what is known of a replica newer than what was read? */
static bool is_newer(const struct keyroute_location *known, const struct keyroute_location *fresh,
                     int replica, uint64_t sent)
{
  int64_t have = known->replicas[replica].seqnum, read = fresh->replicas[replica].seqnum;

  return have > read || (have == read && kr_location_sent(known) > sent);
}

void kr_precedence_merge(struct keyroute_location *fresh, const struct keyroute_location *known,
                         uint64_t sent)
{
  for (int i = 0; i < fresh->replica_count && i < known->replica_count; i++) {
    bool unnumbered = fresh->replicas[i].server == NULL || fresh->replicas[i].seqnum < 0;
    bool is_later = unnumbered && sent > kr_location_stored(known);

    if (kr_location_live_server(known, i) != NULL && !is_later && is_newer(known, fresh, i, sent)) {
      kr_server_release(fresh->replicas[i].server);
      fresh->replicas[i] = known->replicas[i];
      kr_server_ref(fresh->replicas[i].server);
    }
  }
}

bool kr_precedence_equal(const struct keyroute_location *fresh,
                         const struct keyroute_location *known)
{
  if (!kr_location_same_name(fresh, known) || fresh->replica_count != known->replica_count ||
      fresh->state != known->state ||
      !kr_bytes_equal(keyroute_location_end_key(fresh), keyroute_location_end_key(known))) {
    return false;
  }
  for (int i = 0; i < fresh->replica_count; i++) {
    if (fresh->replicas[i].server != known->replicas[i].server ||
        fresh->replicas[i].seqnum != known->replicas[i].seqnum) {
      return false;
    }
  }
  return true;
}
