package keyroute.cluster;

import java.util.EnumSet;
import java.util.List;
import org.apache.hadoop.hbase.ClusterMetrics;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.RegionInfoBuilder;

/** The commands about servers: who lives, who holds hbase:meta, kill, start and freeze. */
final class ServerCommands {
  private static final long QUIET_MS = 500;

  private final Session session;

  ServerCommands(Session session) {
    this.session = session;
  }

  void register(Commands commands) {
    commands.add("servers", 0, (words, answer) -> list(answer));
    commands.add("meta-server", 0, (words, answer) -> session.metaServer().toString());
    commands.add("move-meta [SERVERINDEX|SERVERNAME]", 0, (words, answer) -> moveMeta(words));
    commands.add("kill SERVERINDEX|SERVERNAME", 1,
        (words, answer) -> kill(session.parseServer(words.get(0))));
    commands.add("kill-meta", 0, (words, answer) -> kill(session.metaServer()));
    commands.add("start-server [PORT]", 0, (words, answer) -> start(words));
    commands.add("freeze SERVERINDEX|SERVERNAME", 1, (words, answer) -> freeze(words));
    commands.add("thaw SERVERNAME", 1, (words, answer) -> thaw(words));
    commands.add("stop-zookeeper", 0, (words, answer) -> stopZookeeper());
    commands.add("start-zookeeper", 0, (words, answer) -> startZookeeper());
    commands.add("restart-zookeeper", 0, (words, answer) -> {
      stopZookeeper();
      return startZookeeper();
    });
    commands.add("wait-quiet", 0, (words, answer) -> waitQuiet());
  }

  private String list(Commands.Answer answer) throws Exception {
    List<ServerName> live = session.liveServers();
    live.forEach(server -> answer.line(server.toString()));
    return Integer.toString(live.size());
  }

  private String moveMeta(List<String> words) throws Exception {
    ServerName target = words.isEmpty() ? session.anotherThan(session.metaServer())
        : session.parseServer(words.get(0));
    TableCommands.moveAndWait(session, RegionInfoBuilder.FIRST_META_REGIONINFO,
        TableName.META_TABLE_NAME, HConstants.EMPTY_START_ROW, target);
    return target.toString();
  }

  private String kill(ServerName server) throws Exception {
    session.servers.kill(server);
    return server.toString();
  }

  private String start(List<String> words) throws Exception {
    int port = session.servers.startServer(
        words.isEmpty() ? 0 : Integer.parseInt(words.get(0)));
    ServerName[] started = new ServerName[1];
    Wait.until("the new server to report", Session.LIMIT_MS, () -> {
      for (ServerName server : session.liveServers()) {
        // Of two with one port the later start is the new one; the master may not yet know
        // that the other is dead.
        if (server.getPort() == port && (started[0] == null
            || server.getStartcode() > started[0].getStartcode())) {
          started[0] = server;
        }
      }
      return started[0] != null;
    });
    session.awaitService(started[0]);
    return started[0].toString();
  }

  private String freeze(List<String> words) throws Exception {
    ServerName server = session.parseServer(words.get(0));
    session.servers.freeze(server);
    return server.toString();
  }

  private String thaw(List<String> words) throws Exception {
    ServerName server = session.parseServer(words.get(0));
    session.servers.thaw(server);
    return server.toString();
  }

  private String stopZookeeper() throws Exception {
    session.servers.stopZookeeper();
    return "";
  }

  private String startZookeeper() throws Exception {
    session.servers.startZookeeper();
    return Settings.HOST + ":" + session.servers.zookeeperPort();
  }

  /**
   * Quiet for a while: a server's death is known to the master a moment before there is a procedure
   * that mends it, and the regions are not in transition yet.
   */
  private String waitQuiet() throws Exception {
    long[] since = {0};
    Wait.until("quiet", 2 * Session.LIMIT_MS, () -> {
      long began = since[0] != 0 ? since[0] : System.nanoTime();
      since[0] = 0; // unless it is quiet still: the question may fail, too
      if (isQuiet()) {
        since[0] = began;
      }
      return since[0] != 0 && System.nanoTime() - began >= QUIET_MS * 1_000_000;
    });
    return "";
  }

  /** The master knows who lives, nothing is in transition, and no procedure runs. */
  private boolean isQuiet() throws Exception {
    return session.masterKnowsServers()
        && session.admin.getClusterMetrics(
            EnumSet.of(ClusterMetrics.Option.REGIONS_IN_TRANSITION))
            .getRegionStatesInTransition().isEmpty()
        && !unfinishedProcedures();
  }

  /** The master tells its procedures as JSON; only their states matter here. */
  private boolean unfinishedProcedures() throws Exception {
    String procedures = session.admin.getProcedures();
    for (String state : new String[] {"INITIALIZING", "RUNNABLE", "WAITING", "WAITING_TIMEOUT"}) {
      if (procedures.contains('"' + state + '"')) {
        return true;
      }
    }
    return false;
  }
}
