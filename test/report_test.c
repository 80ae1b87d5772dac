/*
 * Reports on the loop: what goes from the cache, what stays, what is read again and how often.
 */
#include "lib/cache_state.h"
#include "test/failing_mem.h"
#include "test/report_harness.h"

#include "test/run_suite.h"

/* ---- Refreshing ----------------------------------------------------------------------------- */

START_TEST(test_report__reported_place_is_read_again)
{
  struct fixture fixture = fixture_new();

  put_on(&fixture, "", "", "a", 1, 5);
  struct keyroute_location *old = locate(&fixture, "r");

  put_on(&fixture, "", "", "b", 1, 6);
  report(&fixture, old, KEYROUTE_FAULT_NOT_SERVING);

  ck_assert_uint_eq(count(&fixture, KR_COUNT_EVICTIONS), 1);
  expect_next(&fixture, "r", "b", 1);
  expect_next(&fixture, "r", "b", 0);
  keyroute_location_release(old);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s032_same_answer_again_comes_in_another_handle)
{
  struct fixture fixture = fixture_new();

  put_on(&fixture, "", "", "a", 1, 5);
  struct keyroute_location *old = locate(&fixture, "r");

  report(&fixture, old, KEYROUTE_FAULT_NOT_SERVING);
  struct keyroute_location *again = locate(&fixture, "r");

  ck_assert_ptr_ne(old, again);
  ck_assert(!kr_location_retired(again));
  ck_assert_str_eq(keyroute_location_host(old, 0), "a");
  ck_assert_int_eq(keyroute_location_seqnum(old, 0), keyroute_location_seqnum(again, 0));
  keyroute_location_release(old);
  keyroute_location_release(again);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s101_newer_entry_stays_when_an_old_handle_is_reported)
{
  static const enum keyroute_fault faults[] = {
      KEYROUTE_FAULT_NOT_SERVING, KEYROUTE_FAULT_NOT_RUNNING, KEYROUTE_FAULT_MOVED,
      KEYROUTE_FAULT_CONNECTION_FAILED, KEYROUTE_FAULT_SERVER_DEAD};
  struct fixture fixture = fixture_new();

  put_on(&fixture, "", "", "h", 100, 5);
  struct keyroute_location *old = locate(&fixture, "r");

  put_on(&fixture, "", "", "h", 200, 6);
  report(&fixture, old, KEYROUTE_FAULT_NOT_SERVING);
  struct keyroute_location *fresh = locate(&fixture, "r");
  report(&fixture, old, faults[_i]);

  expect_next(&fixture, "r", "h", 0);
  ck_assert(!kr_location_retired(fresh));
  ck_assert_int_eq(keyroute_location_start_code(fresh, 0), 200);
  keyroute_location_release(old);
  keyroute_location_release(fresh);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__entry_goes_also_when_another_handle_holds_the_same_answer)
{
  struct fixture fixture = fixture_new();

  put_on(&fixture, "", "", "a", 1, 5);
  struct keyroute_location *old = locate(&fixture, "r");

  kr_location_retire(old, KR_EVICTED_REPORTED);
  struct keyroute_location *same = locate(&fixture, "r");
  ck_assert_ptr_ne(old, same);
  report(&fixture, old, KEYROUTE_FAULT_NOT_SERVING);

  ck_assert(kr_location_retired(same));
  expect_next(&fixture, "r", "a", 1);
  keyroute_location_release(old);
  keyroute_location_release(same);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__what_was_cleared_meanwhile_is_not_brought_back)
{
  struct fixture fixture = fixture_new();
  struct kr_cache_filter all = {0};

  put_on(&fixture, "", "", "a", 1, 5);
  struct keyroute_location *first = locate(&fixture, "r");

  report(&fixture, first, KEYROUTE_FAULT_NOT_SERVING);
  struct keyroute_location *second = locate(&fixture, "r");
  kr_cache_retire(fixture.world->cache, &all);
  take(&fixture, (struct kr_report){.location = second,
                                    .fault = KEYROUTE_FAULT_NOT_SERVING,
                                    .epoch = (uint64_t)-1}); /* it was made before the clearing */

  expect_next(&fixture, "r", "a", 1);
  keyroute_location_release(first);
  keyroute_location_release(second);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__what_was_cleared_before_is_not_brought_back)
{
  struct fixture fixture = fixture_new();
  struct kr_cache_filter all = {0};

  put_on(&fixture, "", "", "a", 1, 5);
  struct keyroute_location *first = locate(&fixture, "r");

  report(&fixture, first, KEYROUTE_FAULT_NOT_SERVING);
  struct keyroute_location *second = locate(&fixture, "r");
  kr_cache_retire(fixture.world->cache, &all);
  report(&fixture, second, KEYROUTE_FAULT_NOT_SERVING);

  expect_next(&fixture, "r", "a", 1);
  keyroute_location_release(first);
  keyroute_location_release(second);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__what_is_cleared_behind_the_report_is_not_brought_back)
{
  struct fixture fixture = fixture_new();
  struct kr_cache_filter all = {0};

  put_on(&fixture, "", "", "a", 1, 5);
  struct keyroute_location *first = locate(&fixture, "r");

  report(&fixture, first, KEYROUTE_FAULT_NOT_SERVING);
  struct keyroute_location *second = locate(&fixture, "r");
  kr_location_retire(second, KR_EVICTED_REPORTED); /* when who clears has not come so far yet */
  kr_cache_retire(fixture.world->cache, &all);
  report(&fixture, second, KEYROUTE_FAULT_NOT_SERVING); /* in the new epoch */

  expect_next(&fixture, "r", "a", 1);
  keyroute_location_release(first);
  keyroute_location_release(second);
  fixture_free(&fixture);
}
END_TEST

