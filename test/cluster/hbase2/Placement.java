package keyroute.cluster;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * Where a row of hbase:meta says that the region is: the server's address, its start code and the
 * sequence number.  NONE: the row is gone, has no server, or is a split parent's.
 */
record Placement(String address, long startCode, long seqnum) {
  static final Placement NONE = new Placement("", 0, -1);

  /** From a given moment on. The time is the cells' own. */
  record Change(long ms, Placement placement) {}

  /** As a plain read of the row has it. */
  static Placement of(Result row) {
    return of(row.getValue(HConstants.CATALOG_FAMILY, HConstants.REGIONINFO_QUALIFIER),
        row.getValue(HConstants.CATALOG_FAMILY, HConstants.SERVER_QUALIFIER),
        row.getValue(HConstants.CATALOG_FAMILY, HConstants.STARTCODE_QUALIFIER),
        row.getValue(HConstants.CATALOG_FAMILY, HConstants.SEQNUM_QUALIFIER));
  }

  /** All that the row has been, from a raw read of all its versions, in the order of time. */
  static List<Change> history(List<Cell> cells) {
    TreeSet<Long> times = new TreeSet<>();
    cells.forEach(cell -> times.add(cell.getTimestamp()));
    List<Change> changes = new ArrayList<>();
    Placement last = NONE;
    for (long ms : times) {
      Placement placement = of(at(cells, HConstants.REGIONINFO_QUALIFIER, ms),
          at(cells, HConstants.SERVER_QUALIFIER, ms), at(cells, HConstants.STARTCODE_QUALIFIER, ms),
          at(cells, HConstants.SEQNUM_QUALIFIER, ms));
      if (!placement.equals(last)) {
        changes.add(new Change(ms, placement));
        last = placement;
      }
    }
    return changes;
  }

  private static Placement of(byte[] info, byte[] server, byte[] startCode, byte[] seqnum) {
    RegionInfo region = RegionInfo.parseFromOrNull(info);
    if (region == null || region.isOffline() || server == null || server.length == 0) {
      return NONE;
    }
    return new Placement(new String(server, StandardCharsets.UTF_8),
        startCode == null ? 0 : Bytes.toLong(startCode), seqnum == null ? -1 : Bytes.toLong(seqnum));
  }

  /** The value of a column as of a moment, or null. */
  private static byte[] at(List<Cell> cells, byte[] qualifier, long ms) {
    Cell found = null;
    for (Cell cell : cells) {
      if (isPut(cell) && CellUtil.matchingQualifier(cell, qualifier) && cell.getTimestamp() <= ms
          && (found == null || cell.getTimestamp() > found.getTimestamp())
          && !isDeleted(cells, cell, ms)) {
        found = cell;
      }
    }
    return found == null ? null : CellUtil.cloneValue(found);
  }

  private static boolean isDeleted(List<Cell> cells, Cell put, long ms) {
    for (Cell cell : cells) {
      long since = cell.getTimestamp();
      if (isPut(cell) || since > ms || since < put.getTimestamp()) {
        continue;
      }
      boolean all = cell.getTypeByte() == KeyValue.Type.DeleteFamily.getCode();
      boolean older = cell.getTypeByte() == KeyValue.Type.DeleteColumn.getCode();
      if (all || (CellUtil.matchingQualifier(cell, CellUtil.cloneQualifier(put))
          && (older || since == put.getTimestamp()))) {
        return true;
      }
    }
    return false;
  }

  private static boolean isPut(Cell cell) {
    return cell.getTypeByte() == KeyValue.Type.Put.getCode();
  }
}
