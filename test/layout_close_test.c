/* A connection that is closed while it finds out of what kind its cluster is, with calls of all
 * kinds under way: each callback runs once, and the close returns. The registry is the test's own,
 * and says when it has come to where the close is to be. */
#include "lib/connection.h"

#include "test/fake_registry.h"
#include "test/fake_server.h"
#include "test/fake_server094.h"
#include "test/run_suite.h"

#include <check.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>

enum { CALLS = 96, KINDS = 3, ROUNDS = 10 };

/* Server 0 has -ROOT-, 1 .META., 2 the users' regions. */
enum { ROOT, META, USERS, SERVERS };

/* When the connection is closed. */
enum moment {
  HELD,      /* the registry has been asked and says nothing */
  ANSWERING, /* it is about to say that there are three tiers */
  SETTLED,   /* it has just said so */
  ROOT_MUTE, /* the same, and -ROOT- does not answer */
  META_MUTE, /* the same, and .META. does not answer */
  UPGRADED,  /* it has just said that there are two after all */
  MOMENTS
};

static enum moment moment;
static sem_t reached;
static struct fake094 *servers;
static struct fake_server *newer;
static struct keyroute_connection *conn;

/* ---- The registry ---------------------------------------------------------------------------- */

static unsigned reads; /* the loop's */
static char newer_place[64];

static void tell(const struct kr_root_read *read, bool first)
{
  struct kr_root_value value = {.data = keyroute_string(fake094_root(servers))};
  struct kr_root root = {.values = &value, .count = 1, .place = "the test", .tiers = 3};

  if (!first && moment == UPGRADED) {
    value = (struct kr_root_value){.data = keyroute_string(newer_place), .text = true};
    root.tiers = 2;
  }
  read->cb(read->arg, &root);
}

static bool answer(const struct kr_root_read *read)
{
  bool first = reads++ == 0;

  if (moment == HELD || moment == ANSWERING) {
    sem_post(&reached);
  }
  if (moment == HELD) {
    return false;
  }
  if (read->cb != NULL) {
    tell(read, first);
  }
  if (moment != ANSWERING && (moment != UPGRADED || !first)) {
    sem_post(&reached);
  }
  return true;
}

static struct fake_registry registry = {.answer = answer};

/* ---- The cluster ----------------------------------------------------------------------------- */

static void start_newer(void)
{
  newer = fake_server_start(0);
  snprintf(newer_place, sizeof(newer_place), "127.0.0.1:%d:77", fake_server_port(newer));
  fake_server_put_region(newer, &(struct fake_region){.table = "t",
                                                      .id = 9,
                                                      .host = "127.0.0.1",
                                                      .port = fake_server_port(newer),
                                                      .start_code = 77});
}

static void set_up(void)
{
  servers = fake094_start(SERVERS);
  fake094_host_root(servers, ROOT);
  fake094_put_between(servers, ".META.", "", "", 5, META);
  fake094_put_between(servers, "t", "", "m", 5, USERS);
  fake094_put_between(servers, "t", "m", "", 5, USERS);
  start_newer();
  reads = 0;
  sem_init(&reached, 0, 0);
}

static void tear_down(void)
{
  sem_destroy(&reached);
  fake_server_free(newer);
  fake094_free(servers);
}

static void open_auto(void)
{
  struct keyroute_options *options;

  ck_assert_int_eq(keyroute_options_new(&options, NULL), 0);
  ck_assert_int_eq(keyroute_options_set_layout(options, "auto"), 0);
  ck_assert_int_eq(keyroute_options_set(options, "hbase.client.pause", "1", NULL), 0);
  ck_assert_int_eq(kr_connection_open(&conn, options, NULL, fake_registry_make, &registry), 0);
  keyroute_options_free(options);
}

/* What the servers do wrong, so that the moment comes. */
static void spoil(void)
{
  struct fake094_fault mute = {.what = FAKE094_NEVER, .times = CALLS};

  if (moment == ROOT_MUTE || moment == META_MUTE) {
    fake094_fault(servers, moment == ROOT_MUTE ? ROOT : META, &mute);
  }
  if (moment == UPGRADED) {
    fake094_stop(servers, ROOT); /* the znode of before names nobody */
  }
}

/* ---- The calls ------------------------------------------------------------------------------- */

/* One call, and how often its callback ran. */
struct asked {
  atomic_uint answers;
  int error;
};

static struct asked calls[CALLS];

static void end_call(void *payload, int error)
{
  struct asked *call = payload;

  call->error = error;
  atomic_fetch_add(&call->answers, 1);
}

static void located(void *payload, int error, struct keyroute_location *location,
                    const struct keyroute_detail *detail)
{
  (void)location;
  (void)detail;
  end_call(payload, error);
}

static void got(void *payload, int error, struct keyroute_result *result,
                const struct keyroute_detail *detail)
{
  (void)detail;
  keyroute_result_free(result);
  end_call(payload, error);
}

static void listed(void *payload, int error, struct keyroute_page *page,
                   const struct keyroute_detail *detail)
{
  (void)detail;
  keyroute_page_free(page);
  end_call(payload, error);
}

static int start_call(int number)
{
  struct keyroute_bytes none = {NULL, 0}, row = keyroute_string(number % 2 == 0 ? "a" : "x");
  struct asked *call = &calls[number];

  *call = (struct asked){.error = 0};
  switch (number % KINDS) {
  case 0:
    return keyroute_locate_async(NULL, conn, "t", row, NULL, located, call);
  case 1:
    return keyroute_get_async(NULL, conn, "t", row, NULL, NULL, got, call);
  default:
    return keyroute_regions_async(NULL, conn, "t", none, none, 10, NULL, listed, call);
  }
}

START_TEST(test_layout_close__each_call_is_answered_once_wherever_the_close_comes)
{
  moment = (enum moment)(_i % MOMENTS);
  spoil();
  open_auto();
  for (int i = 0; i < CALLS; i++) {
    ck_assert_int_eq(start_call(i), 0);
  }
  while (sem_wait(&reached) != 0) {
  }
  ck_assert_int_eq(keyroute_close(conn), 0);

  for (int i = 0; i < CALLS; i++) {
    ck_assert_uint_eq(calls[i].answers, 1);
    if (moment == HELD || moment == ROOT_MUTE || moment == META_MUTE) {
      ck_assert_int_eq(calls[i].error, KEYROUTE_E_CLOSED);
    }
  }
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("layout_close");
  TCase *cases = tcase_create("layout_close");

  tcase_set_timeout(cases, 60);
  tcase_add_checked_fixture(cases, set_up, tear_down);
  tcase_add_loop_test(cases, test_layout_close__each_call_is_answered_once_wherever_the_close_comes,
                      0, MOMENTS * ROUNDS);
  suite_add_tcase(suite, cases);
  return run_suite(suite);
}
