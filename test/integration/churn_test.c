/*
 * A catalog that never stands still: regions are split, merged and moved, a table is disabled, and
 * dropped and made again, one change after another, while threads ask for rows from the cache, past
 * it, and for the region before, and now and then report what they got as wrong. Nothing that they
 * are told may be wrong, no handle that was reported may come again, and neither the cache nor the
 * process may grow.
 *
 * KEYROUTE_CHURN_SECONDS says for how long: 60 unless set. KEYROUTE_CHURN_SEED chooses the changes.
 */
#include "test/integration/askers.h"
#include "test/integration/real.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  THREADS = 8,
  DEADLINE_MS = 5000,
  SLACK_MS = 100,
  SAMPLE_S = 5,
  KEEP_S = 20,
  SAMPLES_MAX = 10000,
  SPARE_REGIONS = 4
};

/* What the process may grow by from the end of the first third on. */
#define GROWTH_MIB 10.0

/* The last one is the one that is disabled and dropped. */
static const char *const tables[] = {"c0", "c1", "c2", "c3", NULL};

static struct keyroute_connection *conn;

static unsigned number_of(const char *name, unsigned otherwise)
{
  const char *text = getenv(name);

  return text != NULL ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

static double resident_mib(void)
{
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");

  ck_assert_ptr_nonnull(file);
  ck_assert_int_eq(fscanf(file, "%*d %ld", &pages), 1);
  fclose(file);
  return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1024 * 1024);
}

/* The least squares' slope, in units a sample. */
static double slope(const double *samples, unsigned count)
{
  double mean_x = (count - 1) / 2.0, mean_y = 0, above = 0, below = 0;

  for (unsigned i = 0; i < count; i++) {
    mean_y += samples[i] / count;
  }
  for (unsigned i = 0; i < count; i++) {
    above += (i - mean_x) * (samples[i] - mean_y);
    below += (i - mean_x) * (i - mean_x);
  }
  return below > 0 ? above / below : 0;
}

static void assert_flat(const double *samples, unsigned count)
{
  unsigned warm = count / 3;
  double growth = slope(samples + warm, count - warm) * (count - warm);

  printf("resident %.1f MiB at first, %.1f MiB after a third, %.1f MiB at last; slope %.3f MiB a "
         "minute\n",
         samples[0], samples[warm], samples[count - 1],
         slope(samples + warm, count - warm) * 60 / SAMPLE_S);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  ck_assert_double_lt(growth, GROWTH_MIB);
#else
  (void)growth; /* a sanitizer keeps what was freed */
#endif
}

/* Read a table afresh from end to end. Returns how many regions it has. */
static unsigned read_table(const char *table)
{
  struct keyroute_call call = KEYROUTE_CALL_INIT;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  char row[64] = "";
  size_t len = 0;
  unsigned count = 0;

  call.flags = KEYROUTE_REFRESH;
  do {
    struct keyroute_location *location;

    ck_assert_msg(keyroute_locate(&location, conn, table, (struct keyroute_bytes){row, len}, &call,
                                  &detail) == 0,
                  "%s", detail.message);
    struct keyroute_bytes end = keyroute_location_end_key(location);

    ck_assert_uint_lt(end.len, sizeof(row));
    memcpy(row, end.data, end.len);
    len = end.len;
    keyroute_location_release(location);
    count++;
  } while (len > 0);
  keyroute_detail_clear(&detail);
  return count;
}

static void assert_cache_holds_what_lives(void)
{
  struct keyroute_stats stats = {.size = sizeof(stats)};
  unsigned live = 0;

  for (const char *const *table = tables; *table != NULL; table++) {
    live += read_table(*table);
  }
  ck_assert_int_eq(keyroute_stats(conn, &stats), 0);
  printf("%u regions live, %" PRIu64 " in the cache, %" PRIu64 " left it\n", live, stats.regions,
         stats.evictions);
  ck_assert_uint_le(stats.regions, live + SPARE_REGIONS);
}

static void assert_all_right(struct askers *askers)
{
  char *history;

  ck_assert_int_eq(cluster_command(real_cluster, &history, "history c0 c1 c2 c3"), 0);
  unsigned wrong = answers_judge(askers_answers(askers), history);

  printf("%u different answers, %u wrong\n", answers_count(askers_answers(askers)), wrong);
  free(history);
  ck_assert_uint_eq(wrong, 0);
}

/* Have the cluster remember what hbase:meta has said so far: a flush takes what was deleted. */
static void keep_history(void)
{
  char *history;

  ck_assert_int_eq(cluster_command(real_cluster, &history, "history c0 c1 c2 c3"), 0);
  free(history);
}

/* Sample the process while the time passes. Returns how many samples there are. */
static unsigned watch_growth(double *samples, unsigned seconds)
{
  unsigned count = 0;

  for (unsigned passed = 0; passed < seconds && count < SAMPLES_MAX; passed += SAMPLE_S) {
    sleep(SAMPLE_S);
    samples[count++] = resident_mib();
    if (passed % KEEP_S == 0) {
      keep_history();
    }
  }
  return count;
}

START_TEST(test_churn__no_answer_is_wrong_while_regions_change)
{
  static double samples[SAMPLES_MAX];
  unsigned seconds = number_of("KEYROUTE_CHURN_SECONDS", 60);

  conn = real_open(NULL);
  real_command("watch");
  real_command("churn %u %u c0 c1 c2 c3", seconds + 60, number_of("KEYROUTE_CHURN_SEED", 1));
  struct askers *askers = askers_start(&(struct askers_options){.conn = conn,
                                                                .tables = tables,
                                                                .threads = THREADS,
                                                                .deadline_ms = DEADLINE_MS,
                                                                .before = true,
                                                                .excused = "c3",
                                                                .complain = true});

  unsigned count = watch_growth(samples, seconds);
  askers_stop(askers);
  real_command("churn-stop");
  printf("%s\n", cluster_answer(real_cluster));
  real_command("watch-stop");

  struct askers_counts counts = askers_counts(askers);
  printf("%" PRIu64 " lookups, %" PRIu64 " past the cache, %" PRIu64 " failed, %" PRIu64
         " found table c3 away, slowest %.1f ms\n",
         counts.asked, counts.read, counts.failed, counts.excused, (double)counts.worst_us / 1e3);
  printf("%" PRIu64 " answers reported as wrong, %" PRIu64 " handles given out again\n",
         counts.reported, counts.again);
  ck_assert_uint_gt(counts.read, 100);
  ck_assert_uint_gt(counts.reported, 0);
  ck_assert_uint_eq(counts.again, 0);
  ck_assert_uint_eq(counts.failed, 0);
  ck_assert_uint_eq(counts.misplaced, 0);
  ck_assert_int_le(counts.worst_us, (DEADLINE_MS + SLACK_MS) * INT64_C(1000));
  assert_all_right(askers);
  assert_cache_holds_what_lives();
  assert_flat(samples, count);
  askers_free(askers);
  keyroute_close(conn);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("hbase churn");
  TCase *cases = tcase_create("churn");

  tcase_set_timeout(cases, 0);
  tcase_add_test(cases, test_churn__no_answer_is_wrong_while_regions_change);
  suite_add_tcase(suite, cases);
  return real_run(suite, false, number_of("KEYROUTE_CHURN_SECONDS", 60) + 300);
}
