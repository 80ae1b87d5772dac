/*
 * What a forked child may still do, and that its parent does not notice.
 *
 * A child tells what it saw by its exit code, and never returns to Check: it ends in _exit. What
 * opens connections in a child is left out under the thread sanitizer, which ends a process that
 * starts threads after it was forked from one that had several. What allocates in a child whose
 * parent's other threads were busy is left out under the address sanitizer too: gcc 12's does not
 * hold its allocator's locks over a fork, as the C library does.
 */
#include "lib/connection.h"
#include "lib/fork.h"
#include "lib/rcu.h"

#include "test/blocking.h"
#include "test/child.h"
#include "test/failing_mem.h"
#include "test/fake_cluster.h"
#include "test/run_suite.h"
#include "test/zookeeper.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN true
#else
#define UNDER_TSAN false
#endif

#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN true
#else
#define UNDER_ASAN false
#endif

enum { REGIONS = 500 };

static struct fake_cluster cluster;
static struct keyroute_table *table;

static void setup(void)
{
  fake_cluster_start(&cluster, &failing_allocator);
  fake_cluster_put(&cluster, "t", "", "m", 1);
  fake_cluster_put(&cluster, "t", "m", "", 2);
  fake_cluster_put(&cluster, "u", "", "", 3);
}

/* A connection that has seen the first region of t, and a handle of t. */
static void open_warm(void)
{
  fake_cluster_open(&cluster);
  ck_assert_int_eq(locate(cluster.conn, "t", "a", 0, NULL), 0);
  ck_assert_int_eq(keyroute_table_get(&table, cluster.conn, "t"), 0);
}

static void teardown(void)
{
  keyroute_table_release(table);
  fake_cluster_stop(&cluster);
}

/* ---- Children -------------------------------------------------------------------------------- */

static void in_child(void (*act)(void))
{
  pid_t child = fork();

  if (child == 0) {
    act();
    _exit(0);
  }
  child_await(child);
}

static void close_in_child(void)
{
  EXPECT(keyroute_close(cluster.conn) == 0);
}

static void never(void *payload, int error, struct keyroute_location *location,
                  const struct keyroute_detail *detail)
{
  (void)payload, (void)error, (void)location, (void)detail;
  EXPECT(!"called back");
}

/* ---- What still works, and what does not ----------------------------------------------------- */

static void hit_in_child(void)
{
  struct keyroute_location *location = NULL;

  EXPECT(locate(cluster.conn, "t", "b", 0, NULL) == 0);
  EXPECT(keyroute_table_locate(&location, table, row("b"), NULL, NULL) == 0);
  EXPECT(keyroute_location_region_id(location) == 1);
  keyroute_peek_begin();
  EXPECT(keyroute_peek(table, row("c")) == location);
  keyroute_peek_end();
  close_in_child();
  EXPECT(strcmp(keyroute_location_host(location, 0), "127.0.0.1") == 0);
  keyroute_location_release(location);
}

START_TEST(test_fork__hits_and_peeks_work_in_the_child)
{
  open_warm();
  in_child(hit_in_child);
}
END_TEST

static void miss_in_child(void)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_table *other = NULL;
  struct keyroute_location *location = NULL;
  struct keyroute_stats stats = {.size = sizeof(stats)};
  char long_row[1000] = {0};
  struct keyroute_bytes key = {long_row, sizeof(long_row)};
  struct keyroute_call after = {sizeof(after), 0, KEYROUTE_AFTER | KEYROUTE_REFRESH, 0};
  int closed = KEYROUTE_E_CLOSED;

  EXPECT(locate(cluster.conn, "u", "a", 0, &detail) == closed);
  EXPECT(strstr(detail.message, "forked") != NULL);
  EXPECT(locate(cluster.conn, "t", "a", KEYROUTE_REFRESH, NULL) == closed);
  EXPECT(keyroute_locate(&location, cluster.conn, "t", key, &after, NULL) == closed);
  EXPECT(keyroute_table_locate(&location, table, row("z"), NULL, NULL) == closed);
  EXPECT(keyroute_locate_async(NULL, cluster.conn, "t", row("a"), NULL, never, NULL) == closed);
  EXPECT(keyroute_table_get(&other, cluster.conn, "t") == closed);
  EXPECT(keyroute_clear_table(cluster.conn, "t") == closed);
  EXPECT(keyroute_clear_server(cluster.conn, "127.0.0.1", 1, 0) == closed);
  EXPECT(keyroute_clear_all(cluster.conn) == closed);
  EXPECT(keyroute_stats(cluster.conn, &stats) == 0);
  EXPECT(stats.regions >= 1);
  keyroute_cancel(cluster.conn, 1);
  keyroute_table_release(table);
  close_in_child();
}

