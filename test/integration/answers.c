/*
 * Answers and their judge.
 *
 * An answer is a claim: this region is on this server, opened there with this sequence number. What
 * is kept of equal claims is what the judge needs, so that a run of any length takes little memory.
 *
 * hbase:meta's history is a list of eras for each region: what its row said, when that was written
 * (by the master's clock, before anybody could read it) and when somebody is known to have read it
 * or something later. An era without a host is one in which the region was nowhere: split, merged
 * or dropped. A claim is wrong if
 *
 *  1. no era of its region says the same, or the bounds differ;
 *  2. it was made before the era was written;
 *  3. a call that asked past the cache began after somebody had seen the next era;
 *  4. the cache said so in a call that began after somebody had been told something newer of the
 *     same region, or of one that overlaps it: the cache went back;
 *  5. it says that there is nothing, but a region over the row was seen before the call began and
 *     stayed until after it ended.
 *
 * (What the cache says may be older than hbase:meta: nobody tells it. That is no error.)
 */
#include "test/integration/answers.h"

#include <check.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <uthash.h>

enum { KEY_MAX = 64, NOTHINGS_MAX = 100000, CLOCK_MS = 5 };

/* All of it is compared, so it is zeroed first. */
struct claim_key {
  char encoded[40];
  char host[64];
  int port;
  int64_t start_code, seqnum;
};

struct claim {
  UT_hash_handle hh;
  struct claim_key key;
  struct keyroute_location *location; /* counted */
  int64_t first_ms;                   /* the first call that was told so ended */
  int64_t fresh_ms;  /* the last call that was told so past the cache began; 0 = none */
  int64_t cached_ms; /* the last call that was told so by the cache began; 0 = none */
};

struct nothing {
  int error;
  char table[32];
  char row[KEY_MAX];
  int64_t began_ms, ended_ms;
};

struct answers {
  pthread_mutex_t lock; /* for all below */
  struct claim *claims;
  struct nothing *nothings;
  size_t nothing_count;
};

struct era {
  struct claim_key key; /* host empty: nowhere */
  char table[32];
  char start[KEY_MAX], end[KEY_MAX];
  int64_t written_ms, seen_ms; /* seen 0 = not known */
  const struct era *next;      /* of the same region */
  const struct claim *claim;   /* that says so, or NULL */
};

struct history {
  struct era *eras;
  size_t count;
};

struct answers *answers_new(void)
{
  struct answers *answers = calloc(1, sizeof(*answers));

  ck_assert_ptr_nonnull(answers);
  pthread_mutex_init(&answers->lock, NULL);
  answers->nothings = calloc(NOTHINGS_MAX, sizeof(answers->nothings[0]));
  ck_assert_ptr_nonnull(answers->nothings);
  return answers;
}

void answers_free(struct answers *answers)
{
  struct claim *claim, *next;

  HASH_ITER (hh, answers->claims, claim, next) {
    HASH_DEL(answers->claims, claim);
    keyroute_location_release(claim->location);
    free(claim);
  }
  pthread_mutex_destroy(&answers->lock);
  free(answers->nothings);
  free(answers);
}

