package keyroute.cluster;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeoutException;
import org.apache.hadoop.hbase.HColumnDescriptor;
import org.apache.hadoop.hbase.HRegionInfo;
import org.apache.hadoop.hbase.HTableDescriptor;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.util.Bytes;

/** The commands that make, change and remove tables and regions; each waits for the effect. */
final class TableCommands {
  private static final String FAMILY = "f";

  private static final int SPLIT_TRIES = 5;
  private static final long SPLIT_MS = 10_000;

  private final Session session;

  TableCommands(Session session) {
    this.session = session;
  }

  void register(Commands commands) {
    commands.add("create TABLE [families=F,...] [versions=N] [SPLITKEY...]", 1,
        (words, answer) -> create(words));
    commands.add("split TABLE ROW", 2,
        (words, answer) -> split(words.get(0), Keys.parse(words.get(1))));
    commands.add("move TABLE ROW [SERVERINDEX|SERVERNAME]", 2, (words, answer) ->
        move(words.get(0), Keys.parse(words.get(1)), words.size() > 2 ? words.get(2) : null));
    commands.add("disable TABLE", 1, (words, answer) -> disable(words.get(0)));
    commands.add("enable TABLE", 1, (words, answer) -> enable(words.get(0)));
    commands.add("drop TABLE", 1, (words, answer) -> drop(words.get(0)));
    commands.add("flush TABLE", 1, (words, answer) -> flush(words.get(0)));
  }

  private String create(List<String> words) throws Exception {
    String table = words.get(0);
    int versions = 1;
    String families = FAMILY;
    List<byte[]> splits = new ArrayList<>();
    for (String word : words.subList(1, words.size())) {
      if (word.startsWith("versions=")) {
        versions = Integer.parseInt(word.substring(word.indexOf('=') + 1));
      } else if (word.startsWith("families=")) {
        families = word.substring(word.indexOf('=') + 1);
      } else {
        splits.add(Keys.parse(word));
      }
    }
    HTableDescriptor descriptor = new HTableDescriptor(table);
    for (String family : families.split(",")) {
      HColumnDescriptor column = new HColumnDescriptor(family);
      column.setMaxVersions(versions);
      descriptor.addFamily(column);
    }
    session.dialect.makeNamespace(session.admin, table);
    session.admin.createTable(descriptor,
        splits.isEmpty() ? null : splits.toArray(new byte[0][]));
    return awaitOpen(table) + " regions";
  }

  /** Until all regions are open.  Returns how many there are. */
  private int awaitOpen(String table) throws Exception {
    int[] count = new int[1];
    Wait.until("the regions of " + table, Session.LIMIT_MS, () -> {
      count[0] = 0;
      for (Session.MetaRow row : session.metaRows(table)) {
        if (!row.region().isSplitParent()) {
          count[0]++;
          if (!row.isOpen()) {
            return false;
          }
        }
      }
      return count[0] > 0;
    });
    return count[0];
  }

  /**
   * A server says nothing when it does not split: while the region refers to its parent's files,
   * which a compaction ends.
   */
  private String split(String table, byte[] row) throws Exception {
    HRegionInfo parent = session.locate(table, row).getRegionInfo();
    List<String> daughters = new ArrayList<>();
    for (int tries = 1; daughters.isEmpty(); tries++) {
      session.admin.split(parent.getRegionName(), row);
      try {
        Wait.until("two open daughters", SPLIT_MS, () -> findDaughters(parent, row, daughters));
      } catch (TimeoutException refused) {
        daughters.clear();
        if (tries == SPLIT_TRIES) {
          throw refused;
        }
        session.admin.majorCompact(table);
      }
    }
    return String.join(" ", daughters);
  }

  private boolean findDaughters(HRegionInfo parent, byte[] row, List<String> daughters)
      throws Exception {
    daughters.clear();
    boolean parentServed = false;
    for (Session.MetaRow candidate : session.metaRows(Bytes.toString(parent.getTableName()))) {
      HRegionInfo region = candidate.region();
      if (region.getEncodedName().equals(parent.getEncodedName())) {
        parentServed = candidate.isOpen();
      } else if (candidate.isOpen() && isHalf(region, parent, row)) {
        daughters.add(region.getEncodedName());
      }
    }
    return daughters.size() == 2 && !parentServed;
  }

  private static boolean isHalf(HRegionInfo region, HRegionInfo parent, byte[] row) {
    boolean lower = Bytes.equals(region.getStartKey(), parent.getStartKey())
        && Bytes.equals(region.getEndKey(), row);
    boolean upper = Bytes.equals(region.getStartKey(), row)
        && Bytes.equals(region.getEndKey(), parent.getEndKey());
    return lower || upper;
  }

  private String move(String table, byte[] row, String to) throws Exception {
    HRegionInfo region = session.locate(table, row).getRegionInfo();
    ServerName target = to == null ? session.anotherThan(session.serverOf(region))
        : session.parseServer(to);
    session.move(region, target);
    return target.toString();
  }

  private String disable(String table) throws Exception {
    session.admin.disableTable(table);
    return "";
  }

  private String enable(String table) throws Exception {
    session.admin.enableTable(table);
    return awaitOpen(table) + " regions";
  }

  private String drop(String table) throws Exception {
    if (!session.admin.isTableDisabled(table)) {
      session.admin.disableTable(table);
    }
    session.admin.deleteTable(table);
    return "";
  }

  private String flush(String table) throws Exception {
    session.admin.flush(table);
    return "";
  }
}