START_TEST(test_fork__all_else_is_closed_in_the_child_instead_of_hanging)
{
  open_warm();
  in_child(miss_in_child);
}
END_TEST

START_TEST(test_fork__the_parent_goes_on_over_the_same_connection)
{
  open_warm();
  struct fake_counts before = fake_server_counts(cluster.server);

  in_child(close_in_child);
  in_child(miss_in_child);

  ck_assert_int_eq(locate(cluster.conn, "u", "a", 0, NULL), 0);
  ck_assert_uint_eq(fake_server_counts(cluster.server).connects, before.connects);
  ck_assert_uint_eq(fake_server_counts(cluster.server).connections, before.connections);
}
END_TEST

static void count_and_close(void)
{
  long live = mem_live();

  close_in_child();
  /* A location for each region at the least, and the blocks of a skip list of so many. */
  EXPECT(mem_live() <= live - REGIONS - REGIONS / 32);
}

static void open_full(void)
{
  open_warm();
  for (int i = 0; i < REGIONS; i++) {
    char start[16], end[16];

    snprintf(start, sizeof(start), "%04d", i);
    snprintf(end, sizeof(end), "%04d", i + 1);
    fake_cluster_put(&cluster, "many", start, end, 100 + i);
    ck_assert_int_eq(locate(cluster.conn, "many", start, 0, NULL), 0);
  }
}

START_TEST(test_fork__closing_in_the_child_frees_what_was_cached)
{
  open_full();
  in_child(count_and_close);
}
END_TEST

static long *left; /* shared with children */

static void close_and_tell(void)
{
  close_in_child();
  *left = mem_live();
}

/* What a child has left once it has closed, where nothing was under way in the parent. */
static long left_in_child(void)
{
  ck_assert_int_eq(locate(cluster.conn, "t", "a", KEYROUTE_REFRESH, NULL), 0);
  kr_rcu_barrier();
  in_child(close_and_tell);
  return *left;
}