int64_t answers_now_ms(void)
{
  struct timespec now;

  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

unsigned answers_count(const struct answers *answers)
{
  return HASH_COUNT(answers->claims);
}

/* ---- Noting --------------------------------------------------------------------------------- */

static void describe(struct claim_key *key, const struct keyroute_location *location)
{
  const char *host = keyroute_location_host(location, 0);

  memset(key, 0, sizeof(*key));
  keyroute_location_encoded_name(location, 0, key->encoded, sizeof(key->encoded) - 1);
  snprintf(key->host, sizeof(key->host), "%s", host != NULL ? host : "");
  key->port = keyroute_location_port(location, 0);
  key->start_code = keyroute_location_start_code(location, 0);
  key->seqnum = keyroute_location_seqnum(location, 0);
}

static struct claim *get_claim(struct answers *answers, const struct claim_key *key,
                               const struct keyroute_location *location, int64_t ended_ms)
{
  struct claim *claim;

  HASH_FIND(hh, answers->claims, key, sizeof(*key), claim);
  if (claim == NULL) {
    claim = calloc(1, sizeof(*claim));
    if (claim == NULL) {
      abort();
    }
    claim->key = *key;
    claim->location = keyroute_location_ref(location);
    claim->first_ms = ended_ms;
    HASH_ADD(hh, answers->claims, key, sizeof(*key), claim);
  }
  return claim;
}

static void raise_to(int64_t *value, int64_t other)
{
  *value = *value > other ? *value : other;
}

void answers_note(struct answers *answers, const struct keyroute_location *location, bool fresh,
                  bool cached, int64_t began_ms, int64_t ended_ms)
{
  struct claim_key key;

  describe(&key, location);
  pthread_mutex_lock(&answers->lock);
  struct claim *claim = get_claim(answers, &key, location, ended_ms);

  claim->first_ms = claim->first_ms < ended_ms ? claim->first_ms : ended_ms;
  if (fresh) {
    raise_to(&claim->fresh_ms, began_ms);
  } else if (cached) {
    raise_to(&claim->cached_ms, began_ms);
  }
  pthread_mutex_unlock(&answers->lock);
}

void answers_note_nothing(struct answers *answers, int error, const char *table,
                          struct keyroute_bytes row, int64_t began_ms, int64_t ended_ms)
{
  if (error != KEYROUTE_E_TABLE_NOT_FOUND && error != KEYROUTE_E_HOLE) {
    return;
  }
  pthread_mutex_lock(&answers->lock);
  if (answers->nothing_count < NOTHINGS_MAX) {
    struct nothing *nothing = &answers->nothings[answers->nothing_count++];

    nothing->error = error;
    snprintf(nothing->table, sizeof(nothing->table), "%s", table);
    snprintf(nothing->row, sizeof(nothing->row), "%.*s", (int)row.len, (const char *)row.data);
    nothing->began_ms = began_ms;
    nothing->ended_ms = ended_ms;
  }
  pthread_mutex_unlock(&answers->lock);
}

/* ---- The history ---------------------------------------------------------------------------- */

static void copy_field(char *out, size_t size, char **line)
{
  const char *field = strsep(line, "\t");

  ck_assert(field != NULL && strlen(field) < size);
  strcpy(out, field);
}

static int64_t number_field(char **line)
{
  const char *field = strsep(line, "\t");

  ck_assert_ptr_nonnull(field);
  return strtoll(field, NULL, 10);
}

/* encoded, table, start, end, written, seen, host, port, start code, seqnum. The keys of these
 * tables are letters: nothing in them is escaped. */
static void parse_era(struct era *era, char *line)
{
  memset(era, 0, sizeof(*era));
  copy_field(era->key.encoded, sizeof(era->key.encoded), &line);
  copy_field(era->table, sizeof(era->table), &line);
  copy_field(era->start, sizeof(era->start), &line);
  copy_field(era->end, sizeof(era->end), &line);
  era->written_ms = number_field(&line);
  era->seen_ms = number_field(&line);
  copy_field(era->key.host, sizeof(era->key.host), &line);
  era->key.port = (int)number_field(&line);
  era->key.start_code = number_field(&line);
  era->key.seqnum = number_field(&line);
}

static struct history parse_history(const struct answers *answers, char *text)
{
  struct history history = {NULL, 0};
  size_t lines = 0;
  char *line;

  for (const char *at = text; *at != '\0'; at++) {
    lines += *at == '\n';
  }
  history.eras = calloc(lines + 1, sizeof(history.eras[0]));
  ck_assert_ptr_nonnull(history.eras);
  while ((line = strsep(&text, "\n")) != NULL && line[0] != '\0') {
    struct era *era = &history.eras[history.count];
    struct claim *claim;

    parse_era(era, line);
    HASH_FIND(hh, answers->claims, &era->key, sizeof(era->key), claim);
    era->claim = claim;
    if (history.count > 0 && strcmp(era[-1].key.encoded, era->key.encoded) == 0) {
      era[-1].next = era;
    }
    history.count++;
  }
  return history;
}

static bool is_somewhere(const struct era *era)
{
  return era->key.host[0] != '\0';
}

static bool overlaps(const struct era *a, const struct era *b)
{
  return strcmp(a->table, b->table) == 0 && (a->end[0] == '\0' || strcmp(b->start, a->end) < 0) &&
         (b->end[0] == '\0' || strcmp(a->start, b->end) < 0);
}

static bool covers(const struct era *era, const char *row)
{
  return strcmp(era->start, row) <= 0 && (era->end[0] == '\0' || strcmp(row, era->end) < 0);
}

/* ---- The judge ------------------------------------------------------------------------------ */

/* Does a call that began then come too late to be excused for what had happened by this time? */
static bool is_later(int64_t began_ms, int64_t happened_ms)
{
  return began_ms != 0 && happened_ms != 0 && began_ms > happened_ms + CLOCK_MS;
}

static bool has_key(struct keyroute_bytes key, const char *text)
{
  return key.len == strlen(text) && memcmp(key.data, text, key.len) == 0;
}

/* Had somebody been told something newer before a call that was answered by the cache began? */
static bool is_behind(const struct history *history, const struct era *era, int64_t cached_ms)
{
  for (size_t i = 0; i < history->count; i++) {
    const struct era *other = &history->eras[i];

    if (is_somewhere(other) && other->claim != NULL && other->written_ms > era->written_ms &&
        overlaps(other, era) && is_later(cached_ms, other->claim->first_ms)) {
      return true;
    }
  }
  return false;
}

/* What is wrong with a claim, or NULL. */
static const char *judge_claim(const struct history *history, const struct claim *claim)
{
  const struct era *era = NULL, *first = NULL;

  for (size_t i = 0; i < history->count; i++) {
    if (history->eras[i].claim == claim) {
      era = &history->eras[i];
      first = first == NULL ? era : first;
    }
  }
  if (era == NULL) {
    return "never so in hbase:meta";
  }
  if (!has_key(keyroute_location_start_key(claim->location), era->start) ||
      !has_key(keyroute_location_end_key(claim->location), era->end)) {
    return "other bounds in hbase:meta";
  }
  if (is_later(first->written_ms, claim->first_ms)) {
    return "told before it was written";
  }
  if (era->next != NULL && is_later(claim->fresh_ms, era->next->seen_ms)) {
    return "read past the cache, but no longer so when asked";
  }
  if (is_behind(history, era, claim->cached_ms)) {
    return "in the cache after something newer was told";
  }
  return NULL;
}

static const struct era *find_refutation(const struct history *history,
                                         const struct nothing *nothing)
{
  for (size_t i = 0; i < history->count; i++) {
    const struct era *era = &history->eras[i];

    if (is_somewhere(era) && strcmp(era->table, nothing->table) == 0 && covers(era, nothing->row) &&
        is_later(nothing->began_ms, era->seen_ms) &&
        (era->next == NULL || is_later(era->next->written_ms, nothing->ended_ms))) {
      return era;
    }
  }
  return NULL;
}

static void print_wrong(const struct history *history, const struct claim *claim,
                        const char *reason)
{
  const struct claim_key *key = &claim->key;

  fprintf(stderr,
          "WRONG: region %s at %s:%d,%" PRId64 " seqnum %" PRId64 ": %s (first told %" PRId64
          ", last past the cache %" PRId64 ", by the cache %" PRId64 ")\n",
          key->encoded, key->host, key->port, key->start_code, key->seqnum, reason, claim->first_ms,
          claim->fresh_ms, claim->cached_ms);
  for (size_t i = 0; i < history->count; i++) {
    const struct era *era = &history->eras[i];

    if (strcmp(era->key.encoded, key->encoded) == 0) {
      fprintf(stderr,
              "  written %" PRId64 ", seen %" PRId64 ": %s [%s, %s) at %s:%d,%" PRId64
              " seqnum %" PRId64 "\n",
              era->written_ms, era->seen_ms, era->table, era->start, era->end, era->key.host,
              era->key.port, era->key.start_code, era->key.seqnum);
    }
  }
}

static unsigned judge_claims(const struct history *history, const struct answers *answers)
{
  struct claim *claim, *next;
  unsigned wrong = 0;

  HASH_ITER (hh, answers->claims, claim, next) {
    const char *reason = judge_claim(history, claim);

    if (reason != NULL) {
      print_wrong(history, claim, reason);
      wrong++;
    }
  }
  return wrong;
}

static unsigned judge_nothings(const struct history *history, const struct answers *answers)
{
  unsigned wrong = 0;

  for (size_t i = 0; i < answers->nothing_count; i++) {
    const struct nothing *nothing = &answers->nothings[i];
    const struct era *era = find_refutation(history, nothing);

    if (era != NULL) {
      fprintf(stderr, "WRONG: %s, row %s: %s from %" PRId64 " to %" PRId64 ", but %s was there\n",
              nothing->table, nothing->row, keyroute_errname(nothing->error), nothing->began_ms,
              nothing->ended_ms, era->key.encoded);
      wrong++;
    }
  }
  return wrong;
}

unsigned answers_judge(struct answers *answers, char *text)
{
  struct history history = parse_history(answers, text);
  unsigned wrong = judge_claims(&history, answers) + judge_nothings(&history, answers);

  free(history.eras);
  return wrong;
}
