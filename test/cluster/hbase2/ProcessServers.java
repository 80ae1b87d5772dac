package keyroute.cluster;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.ProcessBuilder.Redirect;
import java.lang.management.ManagementFactory;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.ServerName;

/**
 * ZooKeeper, the master and every region server as a process of its own, each wrapped in Child so
 * that it ends with this JVM.  A region server is known by its port, which is chosen here.
 */
final class ProcessServers implements Servers {
  private final Path folder;
  private final Path logs;
  private final int zookeeperPort;
  private final Map<Integer, Process> servers = new ConcurrentHashMap<>();
  private final Set<Process> frozen = ConcurrentHashMap.newKeySet();
  private volatile Process zookeeper;
  private volatile Process master;
  private volatile boolean stopped;

  ProcessServers(Path folder, Path logs) throws IOException {
    this.folder = folder;
    this.logs = logs;
    this.zookeeperPort = Ports.choose();
  }

  @Override
  public Configuration start() throws Exception {
    writeConfiguration();
    Cluster.progress("starting ZooKeeper");
    startZookeeper();
    Cluster.progress("starting a master and " + Settings.SERVERS + " region servers");
    master = launch("master", "org.apache.hadoop.hbase.master.HMaster",
        "-D", "zookeeper.session.timeout=" + Settings.MASTER_SESSION_MS, "start");
    for (int i = 0; i < Settings.SERVERS; i++) {
      startServer(0);
    }
    Configuration conf = HBaseConfiguration.create();
    Settings.apply(conf, folder, zookeeperPort);
    return conf;
  }

  @Override
  public int zookeeperPort() {
    return zookeeperPort;
  }

  @Override
  public Set<Integer> livePorts() {
    return servers.entrySet().stream()
        .filter(entry -> entry.getValue().isAlive() && !frozen.contains(entry.getValue()))
        .map(Map.Entry::getKey).collect(Collectors.toSet());
  }

  @Override
  public void kill(ServerName server) throws Exception {
    end(processOf(server));
  }

  @Override
  public int startServer(int wanted) throws IOException {
    int port = wanted == 0 ? Ports.choose() : wanted;
    Process process = launch("regionserver-" + port,
        "org.apache.hadoop.hbase.regionserver.HRegionServer",
        "-D", "hbase.regionserver.port=" + port,
        "-D", "zookeeper.session.timeout=" + sessionMs(), "start");
    servers.put(port, process);
    return port;
  }

  /**
   * Where no server is killed, none is to die either because a busy machine let it wait for some
   * seconds: then its regions are moved, and who measures measures that.
   */
  private static int sessionMs() {
    return Boolean.getBoolean("keyroute.patient") ? Settings.MASTER_SESSION_MS
        : Settings.SESSION_MS;
  }

  @Override
  public void stopZookeeper() throws Exception {
    end(zookeeper);
  }

  @Override
  public void startZookeeper() throws Exception {
    if (zookeeper != null && zookeeper.isAlive()) {
      throw new IllegalStateException("ZooKeeper runs already");
    }
    zookeeper = launch("zookeeper", "org.apache.zookeeper.server.quorum.QuorumPeerMain",
        folder.resolve("conf/zoo.cfg").toString());
    Wait.until("ZooKeeper to serve", 30_000, () -> {
      if (!zookeeper.isAlive()) {
        throw new IOException("it ended with status " + zookeeper.exitValue());
      }
      return zookeeperServes();
    });
  }

  /** It listens before it serves, and a client that comes in between waits for seconds. */
  private boolean zookeeperServes() throws IOException {
    try (Socket socket = new Socket()) {
      socket.connect(new InetSocketAddress(Settings.HOST, zookeeperPort), 1000);
      socket.setSoTimeout(1000);
      socket.getOutputStream().write("srvr".getBytes(StandardCharsets.US_ASCII));
      byte[] answer = socket.getInputStream().readAllBytes();
      return new String(answer, StandardCharsets.US_ASCII).contains("Mode:");
    }
  }

  @Override
  public void freeze(ServerName server) throws Exception {
    Process process = processOf(server);
    signal(process, "-STOP");
    frozen.add(process);
  }

  @Override
  public void thaw(ServerName server) throws Exception {
    Process process = processOf(server);
    signal(process, "-CONT");
    frozen.remove(process);
  }

  @Override
  public void stop() {
    stopped = true;
    List<Process> all = new ArrayList<>(servers.values());
    all.add(master);
    all.add(zookeeper);
    for (Process process : all) {
      if (process != null) {
        process.destroyForcibly();
      }
    }
    for (Process process : all) {
      awaitEnd(process);
    }
  }

  private Process processOf(ServerName server) {
    Process process = servers.get(server.getPort());
    if (process == null || !process.isAlive()) {
      throw new IllegalArgumentException("no live region server " + server);
    }
    return process;
  }

  private static void signal(Process process, String signal) throws Exception {
    String pid = Long.toString(process.pid());
    int status = new ProcessBuilder("kill", signal, pid).start().waitFor();
    if (status != 0) {
      throw new IOException("kill " + signal + " " + pid + " exited with " + status);
    }
  }

  private static void end(Process process) throws Exception {
    process.destroyForcibly();
    if (!process.waitFor(10, TimeUnit.SECONDS)) {
      throw new IllegalStateException("process " + process.pid() + " did not end");
    }
  }

  private static void awaitEnd(Process process) {
    try {
      if (process != null) {
        process.waitFor(5, TimeUnit.SECONDS);
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void writeConfiguration() throws IOException {
    Path conf = Files.createDirectories(folder.resolve("conf"));
    Configuration site = new Configuration(false);
    Settings.apply(site, folder, zookeeperPort);
    site.setBoolean("hbase.cluster.distributed", true);
    try (OutputStream out = Files.newOutputStream(conf.resolve("hbase-site.xml"))) {
      site.writeXml(out);
    }
    Files.writeString(conf.resolve("zoo.cfg"), String.join("\n",
        "tickTime=" + Settings.TICK_MS,
        "maxSessionTimeout=" + Settings.MASTER_SESSION_MS,
        "dataDir=" + folder.resolve("zookeeper"),
        "clientPortAddress=" + Settings.HOST,
        "clientPort=" + zookeeperPort,
        "maxClientCnxns=0",
        "admin.enableServer=false",
        "4lw.commands.whitelist=*",
        ""));
  }

  /** Starts Child with this JVM's own options, but less memory, and the configuration in front. */
  private Process launch(String name, String mainClass, String... arguments) throws IOException {
    if (stopped) {
      throw new IOException("the cluster is being stopped");
    }
    List<String> command = new ArrayList<>();
    command.add(System.getProperty("java.home") + File.separator + "bin" + File.separator + "java");
    for (String option : ManagementFactory.getRuntimeMXBean().getInputArguments()) {
      if (!option.startsWith("-Xmx")) {
        command.add(option);
      }
    }
    command.add("-Xmx400m");
    command.add("-D" + Logs.PROPERTY + "=" + Logs.write(folder, logs.resolve(name + ".log")));
    command.add("-cp");
    command.add(folder.resolve("conf") + File.pathSeparator
        + System.getProperty("java.class.path"));
    command.add(Child.class.getName());
    command.add(mainClass);
    command.addAll(List.of(arguments));
    return new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(Redirect.appendTo(logs.resolve(name + ".out").toFile()))
        .start();
  }
}
