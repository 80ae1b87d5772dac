package keyroute.cluster;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Reads the commands ahead, on a thread of its own, so that the end of input is noticed even while
 * the cluster starts.  At the end of input all is over at once if no command is left; those that
 * were written before the end are still carried out, for as long as a grace time lasts.
 */
final class CommandInput {
  private static final long GRACE_MS = 120_000;

  /** Compared by identity, so that no line can be mistaken for it. */
  private static final String END = new String("end of input");

  private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();
  private final AtomicInteger unfinished = new AtomicInteger();
  private final Runnable whenOver;
  private boolean taken;

  /** whenOver runs on the reader's thread, and need not return. */
  CommandInput(Runnable whenOver) {
    this.whenOver = whenOver;
    Thread reader = new Thread(this::read, "command input");
    reader.setDaemon(true);
    reader.start();
  }

  /** The next command, or null at the end of input; the one given before is finished. */
  String next() throws InterruptedException {
    if (taken) {
      unfinished.decrementAndGet();
    }
    taken = true;
    String line = lines.take();
    return line == END ? null : line;
  }

  private void read() {
    try (BufferedReader in = new BufferedReader(
        new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
      String line;
      while ((line = in.readLine()) != null) {
        unfinished.incrementAndGet();
        lines.add(line);
      }
    } catch (IOException broken) {
      Cluster.progress("standard input: " + broken.getMessage());
    }
    lines.add(END);
    if (unfinished.get() > 0) {
      try {
        Thread.sleep(GRACE_MS);
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
      }
    }
    whenOver.run();
  }
}