static struct kr_cache *shared;
static struct keyroute_location *entry;

/* Who clears, and has told the new epoch, comes to the entry unless the loop is just storing. */
static void come_to_entry(void)
{
  if (pthread_mutex_trylock(&shared->epoch_lock) == 0) {
    kr_location_retire(entry, KR_EVICTED_CLEARED);
    pthread_mutex_unlock(&shared->epoch_lock);
    shared = NULL;
  }
}

/* In the middle of each allocation. */
START_TEST(test_report__what_is_cleared_while_it_is_copied_is_not_brought_back)
{
  struct fixture fixture = fixture_new();

  put_on(&fixture, "", "", "a", 1, 5);
  struct keyroute_location *first = locate(&fixture, "r");

  report(&fixture, first, KEYROUTE_FAULT_NOT_SERVING);
  entry = locate(&fixture, "r");
  shared = fixture.world->cache;
  mem_call(_i, come_to_entry);
  report(&fixture, entry, KEYROUTE_FAULT_NOT_SERVING);
  mem_call(0, NULL);

  expect_next(&fixture, "r", "a", shared == NULL ? 1 : 0);
  keyroute_location_release(first);
  keyroute_location_release(entry);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__another_replicas_place_is_read_again_too)
{
  struct fixture fixture = fixture_new();
  struct fake_region region = {
      .table = "t", .id = 1, .host = "a", .port = 1, .start_code = 1, .seqnum = 5, .replicas = 3};

  put(fixture.world, &region);
  struct keyroute_location *old = locate(&fixture, "r");

  region.replicas = 1;
  put(fixture.world, &region);
  take(&fixture,
       (struct kr_report){.location = old, .fault = KEYROUTE_FAULT_NOT_SERVING, .replica = 2});
  struct keyroute_location *fresh = locate(&fixture, "r");

  ck_assert_int_eq(keyroute_location_replica_count(fresh), 1);
  keyroute_location_release(old);
  keyroute_location_release(fresh);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__root_is_asked_for_again)
{
  struct fixture fixture = fixture_new();
  struct ask first, second;

  ask(&first, fixture.world, "hbase:meta", "");
  fake_clock_pass_ms(1);
  fixture.world->meta_host = "elsewhere";
  report(&fixture, first.lookup.location, KEYROUTE_FAULT_NOT_SERVING);
  ask(&second, fixture.world, "hbase:meta", "");
  fake_clock_pass_ms(1);

  ck_assert_str_eq(keyroute_location_host(second.lookup.location, 0), "elsewhere");
  ask_clear(&first);
  ask_clear(&second);
  fixture_free(&fixture);
}
END_TEST

/* ---- How often ------------------------------------------------------------------------------ */

/* Locate and report, so often and so far apart. Returns how many scans it took. */
static int insist(struct fixture *fixture, enum keyroute_fault fault, int times, int64_t every_ms)
{
  int before = fixture->world->scans;

  for (int i = 0; i < times; i++) {
    struct keyroute_location *found = locate(fixture, "r");

    ck_assert(!kr_location_retired(found));
    report(fixture, found, fault);
    ck_assert(kr_location_retired(found));
    keyroute_location_release(found);
    fake_clock_pass_ms(every_ms);
  }
  return fixture->world->scans - before;
}

