package org.apache.hadoop.hbase.client;

import keyroute.bench.RegionCache;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.RegionLocations;

/**
 * The cache of HBase's asynchronous client, which the blocking one of HBase 3 is built on: one for
 * each table. Locations are looked at as AsyncNonMetaRegionLocator does on a hit.
 */
public final class AsyncCachePeer implements RegionCache {
  private final AsyncRegionLocationCache cache = new AsyncRegionLocationCache(HbaseRegions.TABLE);
  private HRegionLocation[] last = new HRegionLocation[0];

  @Override
  public void put(int region, byte[] start, byte[] end, long seqNum) {
    RegionLocations locations = HbaseRegions.makeAll(start, end, seqNum);
    cache.add(locations);
    remember(region, locations.getRegionLocation());
  }

  /** What has been put in last is what remove wants. No two threads change the same region. */
  private void remember(int region, HRegionLocation location) {
    if (region >= last.length) {
      last = java.util.Arrays.copyOf(last, Math.max(region + 1, last.length * 2));
    }
    last[region] = location;
  }

  @Override
  public void take(int region) {
    cache.remove(last[region]);
  }

  @Override
  public int check(byte[] row, int region) {
    RegionLocations found = cache.findForRow(row, RegionInfo.DEFAULT_REPLICA_ID);
    return found == null ? MISSING
        : RegionCache.checkSeqNum(found.getRegionLocation().getSeqNum(), region);
  }
}
