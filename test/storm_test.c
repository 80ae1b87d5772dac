/*
 * Storms: 64 threads that start cold on a table of 1000 regions, over real sockets. How many
 * requests does the catalog get, how many at a time, and how long does the unluckiest caller wait?
 */
#include "test/fake_cluster.h"
#include "test/run_suite.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { CALLERS = 64, REGIONS = 1000, PREFETCH = 10, LATENCY_MS = 5 };

static struct fake_cluster cluster;
static int order[REGIONS]; /* of the regions asked for */
static atomic_int next;
static atomic_int wrong;
static atomic_llong longest_us;

static void *ask(void *arg)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  int at;

  (void)arg;
  while ((at = atomic_fetch_add(&next, 1)) < REGIONS) {
    struct keyroute_location *location = NULL;
    char row[16];

    snprintf(row, sizeof(row), "%04dx", order[at]);
    int error = keyroute_locate(&location, cluster.conn, "t", keyroute_string(row), NULL, &detail);
    long long longest = atomic_load(&longest_us);

    if (error != 0 || keyroute_location_region_id(location) != order[at] + 1) {
      atomic_fetch_add(&wrong, 1);
    }
    while (detail.elapsed_us > longest &&
           !atomic_compare_exchange_weak(&longest_us, &longest, detail.elapsed_us)) {
    }
    keyroute_location_release(location);
  }
  keyroute_detail_clear(&detail);
  return NULL;
}

static void setup(void)
{
  fake_cluster_start(&cluster, NULL);
  for (int i = 0; i < REGIONS; i++) {
    char start[16], end[16];

    snprintf(start, sizeof(start), "%04d", i);
    snprintf(end, sizeof(end), "%04d", i + 1);
    fake_cluster_put(&cluster, "t", i == 0 ? "" : start, i == REGIONS - 1 ? "" : end, i + 1);
  }
  fake_server_fault(cluster.server,
                    &(struct fake_fault){.what = FAKE_ANSWER, .times = -1, .delay_ms = LATENCY_MS});
}

static void teardown(void)
{
  fake_cluster_stop(&cluster);
}

/* Let all threads loose; what the catalog got is told. */
static struct fake_counts storm(const char *name)
{
  pthread_t threads[CALLERS];

  fake_cluster_open(&cluster);
  for (int i = 0; i < CALLERS; i++) {
    ck_assert_int_eq(pthread_create(&threads[i], NULL, ask, NULL), 0);
  }
  for (int i = 0; i < CALLERS; i++) {
    pthread_join(threads[i], NULL);
  }
  struct fake_counts counts = fake_server_counts(cluster.server);

  printf("%d threads, %d cold regions, %s: %u scans, %u at a time, longest wait %.1f ms\n", CALLERS,
         REGIONS, name, counts.scans, counts.most_unsent, (double)longest_us / 1000);
  ck_assert_int_eq(wrong, 0);
  ck_assert_uint_eq(counts.scanners, 0);
  return counts;
}

START_TEST(test_storm__s083_descending_keys_read_hardly_a_region_twice)
{
  for (int i = 0; i < REGIONS; i++) {
    order[i] = REGIONS - 1 - i;
  }

  struct fake_counts counts = storm("descending");

  ck_assert_uint_le(counts.scans, REGIONS / PREFETCH * 12 / 10);
  ck_assert_uint_le(counts.most_unsent, 8);
}
END_TEST

static void shuffle(void)
{
  uint64_t random = 42;

  for (int i = 0; i < REGIONS; i++) {
    order[i] = i;
  }
  for (int i = REGIONS - 1; i > 0; i--) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    int other = (int)((random >> 33) % (unsigned)(i + 1));
    int moved = order[i];

    order[i] = order[other];
    order[other] = moved;
  }
}

START_TEST(test_storm__s083_random_keys_read_little_twice)
{
  shuffle();

  struct fake_counts counts = storm("random");

  ck_assert_uint_le(counts.scans, REGIONS / PREFETCH * 25 / 10);
  ck_assert_uint_le(counts.most_unsent, 8);
}
END_TEST

START_TEST(test_storm__s083_budget_of_the_connection_holds)
{
  shuffle();
  fake_cluster_set(&cluster, "keyroute.scans.max", "3");

  struct fake_counts counts = storm("random, budget of 3");

  ck_assert_uint_le(counts.scans, REGIONS / PREFETCH * 25 / 10);
  ck_assert_uint_le(counts.most_unsent, 3);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("storm");
  TCase *tests = tcase_create("storm");

  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_storm__s083_descending_keys_read_hardly_a_region_twice);
  tcase_add_test(tests, test_storm__s083_random_keys_read_little_twice);
  tcase_add_test(tests, test_storm__s083_budget_of_the_connection_holds);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
