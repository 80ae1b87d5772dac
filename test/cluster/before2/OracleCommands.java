package keyroute.cluster;

import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.HRegionInfo;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.client.HTable;

/**
 * The commands that ask the Java client where a row is, always with a fresh look at the catalog:
 * what it says is the truth that other clients are compared with.  It gives up after a few tries,
 * so that rows nobody can locate are answered in seconds.
 */
final class OracleCommands {
  private static final int TRIES = 6;
  private static final int RPC_MS = 3000;

  private final Session session;
  private final Configuration conf;
  private final Map<String, HTable> tables = new HashMap<>();

  OracleCommands(Session session) {
    this.session = session;
    this.conf = HBaseConfiguration.create(session.conf);
    conf.setInt("hbase.client.retries.number", TRIES);
    conf.setInt("hbase.rpc.timeout", RPC_MS);
  }

  void register(Commands commands) {
    commands.add("oracle TABLE ROW...", 2, this::oracle);
    commands.add("oracle-file FILE", 1, (words, answer) -> file(Paths.get(words.get(0))));
  }

  private String oracle(List<String> words, Commands.Answer answer) {
    for (String word : words.subList(1, words.size())) {
      answer.line(locate(words.get(0), Keys.parse(word)));
    }
    return Integer.toString(words.size() - 1);
  }

  /** Lines of the file: table TAB row; written to FILE.out: table TAB what "oracle" answers. */
  private String file(Path file) throws IOException {
    Path out = Paths.get(file + ".out");
    int count = 0;
    try (BufferedWriter writer = Files.newBufferedWriter(out)) {
      for (String line : Files.readAllLines(file)) {
        String[] fields = line.split("\t", 2);
        byte[] row = Keys.parse(fields.length > 1 ? fields[1] : "");
        writer.write(fields[0] + "\t" + locate(fields[0], row) + "\n");
        count++;
      }
    }
    return count + " " + out;
  }

  private String locate(String table, byte[] row) {
    try {
      return describe(row, open(table).getRegionLocation(row, true));
    } catch (Exception failed) {
      return Keys.format(row) + "\tERROR\t" + Commands.unwrap(failed).getClass().getSimpleName();
    }
  }

  private HTable open(String table) throws IOException {
    HTable opened = tables.get(table);
    if (opened == null) {
      opened = new HTable(conf, table);
      tables.put(table, opened);
    }
    return opened;
  }

  private String describe(byte[] row, HRegionLocation location) throws IOException {
    HRegionInfo region = location.getRegionInfo();
    ServerName server = session.dialect.server(session, location);
    return String.join("\t", Keys.format(row), region.getEncodedName(),
        Keys.format(region.getRegionName()), Keys.format(region.getStartKey()),
        Keys.format(region.getEndKey()), server.getHostname(),
        Integer.toString(server.getPort()), Long.toString(server.getStartcode()),
        Long.toString(session.dialect.seqnum(location)));
  }
}