START_TEST(test_fork__closing_in_the_child_frees_what_a_hand_had_come_to)
{
  left = mmap(NULL, sizeof(*left), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ck_assert_ptr_ne(left, MAP_FAILED);
  open_warm();
  long before = left_in_child();

  ck_assert_int_eq(keyroute_clear_server(cluster.conn, "nobody", 1, 0), 0); /* visits all regions */

  ck_assert_int_eq(left_in_child(), before);
  munmap(left, sizeof(*left));
}
END_TEST

/* ---- The last hop ---------------------------------------------------------------------------- */

static void never_got(void *payload, int error, struct keyroute_result *result,
                      const struct keyroute_detail *detail)
{
  (void)payload, (void)error, (void)result, (void)detail;
  EXPECT(!"called back");
}

static void never_replied(void *payload, int error, struct keyroute_reply *reply,
                          const struct keyroute_detail *detail)
{
  (void)payload, (void)error, (void)reply, (void)detail;
  EXPECT(!"called back");
}

static void never_grouped(void *payload, int error, struct keyroute_groups *groups,
                          const struct keyroute_detail *detail)
{
  (void)payload, (void)error, (void)groups, (void)detail;
  EXPECT(!"called back");
}

static void never_listed(void *payload, int error, struct keyroute_page *page,
                         const struct keyroute_detail *detail)
{
  (void)payload, (void)error, (void)page, (void)detail;
  EXPECT(!"called back");
}

/* Those that are about many rows, or regions. */
static void many_in_child(void)
{
  const struct keyroute_key keys[] = {{"t", row("a")}, {"u", row("b")}};
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_result *result = NULL;
  struct keyroute_groups *groups = NULL;
  struct keyroute_page *page = NULL;
  struct keyroute_connection *conn = cluster.conn;
  int closed = KEYROUTE_E_CLOSED;

  EXPECT(keyroute_get_many(&result, conn, keys, 2, NULL, NULL, &detail) == closed);
  EXPECT(strstr(detail.message, "forked") != NULL);
  EXPECT(keyroute_get_many_async(NULL, conn, keys, 2, NULL, NULL, never_got, NULL) == closed);
  EXPECT(keyroute_group(&groups, conn, keys, 1, NULL, &detail) == closed);
  EXPECT(keyroute_group_async(NULL, conn, keys, 1, NULL, never_grouped, NULL) == closed);
  EXPECT(keyroute_regions(&page, conn, "t", row(""), row(""), 0, NULL, &detail) == closed);
  EXPECT(keyroute_regions_async(NULL, conn, "t", row(""), row(""), 0, NULL, never_listed, NULL) ==
         closed);
  EXPECT(result == NULL && groups == NULL && page == NULL);
  keyroute_table_release(table);
  close_in_child();
}

/* Also where the cache knows the way. */
static void hop_in_child(void)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_method method = KEYROUTE_METHOD_INIT;
  struct keyroute_result *result = NULL;
  struct keyroute_reply *reply = NULL;
  struct keyroute_call cached = {sizeof(cached), 0, KEYROUTE_CACHE_ONLY, 0};
  struct keyroute_connection *conn = cluster.conn;
  int closed = KEYROUTE_E_CLOSED;

  method.name = "Mutate";
  EXPECT(keyroute_get(&result, conn, "t", row("a"), NULL, NULL, &detail) == closed);
  EXPECT(strstr(detail.message, "forked") != NULL);
  EXPECT(keyroute_get(&result, conn, "t", row("a"), NULL, &cached, NULL) == closed);
  EXPECT(keyroute_get_async(NULL, conn, "t", row("a"), NULL, NULL, never_got, NULL) == closed);
  EXPECT(keyroute_call(&reply, conn, "t", row("a"), &method, NULL, &detail) == closed);
  EXPECT(strstr(detail.message, "forked") != NULL);
  EXPECT(keyroute_call_async(NULL, conn, "t", row("a"), &method, NULL, never_replied, NULL) ==
         closed);
  EXPECT(result == NULL && reply == NULL);
  keyroute_table_release(table);
  close_in_child();
}

START_TEST(test_fork__calls_of_the_last_hop_are_closed_in_the_child)
{
  open_warm();

  in_child(hop_in_child);
  in_child(many_in_child);
}
END_TEST

/* ---- Calls that were under way --------------------------------------------------------------- */

static atomic_int answers;

static void note(void *payload, int error, struct keyroute_location *location,
                 const struct keyroute_detail *detail)
{
  (void)payload, (void)error, (void)location, (void)detail;
  atomic_fetch_add(&answers, 1);
}

START_TEST(test_fork__calls_under_way_are_answered_in_the_parent_only)
{
  open_warm();
  fake_server_set_silent(cluster.server, true);
  for (int i = 0; i < 20; i++) {
    ck_assert_int_eq(keyroute_locate_async(NULL, cluster.conn, "u", row("a"), NULL, note, NULL), 0);
  }

  in_child(close_in_child);
  fake_server_set_silent(cluster.server, false);
  while (atomic_load(&answers) < 20) {
    pause_ms(1);
  }

  ck_assert_int_eq(locate(cluster.conn, "u", "a", KEYROUTE_CACHE_ONLY, NULL), 0);
}
END_TEST

static void note_result(void *payload, int error, struct keyroute_result *result,
                        const struct keyroute_detail *detail)
{
  (void)payload, (void)detail;
  ck_assert_int_eq(error, 0);
  keyroute_result_free(result);
  atomic_fetch_add(&answers, 1);
}

static void note_reply(void *payload, int error, struct keyroute_reply *reply,
                       const struct keyroute_detail *detail)
{
  (void)payload, (void)detail;
  ck_assert_int_eq(error, 0);
  keyroute_reply_free(reply);
  atomic_fetch_add(&answers, 1);
}

