package keyroute.bench;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CyclicBarrier;

/**
 * A peer in the race of hits, as hit_peer.c says: one JVM for each cache, so that the compiler sees
 * calls of one class only.
 *
 * <pre>HitPeer CLASS STEM</pre>
 */
public final class HitPeer {
  private static final int READERS = 2;
  private static final int CHUNK = 1024;

  /** Rows, and the regions that hold them. */
  private record Rows(byte[][] keys, int[] regions) {}

  /** What a run is about. */
  private record Run(Rows rows, int threads, long updates, long endNanos) {}

  private final RegionCache cache;
  private final Rows starts;
  private final Map<String, Rows> rows;
  private final Reader[] readers = new Reader[READERS];
  /** At the begin and at the end of a run: all readers and main. */
  private final CyclicBarrier edge = new CyclicBarrier(READERS + 1);
  private volatile Run run;

  private HitPeer(RegionCache cache, String stem) throws IOException {
    this.cache = cache;
    starts = read(stem + ".keys", false);
    rows = Map.of("uniform", read(stem + ".uniform", true), "zipf", read(stem + ".zipf", true));
  }

  public static void main(String[] args) throws Exception {
    RegionCache cache = (RegionCache) Class.forName(args[0]).getDeclaredConstructor().newInstance();
    HitPeer peer = new HitPeer(cache, args[1]);
    peer.startReaders();
    peer.fill();
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      peer.obey(line.split(" "));
    }
    System.exit(0);
  }

  private static Rows read(String path, boolean numbered) throws IOException {
    ByteBuffer bytes =
        ByteBuffer.wrap(Files.readAllBytes(Path.of(path))).order(ByteOrder.LITTLE_ENDIAN);
    int count = bytes.getInt();
    Rows to = new Rows(new byte[count][], new int[count]);
    for (int i = 0; i < count; i++) {
      to.keys[i] = new byte[bytes.getShort()];
      bytes.get(to.keys[i]);
      to.regions[i] = numbered ? bytes.getInt() : 0;
    }
    return to;
  }

  // ---- Changing

  private void put(int region, long generation) {
    byte[] end = region + 1 < starts.keys.length ? starts.keys[region + 1] : new byte[0];
    cache.put(region, starts.keys[region], end, generation << RegionCache.REGION_BITS | region);
  }

  /** In random order: neighbours in the map are none in memory. */
  private void fill() {
    int[] order = new int[starts.keys.length];
    long seed = 1;
    for (int i = 0; i < order.length; i++) {
      seed = next(seed);
      int other = draw(seed, i + 1);
      order[i] = order[other];
      order[other] = i;
    }
    usedBytes();
    long before = usedBytes();
    long began = System.nanoTime();
    for (int region : order) {
      put(region, 1);
    }
    long took = System.nanoTime() - began;
    System.out.println("READY fill_ns=" + took + " grown_bytes=" + (usedBytes() - before)
        + " bytes=0");
  }

  /** Of the heap, without garbage; with what is set aside for this thread, much at first. */
  private static long usedBytes() {
    System.gc();
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }

  private static long next(long seed) {
    return seed * 6364136223846793005L + 1442695040888963407L;
  }

  private static int draw(long seed, int below) {
    return (int) ((seed >>> 33) % below);
  }

  // ---- Reading

  private final class Reader extends Thread {
    private final int number;
    private int at;
    private long due;
    private long updated;
    private long seed;
    private int taken;
    private long lookups;
    private long missing;
    private long updates;
    private long endedNanos;

    Reader(int number) {
      super("reader-" + number);
      this.number = number;
      seed = number + 1;
      at = rows.get("uniform").keys.length / READERS * number;
      setDaemon(true);
    }

    void prepare(Run next) {
      lookups = missing = updates = 0;
      due = next.updates;
    }

    @Override
    public void run() {
      try {
        for (;;) {
          edge.await();
          Run now = run;
          if (number < now.threads) {
            do {
              readChunk(now);
              endedNanos = System.nanoTime();
            } while (endedNanos < now.endNanos);
          }
          edge.await();
        }
      } catch (Exception unexpected) {
        die(unexpected.toString());
      }
    }

    private void readChunk(Run now) {
      if (at + CHUNK > now.rows.keys.length) {
        at = 0;
      }
      for (int left = CHUNK; left > 0;) {
        int count = now.updates > 0 ? (int) Math.min(left, due) : left;
        missing += find(now.rows, at, count);
        at += count;
        left -= count;
        due -= count;
        if (due == 0 && now.updates > 0) {
          update();
          due = now.updates;
        }
      }
      lookups += CHUNK;
    }

    private void update() {
      int turn = (int) (updated++ % 4);
      seed = turn == 3 ? seed : next(seed);
      int region = turn == 3 ? taken : draw(seed, starts.keys.length / READERS) * READERS + number;
      if (turn == 1) {
        cache.take(region);
        taken = region;
      } else {
        put(region, 2 + updated);
      }
      updates++;
    }

    /** Puts back what it has taken out and not yet put back. */
    void mend() {
      while (updated % 4 >= 2) {
        update();
      }
    }
  }

  private int find(Rows from, int at, int count) {
    int missing = 0;
    for (int i = at; i < at + count; i++) {
      int found = cache.check(from.keys[i], from.regions[i]);
      if (found == RegionCache.WRONG) {
        die("a wrong answer");
      }
      missing += found;
    }
    return missing;
  }

  private void startReaders() {
    for (int i = 0; i < READERS; i++) {
      readers[i] = new Reader(i);
      readers[i].start();
    }
  }

  // ---- Runs

  /** run WAY uniform|zipf THREADS UPDATES MS; each cache has one way. */
  private void obey(String[] words) throws Exception {
    Rows from = rows.get(words[2]);
    int threads = Integer.parseInt(words[3]);
    long updates = Long.parseLong(words[4]);
    long began = System.nanoTime();
    run = new Run(from, threads, updates, began + Long.parseLong(words[5]) * 1_000_000);
    for (Reader reader : readers) {
      reader.prepare(run);
    }
    edge.await();
    edge.await();
    tell(began);
    for (Reader reader : readers) {
      reader.mend();
    }
  }

  private void tell(long began) {
    long lookups = 0;
    long missing = 0;
    long updates = 0;
    long ended = began;
    for (int i = 0; i < run.threads; i++) {
      lookups += readers[i].lookups;
      missing += readers[i].missing;
      updates += readers[i].updates;
      ended = Math.max(ended, readers[i].endedNanos);
    }
    if (missing > 0 && run.updates == 0) {
      die("a region is missing");
    }
    System.out.println("OK lookups=" + lookups + " ns=" + (ended - began) + " missing=" + missing
        + " updates=" + updates);
  }

  private static void die(String what) {
    System.err.println("peer: " + what);
    Runtime.getRuntime().halt(1);
  }
}
