package keyroute.cluster;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.ClusterMetrics;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.RegionLocator;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * What all commands share: the cluster's servers, a patient client connection to steer it with, and
 * the questions several of them ask (which servers live, what a row of hbase:meta says).
 */
final class Session implements AutoCloseable {
  static final long LIMIT_MS = 60_000;
  final Servers servers;
  final Configuration conf;
  final Connection connection;
  final Admin admin;

  private Session(Servers servers, Configuration conf) throws IOException {
    this.servers = servers;
    this.conf = conf;
    this.connection = ConnectionFactory.createConnection(HBaseConfiguration.create(conf));
    this.admin = connection.getAdmin();
  }

  /** Waits until all region servers have reported and the master takes requests about tables. */
  static Session open(Servers servers, Configuration conf) throws Exception {
    Cluster.progress("waiting until the cluster is usable");
    Session session = new Session(servers, conf);
    Wait.until("all region servers to report", 2 * LIMIT_MS,
        () -> session.liveServers().size() == Settings.SERVERS);
    for (ServerName server : session.liveServers()) {
      session.awaitService(server);
    }
    session.admin.listNamespaceDescriptors();
    session.admin.balancerSwitch(false, true);
    return session;
  }

  @Override
  public void close() throws IOException {
    connection.close();
  }

  /** The region servers that run and that the master knows. */
  List<ServerName> liveServers() throws IOException {
    Set<Integer> ports = servers.livePorts();
    List<ServerName> live = new ArrayList<>();
    for (ServerName server : reportedServers()) {
      if (ports.contains(server.getPort())) {
        live.add(server);
      }
    }
    live.sort(null);
    return live;
  }

  /** A region server is reported before it serves; until then it refuses regions. */
  void awaitService(ServerName server) throws Exception {
    Wait.until(server + " to serve", LIMIT_MS, () -> admin.getRegions(server) != null);
  }

  /** True if what the master believes to be alive is alive, and nothing else. */
  boolean masterKnowsServers() throws IOException {
    Set<Integer> reported = new HashSet<>();
    reportedServers().forEach(server -> reported.add(server.getPort()));
    return reported.equals(servers.livePorts());
  }

  private Collection<ServerName> reportedServers() throws IOException {
    return admin.getClusterMetrics(EnumSet.of(ClusterMetrics.Option.LIVE_SERVERS))
        .getLiveServerMetrics().keySet();
  }

  /** Accepts a server name, or an index in the list of live servers. */
  ServerName parseServer(String text) throws IOException {
    if (text.indexOf(',') >= 0) {
      return ServerName.valueOf(text);
    }
    List<ServerName> live = liveServers();
    int index = Integer.parseInt(text);
    if (index < 0 || index >= live.size()) {
      throw new IllegalArgumentException("there are " + live.size() + " live servers");
    }
    return live.get(index);
  }

  /** Any live server but the given one. */
  ServerName anotherThan(ServerName server) throws IOException {
    for (ServerName other : liveServers()) {
      if (!other.equals(server)) {
        return other;
      }
    }
    throw new IllegalStateException("no other live server");
  }

  HRegionLocation locate(TableName table, byte[] row) throws IOException {
    try (RegionLocator locator = connection.getRegionLocator(table)) {
      return locator.getRegionLocation(row, true);
    }
  }

  ServerName metaServer() throws IOException {
    return locate(TableName.META_TABLE_NAME, HConstants.EMPTY_START_ROW).getServerName();
  }

  /** A region as hbase:meta tells it. */
  record MetaRow(RegionInfo region, String state, String server) {
    boolean isOpen() {
      return state.equals("OPEN") && !server.isEmpty() && !region.isSplitParent();
    }
  }

  /** The regions of a table, split parents too, in the order of hbase:meta; primaries only. */
  List<MetaRow> metaRows(TableName table) throws IOException {
    List<MetaRow> rows = new ArrayList<>();
    for (Result result : scanMeta(table)) {
      RegionInfo region = RegionInfo.parseFromOrNull(
          result.getValue(HConstants.CATALOG_FAMILY, HConstants.REGIONINFO_QUALIFIER));
      if (region != null && region.getTable().equals(table)) {
        rows.add(new MetaRow(region, text(result, "state"), text(result, "server")));
      }
    }
    return rows;
  }

  /** The rows of a table's regions. */
  static Scan metaScan(TableName table) {
    return new Scan()
        .withStartRow(Bytes.toBytes(table.getNameAsString() + ",,"))
        .withStopRow(Bytes.toBytes(table.getNameAsString() + " ,,"))
        .addFamily(HConstants.CATALOG_FAMILY);
  }

  List<Result> scanMeta(TableName table) throws IOException {
    Scan scan = metaScan(table);
    List<Result> results = new ArrayList<>();
    try (Table meta = connection.getTable(TableName.META_TABLE_NAME);
        ResultScanner scanner = meta.getScanner(scan)) {
      scanner.forEach(results::add);
    }
    return results;
  }

  private static String text(Result result, String qualifier) {
    byte[] value = result.getValue(HConstants.CATALOG_FAMILY, Bytes.toBytes(qualifier));
    return value == null ? "" : Bytes.toString(value);
  }
}