static void note_page(void *payload, int error, struct keyroute_page *page,
                      const struct keyroute_detail *detail)
{
  (void)payload, (void)detail;
  ck_assert_int_eq(error, 0);
  keyroute_page_free(page);
  atomic_fetch_add(&answers, 1);
}

/* Reads, requests and lists, of which a child that closes its connection hears nothing. */
START_TEST(test_fork__last_hops_under_way_end_in_the_parent_only)
{
  const struct keyroute_key keys[] = {{"v", row("a")}, {"v", row("b")}};
  struct fake_region region = {.table = "v", .id = 9};
  struct keyroute_method method = KEYROUTE_METHOD_INIT;
  struct keyroute_connection *conn;
  struct keyroute_bytes none = {NULL, 0};

  method.name = "Mutate";
  fake_server_place_region(cluster.server, cluster.server, &region);
  open_warm();
  fake_server_set_silent(cluster.server, true);
  conn = cluster.conn;
  for (int i = 0; i < 10; i++) {
    ck_assert_int_eq(
        keyroute_get_async(NULL, conn, "v", keys[0].row, NULL, NULL, note_result, NULL), 0);
    ck_assert_int_eq(
        keyroute_call_async(NULL, conn, "v", keys[0].row, &method, NULL, note_reply, NULL), 0);
    ck_assert_int_eq(keyroute_get_many_async(NULL, conn, keys, 2, NULL, NULL, note_result, NULL),
                     0);
    ck_assert_int_eq(keyroute_regions_async(NULL, conn, "v", none, none, 0, NULL, note_page, NULL),
                     0);
  }

  in_child(hop_in_child);
  fake_server_set_silent(cluster.server, false);
  while (atomic_load(&answers) < 40) {
    pause_ms(1);
  }

  ck_assert_uint_eq(fake_server_executed(cluster.server, "Mutate"), 10);
}
END_TEST

static void (*posted_run)(void *arg);
static void *posted_arg;
static atomic_int posts;

static void keep_post(void *payload, void (*run)(void *arg), void *arg)
{
  (void)payload;
  posted_run = run;
  posted_arg = arg;
  atomic_fetch_add(&posts, 1);
}

static void run_posted(void)
{
  posted_run(posted_arg);
  EXPECT(atomic_load(&answers) == 0);
  EXPECT(keyroute_event_fd(cluster.conn) < 0);
  close_in_child();
  EXPECT(atomic_load(&answers) == 0);
}

START_TEST(test_fork__work_posted_in_the_parent_does_nothing_in_the_child)
{
  keyroute_options_set_post(cluster.options, keep_post, NULL);
  open_warm();
  ck_assert_int_eq(keyroute_locate_async(NULL, cluster.conn, "t", row("a"), NULL, note, NULL), 0);
  while (atomic_load(&posts) == 0) {
    pause_ms(1);
  }

  in_child(run_posted);
  posted_run(posted_arg);

  ck_assert_int_eq(atomic_load(&answers), 1);
}
END_TEST

static void drain_in_child(void)
{
  EXPECT(keyroute_event_fd(cluster.conn) == KEYROUTE_E_CLOSED);
  EXPECT(keyroute_drain(cluster.conn) == KEYROUTE_E_CLOSED);
  close_in_child();
}

START_TEST(test_fork__draining_is_closed_in_the_child_and_goes_on_in_the_parent)
{
  keyroute_options_set_drain(cluster.options, true);
  open_warm();
  ck_assert_int_eq(keyroute_locate_async(NULL, cluster.conn, "u", row("a"), NULL, note, NULL), 0);

  in_child(drain_in_child);
  while (atomic_load(&answers) == 0) {
    ck_assert_int_ge(keyroute_drain(cluster.conn), 0);
    pause_ms(1);
  }
}
END_TEST

/* ---- Forks from strange places --------------------------------------------------------------- */

static pid_t forked;

static void fork_in_callback(void *payload, int error, struct keyroute_location *location,
                             const struct keyroute_detail *detail)
{
  forked = fork();
  if (forked == 0) {
    EXPECT(locate(cluster.conn, "t", "a", 0, NULL) == 0);
    EXPECT(locate(cluster.conn, "u", "a", 0, NULL) == KEYROUTE_E_CLOSED);
    close_in_child();
    _exit(0);
  }
  note(payload, error, location, detail);
}

