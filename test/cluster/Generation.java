package keyroute.cluster;

import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;

/**
 * What differs between the generations of HBase, whose programming interfaces do: each is compiled
 * with the source of its own folders only (prepare.sh knows which), and there has a class "Hbase"
 * that implements this.
 */
interface Generation {
  /** What must be done before any other class of HBase is used. */
  void prepare();

  /** What its servers need beside Settings. */
  void tune(Configuration conf);

  /** The servers as processes of their own. */
  Servers processes(Path folder, Path logs) throws Exception;

  /** Adds the commands, which use the session that is returned; returns when all is usable. */
  AutoCloseable open(Servers servers, Configuration conf, Commands commands) throws Exception;
}
