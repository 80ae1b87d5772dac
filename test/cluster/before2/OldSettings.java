package keyroute.cluster;

import org.apache.hadoop.conf.Configuration;

/** What these generations need beside Settings. */
final class OldSettings {
  /** A server that was told to end waits for threads that sleep this long at a time. */
  private static final int SLEEP_MS = 500;

  private static final int THREADS = 16;

  private OldSettings() {}

  static void apply(Configuration conf) {
    conf.setInt("hbase.server.thread.wakefrequency", SLEEP_MS);
    // A pool may not be larger at first than it may ever be; the first is 256 unless set.
    conf.setInt("hbase.hconnection.threads.core", THREADS);
    conf.setInt("hbase.hconnection.threads.max", THREADS);
    // In one JVM, 0.94 starts the web servers of region servers, whatever their port is set to.
    conf.set("hbase.master.info.bindAddress", Settings.HOST);
    conf.set("hbase.regionserver.info.bindAddress", Settings.HOST);
  }
}
