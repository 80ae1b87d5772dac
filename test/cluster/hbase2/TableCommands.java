package keyroute.cluster;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.hadoop.hbase.NamespaceDescriptor;
import org.apache.hadoop.hbase.NamespaceNotFoundException;
import org.apache.hadoop.hbase.RegionMetrics;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.RegionReplicaUtil;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.util.Bytes;

/** The commands that make, change and remove tables and regions; each waits for the effect. */
final class TableCommands {
  private static final String FAMILY = "f";

  /** How often a refused split or merge is tried again, with the obstacles cleared in between. */
  private static final int RESHAPE_TRIES = 20;
  private static final long RESHAPE_PAUSE_MS = 250;

  private static final int MOVE_TRIES = 5;
  private static final long MOVE_MS = 6000;

  private interface Reshape {
    Future<Void> start() throws Exception;
  }

  private final Session session;

  TableCommands(Session session) {
    this.session = session;
  }

  void register(Commands commands) {
    commands.add("create TABLE [replication=N] [families=F,...] [versions=N] [SPLITKEY...]", 1,
        (words, answer) -> create(words));
    commands.add("split TABLE ROW", 2,
        (words, answer) -> split(table(words), Keys.parse(words.get(1))));
    commands.add("merge TABLE ROW1 ROW2 [force]", 3, (words, answer) -> merge(table(words),
        Keys.parse(words.get(1)), Keys.parse(words.get(2)), words.size() > 3));
    commands.add("move TABLE ROW [SERVERINDEX|SERVERNAME]", 2, (words, answer) ->
        move(table(words), Keys.parse(words.get(1)), words.size() > 2 ? words.get(2) : null));
    commands.add("disable TABLE", 1, (words, answer) -> disable(table(words)));
    commands.add("enable TABLE", 1, (words, answer) -> enable(table(words)));
    commands.add("drop TABLE", 1, (words, answer) -> drop(table(words)));
    commands.add("put TABLE ROW VALUE", 3, (words, answer) ->
        put(table(words), Keys.parse(words.get(1)), Keys.parse(words.get(2))));
    commands.add("flush TABLE", 1, (words, answer) -> flush(table(words)));
  }

  private static TableName table(List<String> words) {
    return TableName.valueOf(words.get(0));
  }

  String create(List<String> words) throws Exception {
    TableName table = table(words);
    int replication = 1;
    int versions = 1;
    String families = FAMILY;
    List<byte[]> splits = new ArrayList<>();
    for (String word : words.subList(1, words.size())) {
      if (word.startsWith("replication=")) {
        replication = Integer.parseInt(word.substring(word.indexOf('=') + 1));
      } else if (word.startsWith("versions=")) {
        versions = Integer.parseInt(word.substring(word.indexOf('=') + 1));
      } else if (word.startsWith("families=")) {
        families = word.substring(word.indexOf('=') + 1);
      } else {
        splits.add(Keys.parse(word));
      }
    }
    TableDescriptorBuilder builder = TableDescriptorBuilder.newBuilder(table)
        .setRegionReplication(replication);
    for (String family : families.split(",")) {
      builder.setColumnFamily(ColumnFamilyDescriptorBuilder.newBuilder(Bytes.toBytes(family))
          .setMaxVersions(versions).build());
    }
    makeNamespace(table.getNamespaceAsString());
    session.admin.createTable(builder.build(),
        splits.isEmpty() ? null : splits.toArray(new byte[0][]));
    return (splits.size() + 1) + " regions";
  }

  private void makeNamespace(String name) throws Exception {
    try {
      session.admin.getNamespaceDescriptor(name);
    } catch (NamespaceNotFoundException missing) {
      session.admin.createNamespace(NamespaceDescriptor.create(name).build());
    }
  }

  String split(TableName table, byte[] row) throws Exception {
    RegionInfo parent = session.locate(table, row).getRegion();
    reshape(table, () -> session.admin.splitRegionAsync(parent.getRegionName(), row));
    List<String> daughters = new ArrayList<>();
    Wait.until("two open daughters", Session.LIMIT_MS, () -> {
      daughters.clear();
      boolean parentServed = false;
      for (Session.MetaRow candidate : session.metaRows(table)) {
        RegionInfo region = candidate.region();
        if (region.getEncodedName().equals(parent.getEncodedName())) {
          parentServed = candidate.isOpen();
        } else if (candidate.isOpen() && isHalf(region, parent, row)) {
          daughters.add(region.getEncodedName());
        }
      }
      return daughters.size() == 2 && !parentServed;
    });
    return String.join(" ", daughters);
  }

  private static boolean isHalf(RegionInfo region, RegionInfo parent, byte[] row) {
    boolean lower = Bytes.equals(region.getStartKey(), parent.getStartKey())
        && Bytes.equals(region.getEndKey(), row);
    boolean upper = Bytes.equals(region.getStartKey(), row)
        && Bytes.equals(region.getEndKey(), parent.getEndKey());
    return lower || upper;
  }

