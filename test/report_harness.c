#include "test/report_harness.h"

#include <stdio.h>

struct fixture fixture_new(void)
{
  struct fixture fixture = {.world = world_new()};
  struct world *world = fixture.world;

  fixture.reports = world_add_reports(world, 2000);
  world->means.retry.retries = 0;
  world_start(world);
  return fixture;
}

void fixture_free(struct fixture *fixture)
{
  kr_locator_shutdown(fixture->world->locator);
  kr_reports_free(fixture->reports);
  world_free(fixture->world);
}

void put_on(struct fixture *fixture, const char *start, const char *end, const char *host,
            int64_t start_code, int64_t seqnum)
{
  put(fixture->world, &(struct fake_region){
                          .table = "t",
                          .start = keyroute_string(start),
                          .end = keyroute_string(end),
                          .id = 1,
                          .host = host,
                          .port = 16020,
                          .start_code = start_code,
                          .seqnum = seqnum,
                      });
}

struct keyroute_location *locate_code(struct fixture *fixture, const char *row, int *code)
{
  struct ask asked;

  ask(&asked, fixture->world, "t", row);
  fake_clock_pass_ms(5);
  ck_assert_int_eq(asked.done, 1);
  struct keyroute_location *found = asked.lookup.location;

  asked.lookup.location = NULL;
  *code = asked.lookup.failure.code;
  ask_clear(&asked);
  return found;
}

struct keyroute_location *locate(struct fixture *fixture, const char *row)
{
  int code;
  struct keyroute_location *found = locate_code(fixture, row, &code);

  ck_assert_msg(found != NULL, "%s", keyroute_errname(code));
  return found;
}

void sweep(struct world *world)
{
  kr_cache_visit(world->cache, kr_cache_size(world->cache).regions);
}

void take(struct fixture *fixture, struct kr_report report)
{
  report.epoch += kr_cache_epoch(fixture->world->cache);
  kr_location_report(report.location);
  kr_location_retire(report.location, KR_EVICTED_REPORTED);
  if (kr_reports_take(fixture->reports, &report)) {
    sweep(fixture->world);
  }
}

void report(struct fixture *fixture, struct keyroute_location *location, enum keyroute_fault fault)
{
  take(fixture, (struct kr_report){.location = location, .fault = fault, .seqnum = -1});
}

void report_moved(struct fixture *fixture, struct keyroute_location *location, const char *host,
                  int64_t start_code, int64_t seqnum)
{
  take(fixture, (struct kr_report){.location = location,
                                   .fault = KEYROUTE_FAULT_MOVED,
                                   .host = host,
                                   .port = 16020,
                                   .start_code = start_code,
                                   .seqnum = seqnum});
}

/* The host that the next lookup names; "" = an error. Counts the scans it took. */
static const char *next_host(struct fixture *fixture, const char *row, int *scans)
{
  static char host[64];
  int before = fixture->world->scans;
  int code;
  struct keyroute_location *found = locate_code(fixture, row, &code);

  snprintf(host, sizeof(host), "%s", found != NULL ? keyroute_location_host(found, 0) : "");
  keyroute_location_release(found);
  *scans = fixture->world->scans - before;
  return host;
}

void expect_next(struct fixture *fixture, const char *row, const char *host, int scans)
{
  int sent;
  const char *got = next_host(fixture, row, &sent);

  ck_assert_str_eq(got, host);
  ck_assert_int_eq(sent, scans);
}

uint64_t count(const struct fixture *fixture, enum kr_counter counter)
{
  return kr_stats_read(fixture->world->stats, counter);
}
