package keyroute.cluster;

import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.ServerName;

/**
 * The servers of one cluster, as the commands see them: MiniServers keeps them all in this JVM,
 * ProcessServers runs each as an operating system process that can be killed for real.
 */
interface Servers {
  /** Starts ZooKeeper, a master and the region servers; returns a client's configuration. */
  Configuration start() throws Exception;

  int zookeeperPort();

  /** The ports of the region servers that run now and aren't frozen, whatever the master thinks. */
  Set<Integer> livePorts();

  /** Ends a region server without a farewell; returns when it is gone. */
  void kill(ServerName server) throws Exception;

  /** Starts one more region server; port 0 lets it choose.  Returns the port. */
  int startServer(int port) throws Exception;

  void stopZookeeper() throws Exception;

  void startZookeeper() throws Exception;

  /** Stops a process without ending it: it keeps its sockets and says nothing. */
  void freeze(ServerName server) throws Exception;

  /** Lets a frozen process go on. */
  void thaw(ServerName server) throws Exception;

  /** Ends everything, at once. */
  void stop();
}
