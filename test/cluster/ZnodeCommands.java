package keyroute.cluster;

import java.io.IOException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;

/** The commands that look at and edit znodes, behind the back of all servers. */
final class ZnodeCommands {
  private static final int CONNECT_MS = 10_000;

  private interface ZnodeAction {
    String run(ZooKeeper client) throws Exception;
  }

  private final Servers servers;

  ZnodeCommands(Servers servers) {
    this.servers = servers;
  }

  void register(Commands commands) {
    commands.add("znode-get PATH", 1, (words, answer) ->
        znode(client -> Keys.formatHex(client.getData(words.get(0), false, null))));
    commands.add("znode-set PATH HEX", 2, (words, answer) ->
        znode(client -> setZnode(client, words.get(0), Keys.parseHex(words.get(1)))));
    commands.add("znode-delete PATH", 1, (words, answer) ->
        znode(client -> {
          client.delete(words.get(0), -1);
          return "";
        }));
  }

  private static String setZnode(ZooKeeper client, String path, byte[] data) throws Exception {
    try {
      client.setData(path, data, -1);
    } catch (KeeperException.NoNodeException missing) {
      client.create(path, data, Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
    }
    return "";
  }

  /** A client for each command: none is left in a state that a restart of ZooKeeper spoils. */
  private String znode(ZnodeAction action) throws Exception {
    CountDownLatch connected = new CountDownLatch(1);
    ZooKeeper client = new ZooKeeper(
        Settings.HOST + ":" + servers.zookeeperPort(), Settings.SESSION_MS, event -> {
          if (event.getState() == KeeperState.SyncConnected) {
            connected.countDown();
          }
        });
    try {
      if (!connected.await(CONNECT_MS, TimeUnit.MILLISECONDS)) {
        throw new IOException("no connection to ZooKeeper within " + CONNECT_MS + " ms");
      }
      return action.run(client);
    } finally {
      client.close();
    }
  }
}
