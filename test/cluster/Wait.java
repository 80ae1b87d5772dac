package keyroute.cluster;

import java.util.concurrent.Callable;
import java.util.concurrent.TimeoutException;

/** Waits for a state that nobody announces: asks again every few milliseconds, up to a limit. */
final class Wait {
  private static final long STEP_MS = 20;

  private Wait() {}

  /** An exception of the condition counts as "not yet"; the last one is told if time runs out. */
  static void until(String what, long limitMs, Callable<Boolean> condition) throws Exception {
    long end = System.nanoTime() + limitMs * 1_000_000;
    Exception last = null;
    do {
      try {
        if (condition.call()) {
          return;
        }
        last = null;
      } catch (InterruptedException interrupted) {
        throw interrupted;
      } catch (Exception notYet) {
        last = notYet;
      }
      Thread.sleep(STEP_MS);
    } while (System.nanoTime() < end);
    String why = last == null ? "" : ": " + last;
    throw new TimeoutException("gave up waiting for " + what + " after " + limitMs + " ms" + why);
  }
}
