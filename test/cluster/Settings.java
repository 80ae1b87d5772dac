package keyroute.cluster;

import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;

/**
 * The HBase configuration of a throw-away cluster.  Three aims: everything on loopback and inside
 * one folder, no fixed wait longer than it needs to be, and nothing that changes the catalog on
 * its own (no balancer, no normalizer, no catalog janitor), so that a test sees only the changes
 * it asked for.  Nor is anything forgotten that the catalog has ever said (see HistoryCommands).
 */
final class Settings {
  static final String HOST = "127.0.0.1";
  static final String PARENT = "/hbase";
  static final int SERVERS = 3;

  /** How long a killed server process stays "alive" for the master: its ZooKeeper session. */
  static final int SESSION_MS = 4000;

  /** There is one master: it must not give up while ZooKeeper is restarted on a busy machine. */
  static final int MASTER_SESSION_MS = 60_000;

  /** ZooKeeper's tick; it accepts sessions of 2 ticks and more. */
  static final int TICK_MS = 500;

  /** A frozen server must not hold up the master, or a command, for HBase's own 60 s. */
  private static final int RPC_MS = 5000;

  private static final String NEVER = Integer.toString(Integer.MAX_VALUE);

  private Settings() {}

  static void apply(Configuration conf, Path folder, int zookeeperPort) {
    place(conf, folder);
    listen(conf, zookeeperPort);
    hurry(conf);
    keepStill(conf);
    keepHistory(conf);
    keepSmall(conf);
    showReplicas(conf);
    limitRequests(conf);
  }

  private static void place(Configuration conf, Path folder) {
    conf.set("hbase.rootdir", folder.resolve("root").toUri().toString());
    conf.set("hbase.tmp.dir", folder.resolve("tmp").toString());
    conf.set("hadoop.tmp.dir", folder.resolve("tmp").toString());
    conf.set("hbase.wal.provider", "filesystem");
    conf.setBoolean("hbase.unsafe.stream.capability.enforce", false);
  }

  private static void listen(Configuration conf, int zookeeperPort) {
    conf.set("hbase.zookeeper.quorum", HOST);
    conf.setInt("hbase.zookeeper.property.clientPort", zookeeperPort);
    conf.set("zookeeper.znode.parent", PARENT);
    conf.setInt("zookeeper.session.timeout", SESSION_MS);
    // The name that older 2.x releases look for; without it they use the reverse lookup's.
    conf.set("hbase.unsafe.regionserver.hostname", HOST);
    for (String role : new String[] {"master", "regionserver"}) {
      conf.set("hbase." + role + ".hostname", HOST);
      conf.set("hbase." + role + ".ipc.address", HOST);
      conf.setInt("hbase." + role + ".port", 0);
      conf.setInt("hbase." + role + ".info.port", -1);
    }
  }

  private static void hurry(Configuration conf) {
    conf.setInt("hbase.regionserver.msginterval", 200);
    conf.setInt("hbase.master.wait.on.regionservers.mintostart", SERVERS);
    conf.setInt("hbase.master.wait.on.regionservers.maxtostart", SERVERS);
    conf.setInt("hbase.master.wait.on.regionservers.interval", 50);
    conf.setInt("hbase.master.wait.on.regionservers.timeout", 30_000);
    conf.setInt("hbase.procedure.remote.dispatcher.delay.msec", 10);
    conf.setInt("hbase.client.pause", 50);
    conf.setInt("hbase.rpc.timeout", RPC_MS);
    conf.setInt("zookeeper.recovery.retry.intervalmill", 200);
    // A region is not split or merged while files that were compacted away are still there.
    conf.setInt("hbase.hfile.compaction.discharger.interval", 200);
  }

  private static void keepStill(Configuration conf) {
    conf.set("hbase.balancer.period", NEVER);
    conf.set("hbase.normalizer.period", NEVER);
    conf.set("hbase.catalogjanitor.interval", NEVER);
    conf.setInt("hbase.regions.slop", 100);
  }

  /** Old versions and deleted cells of hbase:meta go with compactions only. */
  private static void keepHistory(Configuration conf) {
    conf.setInt("hbase.meta.versions", 100_000);
    conf.setInt("hbase.hstore.compaction.min", 1000);
    conf.setInt("hbase.hstore.blockingStoreFiles", 1000);
    conf.setInt("hbase.hregion.majorcompaction", 0);
  }

  private static void keepSmall(Configuration conf) {
    conf.setInt("hbase.regionserver.handler.count", 6);
    conf.setInt("hbase.regionserver.metahandler.count", 6);
    conf.setInt("hbase.master.procedure.threads", 4);
    conf.setInt("hbase.netty.worker.count", 2);
    conf.setInt("hbase.hconnection.threads.max", 16);
  }

  /** A replica looks for what its primary has flushed. */
  private static void showReplicas(Configuration conf) {
    conf.setInt("hbase.regionserver.storefile.refresh.period", 200);
  }

  /** Quotas can be set, and the servers hear of one soon. */
  private static void limitRequests(Configuration conf) {
    conf.setBoolean("hbase.quota.enabled", true);
    conf.setInt("hbase.quota.refresh.period", 500);
  }
}
