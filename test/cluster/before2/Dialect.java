package keyroute.cluster;

import java.io.IOException;
import org.apache.hadoop.hbase.HRegionInfo;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.client.HBaseAdmin;

/**
 * Where HBase 0.94, 0.96, 0.98 and 1 differ in the interfaces that they otherwise have in common, most of
 * which HBase 2 no longer has.
 */
interface Dialect {
  /** The table that says where the regions of all user tables are. */
  String metaTable();

  /** The region in a value of the catalog; null if there is none. */
  HRegionInfo parseRegion(byte[] value) throws IOException;

  ServerName parseServer(String text);

  /** Makes the namespace of a table, if it has one that isn't there. */
  void makeNamespace(HBaseAdmin admin, String table) throws IOException;

  /** The whole name of the server that the client found. */
  ServerName server(Session session, HRegionLocation location) throws IOException;

  /** -1 = it has none. */
  long seqnum(HRegionLocation location);
}
