/*
 * Whether to try again, and when. The only place that decides it, and a pure function: of the
 * number of tries, the error, the time left and some random bits.
 *
 *  1. An error that time cannot mend is not tried again: its code says so, or the server does.
 *  2. The wait is drawn evenly from nothing to pause x table[try] ("full jitter"): callers that
 *     failed together do not come back together. HBase's own 1 % spreads nobody.
 *  3. It is capped, so that a long outage does not keep anybody away long after its end.
 *  4. A wait that a server asks for is kept: the drawn wait is added on top of it.
 *  5. When the wait would pass the deadline, half of what is left is waited instead, as long as
 *     that is no shorter than a pause: what mends late is still seen. After that the call waits for
 *     its deadline, for another's answer may still serve it.
 *  6. A request that was sent to the wrong place has cost enough: after the first such error the
 *     right one is looked for at once, unless a wait was asked for. If that does not mend it, there
 *     is something to wait for.
 *
 * Source of the table: HConstants.RETRY_BACKOFF
 */
#include "lib/retry.h"

static const int backoff[] = {1, 2, 3, 5, 10, 20, 40, 100, 100, 100, 100, 200, 200};

static int64_t smaller(int64_t a, int64_t b)
{
  return a < b ? a : b;
}

/* Evenly from 0 to limit. */
static int64_t draw(uint64_t random, int64_t limit)
{
  return (int64_t)(random % ((uint64_t)limit + 1));
}

int64_t kr_retry_wait_ms(const struct kr_retry_policy *policy, unsigned tries,
                         const struct kr_failure *failure, int64_t remaining_ms, uint64_t random)
{
  const unsigned rows = sizeof(backoff) / sizeof(backoff[0]);
  int64_t pause =
      failure->code == KEYROUTE_E_OVERLOADED ? policy->pause_overloaded_ms : policy->pause_ms;

  if (failure->final || !keyroute_is_retriable(failure->code) ||
      tries > (unsigned)policy->retries) {
    return -1;
  }
  int64_t limit =
      smaller(pause * backoff[tries <= rows ? tries - 1 : rows - 1], policy->pause_max_ms);
  int64_t wait = failure->wait_ms + draw(random, limit);

  if (wait >= remaining_ms && remaining_ms / 2 >= policy->pause_ms) {
    wait = remaining_ms / 2;
  }
  return smaller(wait, remaining_ms);
}

int64_t kr_retry_try_ms(int64_t whole_ms, int64_t remaining_ms, int64_t limit_ms)
{
  int64_t third = whole_ms / 3 > 0 ? whole_ms / 3 : 1;
  int64_t most = smaller(smaller(third, remaining_ms), limit_ms);

  return most > 0 ? most : 1;
}

int64_t kr_retry_remaining_ms(int64_t deadline_us, int64_t now_us)
{
  return (deadline_us - now_us + 999) / 1000;
}

int64_t kr_retry_hop_wait_ms(const struct kr_retry_policy *policy, unsigned tries,
                             const struct kr_failure *failure, int64_t remaining_ms,
                             uint64_t random)
{
  int64_t wait_ms = kr_retry_wait_ms(policy, tries, failure, remaining_ms, random);
  bool misplaced = failure->kind == KEYROUTE_KIND_REFRESH || failure->kind == KEYROUTE_KIND_HINT ||
                   failure->kind == KEYROUTE_KIND_DROP_SERVER;

  return wait_ms > 0 && misplaced && tries == 1 && failure->wait_ms == 0 ? 0 : wait_ms;
}
