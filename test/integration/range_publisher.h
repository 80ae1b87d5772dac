#ifndef KEYROUTE_TEST_RANGE_PUBLISHER_H
#define KEYROUTE_TEST_RANGE_PUBLISHER_H

#include "test/integration/range_change.h"

/* Publish a directory through keyroute's own calls. */

/* Make a directory of one range each of map, meta2 and meta1; from now on, publish changes. */
void range_publisher_make(struct range_map *map);

/* Give back what was made for it. */
void range_publisher_end(struct range_map *map);

/* Cut meta2 into its three ranges, where a third and two thirds of map's begin. */
void range_publisher_cut_meta2(struct range_map *map);

/* Make one of the first two ranges of meta2, and two again. */
void range_publisher_recut_meta2(struct range_map *map);

/* Bring meta1 to the next node. */
void range_publisher_move_meta1(struct range_map *map);

/* From now on each change stops after so many writes, readers are seen to (map->stopped), and then
 * it is made again, whole. 0 = no more. */
void range_publisher_stop_after(unsigned writes);

/* How many changes did stop, since this was asked last. */
unsigned range_publisher_stops(void);

#endif
