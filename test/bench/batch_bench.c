/*
 * Many rows at once against one after another, and both against the Java client, on one HBase of
 * three servers: 100 000 rows of 150 regions, by
 *
 *   many    one keyroute_get_many
 *   one     keyroute_get_async, each started in the callback of the one before
 *   Java    Table.get(List): all rows in one list, and 1000 rows a list
 *
 * in rounds, in turn, never side by side. Prints the medians, the median of the rounds' ratios,
 * which a shared machine spoils less than the times themselves, the time that each client needs the
 * processors, for the servers need them more, and the most memory that either process ever had.
 * Before each of its rounds the Java client reads all rows once, uncounted, so that code and
 * connections are warm. Then a list of all regions, keyroute_regions against getAllRegionLocations,
 * in the same way.
 *
 *   batch_bench [ROUNDS [ROWS [REGIONS]]]
 *
 * REGIONS is the size of the table to be listed: 5000 take a minute or two to make.
 */
#include "test/cluster/cluster.h"

#include "keyroute/keyroute.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS_MAX = 100, ROW_REGIONS = 150, PAGE = 1000, LIST = 1000 };

static struct cluster *cluster;
static struct keyroute_connection *conn;
static struct keyroute_key *keys;
static size_t key_count;

static void require(bool good, const char *what)
{
  if (!good) {
    fprintf(stderr, "batch_bench: %s\n", what);
    cluster_stop(cluster);
    exit(1);
  }
}