START_TEST(test_fork__a_child_made_in_a_callback_is_like_others)
{
  open_warm();
  ck_assert_int_eq(
      keyroute_locate_async(NULL, cluster.conn, "t", row("a"), NULL, fork_in_callback, NULL), 0);
  while (atomic_load(&answers) == 0) {
    pause_ms(1);
  }

  child_await(forked);
}
END_TEST

static void fork_where_the_table_is_gone(void *payload, int error,
                                         struct keyroute_location *location,
                                         const struct keyroute_detail *detail)
{
  EXPECT(error == KEYROUTE_E_TABLE_NOT_FOUND);
  forked = fork();
  if (forked == 0) {
    count_and_close();
    _exit(0);
  }
  note(payload, error, location, detail);
}

START_TEST(test_fork__closing_in_the_child_frees_what_was_cleared)
{
  static const struct keyroute_call refresh = {sizeof(refresh), 0, KEYROUTE_REFRESH, 0};

  open_full();
  fake_server_clear_catalog(cluster.server);
  ck_assert_int_eq(keyroute_locate_async(NULL, cluster.conn, "many", row("a"), &refresh,
                                         fork_where_the_table_is_gone, NULL),
                   0);
  while (atomic_load(&answers) == 0) {
    pause_ms(1);
  }

  child_await(forked);
}
END_TEST

static void end_section(void)
{
  struct keyroute_connection *own = NULL;
  const struct keyroute_location *location = keyroute_peek(table, row("a"));
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;

  EXPECT(location != NULL && keyroute_location_region_id(location) == 1);
  EXPECT(keyroute_close(cluster.conn) == KEYROUTE_E_INVALID_ARGUMENT);
  keyroute_peek_end();
  EXPECT(locate(cluster.conn, "t", "a", 0, NULL) == 0);
  EXPECT(keyroute_open(&own, cluster.options, &detail) == KEYROUTE_E_INVALID_ARGUMENT);
  EXPECT(strstr(detail.message, "forked inside a peek section") != NULL);
  in_child(close_in_child);
  close_in_child();
}

START_TEST(test_fork__a_child_made_in_a_peek_section_may_end_it)
{
  struct keyroute_stats stats;

  open_warm();
  ck_assert_int_eq(locate(cluster.conn, "u", "a", 0, NULL), 0);
  keyroute_peek_begin();
  ck_assert_ptr_nonnull(keyroute_peek(table, row("a")));
  /* What is cleared waits for the section's end, and liburcu's thread with it. */
  ck_assert_int_eq(keyroute_clear_table(cluster.conn, "u"), 0);
  do {
    pause_ms(1);
    stats = fake_cluster_stats(&cluster);
  } while (stats.evictions == 0);

  in_child(end_section);
  keyroute_peek_end();

  ck_assert_int_eq(locate(cluster.conn, "u", "a", 0, NULL), 0);
}
END_TEST

/* ---- Connections of the child's own ---------------------------------------------------------- */

static void open_own(void)
{
  struct keyroute_connection *own = NULL;

  EXPECT(keyroute_open(&own, cluster.options, NULL) == 0);
  for (int i = 0; i < 3; i++) {
    EXPECT(locate(own, "t", "z", KEYROUTE_REFRESH, NULL) == 0);
    EXPECT(keyroute_clear_all(own) == 0);
  }
  EXPECT(locate(cluster.conn, "t", "a", 0, NULL) == 0);
  EXPECT(locate(cluster.conn, "u", "a", 0, NULL) == KEYROUTE_E_CLOSED);
  EXPECT(keyroute_close(own) == 0);
}

static void open_own_and_close_both(void)
{
  open_own();
  close_in_child();
  /* Once more, now that liburcu's thread was started anew. */
  cluster.conn = NULL;
  fake_cluster_open(&cluster);
  EXPECT(locate(cluster.conn, "t", "a", 0, NULL) == 0);
  close_in_child();
}

START_TEST(test_fork__a_child_may_open_connections_of_its_own)
{
  open_warm();

  in_child(open_own_and_close_both);

  ck_assert_int_eq(locate(cluster.conn, "u", "a", 0, NULL), 0);
}
END_TEST

