/*
 * Servers that die, as real processes that are killed with SIGKILL, one after another: the one that
 * holds hbase:meta, another one, then ZooKeeper. Lookups go on all the while in several threads,
 * without a pause. Every one must end by its deadline and nearly all must succeed, for the cluster
 * mends itself within seconds; once it has, so must we; and nothing that was told may be wrong.
 */
#include "test/integration/askers.h"
#include "test/integration/real.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 8, DEADLINE_MS = 30000, SLACK_MS = 100 };

/* The aim is 1000; a machine that starts Java beside it is granted more. */
enum { BACK_MS = 5000 };

static struct keyroute_connection *conn;

/* How many of the 26 rows are answered otherwise than by the Java client, both asked afresh. */
static int count_differences(void)
{
  static struct real_row rows[26];
  static struct real_answer theirs[26];
  int differences = 0;

  for (int i = 0; i < 26; i++) {
    strcpy(rows[i].table, "d");
    rows[i].key[0] = (unsigned char)('a' + i);
    rows[i].len = 1;
  }
  real_command("wait-quiet");
  real_oracle(theirs, rows, 26);
  for (int i = 0; i < 26; i++) {
    struct keyroute_call call = KEYROUTE_CALL_INIT;
    struct keyroute_location *location;
    struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
    struct real_answer ours;

    call.flags = KEYROUTE_REFRESH;
    ck_assert_msg(keyroute_locate(&location, conn, "d", (struct keyroute_bytes){rows[i].key, 1},
                                  &call, &detail) == 0,
                  "%s", detail.message);
    real_describe(&ours, location, 0);
    const char *difference = real_difference(&ours, &theirs[i]);

    if (difference[0] != '\0') {
      fprintf(stderr, "row %s, seqnum %lld, Java %lld: %s\n", (const char *)rows[i].key,
              ours.seqnum, theirs[i].seqnum, difference);
      differences++;
    }
    keyroute_location_release(location);
  }
  return differences;
}

/* Every answer agrees with the Java client's. The two are asked one after the other, and a cluster
 * that mends itself may move a region in between: then they are asked again. */
static void compare(void)
{
  int differences = 1;

  for (int i = 0; i < 10 && differences > 0; i++) {
    differences = count_differences();
    if (differences > 0) {
      sleep(1);
    }
  }
  ck_assert_int_eq(differences, 0);
}

/* When the catalog could be read again, how long was it until we did? */
static void assert_back(const struct askers *askers)
{
  char *outages;
  int count = 0;

  ck_assert_int_eq(cluster_command(real_cluster, &outages, "outages"), 0);
  for (char *rest = outages, *line; (line = strsep(&rest, "\n")) != NULL && line[0] != '\0';) {
    int64_t began_ms, failed_ms, read_ms, first_ms, last_ms;

    ck_assert_int_eq(
        sscanf(line, "%" SCNd64 "\t%" SCNd64 "\t%" SCNd64, &began_ms, &failed_ms, &read_ms), 3);
    askers_back(askers, failed_ms, &first_ms, &last_ms);
    printf("no catalog for %" PRId64 " ms; then the first thread read it after %" PRId64
           " ms, the last one after %" PRId64 " ms\n",
           read_ms - began_ms, first_ms - read_ms, last_ms - read_ms);
    ck_assert_int_lt(first_ms - read_ms, BACK_MS);
    ck_assert_int_lt(last_ms - read_ms, BACK_MS);
    count++;
  }
  free(outages);
  ck_assert_int_gt(count, 0);
}

static void assert_all_right(struct askers *askers)
{
  char *history;

  ck_assert_int_eq(cluster_command(real_cluster, &history, "history d"), 0);
  unsigned wrong = answers_judge(askers_answers(askers), history);

  printf("%u different answers, %u wrong\n", answers_count(askers_answers(askers)), wrong);
  free(history);
  ck_assert_uint_eq(wrong, 0);
}

START_TEST(test_deaths__lookups_survive_servers_killed_one_after_another)
{
  static const char *const tables[] = {"d", NULL};

  conn = real_open(NULL);
  real_command("create d f k p u");
  real_command("watch");
  struct askers *askers = askers_start(&(struct askers_options){.conn = conn,
                                                                .tables = tables,
                                                                .threads = THREADS,
                                                                .deadline_ms = DEADLINE_MS,
                                                                .timed = true});

  real_command("kill-meta");
  compare();
  real_command("start-server");
  real_kill_another();
  compare();
  real_command("start-server");
  real_command("restart-zookeeper");
  compare();
  real_command("kill-meta");
  compare();

  askers_stop(askers);
  real_command("watch-stop");
  struct askers_counts counts = askers_counts(askers);

  printf("%" PRIu64 " lookups, %" PRIu64 " past the cache, %" PRIu64 " failed, slowest %.1f ms\n",
         counts.asked, counts.read, counts.failed, (double)counts.worst_us / 1e3);
  ck_assert_uint_gt(counts.read, 100);
  ck_assert_uint_le(counts.failed * 100, counts.asked);
  ck_assert_uint_le(counts.read_failed * 100, counts.read);
  ck_assert_int_le(counts.worst_us, (DEADLINE_MS + SLACK_MS) * INT64_C(1000));
  ck_assert_uint_eq(counts.misplaced, 0);
  assert_back(askers);
  assert_all_right(askers);
  askers_free(askers);
  keyroute_close(conn);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("hbase deaths");
  TCase *cases = tcase_create("deaths");

  tcase_set_timeout(cases, 0);
  tcase_add_test(cases, test_deaths__lookups_survive_servers_killed_one_after_another);
  suite_add_tcase(suite, cases);
  return real_run(suite, true, 420);
}
