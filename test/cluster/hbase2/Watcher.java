package keyroute.cluster;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;

/**
 * Reads the whole of hbase:meta again and again, and notes since when each change can be seen by
 * everybody, and when hbase:meta could not be read.  Every read is one try with short timeouts on a
 * connection that trusts no cached place: what is noted is when the catalog is back, not when a
 * patient client notices.
 *
 * A timestamp in hbase:meta tells when the master made up its mind, which may be long before a
 * reader can know.  The end of a read that saw the change is the other bound: who asks later than
 * that has no excuse.
 */
final class Watcher extends Thread {
  private static final int PAUSE_MS = 50;
  private static final int TRY_MS = 400;

  /** Times as System.currentTimeMillis: the end of the read that saw the row so first. */
  record Sighting(Placement placement, long seenMs) {}

  /** When the first and the last try that failed began, and the next read that succeeded ended. */
  record Outage(long firstFailedMs, long lastFailedMs, long readMs) {}

  private final Configuration conf;
  private final Map<String, List<Sighting>> sightings = new HashMap<>();
  private final List<Outage> outages = new ArrayList<>();
  private long firstFailedMs;
  private long lastFailedMs;
  private long reads;
  private volatile boolean stopped;

  Watcher(Configuration conf) {
    super("watcher");
    this.conf = HBaseConfiguration.create(conf);
    this.conf.setInt("hbase.client.retries.number", 0);
    this.conf.setInt("hbase.client.pause", 10);
    this.conf.setInt("hbase.rpc.timeout", TRY_MS);
    this.conf.setInt("hbase.rpc.read.timeout", TRY_MS);
    this.conf.setInt("hbase.client.operation.timeout", TRY_MS);
    this.conf.setInt("hbase.client.meta.operation.timeout", TRY_MS);
    this.conf.setInt("hbase.client.scanner.timeout.period", TRY_MS);
    this.conf.setInt("hbase.ipc.client.failed.servers.expiry", 1);
    setDaemon(true);
  }

  @Override
  public void run() {
    try (Connection connection = ConnectionFactory.createConnection(conf)) {
      while (!stopped) {
        read(connection);
        Thread.sleep(PAUSE_MS);
      }
    } catch (InterruptedException | IOException over) {
      Cluster.progress("the watcher ends: " + over);
    }
  }

  void end() throws InterruptedException {
    stopped = true;
    join();
  }

  private void read(Connection connection) {
    long began = System.currentTimeMillis();
    try {
      connection.clearRegionLocationCache();
      note(scan(connection));
    } catch (IOException | RuntimeException failed) {
      noteFailure(began);
    }
  }

  private static Map<String, Placement> scan(Connection connection) throws IOException {
    Map<String, Placement> rows = new HashMap<>();
    try (Table meta = connection.getTable(TableName.META_TABLE_NAME);
        ResultScanner scanner =
            meta.getScanner(new Scan().addFamily(HConstants.CATALOG_FAMILY))) {
      for (Result row : scanner) {
        rows.put(Keys.format(row.getRow()), Placement.of(row));
      }
    }
    return rows;
  }

  private synchronized void note(Map<String, Placement> rows) {
    long now = System.currentTimeMillis();
    reads++;
    if (firstFailedMs != 0) {
      outages.add(new Outage(firstFailedMs, lastFailedMs, now));
      firstFailedMs = 0;
    }
    rows.forEach((row, placement) -> see(row, placement, now));
    for (String row : sightings.keySet()) {
      if (!rows.containsKey(row)) {
        see(row, Placement.NONE, now);
      }
    }
  }

  private void see(String row, Placement placement, long now) {
    List<Sighting> list = sightings.computeIfAbsent(row, key -> new ArrayList<>());
    Placement last = list.isEmpty() ? null : list.get(list.size() - 1).placement();
    if (!Objects.equals(last, placement)) {
      list.add(new Sighting(placement, now));
    }
  }

  private synchronized void noteFailure(long began) {
    if (firstFailedMs == 0) {
      firstFailedMs = began;
    }
    lastFailedMs = began;
  }

  synchronized List<Sighting> sightings(String row) {
    return List.copyOf(sightings.getOrDefault(row, List.of()));
  }

  synchronized List<Outage> outages() {
    return List.copyOf(outages);
  }

  synchronized long reads() {
    return reads;
  }
}
