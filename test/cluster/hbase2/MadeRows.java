package keyroute.cluster;

import java.math.BigInteger;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * Rows that nobody chose: a pure function of a seed, a number and the regions and families of a
 * table.  They are spread evenly over the regions, and the first of each region is its start key;
 * keys hold NUL, 0xFF and commas, and end in the number, so that no two are the same.  Values are
 * short mostly, sometimes empty, and now and then as long as allowed.
 */
final class MadeRows {
  /** Of a cell's newest version, for all rows and cells alike: a get's time range cuts there. */
  static final long NEWEST_MS = 1_700_000_000_000L;

  /** So many ms a version is older than the next one. */
  static final long VERSION_MS = 1000;

  /** Bytes that bounds are compared by when a key between them is made. */
  private static final int PREFIX_BYTES = 6;
  private static final int TRIES = 20;
  private static final int SKEW = 6;

  private static final byte[][] INFIXES = {{}, {','}, {0}, {(byte) 0xFF}, {',', ',', '-'}, {' '}};
  private static final byte[][] ENDINGS = {{}, {}, {}, {','}, {0}, {(byte) 0xFF, (byte) 0xFF}};

  private final long seed;
  private final List<RegionInfo> regions;
  private final byte[][] families;
  private final int cells;
  private final int bytes;
  private final int versions;

  /** cells = the most that a row has, bytes = the most that a value has. */
  MadeRows(long seed, List<RegionInfo> regions, byte[][] families, int cells, int bytes,
      int versions) {
    this.seed = seed;
    this.regions = regions;
    this.families = families;
    this.cells = cells;
    this.bytes = bytes;
    this.versions = versions;
  }

  Put make(int number) {
    Random random = new Random(seed * 1_000_003 + number);
    RegionInfo region = regions.get(number % regions.size());
    boolean first = number < regions.size() && region.getStartKey().length > 0;
    Put put = new Put(first ? region.getStartKey() : key(region, number, random));
    int count = 1 + random.nextInt(cells);
    for (int cell = 0; cell < count; cell++) {
      byte[] family = families[cell % families.length];
      byte[] qualifier = qualifier(cell, random);
      for (int version = 0; version < versions; version++) {
        put.addColumn(family, qualifier, NEWEST_MS - version * VERSION_MS, value(random));
      }
    }
    return put;
  }

  private static byte[] key(RegionInfo region, int number, Random random) {
    byte[] tail = Bytes.add(any(INFIXES, random), Bytes.toBytes(String.format("%08x", number)),
        any(ENDINGS, random));
    for (int tries = 0; tries < TRIES; tries++) {
      byte[] key = Bytes.add(between(region, random), tail);
      if (region.containsRow(key)) {
        return key;
      }
    }
    byte[] key = Bytes.add(region.getStartKey(), new byte[1], tail);
    if (!region.containsRow(key)) {
      throw new IllegalArgumentException("no room in " + region.getRegionNameAsString());
    }
    return key;
  }

  /** One to six bytes, drawn evenly from those between the bounds; they may lie just outside. */
  private static byte[] between(RegionInfo region, Random random) {
    BigInteger low = number(region.getStartKey(), 0);
    BigInteger high = number(region.getEndKey(), region.getEndKey().length == 0 ? 0xFF : 0);
    BigInteger span = high.subtract(low).add(BigInteger.ONE);
    BigInteger drawn = low.add(new BigInteger(8 * PREFIX_BYTES + 16, random).mod(span));
    byte[] padded = new byte[PREFIX_BYTES + 1];
    byte[] digits = drawn.toByteArray();
    int sign = digits.length > PREFIX_BYTES ? 1 : 0;
    System.arraycopy(digits, sign, padded, PREFIX_BYTES - digits.length + sign,
        digits.length - sign);
    return Arrays.copyOf(padded, 1 + random.nextInt(PREFIX_BYTES));
  }

  private static BigInteger number(byte[] key, int padding) {
    byte[] prefix = new byte[PREFIX_BYTES];
    Arrays.fill(prefix, (byte) padding);
    System.arraycopy(key, 0, prefix, 0, Math.min(key.length, PREFIX_BYTES));
    return new BigInteger(1, prefix);
  }

  private static byte[] qualifier(int cell, Random random) {
    byte[] name = Bytes.toBytes("q" + cell);
    switch (random.nextInt(8)) {
      case 0:
        return cell == 0 ? new byte[0] : name;
      case 1:
        return Bytes.add(name, new byte[] {':', 0, (byte) 0xFF, '\t'});
      default:
        return name;
    }
  }

  private byte[] value(Random random) {
    byte[] value = new byte[(int) ((bytes + 1) * Math.pow(random.nextDouble(), SKEW))];
    random.nextBytes(value);
    if (random.nextInt(4) > 0) {
      for (int i = 0; i < value.length; i++) {
        value[i] = (byte) ('a' + (value[i] & 0xF));
      }
    }
    return value;
  }

  private static byte[] any(byte[][] of, Random random) {
    return of[random.nextInt(of.length)];
  }
}
