/*
 * Runs of rows that share a fate.
 *
 * What many rows are worth as a batch is that most of them go the same way: those of one region are
 * found by one lookup, sent in one request, and wait for one another. So their state is kept not by
 * row but by run, and a run is cut where the ways part. A row has one byte of its own: that it is
 * done. A region of which some rows failed is then the same run again, without those that did not.
 *
 *  1. Each row that is not done is in exactly one run, whose owner keeps it in one list.
 *  2. A run is of one table, and is not empty.
 *  3. A cut costs one allocation and leaves whole what it could not cut. Runs are not joined again.
 *
 * Pure; one thread at a time.
 */
#include "lib/run.h"

#include "lib/bytes.h"

#include <assert.h>

bool kr_runs_init(struct kr_runs *runs, struct kr_mem *mem, const struct kr_keys *keys)
{
  *runs = (struct kr_runs){mem, keys, kr_calloc(mem, keys->count)};
  return runs->done != NULL;
}

void kr_runs_clear(struct kr_runs *runs)
{
  if (runs->mem != NULL) {
    kr_free(runs->mem, runs->done);
    runs->done = NULL;
  }
}

struct kr_run *kr_run_new(const struct kr_runs *runs, uint32_t table, uint32_t from, uint32_t to)
{
  struct kr_run *run = kr_calloc(runs->mem, sizeof(*run));

  if (run != NULL) {
    run->table = table;
    run->from = from;
    run->to = to;
  }
  return run;
}

void kr_run_free(const struct kr_runs *runs, struct kr_run *run)
{
  kr_run_displace(run);
  kr_run_note(run, NULL);
  kr_free(runs->mem, run);
}

void kr_run_displace(struct kr_run *run)
{
  keyroute_location_release(run->location);
  run->location = NULL;
}

void kr_run_note(struct kr_run *run, struct kr_note *note)
{
  if (note != NULL) {
    kr_note_ref(note);
  }
  kr_note_release(run->note);
  run->note = note;
}

bool kr_run_trim(const struct kr_runs *runs, struct kr_run *run)
{
  while (run->from < run->to && runs->done[run->to - 1]) {
    run->to--;
  }
  while (run->from < run->to && runs->done[run->from]) {
    run->from++;
  }
  return run->from < run->to;
}

uint32_t kr_run_next(const struct kr_runs *runs, const struct kr_run *run, uint32_t position)
{
  while (position < run->to && runs->done[position]) {
    position++;
  }
  return position;
}

uint32_t kr_run_floor(const struct kr_runs *runs, const struct kr_run *run,
                      struct keyroute_bytes key)
{
  uint32_t low = run->from, high = run->to;

  /* It is mostly near the end: in strides that grow from there, until one is too long. */
  for (uint32_t stride = 1; high - low > stride; stride *= 2) {
    if (kr_bytes_compare(kr_keys_row(runs->keys, high - stride), key) < 0) {
      low = high - stride + 1;
      break;
    }
    high -= stride;
  }
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;

    if (kr_bytes_compare(kr_keys_row(runs->keys, middle), key) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

struct kr_run *kr_run_cut(const struct kr_runs *runs, struct kr_run *run, uint32_t at)
{
  assert(at > run->from && at < run->to);
  struct kr_run *upper = kr_run_new(runs, run->table, at, run->to);

  if (upper == NULL) {
    return NULL;
  }
  upper->region_rows = run->region_rows;
  upper->tries = run->tries;
  upper->sent = run->sent;
  upper->replica = run->replica;
  if (run->location != NULL) {
    upper->location = keyroute_location_ref(run->location);
  }
  kr_run_note(upper, run->note);
  run->to = at;
  return upper;
}
