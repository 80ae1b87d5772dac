package keyroute.cluster;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.hadoop.hbase.util.VersionInfo;

/**
 * A real HBase for tests: starts a cluster on loopback in a temporary folder, prints one READY line
 * and then obeys the commands that come on standard input (see Commands).  At the end of input,
 * at "quit" and at a signal everything is ended and the folder deleted.
 *
 * <pre>Cluster [--processes] [--log FOLDER]</pre>
 *
 * Standard output carries the protocol only, standard error one line a step; HBase's own logging
 * goes to files in the temporary folder, or in FOLDER, which is kept.
 */
public final class Cluster {
  /** The end may not take longer, whatever hangs. */
  private static final long FINISH_MS = 10_000;

  private static final PrintStream ERRORS = new PrintStream(
      new FileOutputStream(FileDescriptor.err), true, StandardCharsets.UTF_8);
  private static final AtomicBoolean FINISHING = new AtomicBoolean();
  private static final Generation GENERATION = new Hbase();

  private static volatile Scratch scratch;
  private static volatile Servers servers;

  private Cluster() {}

  public static void main(String[] args) {
    PrintStream answers = new PrintStream(
        new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> finish(1), "finish"));
    try {
      run(args, answers);
      finish(0);
    } catch (Throwable trouble) {
      progress("failed: " + Commands.describe(trouble));
      finish(1);
    }
  }

  /** One line on standard error. */
  static void progress(String text) {
    ERRORS.println("cluster: " + text);
  }

  private static void run(String[] args, PrintStream answers) throws Exception {
    boolean processes = false;
    Path logs = null;
    for (int i = 0; i < args.length; i++) {
      if (args[i].equals("--processes")) {
        processes = true;
      } else if (args[i].equals("--log") && i + 1 < args.length) {
        logs = Files.createDirectories(Paths.get(args[++i]).toAbsolutePath());
        Logs.verbose = true;
      } else {
        throw new IllegalArgumentException("usage: Cluster [--processes] [--log FOLDER]");
      }
    }
    CommandInput input = new CommandInput(() -> finish(0));
    scratch = Scratch.open();
    logs = logs == null ? Files.createDirectories(scratch.folder().resolve("logs")) : logs;
    silence(logs);
    GENERATION.prepare();
    servers = processes ? GENERATION.processes(scratch.folder(), logs)
        : new MiniServers(GENERATION, scratch.folder());
    obey(input, answers);
  }

  /** From here on nothing that HBase prints can reach the protocol. */
  private static void silence(Path logs) throws IOException {
    System.setProperty(Logs.PROPERTY, Logs.write(scratch.folder(), logs.resolve("cluster.log")));
    PrintStream out = new PrintStream(new FileOutputStream(logs.resolve("cluster.out").toFile()),
        true, StandardCharsets.UTF_8);
    System.setOut(out);
    System.setErr(out);
  }

  private static void obey(CommandInput input, PrintStream answers) throws Exception {
    Commands commands = new Commands();
    new ZnodeCommands(servers).register(commands);
    try (AutoCloseable session = GENERATION.open(servers, servers.start(), commands)) {
      answers.println("READY zookeeper=" + Settings.HOST + ":" + servers.zookeeperPort()
          + " parent=" + Settings.PARENT + " version=" + VersionInfo.getVersion()
          + " pid=" + ProcessHandle.current().pid());
      answers.flush();
      String line;
      while ((line = input.next()) != null) {
        boolean goOn = commands.execute(line, answers);
        answers.flush();
        if (!goOn) {
          // Closing connections politely could take longer than anyone waits: just end.
          finish(0);
        }
      }
    }
  }

  /** Ends this process; the second caller waits for the first one's end. */
  private static void finish(int status) {
    if (!FINISHING.compareAndSet(false, true)) {
      park();
    }
    Thread guard = new Thread(() -> {
      park(FINISH_MS);
      Runtime.getRuntime().halt(status);
    }, "finish guard");
    guard.setDaemon(true);
    guard.start();
    try {
      if (servers != null) {
        servers.stop();
      }
      if (scratch != null) {
        scratch.delete();
      }
    } finally {
      Runtime.getRuntime().halt(status);
    }
  }

  private static void park() {
    park(2 * FINISH_MS);
  }

  private static void park(long ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