static void fork_again(void)
{
  in_child(open_own); /* nothing was started anew in this process yet */
  open_own();
  in_child(open_own);
  open_own();
}

START_TEST(test_fork__grandchildren_may_too)
{
  open_warm();

  in_child(fork_again);

  ck_assert_int_eq(locate(cluster.conn, "u", "a", 0, NULL), 0);
}
END_TEST

/* ---- Forks while other threads are busy ------------------------------------------------------ */

static atomic_bool at_work;

static struct keyroute_result *read_row(const char *name)
{
  struct keyroute_result *result = NULL;
  struct keyroute_call call = {sizeof(call), 50, 0, 0};

  keyroute_get(&result, cluster.conn, name, row("a"), NULL, &call, NULL);
  return result;
}

static void *look_up(void *arg)
{
  (void)arg;
  while (atomic_load(&at_work)) {
    locate(cluster.conn, "t", "a", 0, NULL);
    locate(cluster.conn, "t", "z", KEYROUTE_REFRESH, NULL);
    locate(cluster.conn, "u", "z", 0, NULL);
    keyroute_result_free(read_row("v"));
  }
  return NULL;
}

static void *take_handles(void *arg)
{
  (void)arg;
  while (atomic_load(&at_work)) {
    struct keyroute_table *one = NULL;

    keyroute_table_get(&one, cluster.conn, "w");
    keyroute_table_release(one);
    keyroute_clear_table(cluster.conn, "u");
    keyroute_locate_async(NULL, cluster.conn, "u", row("a"), NULL, note, NULL);
    pause_ms(1);
  }
  return NULL;
}

static void *open_and_close(void *arg)
{
  (void)arg;
  while (atomic_load(&at_work)) {
    struct keyroute_connection *other = NULL;

    ck_assert_int_eq(keyroute_open(&other, cluster.options, NULL), 0);
    locate(other, "t", "a", 0, NULL);
    ck_assert_int_eq(keyroute_close(other), 0);
  }
  return NULL;
}

static void use_all(void)
{
  int error = locate(cluster.conn, "t", "a", 0, NULL);

  EXPECT(error == 0 || error == KEYROUTE_E_CLOSED);
  EXPECT(locate(cluster.conn, "u", "a", KEYROUTE_REFRESH, NULL) == KEYROUTE_E_CLOSED);
  EXPECT(keyroute_clear_all(cluster.conn) == KEYROUTE_E_CLOSED);
  EXPECT(read_row("v") == NULL);
  keyroute_table_release(table);
  if (UNDER_TSAN || UNDER_ASAN) {
    return;
  }
  struct keyroute_connection *own = NULL;

  EXPECT(keyroute_open(&own, cluster.options, NULL) == 0);
  EXPECT(locate(own, "t", "z", 0, NULL) == 0);
  EXPECT(keyroute_close(own) == 0);
  close_in_child();
}

START_TEST(test_fork__no_lock_that_a_busy_thread_held_is_in_the_childs_way)
{
  void *(*const works[])(void *) = {look_up, look_up, take_handles, open_and_close};
  struct fake_region region = {.table = "v", .id = 9};
  pthread_t threads[4];

  fake_server_place_region(cluster.server, cluster.server, &region);
  open_warm();
  atomic_store(&at_work, true);
  for (int i = 0; i < 4; i++) {
    ck_assert_int_eq(pthread_create(&threads[i], NULL, works[i], NULL), 0);
  }
  for (int i = 0; i < 40; i++) {
    in_child(use_all);
  }
  atomic_store(&at_work, false);
  for (int i = 0; i < 4; i++) {
    pthread_join(threads[i], NULL);
  }
}
END_TEST

/* ---- ZooKeeper's session --------------------------------------------------------------------- */

static struct zookeeper *zookeeper;

