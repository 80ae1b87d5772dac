package keyroute.cluster;

import java.io.IOException;
import java.util.Arrays;

/**
 * Runs another main class in a process that must not outlive its parent: the parent holds the
 * other end of standard input, and when that is closed, be it by the parent's death, this process
 * halts.
 */
public final class Child {
  private Child() {}

  /** Child MAINCLASS ARGUMENT... */
  public static void main(String[] args) throws Exception {
    Thread watcher = new Thread(Child::haltAtEndOfInput, "parent watcher");
    watcher.setDaemon(true);
    watcher.start();
    Class.forName(args[0]).getMethod("main", String[].class)
        .invoke(null, (Object) Arrays.copyOfRange(args, 1, args.length));
  }

  private static void haltAtEndOfInput() {
    try {
      while (System.in.read() >= 0) {
        continue;
      }
    } catch (IOException broken) {
      // The same as the end of input: nobody is there any more.
    }
    Runtime.getRuntime().halt(1);
  }
}
