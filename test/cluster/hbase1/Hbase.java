package keyroute.cluster;

import java.io.IOException;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HRegionInfo;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.NamespaceDescriptor;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.HBaseAdmin;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;

/** HBase 0.96, 0.98 and 1, for which one source does. */
final class Hbase implements Generation, Dialect {
  @Override
  public void prepare() {
    // What Hadoop 2.2 makes of "17" is an exception.
    System.setProperty("java.version", "1.8.0_0");
    // Two region servers in one JVM have one name for their metrics: the second one would die.
    DefaultMetricsSystem.setMiniClusterMode(true);
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
    session.admin.listNamespaceDescriptors();
    new TableCommands(session).register(commands);
    new RowCommands(session).register(commands);
    new ServerCommands(session).register(commands);
    new CatalogCommands(session).register(commands);
    new OracleCommands(session).register(commands);
    return session;
  }

  @Override
  public String metaTable() {
    return "hbase:meta";
  }

  @Override
  public HRegionInfo parseRegion(byte[] value) {
    return HRegionInfo.parseFromOrNull(value);
  }

  @Override
  public ServerName parseServer(String text) {
    return ServerName.valueOf(text);
  }

  @Override
  public void makeNamespace(HBaseAdmin admin, String table) throws IOException {
    String wanted = TableName.valueOf(table).getNamespaceAsString();
    for (NamespaceDescriptor namespace : admin.listNamespaceDescriptors()) {
      if (namespace.getName().equals(wanted)) {
        return;
      }
    }
    admin.createNamespace(NamespaceDescriptor.create(wanted).build());
  }

  @Override
  public ServerName server(Session session, HRegionLocation location) {
    return location.getServerName();
  }

  @Override
  public long seqnum(HRegionLocation location) {
    return location.getSeqNum();
  }
}
