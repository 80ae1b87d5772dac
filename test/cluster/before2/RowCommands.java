package keyroute.cluster;

import java.io.IOException;
import java.util.List;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.HTable;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.util.Bytes;

/** The commands about rows: the Java client writes and reads them. */
final class RowCommands {
  private final Session session;

  RowCommands(Session session) {
    this.session = session;
  }

  void register(Commands commands) {
    commands.add("put TABLE ROW VALUE", 3, (words, answer) ->
        put(words.get(0), Keys.parse(words.get(1)), Keys.parse(words.get(2))));
    commands.add("get TABLE ROW [versions=N] [families=F,...] [from=MS] [to=MS]", 2, this::get);
  }

  private String put(String table, byte[] row, byte[] value) throws IOException {
    byte[] family = session.admin.getTableDescriptor(Bytes.toBytes(table))
        .getColumnFamilies()[0].getName();
    HTable opened = new HTable(session.conf, table);
    try {
      Put put = new Put(row);
      put.add(family, Bytes.toBytes("q"), value);
      opened.put(put);
    } finally {
      opened.close();
    }
    return "";
  }

  private String get(List<String> words, Commands.Answer answer) throws IOException {
    Get get = new Get(Keys.parse(words.get(1)));
    get.setMaxVersions(Integer.parseInt(text(words, "versions", "1")));
    for (String family : text(words, "families", "").split(",")) {
      if (!family.isEmpty()) {
        get.addFamily(Bytes.toBytes(family));
      }
    }
    get.setTimeRange(Long.parseLong(text(words, "from", "0")),
        Long.parseLong(text(words, "to", Long.toString(Long.MAX_VALUE))));
    HTable table = new HTable(session.conf, words.get(0));
    try {
      Result result = table.get(get);
      if (!result.isEmpty()) {
        for (KeyValue cell : result.raw()) {
          answer.line(describe(cell));
        }
      }
      return result.size() + " cells";
    } finally {
      table.close();
    }
  }

  /** row, family:qualifier, time stamp, value. */
  private static String describe(KeyValue cell) {
    return Keys.format(cell.getRow()) + "\t" + Keys.format(cell.getFamily()) + ":"
        + Keys.format(cell.getQualifier()) + "\t" + cell.getTimestamp() + "\t"
        + Keys.format(cell.getValue());
  }

  /** What a word "name=..." among the words says. */
  private static String text(List<String> words, String name, String otherwise) {
    for (String word : words) {
      if (word.startsWith(name + "=")) {
        return word.substring(name.length() + 1);
      }
    }
    return otherwise;
  }
}
