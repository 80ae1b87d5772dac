#ifndef KR_CACHE_LIMITS_H
#define KR_CACHE_LIMITS_H

#include <stddef.h>
#include <stdint.h>

/* What bounds a cache; 0 = no bound. */
struct kr_cache_limits {
  size_t regions, bytes;
  int64_t ttl_ms, idle_ms;
};

/* Who is told, on the loop, that a region has been stored, and that regions wait for
 * kr_cache_drain: sweeper.c. All NULL = nobody. */
struct kr_cache_watcher {
  void (*stored)(void *arg);
  void (*cleared)(void *arg);
  void *arg;
};

#endif
