/*
 * keyroute regions: which regions does this table have, and is their chain whole?
 *
 *  1. The listing is read page by page and printed as it comes: memory is bounded by a page,
 *     however many regions there are. What is printed is flushed before the next page is asked for.
 *  2. It can be gone on with: where it ends early, by an error or by --limit, stderr tells with
 *     which --start. Nothing is kept for that, on either side.
 *  3. The exit status tells of the chain, not of the servers: a region that is on none is listed,
 *     and no trouble, since a disabled table has no others.
 */
#include "keyroute/keyroute.h"

#include "tools/check.h"
#include "tools/cli.h"
#include "tools/connect.h"
#include "tools/line.h"
#include "tools/outcome.h"
#include "tools/progress.h"
#include "tools/show_regions.h"
#include "tools/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_REGIONS = 1000 };

struct listing {
  const struct line *line;
  const char *table; /* canonical */
  struct keyroute_connection *conn;
  char *key; /* where the next page begins */
  size_t key_len;
  size_t regions, wrong;
};

static struct keyroute_bytes next_key(const struct listing *listing)
{
  return (struct keyroute_bytes){listing->key, listing->key_len};
}

static void set_key(struct listing *listing, struct keyroute_bytes key)
{
  char *copy = cli_copy_bytes(key);

  free(listing->key);
  listing->key = copy;
  listing->key_len = key.len;
}

/* A key for a shell to read: in quotes, and without one inside. */
static char *quoted(const struct listing *listing, struct keyroute_bytes key)
{
  char *text = text_bytes(key, listing->line->output.hex);
  char *out = cli_alloc(4 * strlen(text) + 3);
  char *to = out;

  *to++ = '\'';
  for (const char *from = text; *from != '\0'; from++) {
    if (*from == '\'') {
      memcpy(to, "\\x27", 4);
      to += 4;
    } else {
      *to++ = *from;
    }
  }
  *to = '\'';
  free(text);
  return out;
}

/* ---- What is wrong -------------------------------------------------------------------------- */

static void complain_about(const struct listing *listing, const struct keyroute_span *span)
{
  char *start = quoted(listing, span->start);
  char *end = quoted(listing, span->end);

  if (span->kind == KEYROUTE_SPAN_CORRUPT) {
    cli_complain("%s at %s: CORRUPT: %s", listing->table, start, span->message);
  } else {
    cli_complain("%s from %s to %s: %s: %s", listing->table, start, end, show_span_kind(span->kind),
                 span->message);
  }
  free(start);
  free(end);
}

/* The listing ends early. */
static void complain_end(const struct listing *listing, const struct outcome *outcome)
{
  char *key = quoted(listing, next_key(listing));

  if (outcome != NULL) {
    cli_complain("%s: %s: %s", listing->table, keyroute_errname(outcome->error),
                 outcome_message(outcome));
  }
  if (outcome == NULL || listing->regions > 0) {
    cli_complain("%s: %zu region%s so far; go on with --start %s", listing->table, listing->regions,
                 listing->regions == 1 ? "" : "s", key);
  }
  free(key);
}

static int end_with(struct listing *listing, const struct outcome *outcome)
{
  show_regions_error(&listing->line->output, listing->table, next_key(listing), outcome);
  if (cli_flush() == 0 && !listing->line->quiet) {
    complain_end(listing, outcome);
  }
  return outcome_unasked(outcome->error) && listing->regions == 0 ? CLI_TROUBLE : CLI_NOT_FOUND;
}

/* ---- Pages ---------------------------------------------------------------------------------- */

static void take_span(struct listing *listing, const struct keyroute_span *span)
{
  bool wrong = span->kind != KEYROUTE_SPAN_REGION;

  listing->regions += !wrong;
  listing->wrong += wrong;
  show_span(&listing->line->output, listing->table, span);
  if (ferror(stdout)) {
    cli_flush(); /* keeps the reason */
  }
  if (wrong && !listing->line->quiet && cli_flush() == 0) {
    complain_about(listing, span);
  }
  progress_set(listing->regions, listing->wrong);
}

/* Print a page. Returns whether there is more behind it. */
static bool take_page(struct listing *listing, const struct keyroute_page *page,
                      const struct outcome *outcome)
{
  struct keyroute_bytes next = {NULL, 0};

  for (size_t i = 0; i < keyroute_page_count(page) && !ferror(stdout); i++) {
    struct keyroute_span span = {.size = sizeof(span)};

    if (keyroute_page_span(page, i, &span) == 0) {
      take_span(listing, &span);
    }
  }
  if (listing->line->output.trace) {
    show_regions_steps(&listing->line->output, listing->table, next_key(listing), outcome);
  }
  if (!keyroute_page_next(page, &next)) {
    return false;
  }
  set_key(listing, next);
  return true;
}

static size_t page_limit(const struct listing *listing)
{
  size_t limit = (size_t)listing->line->limit;
  size_t left = limit - listing->regions;

  return limit == 0 || left > PAGE_REGIONS ? PAGE_REGIONS : left;
}

/* Read and print one page. Returns an exit status if the listing ends with it, or -1. */
static int list_page(struct listing *listing)
{
  const struct line *line = listing->line;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_page *page = NULL;
  struct outcome outcome = {0};
  int status = -1;

  cli_flush();
  int error = keyroute_regions(&page, listing->conn, line->table, next_key(listing),
                               row_bytes(&line->end), page_limit(listing), &line->call, &detail);
  outcome_copy(&outcome, error, &detail);
  if (error != 0) {
    status = end_with(listing, &outcome);
  } else if (!take_page(listing, page, &outcome)) {
    status = listing->wrong > 0 ? CLI_NOT_FOUND : CLI_FOUND;
  } else if (line->limit > 0 && listing->regions >= (size_t)line->limit) {
    status = listing->wrong > 0 ? CLI_NOT_FOUND : CLI_FOUND;
    if (cli_flush() == 0 && !line->quiet) {
      complain_end(listing, NULL);
    }
  }
  keyroute_page_free(page);
  outcome_clear(&outcome);
  keyroute_detail_clear(&detail);
  return status;
}

/* ---- The command ---------------------------------------------------------------------------- */

static int run_line(struct line *line)
{
  struct listing listing = {.line = line, .table = connect_canonical(line->table)};
  int status = connect_open(&listing.conn, line);

  set_key(&listing, row_bytes(&line->start));
  if (status == -1) {
    status = check_row(listing.conn, line->table, keyroute_string(""));
  }
  if (status == -1) {
    show_regions_header(&line->output);
    progress_begin("regions", line->quiet, true);
    while (status == -1) {
      status = ferror(stdout) ? CLI_TROUBLE : list_page(&listing);
    }
    progress_end();
  }
  keyroute_close(listing.conn);
  free(listing.key);
  return status;
}

int cmd_regions(int argc, char **argv)
{
  struct line line;
  int status = line_parse(&line, COMMAND_REGIONS, argc, argv);

  if (status == -1) {
    status = run_line(&line);
  }
  line_free(&line);
  return status;
}
