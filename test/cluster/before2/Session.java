package keyroute.cluster;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeoutException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.HRegionInfo;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.client.HBaseAdmin;
import org.apache.hadoop.hbase.client.HTable;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.JVMClusterUtil.RegionServerThread;

/**
 * What all commands share: the cluster's servers, a patient client to steer it with, and the
 * questions several of them ask.  A region is where its row in the catalog says and the server
 * there agrees: these generations write one before the other, now in this order and now in that.
 */
final class Session implements AutoCloseable {
  static final long LIMIT_MS = 60_000;
  private static final long MOVE_MS = 6000;
  private static final int MOVE_TRIES = 5;

  final MiniServers servers;
  final Configuration conf;
  final Dialect dialect;
  final HBaseAdmin admin;

  private Session(MiniServers servers, Configuration conf, Dialect dialect) throws IOException {
    this.servers = servers;
    this.conf = HBaseConfiguration.create(conf);
    this.dialect = dialect;
    this.admin = new HBaseAdmin(this.conf);
  }

  /** Waits until all region servers have reported and the catalog can be read. */
  static Session open(Servers servers, Configuration conf, Dialect dialect) throws Exception {
    Cluster.progress("waiting until the cluster is usable");
    Session session = new Session((MiniServers) servers, conf, dialect);
    Wait.until("all region servers to report", 2 * LIMIT_MS,
        () -> session.liveServers().size() == Settings.SERVERS);
    session.admin.setBalancerRunning(false, true);
    session.scan(dialect.metaTable(), new Scan());
    return session;
  }

  @Override
  public void close() throws IOException {
    admin.close();
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

  /** True if what the master believes to be alive is alive, and nothing else. */
  boolean masterKnowsServers() throws IOException {
    Set<Integer> reported = new HashSet<>();
    reportedServers().forEach(server -> reported.add(server.getPort()));
    return reported.equals(servers.livePorts());
  }

  private Collection<ServerName> reportedServers() throws IOException {
    return admin.getClusterStatus().getServers();
  }

  /** Accepts a server name, or an index in the list of live servers. */
  ServerName parseServer(String text) throws IOException {
    if (text.indexOf(',') >= 0) {
      return dialect.parseServer(text);
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

  /** The live server at an address. */
  ServerName serverAt(int port) throws IOException {
    for (ServerName server : liveServers()) {
      if (server.getPort() == port) {
        return server;
      }
    }
    throw new IllegalStateException("no live server has port " + port);
  }

  HRegionLocation locate(String table, byte[] row) throws IOException {
    HTable opened = new HTable(conf, table);
    try {
      return opened.getRegionLocation(row, true);
    } finally {
      opened.close();
    }
  }

  /** The live server that has a region open, or null. */
  private ServerName findServer(HRegionInfo region) {
    for (RegionServerThread thread : servers.cluster().getLiveRegionServers()) {
      if (thread.getRegionServer().getOnlineRegion(region.getRegionName()) != null) {
        return thread.getRegionServer().getServerName();
      }
    }
    return null;
  }

  /** The server that has a region open; waits until one has. */
  ServerName serverOf(HRegionInfo region) throws Exception {
    ServerName[] found = new ServerName[1];
    Wait.until("a server of " + region.getRegionNameAsString(), LIMIT_MS, () -> {
      found[0] = findServer(region);
      return found[0] != null;
    });
    return found[0];
  }

  /** The master may choose another server if the target is not quite ready; it is asked again. */
  void move(HRegionInfo region, ServerName target) throws Exception {
    String table = Bytes.toString(region.getTableName());
    for (int tries = 1;; tries++) {
      admin.move(region.getEncodedNameAsBytes(), Bytes.toBytes(target.getServerName()));
      try {
        Wait.until("the region on " + target, MOVE_MS, () -> target.equals(findServer(region))
            && locate(table, region.getStartKey()).getPort() == target.getPort());
        return;
      } catch (TimeoutException elsewhere) {
        if (tries == MOVE_TRIES) {
          throw elsewhere;
        }
      }
    }
  }

  /** A region as the catalog tells it, and whether the server named there has it open. */
  record MetaRow(HRegionInfo region, boolean isOpen) {}

  /** The regions of a table, split parents too, in the order of the catalog. */
  List<MetaRow> metaRows(String table) throws IOException {
    List<MetaRow> rows = new ArrayList<>();
    for (Result result : scanMeta(table)) {
      HRegionInfo region = dialect.parseRegion(
          result.getValue(HConstants.CATALOG_FAMILY, HConstants.REGIONINFO_QUALIFIER));
      if (region != null && Bytes.toString(region.getTableName()).equals(table)) {
        rows.add(new MetaRow(region, isOpen(region, result)));
      }
    }
    return rows;
  }

  private boolean isOpen(HRegionInfo region, Result result) {
    byte[] address = result.getValue(HConstants.CATALOG_FAMILY, HConstants.SERVER_QUALIFIER);
    ServerName server = findServer(region);
    return !region.isSplitParent() && address != null && server != null
        && Bytes.toString(address).endsWith(":" + server.getPort());
  }

  /** The rows of a table's regions. */
  List<Result> scanMeta(String table) throws IOException {
    return scan(dialect.metaTable(),
        new Scan(Bytes.toBytes(table + ",,"), Bytes.toBytes(table + " ,,")));
  }

  List<Result> scan(String table, Scan scan) throws IOException {
    List<Result> results = new ArrayList<>();
    HTable opened = new HTable(conf, table);
    try (ResultScanner scanner = opened.getScanner(scan)) {
      scanner.forEach(results::add);
    } finally {
      opened.close();
    }
    return results;
  }
}
