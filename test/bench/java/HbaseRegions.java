package org.apache.hadoop.hbase.client;

import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.RegionLocations;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;

/** Regions as HBase's own client keeps them. */
final class HbaseRegions {
  static final TableName TABLE = TableName.valueOf("bench");
  private static final ServerName[] SERVERS = new ServerName[100];

  static {
    for (int i = 0; i < SERVERS.length; i++) {
      SERVERS[i] = ServerName.valueOf("server-" + i + ".example", 16020, 1);
    }
  }

  private HbaseRegions() {}

  static HRegionLocation make(byte[] start, byte[] end, long seqNum) {
    RegionInfo region = RegionInfoBuilder.newBuilder(TABLE).setStartKey(start).setEndKey(end)
        .setRegionId(1_700_000_000_000L + seqNum).build();
    return new HRegionLocation(region, SERVERS[(int) (seqNum % SERVERS.length)], seqNum);
  }

  static RegionLocations makeAll(byte[] start, byte[] end, long seqNum) {
    return new RegionLocations(make(start, end, seqNum));
  }
}