START_TEST(test_s096_catalog_that_repeats_itself_is_read_ever_more_rarely)
{
  static const enum keyroute_fault faults[] = {KEYROUTE_FAULT_NOT_SERVING,
                                               KEYROUTE_FAULT_CONNECTION_FAILED};
  struct fixture fixture = fixture_new();

  put_on(&fixture, "", "", "dead", 1, 5);
  int first_second = insist(&fixture, faults[_i], 100, 5);
  int first_minute = first_second + insist(&fixture, faults[_i], 2000, 25);
  int ten_minutes = insist(&fixture, faults[_i], 9 * 600, 95);

  /* A report of a server and one of the region have a limit each. */
  ck_assert_int_le(first_second, 4);
  ck_assert_int_ge(first_minute, 30);
  ck_assert_int_le(first_minute, 2 * 62);
  ck_assert_int_ge(ten_minutes, 7);
  ck_assert_int_le(ten_minutes, 2 * 11);
  ck_assert_uint_gt(count(&fixture, KR_COUNT_REFRESHES_LIMITED), 7000);
  fixture_free(&fixture);
}
END_TEST

/* The caller's thread retires the handle behind posting its report, which the loop may have dealt
 * with by then. */
START_TEST(test_report__limit_holds_however_late_the_caller_retires_the_handle)
{
  struct fixture fixture = fixture_new();
  struct kr_report late = {.fault = KEYROUTE_FAULT_NOT_SERVING, .seqnum = -1};

  put_on(&fixture, "", "", "dead", 1, 5);
  ck_assert_int_eq(insist(&fixture, KEYROUTE_FAULT_NOT_SERVING, 2, 5), 2);
  int before = fixture.world->scans;

  late.location = locate(&fixture, "r");
  late.epoch = kr_cache_epoch(fixture.world->cache);
  kr_location_report(late.location);
  kr_reports_take(fixture.reports, &late);
  kr_location_retire(late.location, KR_EVICTED_REPORTED);
  struct keyroute_location *again = locate(&fixture, "r");

  ck_assert_ptr_ne(again, late.location);
  ck_assert_int_eq(fixture.world->scans, before);
  keyroute_location_release(again);
  keyroute_location_release(late.location);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s096_news_are_found_out_at_the_next_read_and_begin_anew)
{
  struct fixture fixture = fixture_new();

  put_on(&fixture, "", "", "dead", 1, 5);
  insist(&fixture, KEYROUTE_FAULT_NOT_SERVING, 10, 5);
  put_on(&fixture, "", "", "b", 1, 6);
  fake_clock_pass_ms(1000);
  struct keyroute_location *old = locate(&fixture, "r");

  ck_assert_str_eq(keyroute_location_host(old, 0), "dead");
  report(&fixture, old, KEYROUTE_FAULT_NOT_SERVING);
  expect_next(&fixture, "r", "b", 1);
  ck_assert_int_eq(insist(&fixture, KEYROUTE_FAULT_NOT_SERVING, 1, 0), 0);
  expect_next(&fixture, "r", "b", 1);
  keyroute_location_release(old);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_s096_refresh_that_is_asked_for_always_reads)
{
  struct fixture fixture = fixture_new();
  struct ask asked;

  put_on(&fixture, "", "", "dead", 1, 5);
  insist(&fixture, KEYROUTE_FAULT_NOT_SERVING, 5, 5);
  put_on(&fixture, "", "", "b", 1, 6);
  ask_init(&asked, fixture.world, "t", "r");
  asked.lookup.refresh = true;
  ask_start(&asked);
  fake_clock_pass_ms(5);

  ck_assert_str_eq(keyroute_location_host(asked.lookup.location, 0), "b");
  ask_clear(&asked);
  fixture_free(&fixture);
}
END_TEST

/* ---- Others' locations, and no memory ------------------------------------------------------- */

