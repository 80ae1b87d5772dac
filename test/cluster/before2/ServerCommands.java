package keyroute.cluster;

import java.util.List;
import org.apache.hadoop.hbase.HRegionInfo;
import org.apache.hadoop.hbase.ServerName;

/** The commands about servers: who lives, who holds the catalog, kill and start. */
final class ServerCommands {
  private static final long QUIET_MS = 500;

  private final Session session;

  ServerCommands(Session session) {
    this.session = session;
  }

  void register(Commands commands) {
    commands.add("servers", 0, (words, answer) -> list(answer));
    registerCatalog(commands, "meta", HRegionInfo.FIRST_META_REGIONINFO);
    commands.add("kill SERVERINDEX|SERVERNAME", 1,
        (words, answer) -> kill(session.parseServer(words.get(0))));
    commands.add("start-server [PORT]", 0, (words, answer) -> start(words));
    commands.add("wait-quiet", 0, (words, answer) -> waitQuiet());
  }

  /** The commands about the server of a region of the catalog. */
  void registerCatalog(Commands commands, String name, HRegionInfo region) {
    commands.add(name + "-server", 0, (words, answer) -> session.serverOf(region).toString());
    commands.add("move-" + name + " [SERVERINDEX|SERVERNAME]", 0,
        (words, answer) -> move(region, words));
    commands.add("kill-" + name, 0, (words, answer) -> kill(session.serverOf(region)));
  }

  private String list(Commands.Answer answer) throws Exception {
    List<ServerName> live = session.liveServers();
    live.forEach(server -> answer.line(server.toString()));
    return Integer.toString(live.size());
  }

  private String move(HRegionInfo region, List<String> words) throws Exception {
    ServerName target = words.isEmpty() ? session.anotherThan(session.serverOf(region))
        : session.parseServer(words.get(0));
    session.move(region, target);
    return target.toString();
  }

  private String kill(ServerName server) throws Exception {
    session.servers.kill(server);
    return server.toString();
  }

  private String start(List<String> words) throws Exception {
    int port = session.servers.startServer(words.isEmpty() ? 0 : Integer.parseInt(words.get(0)));
    Wait.until("the new server to report", Session.LIMIT_MS,
        () -> session.masterKnowsServers() && session.serverAt(port) != null);
    return session.serverAt(port).toString();
  }

  /** Quiet for a while: a server that died is not yet known to be dead. */
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

  /** The master knows who lives, nothing is in transition, and no death is still worked on. */
  private boolean isQuiet() throws Exception {
    return session.masterKnowsServers()
        && session.admin.getClusterStatus().getRegionsInTransition().isEmpty()
        && !session.servers.cluster().getActiveMaster().getServerManager().areDeadServersInProgress();
  }
}
