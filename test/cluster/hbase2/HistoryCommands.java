package keyroute.cluster;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellComparator;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * The commands that tell what hbase:meta has said over time: the truth that answers given meanwhile
 * are judged by.  What it said comes from the cells' versions, deleted ones too, which Settings lets
 * no compaction remove, and from what the command read before; since when everybody could know it,
 * from a Watcher.
 */
final class HistoryCommands {
  private final Session session;
  private Watcher watcher;

  /** What was read before: a flush of hbase:meta takes the cells of rows that were deleted. */
  private final Map<TableName, TreeMap<byte[], TreeSet<Cell>>> known = new HashMap<>();

  HistoryCommands(Session session) {
    this.session = session;
  }

  void register(Commands commands) {
    commands.add("watch", 0, (words, answer) -> watch());
    commands.add("watch-stop", 0, (words, answer) -> stop());
    commands.add("outages", 0, (words, answer) -> outages(answer));
    commands.add("history TABLE...", 1, this::history);
  }

  private String watch() throws Exception {
    if (watcher != null) {
      watcher.end();
    }
    watcher = new Watcher(session.conf);
    watcher.start();
    Wait.until("a first read of hbase:meta", Session.LIMIT_MS, () -> watcher.reads() > 0);
    return "";
  }

  private String stop() throws Exception {
    watcher.end();
    return watcher.reads() + " reads";
  }

  private String outages(Commands.Answer answer) {
    List<Watcher.Outage> outages = watcher.outages();
    outages.forEach(outage -> answer.line(
        outage.firstFailedMs() + "\t" + outage.lastFailedMs() + "\t" + outage.readMs()));
    return Integer.toString(outages.size());
  }

  private String history(List<String> words, Commands.Answer answer) throws Exception {
    int count = 0;
    for (String word : words) {
      TableName table = TableName.valueOf(word);
      Scan scan = Session.metaScan(table).setRaw(true).readAllVersions();
      // A row that was deleted and made again may come in several results.
      TreeMap<byte[], TreeSet<Cell>> rows =
          known.computeIfAbsent(table, name -> new TreeMap<>(Bytes.BYTES_COMPARATOR));
      try (Table meta = session.connection.getTable(TableName.META_TABLE_NAME);
          ResultScanner scanner = meta.getScanner(scan)) {
        for (Result result : scanner) {
          rows.computeIfAbsent(result.getRow(), row -> new TreeSet<>(CellComparator.getInstance()))
              .addAll(result.listCells());
        }
      }
      for (var row : rows.entrySet()) {
        count += describe(row.getKey(), new ArrayList<>(row.getValue()), answer);
      }
    }
    return Integer.toString(count);
  }

  /** encoded, table, start, end, written, seen, host, port, start code, seqnum. */
  private int describe(byte[] row, List<Cell> cells, Commands.Answer answer) {
    RegionInfo region = null;
    for (Cell cell : cells) {
      if (region == null && CellUtil.matchingQualifier(cell, HConstants.REGIONINFO_QUALIFIER)) {
        region = RegionInfo.parseFromOrNull(CellUtil.cloneValue(cell));
      }
    }
    if (region == null) {
      return 0;
    }
    List<Placement.Change> changes = Placement.history(cells);
    List<Watcher.Sighting> sightings =
        watcher == null ? List.of() : watcher.sightings(Keys.format(row));
    for (int i = 0; i < changes.size(); i++) {
      Placement placement = changes.get(i).placement();
      int colon = placement.address().lastIndexOf(':');
      answer.line(String.join("\t", region.getEncodedName(), region.getTable().getNameAsString(),
          Keys.format(region.getStartKey()), Keys.format(region.getEndKey()),
          Long.toString(changes.get(i).ms()), Long.toString(seen(changes, i, sightings)),
          colon < 0 ? "" : placement.address().substring(0, colon),
          colon < 0 ? "0" : placement.address().substring(colon + 1),
          Long.toString(placement.startCode()), Long.toString(placement.seqnum())));
    }
    return changes.size();
  }

  /**
   * When somebody is known to have seen a change, or a later one; 0 = not known.  That a row had no
   * place before it had one is no news.
   */
  private static long seen(List<Placement.Change> changes, int index,
      List<Watcher.Sighting> sightings) {
    boolean placed = false;
    for (Watcher.Sighting sighting : sightings) {
      placed |= !sighting.placement().equals(Placement.NONE);
      for (int i = 0; placed && i < changes.size(); i++) {
        if (changes.get(i).placement().equals(sighting.placement())) {
          if (i >= index) {
            return sighting.seenMs();
          }
          break; // the earliest that it can be
        }
      }
    }
    return 0;
  }
}
