package keyroute.cluster;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.RegionLocator;

/**
 * A whole Java client for one question, to measure how long a process of it takes from start to
 * end: prints what the command "oracle" would.
 */
public final class Locate {
  private Locate() {}

  /** Locate HOST:PORT TABLE ROW */
  public static void main(String[] args) throws Exception {
    if (args.length != 3) {
      System.err.println("usage: Locate HOST:PORT TABLE ROW");
      System.exit(2);
    }
    Configuration conf = HBaseConfiguration.create();
    conf.set("hbase.zookeeper.quorum", args[0]);
    byte[] row = Keys.parse(args[2]);
    try (Connection connection = ConnectionFactory.createConnection(conf);
        RegionLocator locator = connection.getRegionLocator(TableName.valueOf(args[1]))) {
      System.out.println(OracleCommands.describe(row, locator.getRegionLocation(row, true)));
    }
  }
}
