package keyroute.cluster;

import java.io.BufferedWriter;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.AsyncConnection;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.RegionLocator;

/**
 * The commands that ask the Java client where a row is, always with a fresh look at hbase:meta:
 * what it says is the truth that other clients are compared with.  It gives up after a few tries,
 * so that rows nobody can locate are answered in seconds.
 */
final class OracleCommands {
  private static final int TRIES = 6;
  private static final int RPC_MS = 3000;

  private final Session session;
  private final Connection connection;
  private final Map<TableName, RegionLocator> locators = new HashMap<>();
  private AsyncConnection async;

  OracleCommands(Session session) throws IOException {
    this.session = session;
    this.connection = ConnectionFactory.createConnection(configuration());
  }

  void register(Commands commands) {
    commands.add("oracle TABLE ROW...", 2, this::oracle);
    commands.add("oracle-replicas TABLE ROW", 2, this::replicas);
    commands.add("oracle-before TABLE ROW", 2,
        (words, answer) -> typed("BEFORE", words, answer));
    commands.add("oracle-after TABLE ROW", 2,
        (words, answer) -> typed("AFTER", words, answer));
    commands.add("all-locations TABLE", 1,
        (words, answer) -> all(TableName.valueOf(words.get(0)), answer));
    commands.add("oracle-file FILE", 1, (words, answer) -> file(Paths.get(words.get(0))));
  }

  private Configuration configuration() {
    Configuration conf = HBaseConfiguration.create(session.conf);
    conf.setInt("hbase.client.retries.number", TRIES);
    conf.setInt("hbase.rpc.timeout", RPC_MS);
    return conf;
  }

  private String oracle(List<String> words, Commands.Answer answer) {
    TableName table = TableName.valueOf(words.get(0));
    for (String word : words.subList(1, words.size())) {
      answer.line(locate(table, Keys.parse(word)));
    }
    return Integer.toString(words.size() - 1);
  }

  private String locate(TableName table, byte[] row) {
    try {
      return describe(row, locator(table).getRegionLocation(row, true));
    } catch (Exception failed) {
      return describe(row, failed);
    }
  }

  private String replicas(List<String> words, Commands.Answer answer) throws Exception {
    byte[] row = Keys.parse(words.get(1));
    List<HRegionLocation> all =
        locator(TableName.valueOf(words.get(0))).getRegionLocations(row, true);
    for (int replica = 0; replica < all.size(); replica++) {
      answer.line(replica + "\t" + describe(row, all.get(replica)));
    }
    return Integer.toString(all.size());
  }

  /** A line for each replica: its number, its region's start key, and so on as the others are. */
  private String all(TableName table, Commands.Answer answer) throws IOException {
    List<HRegionLocation> all = locator(table).getAllRegionLocations();
    for (HRegionLocation location : all) {
      RegionInfo region = location == null ? null : location.getRegion();
      answer.line(region == null ? "-\t\tERROR\tNoLocation"
          : region.getReplicaId() + "\t" + describe(region.getStartKey(), location));
    }
    return Integer.toString(all.size());
  }

  /** Not in the public interface: the locator inside the asynchronous connection knows how. */
  private String typed(String type, List<String> words, Commands.Answer answer)
      throws Exception {
    TableName table = TableName.valueOf(words.get(0));
    byte[] row = Keys.parse(words.get(1));
    try {
      answer.line(describe(row, locateTyped(table, row, type)));
    } catch (Exception failed) {
      answer.line(describe(row, failed));
    }
    return "1";
  }

  private HRegionLocation locateTyped(TableName table, byte[] row, String type)
      throws Exception {
    if (async == null) {
      async = ConnectionFactory.createAsyncConnection(configuration()).get();
    }
    Method getLocator = async.getClass().getDeclaredMethod("getLocator");
    getLocator.setAccessible(true);
    Object locator = getLocator.invoke(async);
    Class<?> types = Class.forName("org.apache.hadoop.hbase.client.RegionLocateType");
    Method find = locator.getClass().getDeclaredMethod("getRegionLocation", TableName.class,
        byte[].class, types, boolean.class, long.class);
    find.setAccessible(true);
    Object wanted = Arrays.stream(types.getEnumConstants())
        .filter(constant -> constant.toString().equals(type)).findFirst().orElseThrow();
    try {
      CompletableFuture<?> future = (CompletableFuture<?>) find.invoke(locator, table, row, wanted,
          true, TimeUnit.SECONDS.toNanos(10));
      return (HRegionLocation) future.get();
    } catch (InvocationTargetException wrapped) {
      throw (Exception) wrapped.getCause();
    }
  }

  /** Lines of the file: table TAB row; written to FILE.out: table TAB what "oracle" answers. */
  private String file(Path file) throws IOException {
    Path out = Paths.get(file + ".out");
    int count = 0;
    try (BufferedWriter writer = Files.newBufferedWriter(out)) {
      for (String line : Files.readAllLines(file)) {
        String[] fields = line.split("\t", 2);
        byte[] row = Keys.parse(fields.length > 1 ? fields[1] : "");
        writer.write(fields[0] + "\t" + locate(TableName.valueOf(fields[0]), row) + "\n");
        count++;
      }
    }
    return count + " " + out;
  }

  private RegionLocator locator(TableName table) throws IOException {
    RegionLocator locator = locators.get(table);
    if (locator == null) {
      locator = connection.getRegionLocator(table);
      locators.put(table, locator);
    }
    return locator;
  }

  static String describe(byte[] row, HRegionLocation location) {
    if (location == null || location.getServerName() == null) {
      return Keys.format(row) + "\tERROR\tNoLocation";
    }
    ServerName server = location.getServerName();
    return String.join("\t", Keys.format(row),
        location.getRegion().getEncodedName(),
        Keys.format(location.getRegion().getRegionName()),
        Keys.format(location.getRegion().getStartKey()),
        Keys.format(location.getRegion().getEndKey()),
        server.getHostname(),
        Integer.toString(server.getPort()),
        Long.toString(server.getStartcode()),
        Long.toString(location.getSeqNum()));
  }

  private static String describe(byte[] row, Exception failed) {
    return Keys.format(row) + "\tERROR\t" + Commands.unwrap(failed).getClass().getSimpleName();
  }
}
