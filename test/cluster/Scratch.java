package keyroute.cluster;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.DirectoryStream;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;

/**
 * The temporary folder of one cluster.  Its owner holds a lock in it for as long as it lives;
 * folders whose lock is free were left by owners that were killed, and opening deletes them.
 */
final class Scratch {
  private static final String PREFIX = "keyroute-cluster-";
  private static final String LOCK = "lock";
  private static final int DELETE_TRIES = 20;
  private static final long DELETE_PAUSE_MS = 50;

  private final Path folder;
  private final FileChannel lock;

  private Scratch(Path folder, FileChannel lock) {
    this.folder = folder;
    this.lock = lock;
  }

  static Scratch open() throws IOException {
    Path parent = Paths.get(System.getProperty("java.io.tmpdir"));
    sweep(parent);
    Path folder = Files.createTempDirectory(parent, PREFIX);
    FileChannel channel = FileChannel.open(folder.resolve(LOCK),
        StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    channel.lock();
    return new Scratch(folder, channel);
  }

  Path folder() {
    return folder;
  }

  /** Servers that still run may write in between: looks again until nothing is left. */
  void delete() {
    for (int tries = 0; tries < DELETE_TRIES && Files.exists(folder); tries++) {
      try {
        deleteTree(folder);
        Thread.sleep(DELETE_PAUSE_MS);
      } catch (IOException busy) {
        continue;
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
        return;
      }
    }
  }

  private static void sweep(Path parent) throws IOException {
    try (DirectoryStream<Path> found = Files.newDirectoryStream(parent, PREFIX + "*")) {
      for (Path folder : found) {
        if (isAbandoned(folder)) {
          deleteTree(folder);
        }
      }
    } catch (IOException notOurs) {
      // Another user's folder, or one that another cluster sweeps now: not worth failing for.
    }
  }

  private static boolean isAbandoned(Path folder) throws IOException {
    try (FileChannel channel =
        FileChannel.open(folder.resolve(LOCK), StandardOpenOption.WRITE);
        FileLock got = channel.tryLock()) {
      return got != null;
    } catch (NoSuchFileException beingMade) {
      return false;
    }
  }

  private static void deleteTree(Path top) throws IOException {
    Files.walkFileTree(top, new SimpleFileVisitor<Path>() {
      @Override
      public FileVisitResult visitFile(Path file, BasicFileAttributes attributes)
          throws IOException {
        Files.deleteIfExists(file);
        return FileVisitResult.CONTINUE;
      }

      @Override
      public FileVisitResult visitFileFailed(Path file, IOException gone) {
        return FileVisitResult.CONTINUE;
      }

      @Override
      public FileVisitResult postVisitDirectory(Path directory, IOException error)
          throws IOException {
        Files.deleteIfExists(directory);
        return FileVisitResult.CONTINUE;
      }
    });
  }
}
