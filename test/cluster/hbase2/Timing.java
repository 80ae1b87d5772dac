package keyroute.cluster;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;

/** What a benchmark wants to know of this process: how long something took, how big it has been. */
final class Timing {
  private final long startNanos = System.nanoTime();
  private final long startCpuNanos = cpuNanos();

  /** ms since this was made, tab, ms that all processors together worked for this process. */
  String told() {
    return String.format("%.1f\t%.1f", (System.nanoTime() - startNanos) / 1e6,
        cpuNanosSince() / 1e6);
  }

  /** How long they worked for it since this was made. */
  long cpuNanosSince() {
    return cpuNanos() - startCpuNanos;
  }

  private static long cpuNanos() {
    return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
        .getProcessCpuTime();
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