static void open_with_zookeeper(struct keyroute_connection **conn)
{
  struct keyroute_options *options = NULL;
  char ensemble[64];

  snprintf(ensemble, sizeof(ensemble), "127.0.0.1:%d", zookeeper_port(zookeeper));
  ck_assert_int_eq(keyroute_options_new(&options, NULL), 0);
  ck_assert_int_eq(keyroute_options_set_zookeeper(options, ensemble), 0);
  ck_assert_int_eq(keyroute_options_set(options, "zookeeper.session.timeout", "2000", NULL), 0);
  ck_assert_int_eq(keyroute_options_set(options, "hbase.client.retries.number", "0", NULL), 0);
  ck_assert_int_eq(keyroute_open(conn, options, NULL), 0);
  keyroute_options_free(options);
}

/* The znode holds nonsense: whoever is told so has heard from ZooKeeper. */
static int ask_zookeeper(struct keyroute_connection *conn)
{
  return locate(conn, "hbase:meta", "", KEYROUTE_REFRESH, NULL);
}

static int heard;

static void use_zookeeper(void)
{
  EXPECT(ask_zookeeper(cluster.conn) == KEYROUTE_E_CLOSED);
  close_in_child();
  if (!UNDER_TSAN) {
    struct keyroute_connection *own = NULL;

    open_with_zookeeper(&own);
    EXPECT(ask_zookeeper(own) == heard);
    EXPECT(keyroute_close(own) == 0);
  }
}

START_TEST(test_fork__zookeepers_session_goes_on_in_the_parent)
{
  if (zookeeper_jars() == NULL) {
    return;
  }
  zookeeper = zookeeper_start();
  zookeeper_create(zookeeper, "/hbase", "");
  zookeeper_create(zookeeper, "/hbase/meta-region-server", "nonsense");
  open_with_zookeeper(&cluster.conn);
  heard = ask_zookeeper(cluster.conn);
  ck_assert_int_ne(heard, KEYROUTE_E_TIMEOUT);
  ck_assert_int_ne(heard, KEYROUTE_E_UNREACHABLE);

  in_child(use_zookeeper);
  pause_ms(3000); /* longer than the session lives unattended */

  ck_assert_int_eq(ask_zookeeper(cluster.conn), heard);
  ck_assert_uint_eq(kr_stats_read(cluster.conn->stats, KR_COUNT_SESSIONS), 1);
  zookeeper_stop(zookeeper);
}
END_TEST

static void add_tests(TCase *all)
{
  tcase_add_test(all, test_fork__hits_and_peeks_work_in_the_child);
  tcase_add_test(all, test_fork__all_else_is_closed_in_the_child_instead_of_hanging);
  tcase_add_test(all, test_fork__the_parent_goes_on_over_the_same_connection);
  tcase_add_test(all, test_fork__closing_in_the_child_frees_what_was_cached);
  tcase_add_test(all, test_fork__closing_in_the_child_frees_what_a_hand_had_come_to);
  tcase_add_test(all, test_fork__closing_in_the_child_frees_what_was_cleared);
  tcase_add_test(all, test_fork__calls_of_the_last_hop_are_closed_in_the_child);
  tcase_add_test(all, test_fork__calls_under_way_are_answered_in_the_parent_only);
  tcase_add_test(all, test_fork__last_hops_under_way_end_in_the_parent_only);
  tcase_add_test(all, test_fork__work_posted_in_the_parent_does_nothing_in_the_child);
  tcase_add_test(all, test_fork__draining_is_closed_in_the_child_and_goes_on_in_the_parent);
  tcase_add_test(all, test_fork__a_child_made_in_a_callback_is_like_others);
  tcase_add_test(all, test_fork__a_child_made_in_a_peek_section_may_end_it);
  tcase_add_test(all, test_fork__no_lock_that_a_busy_thread_held_is_in_the_childs_way);
  tcase_add_test(all, test_fork__zookeepers_session_goes_on_in_the_parent);
  if (!UNDER_TSAN) {
    tcase_add_test(all, test_fork__a_child_may_open_connections_of_its_own);
    tcase_add_test(all, test_fork__grandchildren_may_too);
  }
}

int main(void)
{
  Suite *suite = suite_create("fork");
  TCase *all = tcase_create("fork");

  tcase_add_checked_fixture(all, setup, teardown);
  tcase_set_timeout(all, 240);
  add_tests(all);
  suite_add_tcase(suite, all);
  return run_suite(suite);
}