START_TEST(test_report__location_of_another_connection_is_harmless)
{
  struct fixture fixture = fixture_new();
  struct kr_servers *others = kr_servers_new(fixture.world->mem);
  struct kr_replica replica = {kr_servers_get(others, keyroute_string("a"), 16020, 1), 5};

  put_on(&fixture, "", "", "a", 1, 5);
  struct keyroute_location *own = locate(&fixture, "r");
  struct kr_buf room;

  kr_buf_init(&room, fixture.world->mem);
  struct kr_location_parts parts = {
      .name = kr_location_replica_name(own, 0, &room),
      .table_len = 1,
      .region_id = 1,
      .replicas = &replica,
      .replica_count = 1,
  };
  struct keyroute_location *foreign = kr_location_new(fixture.world->mem, &parts);

  kr_buf_clear(&room);
  report(&fixture, foreign, KEYROUTE_FAULT_SERVER_DEAD);
  ck_assert(!kr_location_retired(own));
  ck_assert(!kr_server_dropped(replica.server));
  ck_assert_int_eq(replica.server->failed_until_us, 0);
  report(&fixture, foreign, KEYROUTE_FAULT_NOT_SERVING);
  expect_next(&fixture, "r", "a", 1);
  fake_clock_pass_ms(1000);
  report(&fixture, foreign, KEYROUTE_FAULT_NOT_SERVING);
  report_moved(&fixture, foreign, "b", 1, 9);

  ck_assert_uint_eq(count(&fixture, KR_COUNT_HINTS_TAKEN), 0);
  expect_next(&fixture, "r", "a", 1);
  keyroute_location_release(own);
  keyroute_location_release(foreign);
  kr_server_release(replica.server);
  kr_servers_free(others);
  fixture_free(&fixture);
}
END_TEST

START_TEST(test_report__without_memory_the_reported_handle_is_gone_all_the_same)
{
  static const enum keyroute_fault faults[] = {KEYROUTE_FAULT_NOT_SERVING, KEYROUTE_FAULT_MOVED,
                                               KEYROUTE_FAULT_CONNECTION_FAILED};

  for (int n = 1; n < 20; n++) {
    struct fixture fixture = fixture_new();

    put_on(&fixture, "", "", "a", 1, 5);
    for (int times = 0; times < 2; times++) {
      struct keyroute_location *old = locate(&fixture, "r");

      mem_fail_from(n);
      take(&fixture, (struct kr_report){.location = old,
                                        .fault = faults[_i],
                                        .host = faults[_i] == KEYROUTE_FAULT_MOVED ? "b" : NULL,
                                        .port = 1});
      mem_fail(0);
      struct keyroute_location *fresh = locate(&fixture, "r");

      ck_assert_ptr_ne(fresh, old);
      keyroute_location_release(fresh);
      keyroute_location_release(old);
    }
    fixture_free(&fixture);
  }
}
END_TEST

START_TEST(test_report__without_memory_there_are_none)
{
  struct kr_mem *mem = failing_mem_new();
  struct kr_reports_means means = {.mem = mem};

  for (int n = 1; n <= 2; n++) {
    mem_fail(n);
    ck_assert_ptr_null(kr_reports_new(&means));
  }
  mem_fail(0);

  kr_reports_free(NULL);
  failing_mem_done(mem);
}
END_TEST

/* ---- The suite ------------------------------------------------------------------------------ */

static Suite *suite(void)
{
  Suite *made = suite_create("report");
  TCase *tests = tcase_create("all");

  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_report__reported_place_is_read_again);
  tcase_add_test(tests, test_s032_same_answer_again_comes_in_another_handle);
  tcase_add_loop_test(tests, test_s101_newer_entry_stays_when_an_old_handle_is_reported, 0, 5);
  tcase_add_test(tests, test_report__entry_goes_also_when_another_handle_holds_the_same_answer);
  tcase_add_test(tests, test_report__what_was_cleared_meanwhile_is_not_brought_back);
  tcase_add_test(tests, test_report__what_was_cleared_before_is_not_brought_back);
  tcase_add_test(tests, test_report__what_is_cleared_behind_the_report_is_not_brought_back);
  tcase_add_loop_test(tests, test_report__what_is_cleared_while_it_is_copied_is_not_brought_back, 1,
                      6);
  tcase_add_test(tests, test_report__another_replicas_place_is_read_again_too);
  tcase_add_test(tests, test_report__root_is_asked_for_again);
  tcase_add_loop_test(tests, test_s096_catalog_that_repeats_itself_is_read_ever_more_rarely, 0, 2);
  tcase_add_test(tests, test_report__limit_holds_however_late_the_caller_retires_the_handle);
  tcase_add_test(tests, test_s096_news_are_found_out_at_the_next_read_and_begin_anew);
  tcase_add_test(tests, test_s096_refresh_that_is_asked_for_always_reads);
  tcase_add_test(tests, test_report__location_of_another_connection_is_harmless);
  tcase_add_loop_test(tests, test_report__without_memory_the_reported_handle_is_gone_all_the_same,
                      0, 3);
  tcase_add_test(tests, test_report__without_memory_there_are_none);
  suite_add_tcase(made, tests);
  return made;
}

int main(void)
{
  return run_suite(suite());
}
