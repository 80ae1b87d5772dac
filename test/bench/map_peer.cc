/*
 * What a C++ program would write for itself, in the race of hits (hit_peer.c): a sorted map of
 * start keys behind a std::shared_mutex, which each lookup holds for reading.
 *
 *   map_peer map|btree STEM      std::map, absl::btree_map
 *
 * The value stands in the map's own node and is looked at under the lock, which spares the map a
 * pointer to follow and a count to take.
 */
#include "test/bench/hit_peer.h"

#include <absl/container/btree_map.h>
#include <cstdio>
#include <functional>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>

namespace {

struct Region {
  std::string end;
  int64_t seqnum;
  int server;
};

std::string_view view(keyroute_bytes bytes)
{
  return {static_cast<const char *>(bytes.data), bytes.len};
}

template <typename Map> struct Cache {
  static inline Map map;
  static inline std::shared_mutex lock;

  /* The region that holds the row, or nullptr. */
  static const Region *floor(std::string_view row)
  {
    auto above = map.upper_bound(row);

    if (above == map.begin()) {
      return nullptr;
    }
    const Region &region = std::prev(above)->second;

    return region.end.empty() || row < std::string_view(region.end) ? &region : nullptr;
  }

  static size_t find(const keyroute_bytes *rows, const uint32_t *regions, size_t count)
  {
    size_t missing = 0;

    for (size_t i = 0; i < count; i++) {
      std::shared_lock<std::shared_mutex> reading(lock);
      const Region *region = floor(view(rows[i]));

      if (region == nullptr) {
        missing++;
      } else if ((region->seqnum & HIT_REGION_MASK) != regions[i]) {
        hit_wrong();
      }
    }
    return missing;
  }

  static void put(const hit_region *region)
  {
    Region fresh{std::string(view(region->end)), region->seqnum,
                 static_cast<int>(region->seqnum % 100)};
    std::unique_lock<std::shared_mutex> writing(lock);

    map.insert_or_assign(std::string(view(region->start)), std::move(fresh));
  }

  static void take(const hit_region *region)
  {
    std::unique_lock<std::shared_mutex> writing(lock);

    map.erase(std::string(view(region->start)));
  }

  static int play(const char *stem)
  {
    static const hit_way ways[] = {{"find", find}, {nullptr, nullptr}};
    static const hit_peer them = {ways, put, take, nullptr};

    return hit_play(&them, stem);
  }
};

} // namespace

int main(int argc, char **argv)
{
  const std::string_view kind = argc == 3 ? argv[1] : "";

  if (kind == "map") {
    return Cache<std::map<std::string, Region, std::less<>>>::play(argv[2]);
  }
  if (kind == "btree") {
    return Cache<absl::btree_map<std::string, Region, std::less<>>>::play(argv[2]);
  }
  std::fprintf(stderr, "usage: map_peer map|btree STEM\n");
  return 2;
}
