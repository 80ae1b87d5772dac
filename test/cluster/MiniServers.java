package keyroute.cluster;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.LocalHBaseCluster;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.util.JVMClusterUtil.RegionServerThread;
import org.apache.hadoop.hbase.zookeeper.MiniZooKeeperCluster;

/**
 * A whole cluster in this JVM.  Starts fast; a "killed" region server aborts, which closes its
 * sockets and its ZooKeeper session at once, so the master hears of it sooner than of a real death.
 */
final class MiniServers implements Servers {
  private static final long ABORT_MS = 20_000;

  private final Generation generation;
  private final Path folder;
  private final int zookeeperPort;
  private final MiniZooKeeperCluster zookeeper;
  private Configuration conf;
  private LocalHBaseCluster cluster;

  MiniServers(Generation generation, Path folder) throws Exception {
    this.generation = generation;
    this.folder = folder;
    this.zookeeperPort = Ports.choose();
    this.zookeeper = new MiniZooKeeperCluster();
  }

  @Override
  public Configuration start() throws Exception {
    Cluster.progress("starting ZooKeeper");
    System.setProperty("zookeeper.admin.enableServer", "false");
    zookeeper.setDefaultClientPort(zookeeperPort);
    zookeeper.setTickTime(Settings.TICK_MS);
    zookeeper.startup(folder.resolve("zookeeper").toFile());

    Cluster.progress("starting a master and " + Settings.SERVERS + " region servers");
    conf = HBaseConfiguration.create();
    Settings.apply(conf, folder, zookeeper.getClientPort());
    generation.tune(conf);
    cluster = new LocalHBaseCluster(conf, 1, Settings.SERVERS);
    cluster.startup();
    Wait.until("the master to be initialized", 120_000, () ->
        cluster.getActiveMaster() != null && cluster.getActiveMaster().isInitialized());
    return conf;
  }

  LocalHBaseCluster cluster() {
    return cluster;
  }

  @Override
  public int zookeeperPort() {
    return zookeeper.getClientPort();
  }

  @Override
  public Set<Integer> livePorts() {
    Set<Integer> ports = new HashSet<>();
    for (RegionServerThread thread : cluster.getLiveRegionServers()) {
      ports.add(thread.getRegionServer().getServerName().getPort());
    }
    return ports;
  }

  @Override
  public void kill(ServerName server) throws Exception {
    for (RegionServerThread thread : cluster.getLiveRegionServers()) {
      if (thread.getRegionServer().getServerName().equals(server)) {
        thread.getRegionServer().abort("killed by a command");
        thread.join(ABORT_MS);
        if (thread.isAlive()) {
          Cluster.progress(server + " is still at " + Arrays.toString(thread.getStackTrace()));
          thread.interrupt(); // it may wait for something that the lookups going on keep away
          thread.join(ABORT_MS);
        }
        if (thread.isAlive()) {
          throw new IllegalStateException(
              server + " did not end, but is at " + Arrays.toString(thread.getStackTrace()));
        }
        return;
      }
    }
    throw new IllegalArgumentException("no live region server " + server);
  }

  @Override
  public int startServer(int port) throws Exception {
    Configuration its = HBaseConfiguration.create(conf);
    its.setInt("hbase.regionserver.port", port);
    RegionServerThread thread =
        cluster.addRegionServer(its, cluster.getRegionServers().size());
    thread.start();
    return thread.getRegionServer().getServerName().getPort();
  }

  @Override
  public void stopZookeeper() {
    throw onlyProcesses();
  }

  @Override
  public void startZookeeper() {
    throw onlyProcesses();
  }

  @Override
  public void freeze(ServerName server) {
    throw onlyProcesses();
  }

  @Override
  public void thaw(ServerName server) {
    throw onlyProcesses();
  }

  /** Nothing to do: it all ends with this JVM. */
  @Override
  public void stop() {}

  private static UnsupportedOperationException onlyProcesses() {
    return new UnsupportedOperationException("only with --processes");
  }
}
