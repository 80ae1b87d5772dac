package org.apache.hadoop.hbase.client;

import keyroute.bench.RegionCache;
import org.apache.hadoop.hbase.RegionLocations;

/**
 * The cache of HBase's blocking client, which finds the table by its name first. It keeps a table's
 * regions in a sorted array that is copied with every change: 1 000 000 of them cannot be put in
 * one after another in any useful time.
 */
public final class MetaCachePeer implements RegionCache {
  private final MetaCache cache = new MetaCache(null);
  private byte[][] starts = new byte[0][];

  @Override
  public void put(int region, byte[] start, byte[] end, long seqNum) {
    cache.cacheLocation(HbaseRegions.TABLE, HbaseRegions.makeAll(start, end, seqNum));
    if (region >= starts.length) {
      starts = java.util.Arrays.copyOf(starts, Math.max(region + 1, starts.length * 2));
    }
    starts[region] = start;
  }

  @Override
  public void take(int region) {
    cache.clearCache(HbaseRegions.TABLE, starts[region]);
  }

  @Override
  public int check(byte[] row, int region) {
    RegionLocations found = cache.getCachedLocation(HbaseRegions.TABLE, row);
    return found == null ? MISSING
        : RegionCache.checkSeqNum(found.getRegionLocation().getSeqNum(), region);
  }
}
