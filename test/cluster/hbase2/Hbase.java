package keyroute.cluster;

import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;

/** HBase 2. */
final class Hbase implements Generation {
  /** Two region servers in one JVM have one name for their metrics: the second one would die. */
  @Override
  public void prepare() {
    DefaultMetricsSystem.setMiniClusterMode(true);
  }

  @Override
  public void tune(Configuration conf) {}

  @Override
  public Servers processes(Path folder, Path logs) throws Exception {
    return new ProcessServers(folder, logs);
  }

  @Override
  public AutoCloseable open(Servers servers, Configuration conf, Commands commands)
      throws Exception {
    Session session = Session.open(servers, conf);
    TableCommands tables = new TableCommands(session);
    tables.register(commands);
    new RowCommands(session, tables).register(commands);
    new ChurnCommands(session, tables).register(commands);
    new ServerCommands(session).register(commands);
    new CatalogCommands(session).register(commands);
    new OracleCommands(session).register(commands);
    new TimeCommands(session).register(commands);
    new HistoryCommands(session).register(commands);
    return session;
  }
}
