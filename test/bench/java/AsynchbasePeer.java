package org.hbase.async;

import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.ConcurrentSkipListMap;
import keyroute.bench.RegionCache;

/**
 * The cache inside asynchbase's client, which is never told of a cluster: HBaseClient.getRegion, as
 * each of its requests calls it. One map holds all tables, by region name, so each lookup makes a
 * name of table and row first. Its way in is private, but it is a public kind of map.
 */
public final class AsynchbasePeer implements RegionCache {
  private static final byte[] TABLE = "bench".getBytes(StandardCharsets.US_ASCII);

  private final HBaseClient client = new HBaseClient("127.0.0.1:1");
  private final ConcurrentSkipListMap<byte[], RegionInfo> regions;
  private RegionInfo[] last = new RegionInfo[0];

  @SuppressWarnings("unchecked")
  public AsynchbasePeer() throws ReflectiveOperationException {
    Field field = HBaseClient.class.getDeclaredField("regions_cache");
    field.setAccessible(true);
    regions = (ConcurrentSkipListMap<byte[], RegionInfo>) field.get(client);
  }

  @Override
  public void put(int region, byte[] start, byte[] end, long seqNum) {
    RegionInfo info = new RegionInfo(TABLE, name(start, region), end);
    if (region >= last.length) {
      last = Arrays.copyOf(last, Math.max(region + 1, last.length * 2));
    }
    last[region] = info;
    regions.put(info.name(), info);
  }

  /** As the catalog has it. The id is that of the region, not of its location: the key stays. */
  private static byte[] name(byte[] start, int region) {
    byte[] tail = String.format(",%d.%032x.", 1_700_000_000_000L + region, region)
        .getBytes(StandardCharsets.US_ASCII);
    byte[] name = Arrays.copyOf(TABLE, TABLE.length + 1 + start.length + tail.length);
    name[TABLE.length] = ',';
    System.arraycopy(start, 0, name, TABLE.length + 1, start.length);
    System.arraycopy(tail, 0, name, TABLE.length + 1 + start.length, tail.length);
    return name;
  }

  @Override
  public void take(int region) {
    regions.remove(last[region].name());
  }

  /** Its regions have no number: the last digits of the name are looked at. */
  @Override
  public int check(byte[] row, int region) {
    RegionInfo found = client.getRegion(TABLE, row);
    if (found == null) {
      return MISSING;
    }
    byte[] name = found.name();
    return Character.digit(name[name.length - 2], 16) == (region & 15) ? RIGHT : WRONG;
  }
}
