/*
 * How often may something be done? A function of key and clock.
 *
 * The first time at once, for news are often real; then once a second for a minute, which is how
 * long a cluster takes to put right what can be put right; then once a minute, for what has not
 * been put right by then may stay wrong for hours.
 *
 *  1. A key is forgotten when nobody has asked about it for two minutes: what comes back after a
 *     quiet time is news again.
 *  2. Memory is bounded: when there is no room, the keys not asked about for longest go first. They
 *     stand in that order in a list, so forgetting costs nothing but for those that go.
 *  3. What cannot be remembered for want of memory is allowed: to do it once too often harms less
 *     than never to do it.
 *
 * Threads: its owner's. Reads no clock.
 */
#include "lib/limiter.h"

#include "lib/bytes.h"
#include "lib/hash.h"

#include <string.h>
#include <utlist.h>

#define SECOND_US INT64_C(1000000)
#define QUICK_US (60 * SECOND_US) /* the time of one a second */
#define SLOW_US (60 * SECOND_US)  /* between two, after that */
#define FORGET_AFTER_US (120 * SECOND_US)

struct entry {
  UT_hash_handle hh;
  struct entry *prev, *next; /* least recently used first */
  bool asked;
  int64_t first_us; /* if asked: when for the first time */
  int64_t done_us;  /* if asked: when it was last allowed */
  int64_t used_us;
  uint64_t note;
  size_t key_len;
  uint8_t key[];
};

struct kr_limiter {
  struct kr_mem *mem;
  size_t max_bytes;
  size_t bytes;
  struct entry *by_key;
  struct entry *by_use;
};

struct kr_limiter *kr_limiter_new(struct kr_mem *mem, size_t max_bytes)
{
  struct kr_limiter *limiter = kr_calloc(mem, sizeof(*limiter));

  if (limiter != NULL) {
    limiter->mem = mem;
    limiter->max_bytes = max_bytes;
  }
  return limiter;
}

static size_t size_of(size_t key_len)
{
  return sizeof(struct entry) + key_len;
}

static void forget(struct kr_limiter *limiter, struct entry *entry)
{
  struct kr_mem *mem = limiter->mem;

  limiter->bytes -= size_of(entry->key_len);
  DL_DELETE(limiter->by_use, entry);
  HASH_DEL(limiter->by_key, entry);
  kr_free(mem, entry);
}

void kr_limiter_free(struct kr_limiter *limiter)
{
  if (limiter == NULL) {
    return;
  }
  while (limiter->by_use != NULL) {
    forget(limiter, limiter->by_use);
  }
  kr_free(limiter->mem, limiter);
}

/* Forget what is old, and as much more as makes room for one of that size. */
static void make_room(struct kr_limiter *limiter, size_t size, int64_t now_us)
{
  while (limiter->by_use != NULL && (now_us - limiter->by_use->used_us >= FORGET_AFTER_US ||
                                     limiter->bytes + size > limiter->max_bytes)) {
    forget(limiter, limiter->by_use);
  }
}

static struct entry *find(const struct kr_limiter *limiter, struct keyroute_bytes key)
{
  struct entry *entry = NULL;

  HASH_FIND(hh, limiter->by_key, key.data, (unsigned)key.len, entry);
  return entry;
}

static struct entry *add(struct kr_limiter *limiter, struct keyroute_bytes key)
{
  struct kr_mem *mem = limiter->mem;
  struct entry *entry = kr_calloc(mem, size_of(key.len));
  bool hash_failed = false;

  if (entry == NULL) {
    return NULL;
  }
  entry->key_len = key.len;
  memcpy(entry->key, key.data, key.len);
  HASH_ADD_KEYPTR(hh, limiter->by_key, entry->key, (unsigned)key.len, entry);
  if (hash_failed) {
    kr_free(mem, entry);
    return NULL;
  }
  limiter->bytes += size_of(key.len);
  return entry;
}

/* The entry of a key, made if it is new, as the one used last. NULL = there is no room for it. */
static struct entry *use(struct kr_limiter *limiter, struct keyroute_bytes key, int64_t now_us)
{
  make_room(limiter, 0, now_us);
  struct entry *entry = find(limiter, key);

  if (entry != NULL) {
    DL_DELETE(limiter->by_use, entry);
  } else if (size_of(key.len) <= limiter->max_bytes) {
    make_room(limiter, size_of(key.len), now_us);
    entry = add(limiter, key);
  }
  if (entry != NULL) {
    entry->used_us = now_us;
    DL_APPEND(limiter->by_use, entry);
  }
  return entry;
}

bool kr_limiter_allow(struct kr_limiter *limiter, struct keyroute_bytes key, int64_t now_us)
{
  struct entry *entry = use(limiter, key, now_us);

  if (entry == NULL) {
    return true;
  }
  if (!entry->asked) {
    entry->asked = true;
    entry->first_us = entry->done_us = now_us;
    return true;
  }
  int64_t between_us = now_us - entry->first_us < QUICK_US ? SECOND_US : SLOW_US;

  if (now_us - entry->done_us < between_us) {
    return false;
  }
  entry->done_us = now_us;
  return true;
}

void kr_limiter_note(struct kr_limiter *limiter, struct keyroute_bytes key, uint64_t note,
                     int64_t now_us)
{
  struct entry *entry = use(limiter, key, now_us);

  if (entry != NULL) {
    entry->note = note;
  }
}

uint64_t kr_limiter_noted(const struct kr_limiter *limiter, struct keyroute_bytes key)
{
  const struct entry *entry = find(limiter, key);

  return entry != NULL ? entry->note : 0;
}

size_t kr_limiter_count(const struct kr_limiter *limiter)
{
  return HASH_COUNT(limiter->by_key);
}

size_t kr_limiter_bytes(const struct kr_limiter *limiter)
{
  return limiter->bytes;
}
