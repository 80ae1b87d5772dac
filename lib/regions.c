/*
 * The public calls that list the regions of a span of keys: a survey whose listing becomes a page.
 *
 * Nothing is kept between calls: each page begins at the key it is given, which may be where
 * another one ended, today or another day.
 *
 * Threads: as call.c says.
 */
#include "keyroute/keyroute.h"

#include "lib/bytes.h"
#include "lib/clock.h"
#include "lib/page.h"
#include "lib/survey.h"

enum { LIMIT_DEFAULT = 1000, LIMIT_MAX = 10000 };

struct regions_call {
  struct kr_call base;
  struct kr_survey survey;
  struct keyroute_page *page; /* NULL = there is none yet, or it was given away */
  keyroute_regions_cb cb;
  void *payload;
  uint8_t keys[]; /* start, then end */
};

/* ---- On the loop ---- */

static void done(struct kr_survey *survey)
{
  struct regions_call *call = (struct regions_call *)survey->call;
  struct kr_failure *failure = &survey->failure;

  if (failure->code == 0) {
    call->page = kr_page_new(call->base.conn->mem, &survey->listing);
    if (call->page == NULL) {
      kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
    }
  }
  kr_call_fail(&call->base, failure);
  kr_call_end(&call->base);
}

static void begin(struct kr_call *base)
{
  kr_survey_start(&((struct regions_call *)base)->survey);
}

static void stop(struct kr_call *base, int code)
{
  kr_survey_stop(&((struct regions_call *)base)->survey, code);
}

static struct keyroute_page *take_page(struct regions_call *call)
{
  struct keyroute_page *page = call->page;

  call->page = NULL;
  return page;
}

static void tell(struct kr_call *base)
{
  struct regions_call *call = (struct regions_call *)base;

  call->cb(call->payload, base->detail.error, take_page(call), &base->detail);
}

static void give(struct kr_call *base, void *out)
{
  *(struct keyroute_page **)out = take_page((struct regions_call *)base);
}

static void free_call(struct kr_call *base)
{
  struct regions_call *call = (struct regions_call *)base;

  kr_survey_clear(&call->survey);
  kr_table_release(call->survey.table);
  keyroute_page_free(call->page);
  kr_call_free(base);
}

static const struct kr_call_kind kind = {begin, stop, tell, give, free_call};

/* ---- In the caller's thread ---- */

/* What is asked, checked. */
struct request {
  struct keyroute_bytes table;
  struct kr_listing_question question;
  struct kr_terms terms;
};

static int check_span(struct request *out, struct keyroute_bytes start, struct keyroute_bytes end,
                      size_t limit, struct keyroute_detail *detail)
{
  int error = kr_call_check_bytes(start, "the start", detail);

  if (error == 0) {
    error = kr_call_check_bytes(end, "the end", detail);
  }
  if (error != 0) {
    return error;
  }
  if (end.len > 0 && kr_bytes_compare(start, end) >= 0) {
    return kr_fail_invalid(detail, "the start is not below the end");
  }
  if (limit > LIMIT_MAX) {
    return kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT,
                          "the limit is %zu, not at most %d regions", limit, LIMIT_MAX);
  }
  out->question = (struct kr_listing_question){
      .start = start, .end = end, .limit = limit > 0 ? limit : LIMIT_DEFAULT};
  return 0;
}

static int check(struct request *out, const struct keyroute_connection *conn, const char *table,
                 struct keyroute_bytes start, struct keyroute_bytes end, size_t limit,
                 const struct keyroute_call *call, struct keyroute_detail *detail)
{
  int error = kr_call_check_table(&out->table, conn->check_table, table, detail);

  if (error == 0) {
    error = check_span(out, start, end, limit, detail);
  }
  if (error == 0) {
    error = kr_call_terms(&out->terms, conn, call, KEYROUTE_TRACE, detail);
  }
  if (error == 0 && out->terms.replica != 0) {
    error = kr_detail_fail(detail, KEYROUTE_E_INVALID_ARGUMENT,
                           "the replica is %d: a listing has all of them", out->terms.replica);
  }
  out->terms.began_us = kr_clock_us();
  return error;
}

/* NULL = out of memory. */
static struct kr_call *new_call(struct keyroute_connection *conn, const struct request *request,
                                keyroute_regions_cb cb, void *payload)
{
  const struct kr_listing_question *question = &request->question;
  size_t size = sizeof(struct regions_call) + question->start.len + question->end.len;
  struct regions_call *call =
      (struct regions_call *)kr_call_new(size, conn, &kind, &request->terms);

  if (call == NULL) {
    return NULL;
  }
  uint8_t *at = call->keys;

  call->cb = cb;
  call->payload = payload;
  call->survey.call = &call->base;
  call->survey.done = done;
  call->survey.question = *question;
  call->survey.question.start = kr_bytes_put(&at, question->start);
  call->survey.question.end = kr_bytes_put(&at, question->end);
  call->survey.table = kr_cache_table(conn->cache, request->table);
  if (call->survey.table == NULL) {
    free_call(&call->base);
    return NULL;
  }
  return &call->base;
}

int keyroute_regions(struct keyroute_page **out, struct keyroute_connection *conn,
                     const char *table, struct keyroute_bytes start, struct keyroute_bytes end,
                     size_t limit, const struct keyroute_call *call, struct keyroute_detail *detail)
{
  struct request request;
  int error = kr_call_may_wait(out, conn, detail);

  if (error != 0 || (error = check(&request, conn, table, start, end, limit, call, detail)) != 0) {
    return error;
  }
  if (!kr_connection_enter(conn)) {
    return kr_fail_closed(conn, detail);
  }
  error = kr_call_wait(out, new_call(conn, &request, NULL, NULL), detail);
  kr_connection_leave(conn);
  return error;
}

int keyroute_regions_async(uint64_t *number, struct keyroute_connection *conn, const char *table,
                           struct keyroute_bytes start, struct keyroute_bytes end, size_t limit,
                           const struct keyroute_call *call, keyroute_regions_cb cb, void *payload)
{
  struct request request;

  if (conn == NULL || cb == NULL) {
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  if (!kr_connection_enter(conn)) {
    return KEYROUTE_E_CLOSED;
  }
  int error = check(&request, conn, table, start, end, limit, call, NULL);

  if (error == 0) {
    error = kr_call_start_or_free(number, new_call(conn, &request, cb, payload));
  }
  kr_connection_leave(conn);
  return error;
}
