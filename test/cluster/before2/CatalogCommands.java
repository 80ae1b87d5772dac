package keyroute.cluster;

import java.io.IOException;
import java.util.List;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.HTable;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * The commands that look at and edit what a client reads to find regions.  They go behind the
 * master's back, which is how a test makes a broken catalog.
 */
final class CatalogCommands {
  private final Session session;

  CatalogCommands(Session session) {
    this.session = session;
  }

  void register(Commands commands) {
    commands.add("meta-rows TABLE", 1,
        (words, answer) -> tell(session.scanMeta(words.get(0)), answer));
    commands.add("put-meta ROWKEY QUALIFIER HEXVALUE", 3, (words, answer) -> putMeta(words));
    commands.add("delete-meta ROWKEY QUALIFIER", 2, (words, answer) -> deleteMeta(words));
    commands.add("delete-row ROWKEY", 1, (words, answer) -> deleteRow(words));
  }

  /** A line for each cell. */
  static String tell(List<Result> rows, Commands.Answer answer) {
    for (Result row : rows) {
      for (KeyValue cell : row.raw()) {
        answer.line(Keys.format(cell.getRow()) + "\t" + Keys.format(cell.getQualifier()) + "\t"
            + Keys.formatHex(cell.getValue()));
      }
    }
    return Integer.toString(rows.size());
  }

  private String putMeta(List<String> words) throws IOException {
    Put put = new Put(Keys.parse(words.get(0)));
    put.add(HConstants.CATALOG_FAMILY, Bytes.toBytes(words.get(1)), Keys.parseHex(words.get(2)));
    HTable meta = new HTable(session.conf, session.dialect.metaTable());
    try {
      meta.put(put);
    } finally {
      meta.close();
    }
    return "";
  }

  private String deleteMeta(List<String> words) throws IOException {
    Delete delete = new Delete(Keys.parse(words.get(0)));
    delete.deleteColumns(HConstants.CATALOG_FAMILY, Bytes.toBytes(words.get(1)));
    return delete(delete);
  }

  private String deleteRow(List<String> words) throws IOException {
    return delete(new Delete(Keys.parse(words.get(0))));
  }

  private String delete(Delete delete) throws IOException {
    HTable meta = new HTable(session.conf, session.dialect.metaTable());
    try {
      meta.delete(delete);
    } finally {
      meta.close();
    }
    return "";
  }
}
