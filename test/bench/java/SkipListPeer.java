package keyroute.bench;

import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;

/** What a Java program would write for itself: the JDK's skip list of start keys. */
public final class SkipListPeer implements RegionCache {
  private record Region(byte[] start, byte[] end, String host, long seqNum) {
    boolean covers(byte[] row) {
      return end.length == 0 || Arrays.compareUnsigned(row, end) < 0;
    }
  }

  private static final String[] HOSTS = new String[100];

  static {
    Arrays.setAll(HOSTS, number -> "server-" + number + ".example");
  }

  private final ConcurrentSkipListMap<byte[], Region> map =
      new ConcurrentSkipListMap<>(Arrays::compareUnsigned);
  private byte[][] starts = new byte[0][];

  @Override
  public void put(int region, byte[] start, byte[] end, long seqNum) {
    map.put(start, new Region(start, end, HOSTS[(int) (seqNum % HOSTS.length)], seqNum));
    if (region >= starts.length) {
      starts = Arrays.copyOf(starts, Math.max(region + 1, starts.length * 2));
    }
    starts[region] = start;
  }

  @Override
  public void take(int region) {
    map.remove(starts[region]);
  }

  @Override
  public int check(byte[] row, int region) {
    Map.Entry<byte[], Region> floor = map.floorEntry(row);
    return floor == null || !floor.getValue().covers(row) ? MISSING
        : RegionCache.checkSeqNum(floor.getValue().seqNum, region);
  }
}
