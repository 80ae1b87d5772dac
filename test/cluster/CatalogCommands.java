package keyroute.cluster;

import java.io.IOException;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Watcher.Event.KeeperState;
import org.apache.zookeeper.ZooDefs.Ids;
import org.apache.zookeeper.ZooKeeper;

/**
 * The commands that look at and edit what a client reads to find regions: rows of hbase:meta and
 * znodes.  They go behind the master's back, which is how a test makes a broken catalog.
 */
final class CatalogCommands {
  private static final int CONNECT_MS = 10_000;

  private interface ZnodeAction {
    String run(ZooKeeper client) throws Exception;
  }

  private final Session session;

  CatalogCommands(Session session) {
    this.session = session;
  }

  void register(Commands commands) {
    commands.add("meta-rows TABLE", 1, this::metaRows);
    commands.add("put-meta ROWKEY QUALIFIER HEXVALUE", 3, (words, answer) -> putMeta(words));
    commands.add("delete-meta ROWKEY QUALIFIER", 2, (words, answer) -> deleteMeta(words));
    commands.add("delete-row ROWKEY", 1, (words, answer) -> deleteRow(words));
    commands.add("run-janitor", 0,
        (words, answer) -> session.admin.runCatalogJanitor() + " rows cleaned");
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

  private String metaRows(List<String> words, Commands.Answer answer) throws Exception {
    List<Result> rows = session.scanMeta(TableName.valueOf(words.get(0)));
    for (Result row : rows) {
      for (Cell cell : row.rawCells()) {
        answer.line(Keys.format(row.getRow()) + "\t"
            + Keys.format(CellUtil.cloneQualifier(cell)) + "\t"
            + Keys.formatHex(CellUtil.cloneValue(cell)));
      }
    }
    return Integer.toString(rows.size());
  }

  private String putMeta(List<String> words) throws Exception {
    Put put = new Put(Keys.parse(words.get(0))).addColumn(HConstants.CATALOG_FAMILY,
        Bytes.toBytes(words.get(1)), Keys.parseHex(words.get(2)));
    try (Table meta = session.connection.getTable(TableName.META_TABLE_NAME)) {
      meta.put(put);
    }
    return "";
  }

  private String deleteMeta(List<String> words) throws Exception {
    return delete(new Delete(Keys.parse(words.get(0)))
        .addColumns(HConstants.CATALOG_FAMILY, Bytes.toBytes(words.get(1))));
  }

  private String deleteRow(List<String> words) throws Exception {
    return delete(new Delete(Keys.parse(words.get(0))));
  }

  private String delete(Delete delete) throws Exception {
    try (Table meta = session.connection.getTable(TableName.META_TABLE_NAME)) {
      meta.delete(delete);
    }
    return "";
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
    try (ZooKeeper client = new ZooKeeper(
        Settings.HOST + ":" + session.servers.zookeeperPort(), Settings.SESSION_MS, event -> {
          if (event.getState() == KeeperState.SyncConnected) {
            connected.countDown();
          }
        })) {
      if (!connected.await(CONNECT_MS, TimeUnit.MILLISECONDS)) {
        throw new IOException("no connection to ZooKeeper within " + CONNECT_MS + " ms");
      }
      return action.run(client);
    }
  }
}
