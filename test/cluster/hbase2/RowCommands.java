package keyroute.cluster;

import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptor;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Consistency;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.quotas.QuotaSettingsFactory;
import org.apache.hadoop.hbase.quotas.ThrottleType;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * The commands about rows: the Java client writes many, so that another client can be asked for
 * them, and reads them, so that the two can be compared cell by cell, or raced.
 */
final class RowCommands {
  private static final int BATCH_ROWS = 2000;
  private static final long BATCH_BYTES = 4 << 20;

  private static final int CELLS = 4;
  private static final int BYTES = 2000;

  private final Session session;
  private final TableCommands tables;

  RowCommands(Session session, TableCommands tables) {
    this.session = session;
    this.tables = tables;
  }

  void register(Commands commands) {
    commands.add("fill TABLE COUNT SEED FILE [cells=N] [bytes=N] [versions=N]", 4,
        (words, answer) -> fill(words));
    commands.add("get TABLE ROW [replica=N] [versions=N] [families=F,...] [from=MS] [to=MS]", 2,
        this::get);
    commands.add("throttle TABLE [REQUESTS]", 1, (words, answer) -> throttle(
        TableName.valueOf(words.get(0)), words.size() > 1 ? Long.parseLong(words.get(1)) : 0));
    commands.add("time-gets TABLE FILE ROUNDS [BATCH]", 3, (words, answer) -> time(
        TableName.valueOf(words.get(0)), Paths.get(words.get(1)),
        Integer.parseInt(words.get(2)),
        words.size() > 3 ? Integer.parseInt(words.get(3)) : Integer.MAX_VALUE, answer));
  }

  /** Flushed in the end: a server that is killed must not take rows with it. */
  private String fill(List<String> words) throws Exception {
    TableName table = TableName.valueOf(words.get(0));
    List<RegionInfo> regions = session.metaRows(table).stream().filter(Session.MetaRow::isOpen)
        .map(Session.MetaRow::region).collect(Collectors.toList());
    ColumnFamilyDescriptor[] families =
        session.admin.getDescriptor(table).getColumnFamilies();
    byte[][] names = new byte[families.length][];
    for (int i = 0; i < families.length; i++) {
      names[i] = families[i].getName();
    }
    MadeRows rows = new MadeRows(Long.parseLong(words.get(2)), regions, names,
        number(words, "cells", CELLS), number(words, "bytes", BYTES),
        number(words, "versions", 1));
    int cells = write(table, rows, Integer.parseInt(words.get(1)), Paths.get(words.get(3)));
    tables.flush(table);
    return cells + " cells";
  }

  private int write(TableName table, MadeRows rows, int count, Path file) throws IOException {
    int cells = 0;
    long bytes = 0;
    List<Put> batch = new ArrayList<>();
    try (Table opened = session.connection.getTable(table);
        BufferedWriter writer = Files.newBufferedWriter(file, StandardCharsets.US_ASCII)) {
      for (int number = 0; number < count; number++) {
        Put put = rows.make(number);
        batch.add(put);
        for (List<Cell> family : put.getFamilyCellMap().values()) {
          for (Cell cell : family) {
            writer.write(describe(cell) + "\n");
            bytes += cell.getSerializedSize();
            cells++;
          }
        }
        if (batch.size() == BATCH_ROWS || bytes > BATCH_BYTES || number == count - 1) {
          opened.put(batch);
          batch.clear();
          bytes = 0;
        }
      }
    }
    return cells;
  }

  private String get(List<String> words, Commands.Answer answer) throws Exception {
    Get get = new Get(Keys.parse(words.get(1)));
    get.readVersions(number(words, "versions", 1));
    for (String family : text(words, "families", "").split(",")) {
      if (!family.isEmpty()) {
        get.addFamily(Bytes.toBytes(family));
      }
    }
    get.setTimeRange(Long.parseLong(text(words, "from", "0")),
        Long.parseLong(text(words, "to", Long.toString(Long.MAX_VALUE))));
    int replica = number(words, "replica", 0);
    if (replica > 0) {
      get.setConsistency(Consistency.TIMELINE).setReplicaId(replica);
    }
    try (Table table = session.connection.getTable(TableName.valueOf(words.get(0)))) {
      Result result = table.get(get);
      for (Cell cell : result.rawCells()) {
        answer.line(describe(cell));
      }
      return result.size() + " cells" + (result.isStale() ? " stale" : "");
    }
  }

  /** So many requests a minute on each server; 0 = no limit. */
  private String throttle(TableName table, long requests) throws Exception {
    session.admin.setQuota(requests == 0 ? QuotaSettingsFactory.unthrottleTable(table)
        : QuotaSettingsFactory.throttleTable(table, ThrottleType.REQUEST_NUMBER, requests,
            TimeUnit.MINUTES));
    return "";
  }

  /**
   * Lines of the file: a row each, read so many at a time.  On a connection of its own, whose first
   * round does not count.
   */
  private String time(TableName name, Path file, int rounds, int batch, Commands.Answer answer)
      throws IOException {
    List<Get> gets = new ArrayList<>();
    for (String line : Files.readAllLines(file)) {
      gets.add(new Get(Keys.parse(line)));
    }
    int found = 0;
    try (Connection connection =
            ConnectionFactory.createConnection(HBaseConfiguration.create(session.conf));
        Table table = connection.getTable(name)) {
      for (int round = -1; round < rounds; round++) {
        found = 0;
        Timing timing = new Timing();
        for (int first = 0; first < gets.size(); first += Math.min(batch, gets.size() - first)) {
          int end = first + Math.min(batch, gets.size() - first);
          for (Result result : table.get(gets.subList(first, end))) {
            found += result.isEmpty() ? 0 : 1;
          }
        }
        if (round >= 0) {
          answer.line(timing.told());
        }
      }
    }
    return found + " found " + Timing.memory();
  }

  /** row, family:qualifier, time stamp, value. */
  private static String describe(Cell cell) {
    return Keys.format(CellUtil.cloneRow(cell)) + "\t"
        + Keys.format(CellUtil.cloneFamily(cell)) + ":"
        + Keys.format(CellUtil.cloneQualifier(cell)) + "\t"
        + cell.getTimestamp() + "\t" + Keys.format(CellUtil.cloneValue(cell));
  }

  private static int number(List<String> words, String name, int otherwise) {
    return Integer.parseInt(text(words, name, Integer.toString(otherwise)));
  }

  /** What a word "name=..." among the words says. */
  private static String text(List<String> words, String name, String otherwise) {
    for (String word : words) {
      if (word.startsWith(name + "=")) {
        return word.substring(name.length() + 1);
      }
    }
    return otherwise;
  }
}
