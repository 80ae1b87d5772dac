package keyroute.cluster;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * The commands that keep a catalog changing: regions of some tables are split, merged and moved
 * without pause, one change after another; the last table is disabled and enabled, dropped and
 * made again too, unless they are to be kept, with their rows.  Which changes, the seed decides; how they interleave with readers, nobody does.
 * No other command may change these tables meanwhile.
 */
final class ChurnCommands {
  private static final int FEWEST_REGIONS = 4;
  private static final int MOST_REGIONS = 16;
  private static final String KEEP = "keep";
  private static final String[] FIRST_SPLITS = {"d", "h", "l", "p", "t"};

  private final Session session;
  private final TableCommands tables;
  private Churn churn;

  ChurnCommands(Session session, TableCommands tables) {
    this.session = session;
    this.tables = tables;
  }

  void register(Commands commands) {
    commands.add("churn SECONDS SEED [keep] TABLE...", 3, (words, answer) -> start(words));
    commands.add("churn-stop", 0, (words, answer) -> stop());
  }

  private String start(List<String> words) throws Exception {
    boolean keep = words.get(2).equals(KEEP);
    List<TableName> names = words.subList(keep ? 3 : 2, words.size()).stream()
        .map(TableName::valueOf).collect(Collectors.toList());
    if (!keep) {
      for (TableName table : names) {
        create(table);
      }
    }
    churn = new Churn(names, keep, Long.parseLong(words.get(0)), Long.parseLong(words.get(1)));
    churn.start();
    return "";
  }

  /** Returns when the change under way is done. */
  private String stop() throws Exception {
    churn.stopped = true;
    churn.join();
    return churn.told();
  }

  private void create(TableName table) throws Exception {
    List<String> words = new ArrayList<>(List.of(table.getNameAsString()));
    words.addAll(List.of(FIRST_SPLITS));
    tables.create(words);
  }

  private final class Churn extends Thread {
    private final List<TableName> names;
    private final boolean keep;
    private final long endNanos;
    private final Random random;
    private int splits;
    private int merges;
    private int moves;
    private int rests;
    private int remakes;
    private int refused;
    private volatile boolean stopped;

    Churn(List<TableName> names, boolean keep, long seconds, long seed) {
      super("churn");
      this.names = names;
      this.keep = keep;
      this.endNanos = System.nanoTime() + seconds * 1_000_000_000L;
      this.random = new Random(seed);
      setDaemon(true);
    }

    @Override
    public void run() {
      while (!stopped && System.nanoTime() - endNanos < 0) {
        TableName table = names.get(random.nextInt(names.size()));
        try {
          change(table, !keep && table.equals(names.get(names.size() - 1)));
        } catch (InterruptedException interrupted) {
          return;
        } catch (Exception trouble) {
          refused++;
          Cluster.progress("churn: " + table + ": " + Commands.describe(trouble));
        }
      }
    }

    private void change(TableName table, boolean anything) throws Exception {
      List<RegionInfo> regions = regions(table);
      int die = random.nextInt(anything ? 12 : 9);
      if (die >= 10) {
        tables.disable(table);
        tables.enable(table);
        rests++;
      } else if (die == 9) {
        tables.drop(table);
        create(table);
        remakes++;
      } else if (regions.size() <= FEWEST_REGIONS || (die < 3 && regions.size() < MOST_REGIONS)) {
        split(table, regions.get(random.nextInt(regions.size())));
      } else if (die < 6) {
        int at = random.nextInt(regions.size() - 1);
        tables.merge(table, regions.get(at).getStartKey(), regions.get(at + 1).getStartKey(),
            false);
        merges++;
      } else {
        tables.move(table, regions.get(random.nextInt(regions.size())).getStartKey(), null);
        moves++;
      }
    }

    /** At a key of letters between its bounds, if there is one. */
    private void split(TableName table, RegionInfo region) throws Exception {
      byte[] key = new byte[3];
      for (int tries = 0; tries < 1000; tries++) {
        for (int i = 0; i < key.length; i++) {
          key[i] = (byte) ('a' + random.nextInt(26));
        }
        if (region.containsRow(key) && !Bytes.equals(key, region.getStartKey())) {
          tables.split(table, key);
          splits++;
          return;
        }
      }
    }

    private List<RegionInfo> regions(TableName table) throws Exception {
      return session.metaRows(table).stream().filter(Session.MetaRow::isOpen)
          .map(Session.MetaRow::region).collect(Collectors.toList());
    }

    private String told() {
      return "splits=" + splits + " merges=" + merges + " moves=" + moves + " rests=" + rests
          + " remakes=" + remakes + " refused=" + refused;
    }
  }
}
