package keyroute.cluster;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What a benchmark wants to know of this process: how long something took, how big it has been. */
final class Timing {
  private Timing() {}

  /** Since a System.nanoTime(). */
  static String ms(long startNanos) {
    return String.format("%.1f", (System.nanoTime() - startNanos) / 1e6);
  }

  /** The most memory that this process ever had, as the kernel counts it. */
  static String memory() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith("VmHWM:")) {
        return "peak_kib=" + line.replaceAll("\\D", "");
      }
    }
    return "";
  }
}
