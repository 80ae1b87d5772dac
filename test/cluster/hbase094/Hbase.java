package keyroute.cluster;

import java.io.IOException;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.HRegionInfo;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.HBaseAdmin;
import org.apache.hadoop.hbase.client.HTable;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.Writables;

/** HBase 0.94, whose catalog is -ROOT- and .META., and which has no namespaces. */
final class Hbase implements Generation, Dialect {
  private static final String META = ".META.";
  private static final String ROOT = "-ROOT-";

  @Override
  public void prepare() {
    // What Hadoop 1 makes of "17" is an exception.
    System.setProperty("java.version", "1.8.0_0");
  }

  @Override
  public void tune(Configuration conf) {
    OldSettings.apply(conf);
  }

  @Override
  public Servers processes(Path folder, Path logs) {
    throw new UnsupportedOperationException("--processes is for HBase 2 only");
  }

  @Override
  public AutoCloseable open(Servers servers, Configuration conf, Commands commands)
      throws Exception {
    Session session = Session.open(servers, conf, this);
    new TableCommands(session).register(commands);
    new RowCommands(session).register(commands);
    ServerCommands serverCommands = new ServerCommands(session);
    serverCommands.register(commands);
    serverCommands.registerCatalog(commands, "root", HRegionInfo.ROOT_REGIONINFO);
    new CatalogCommands(session).register(commands);
    commands.add("root-rows", 0, (words, answer) ->
        CatalogCommands.tell(session.scan(ROOT, new Scan()), answer));
    new OracleCommands(session).register(commands);
    return session;
  }

  @Override
  public String metaTable() {
    return META;
  }

  @Override
  public HRegionInfo parseRegion(byte[] value) throws IOException {
    return Writables.getHRegionInfoOrNull(value);
  }

  @Override
  public ServerName parseServer(String text) {
    return new ServerName(text);
  }

  @Override
  public void makeNamespace(HBaseAdmin admin, String table) {}

  /** This client forgets the start code that it read: it is read again. */
  @Override
  public ServerName server(Session session, HRegionLocation location) throws IOException {
    HRegionInfo region = location.getRegionInfo();
    if (region.isRootRegion()) {
      return session.serverAt(location.getPort());
    }
    HTable catalog = new HTable(session.conf, region.isMetaRegion() ? ROOT : META);
    try {
      Result row = catalog.get(new Get(region.getRegionName()));
      return new ServerName(location.getHostname(), location.getPort(), Bytes.toLong(
          row.getValue(HConstants.CATALOG_FAMILY, HConstants.STARTCODE_QUALIFIER)));
    } finally {
      catalog.close();
    }
  }

  @Override
  public long seqnum(HRegionLocation location) {
    return -1;
  }
}
