#ifndef HIT_PEER_H
#define HIT_PEER_H

/* What every program that takes part in the race of hits does alike (hit_peer.c): reads the files
 * of make_keys, fills its cache, and obeys commands. A program brings the cache. */

#include "keyroute/keyroute.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The answers carry the region's number in these bits of the sequence number, which each new
 * location of a region has a larger one of. */
#define HIT_REGION_BITS 24
#define HIT_REGION_MASK ((1 << HIT_REGION_BITS) - 1)

/* One region as it is put into the cache. */
struct hit_region {
  struct keyroute_bytes start, end;
  int64_t seqnum;
};

/* A way to look up rows: so many of them, each with the number of the region that holds it. Returns
 * how many were in no region that the cache has; calls hit_wrong where the answer is wrong. */
struct hit_way {
  const char *name;
  size_t (*find)(const struct keyroute_bytes *rows, const uint32_t *regions, size_t count);
};

struct hit_peer {
  const struct hit_way *ways; /* the last one has no name */
  /* Put a region in, or in the place of its older location; take one out. Called from any thread,
   * also while others look rows up. */
  void (*put)(const struct hit_region *region);
  void (*take)(const struct hit_region *region);
  size_t (*bytes)(void); /* that the cache itself says it takes; NULL = it does not tell */
};

/* Play a peer with the files STEM.keys, STEM.uniform and STEM.zipf. Returns main's result. */
int hit_play(const struct hit_peer *peer, const char *stem);

/* End the program: a wrong answer, or something else that must not be. */
__attribute__((noreturn)) void hit_die(const char *what);
__attribute__((noreturn)) void hit_wrong(void);

#ifdef __cplusplus
}
#endif

#endif