  /** With force, regions that are not neighbours too: the result overlaps those in between. */
  String merge(TableName table, byte[] row1, byte[] row2, boolean force)
      throws Exception {
    RegionInfo first = session.locate(table, row1).getRegion();
    RegionInfo second = session.locate(table, row2).getRegion();
    byte[][] names = {first.getEncodedNameAsBytes(), second.getEncodedNameAsBytes()};
    reshape(table, () -> session.admin.mergeRegionsAsync(names, force));
    RegionInfo[] merged = new RegionInfo[1];
    Wait.until("the merged region to open", Session.LIMIT_MS, () -> {
      for (Session.MetaRow candidate : session.metaRows(table)) {
        String name = candidate.region().getEncodedName();
        if (name.equals(first.getEncodedName()) || name.equals(second.getEncodedName())) {
          return false;
        }
        if (candidate.isOpen() && candidate.region().containsRow(row1)) {
          merged[0] = candidate.region();
        }
      }
      return merged[0] != null && merged[0].containsRow(row2);
    });
    return merged[0].getEncodedName();
  }

  /**
   * Splits or merges.  Both are refused while a region still refers to its parents' files or its
   * row in hbase:meta names what it was merged from; a compaction and the catalog janitor clear
   * that, so they are run only when refused: otherwise the traces of the last change stay.
   */
  private void reshape(TableName table, Reshape reshape) throws Exception {
    for (int tries = 1;; tries++) {
      try {
        reshape.start().get(Session.LIMIT_MS, TimeUnit.MILLISECONDS);
        return;
      } catch (Exception refused) {
        if (tries == RESHAPE_TRIES || !isClearable(refused)) {
          throw refused;
        }
        session.admin.majorCompact(table);
        Thread.sleep(RESHAPE_PAUSE_MS);
        session.admin.runCatalogJanitor();
      }
    }
  }

  private static boolean isClearable(Exception refused) {
    String text = String.valueOf(Commands.unwrap(refused).getMessage()).toLowerCase();
    return text.contains("splittable") || text.contains("splitable") || text.contains("mergeable")
        || text.contains("merge qualifier") || text.contains("reference");
  }

  String move(TableName table, byte[] row, String to) throws Exception {
    RegionInfo region = session.locate(table, row).getRegion();
    ServerName from = session.locate(table, row).getServerName();
    ServerName target = to == null ? session.anotherThan(from) : session.parseServer(to);
    moveAndWait(session, region, table, row, target);
    return target.toString();
  }

  /** The master may choose another server if the target is not quite ready; it is asked again. */
  static void moveAndWait(Session session, RegionInfo region, TableName table, byte[] row,
      ServerName target) throws Exception {
    for (int tries = 1;; tries++) {
      session.admin.move(region.getEncodedNameAsBytes(), target);
      try {
        Wait.until("the region on " + target, MOVE_MS,
            () -> target.equals(session.locate(table, row).getServerName()));
        return;
      } catch (TimeoutException elsewhere) {
        if (tries == MOVE_TRIES) {
          throw elsewhere;
        }
      }
    }
  }

  String disable(TableName table) throws Exception {
    session.admin.disableTable(table);
    return "";
  }

  String enable(TableName table) throws Exception {
    session.admin.enableTable(table);
    return "";
  }

  String drop(TableName table) throws Exception {
    if (!session.admin.isTableDisabled(table)) {
      session.admin.disableTable(table);
    }
    session.admin.deleteTable(table);
    return "";
  }

  private String put(TableName table, byte[] row, byte[] value) throws Exception {
    byte[] family = session.admin.getDescriptor(table).getColumnFamilies()[0].getName();
    try (Table opened = session.connection.getTable(table)) {
      opened.put(new Put(row).addColumn(family, Bytes.toBytes("q"), value));
    }
    return "";
  }

  /** A replica reads the primary's files, and sees new ones when it looks for them next. */
  String flush(TableName table) throws Exception {
    session.admin.flush(table);
    if (session.admin.getDescriptor(table).getRegionReplication() > 1) {
      Wait.until("the replicas to have the files", Session.LIMIT_MS, () -> haveFiles(table));
    }
    return "";
  }

  /** All replicas of a region have the same number of files. */
  private boolean haveFiles(TableName table) throws Exception {
    Map<String, Set<Integer>> counts = new HashMap<>();
    for (ServerName server : session.liveServers()) {
      Map<String, RegionMetrics> metrics = new HashMap<>();
      for (RegionMetrics each : session.admin.getRegionMetrics(server, table)) {
        metrics.put(each.getNameAsString(), each);
      }
      for (RegionInfo region : session.admin.getRegions(server)) {
        RegionMetrics its = metrics.get(region.getRegionNameAsString());
        if (its != null) {
          RegionInfo primary = RegionReplicaUtil.getRegionInfoForDefaultReplica(region);
          counts.computeIfAbsent(primary.getEncodedName(), name -> new HashSet<>())
              .add(its.getStoreFileCount());
        }
      }
    }
    return counts.values().stream().allMatch(of -> of.size() == 1);
  }
}
