package keyroute.cluster;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.RegionLocator;

/** How long the Java client takes to find out where rows are: for benchmarks. */
final class TimeCommands {
  private static final int ROW_BYTES = 8;

  private final Session session;
  private final Connection connection;

  TimeCommands(Session session) throws IOException {
    this.session = session;
    this.connection = connect();
  }

  void register(Commands commands) {
    commands.add("time-locates TABLE N", 2, (words, answer) ->
        locates(TableName.valueOf(words.get(0)), Integer.parseInt(words.get(1))));
    commands.add("time-storm TABLE THREADS", 2, (words, answer) ->
        storm(TableName.valueOf(words.get(0)), Integer.parseInt(words.get(1))));
    commands.add("time-all-locations TABLE ROUNDS", 2, (words, answer) -> allLocations(
        TableName.valueOf(words.get(0)), Integer.parseInt(words.get(1)), answer));
  }

  private Connection connect() throws IOException {
    return ConnectionFactory.createConnection(HBaseConfiguration.create(session.conf));
  }

  /** One after another, none from the cache. */
  private String locates(TableName table, int count) throws IOException {
    Random random = new Random();
    byte[] row = new byte[ROW_BYTES];
    long[] took = new long[count];
    try (RegionLocator locator = connection.getRegionLocator(table)) {
      Timing timing = new Timing();
      for (int i = 0; i < count; i++) {
        random.nextBytes(row);
        long start = System.nanoTime();
        locator.getRegionLocation(row, true);
        took[i] = System.nanoTime() - start;
      }
      long cpuNanos = timing.cpuNanosSince();
      Arrays.sort(took);
      return String.format("p50_us=%.1f p99_us=%.1f cpu_us=%.1f", took[count / 2] / 1e3,
          took[(int) (count * 0.99)] / 1e3, cpuNanos / 1e3 / count);
    }
  }

  /** A cold start: the connection is new, and knows nothing. */
  private String storm(TableName table, int threads) throws Exception {
    List<byte[]> rows;
    try (RegionLocator locator = connection.getRegionLocator(table)) {
      rows = Arrays.asList(locator.getStartKeys());
    }
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    try (Connection fresh = connect(); RegionLocator locator = fresh.getRegionLocator(table)) {
      List<Future<?>> ends = new ArrayList<>();
      Timing timing = new Timing();
      for (int i = 0; i < threads; i++) {
        List<byte[]> own = new ArrayList<>(rows);
        Collections.shuffle(own, new Random(i));
        ends.add(pool.submit(() -> {
          for (byte[] row : own) {
            locator.getRegionLocation(row);
          }
          return null;
        }));
      }
      for (Future<?> end : ends) {
        end.get();
      }
      return timing.told();
    } finally {
      pool.shutdown();
    }
  }

  private String allLocations(TableName table, int rounds, Commands.Answer answer)
      throws IOException {
    try (RegionLocator locator = connection.getRegionLocator(table)) {
      int count = locator.getAllRegionLocations().size();
      for (int round = 0; round < rounds; round++) {
        Timing timing = new Timing();
        locator.getAllRegionLocations();
        answer.line(timing.told());
      }
      return count + " found " + Timing.memory();
    }
  }
}
