package keyroute.cluster;

import java.util.List;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * The commands that look at and edit what a client reads to find regions: rows of hbase:meta.  They
 * go behind the master's back, which is how a test makes a broken catalog.
 */
final class CatalogCommands {
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
}
