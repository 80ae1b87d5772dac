package keyroute.bench;

/** A cache of regions in the race of hits (HitPeer): of one client, for one table. */
public interface RegionCache {
  int RIGHT = 0;
  int MISSING = 1;
  int WRONG = 2;

  /** Bits of a sequence number that hold the region's number. */
  int REGION_BITS = 24;

  /** Puts a region in, or in the place of its older location; the sequence number is higher. */
  void put(int region, byte[] start, byte[] end, long seqNum);

  void take(int region);

  /** Looks a row up and at one field of the answer: is it of this region? */
  int check(byte[] row, int region);

  static int checkSeqNum(long seqNum, int region) {
    return (seqNum & (1 << REGION_BITS) - 1) == region ? RIGHT : WRONG;
  }
}
