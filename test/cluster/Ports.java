package keyroute.cluster;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.Random;

/**
 * Chooses free ports for servers that must keep theirs over a restart.  They are taken from below
 * the range of which the kernel gives ports to outgoing connections: there, while the server is
 * away, a client that tries to reconnect over loopback could get the very port and find itself.
 */
final class Ports {
  private static final int LOWEST = 20_000;
  private static final int HIGHEST = 32_000;
  private static final Random RANDOM = new Random();

  private Ports() {}

  static int choose() throws IOException {
    for (int tries = 0; tries < 100; tries++) {
      int port = LOWEST + RANDOM.nextInt(HIGHEST - LOWEST);
      try (ServerSocket probe = new ServerSocket(port, 1, InetAddress.getByName(Settings.HOST))) {
        return probe.getLocalPort();
      } catch (IOException taken) {
        continue;
      }
    }
    throw new IOException("no free port from " + LOWEST + " to " + HIGHEST);
  }
}