static double clock_ms(clockid_t clock)
{
  struct timespec now;

  clock_gettime(clock, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double peak_mib(void)
{
  char line[256];
  double mib = 0;
  long kib;
  FILE *file = fopen("/proc/self/status", "r");

  require(file != NULL, "no /proc");
  while (fgets(line, sizeof(line), file) != NULL) {
    if (sscanf(line, "VmHWM: %ld", &kib) == 1) {
      mib = (double)kib / 1024;
    }
  }
  fclose(file);
  return mib;
}

/* ---- Samples ---- */

/* How long something takes, and how long it keeps processors busy. */
struct sample {
  double ms, cpu_ms;
};

/* One way to do it, round by round. */
struct samples {
  const char *name;
  double ms[ROUNDS_MAX], cpu_ms[ROUNDS_MAX];
  int count;
};

static int compare(const void *a, const void *b)
{
  double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

static double median(const double *values, int count, double *least, double *most)
{
  double sorted[ROUNDS_MAX];

  memcpy(sorted, values, (size_t)count * sizeof(values[0]));
  qsort(sorted, (size_t)count, sizeof(sorted[0]), compare);
  *least = sorted[0];
  *most = sorted[count - 1];
  return sorted[count / 2];
}

static struct sample now(void)
{
  return (struct sample){clock_ms(CLOCK_MONOTONIC), clock_ms(CLOCK_PROCESS_CPUTIME_ID)};
}

static struct sample since(struct sample began)
{
  struct sample ended = now();

  return (struct sample){ended.ms - began.ms, ended.cpu_ms - began.cpu_ms};
}

static void add(struct samples *samples, struct sample sample)
{
  samples->ms[samples->count] = sample.ms;
  samples->cpu_ms[samples->count++] = sample.cpu_ms;
}

static void print_samples(const struct samples *samples, size_t things)
{
  double least, most;
  double cpu_ms = median(samples->cpu_ms, samples->count, &least, &most);
  double ms = median(samples->ms, samples->count, &least, &most);

  printf("%-22s %9.1f ms (%.1f to %.1f), each %.2f us, %.2f us of CPU\n", samples->name, ms, least,
         most, ms * 1000 / (double)things, cpu_ms * 1000 / (double)things);
}

static void print_ratio(const struct samples *above, const struct samples *below)
{
  double ratios[ROUNDS_MAX], least, most;

  for (int i = 0; i < above->count; i++) {
    ratios[i] = above->ms[i] / below->ms[i];
  }
  double ratio = median(ratios, above->count, &least, &most);

  printf("%s / %s: %.2f (%.2f to %.2f)\n", above->name, below->name, ratio, least, most);
}

/* ---- The cluster ---- */

/* The data lines of an answer must be freed. */
static char *tell(const char *command)
{
  char *reply = NULL;

  require(cluster_command(cluster, &reply, "%s", command) == 0, cluster_answer(cluster));
  return reply;
}

static void start(void)
{
  struct cluster_options options = {.processes = true, .bench = true};
  struct keyroute_options *ours;
  char address[128];

  require(cluster_start(&cluster, &options) == CLUSTER_OK, cluster_reason());
  cluster_set_deadline(cluster, 15 * 60 * 1000);
  snprintf(address, sizeof(address), "%s", cluster_zookeeper(cluster));
  require(keyroute_options_new(&ours, NULL) == 0 &&
              keyroute_options_set_zookeeper(ours, address) == 0 &&
              keyroute_options_set_deadline_ms(ours, 10 * 60 * 1000) == 0 &&
              keyroute_open(&conn, ours, NULL) == 0,
          "cannot open");
  keyroute_options_free(ours);
}

/* Make a table of regions that share the keys of three bytes evenly. */
static void create(const char *table, unsigned regions)
{
  char *command = malloc(64 + 16 * (size_t)regions);

  require(command != NULL, "no memory");
  char *to = command + sprintf(command, "create %s", table);

  for (unsigned i = 1; i < regions; i++) {
    unsigned key = (unsigned)((unsigned long long)i * 0x1000000 / regions);

    to += sprintf(to, " \\x%02X\\x%02X\\x%02X", key >> 16, key >> 8 & 0xFF, key & 0xFF);
  }
  free(tell(command));
  free(command);
}

static void add_key(char *text)
{
  struct keyroute_key *key = &keys[key_count++];
  size_t len;
  void *row = malloc(strlen(text) + 1);

  require(row != NULL && keyroute_unescape(row, &len, text) == 0, text);
  *key = (struct keyroute_key){"b", {row, len}};
}

/* Fill table b. The rows' names go to a file for the Java client, and become our keys. */
static void fill(unsigned rows, const char *path)
{
  char command[300], cells[200], *line = NULL, *last = NULL;
  size_t room = 0;

  snprintf(cells, sizeof(cells), "%s.cells", path);
  snprintf(command, sizeof(command), "fill b %u 1 %s cells=1 bytes=200", rows, cells);
  free(tell(command));
  FILE *from = fopen(cells, "r"), *to = fopen(path, "w");

  keys = calloc(rows, sizeof(keys[0]));
  require(from != NULL && to != NULL && keys != NULL, "no file");
  while (getline(&line, &room, from) > 0) {
    line[strcspn(line, "\t")] = '\0';
    if (last == NULL || strcmp(line, last) != 0) {
      require(key_count < rows, "too many rows");
      fprintf(to, "%s\n", line);
      add_key(line);
      free(last);
      last = strdup(line);
    }
  }
  free(line);
  free(last);
  fclose(from);
  fclose(to);
  unlink(cells);
  require(key_count == rows, "too few rows");
}

/* ---- The ways ---- */

static struct sample read_many(void)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_result *result;
  struct sample began = now();

  require(keyroute_get_many(&result, conn, keys, key_count, NULL, NULL, &detail) == 0 &&
              keyroute_result_failed(result) == 0,
          detail.message);
  struct sample took = since(began);

  for (size_t i = 0, count; i < key_count; i++) {
    keyroute_result_cells(result, i, &count);
    require(count > 0, "a row is not there");
  }
  keyroute_result_free(result);
  return took;
}

/* One after another. */
struct walk {
  pthread_mutex_t lock;
  pthread_cond_t ended;
  size_t next;
  bool over; /* lock */
};

static void got(void *payload, int error, struct keyroute_result *result,
                const struct keyroute_detail *detail)
{
  struct walk *walk = payload;

  require(error == 0, detail->message);
  keyroute_result_free(result);
  if (++walk->next < key_count) {
    require(keyroute_get_async(NULL, conn, "b", keys[walk->next].row, NULL, NULL, got, walk) == 0,
            "a read did not start");
    return;
  }
  pthread_mutex_lock(&walk->lock);
  walk->over = true;
  pthread_cond_signal(&walk->ended);
  pthread_mutex_unlock(&walk->lock);
}

static struct sample read_one_by_one(void)
{
  struct walk walk = {.next = 0};
  struct sample began = now();

  pthread_mutex_init(&walk.lock, NULL);
  pthread_cond_init(&walk.ended, NULL);
  require(keyroute_get_async(NULL, conn, "b", keys[0].row, NULL, NULL, got, &walk) == 0,
          "a read did not start");
  pthread_mutex_lock(&walk.lock);
  while (!walk.over) {
    pthread_cond_wait(&walk.ended, &walk.lock);
  }
  pthread_mutex_unlock(&walk.lock);
  return since(began);
}

static struct sample list_regions(unsigned expected)
{
  struct keyroute_bytes start = {"", 0};
  struct keyroute_page *page, *before = NULL;
  struct sample began = now();
  size_t count = 0;
  bool more;

  do {
    require(keyroute_regions(&page, conn, "l", start, keyroute_string(""), PAGE, NULL, NULL) == 0,
            "no list of regions");
    count += keyroute_page_count(page);
    more = keyroute_page_next(page, &start);
    keyroute_page_free(before); /* the start of this one was its */
    before = page;
  } while (more);
  keyroute_page_free(before);
  require(count == expected, "not all regions");
  return since(began);
}

/* One round of the Java client. *peak is the most memory that it ever had. */
static struct sample time_java(const char *command, double *peak)
{
  char *reply = tell(command);
  const char *kib = strstr(cluster_answer(cluster), "peak_kib=");
  struct sample took;

  require(kib != NULL && sscanf(reply, "%lf %lf", &took.ms, &took.cpu_ms) == 2, "no figures");
  *peak = strtod(kib + strlen("peak_kib="), NULL) / 1024;
  free(reply);
  return took;
}

static void print_stats(void)
{
  struct keyroute_stats stats = {.size = sizeof(stats)};

  require(keyroute_stats(conn, &stats) == 0, "no statistics");
  printf("%llu rows in %llu requests, %llu failed, %llu rows were sent again\n",
         (unsigned long long)stats.rows_read, (unsigned long long)stats.requests,
         (unsigned long long)stats.requests_failed, (unsigned long long)stats.rows_retried);
}

/* ---- The races ---- */

static void race_reads(int rounds, unsigned rows)
{
  static struct samples many = {.name = "many"}, one = {.name = "one"}, whole = {.name = "Java"},
                        parts = {.name = "Java, 1000 a list"};
  char path[] = "/tmp/keyroute-bench-XXXXXX", lists[200], list[200];
  double java_peak = 0, parts_peak = 0;

  close(mkstemp(path));
  create("b", ROW_REGIONS);
  fill(rows, path);
  snprintf(list, sizeof(list), "time-gets b %s 1", path);
  snprintf(lists, sizeof(lists), "time-gets b %s 1 %d", path, LIST);
  double before = peak_mib();

  read_many();
  double after = peak_mib();

  print_stats();

  for (int i = 0; i < rounds; i++) {
    add(&many, read_many());
    add(&one, read_one_by_one());
    add(&parts, time_java(lists, &parts_peak));
    if (i == 0) {
      printf("peak memory: %.1f MiB, %.1f before it read %u rows; Java %.1f with lists of %d\n",
             after, before, rows, parts_peak, LIST);
    }
    add(&whole, time_java(list, &java_peak));
  }
  printf("and Java %.1f MiB with all in one list\n", java_peak);
  print_samples(&many, rows);
  print_samples(&one, rows);
  print_samples(&whole, rows);
  print_samples(&parts, rows);
  print_stats();
  print_ratio(&one, &many);
  print_ratio(&whole, &many);
  print_ratio(&parts, &many);
  unlink(path);
}

static void race_lists(int rounds, unsigned regions)
{
  static struct samples ours = {.name = "regions"}, java = {.name = "getAllRegionLocations"};
  double peak;

  create("l", regions);
  free(tell("wait-quiet"));
  list_regions(regions);
  for (int i = 0; i < rounds; i++) {
    add(&ours, list_regions(regions));
    add(&java, time_java("time-all-locations l 1", &peak));
  }
  print_samples(&ours, regions);
  print_samples(&java, regions);
  print_ratio(&java, &ours);
}

int main(int argc, char **argv)
{
  int rounds = argc > 1 ? atoi(argv[1]) : 5;
  int rows = argc > 2 ? atoi(argv[2]) : 100000;
  int regions = argc > 3 ? atoi(argv[3]) : 5000;

  if (rounds < 1 || rounds > ROUNDS_MAX || rows < ROW_REGIONS || regions < 1) {
    fprintf(stderr, "usage: batch_bench [ROUNDS [ROWS [REGIONS]]]\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  start();
  race_reads(rounds, (unsigned)rows);
  race_lists(rounds, (unsigned)regions);
  keyroute_close(conn);
  cluster_stop(cluster);
  return 0;
}
