/*
 * How long does one floor take?
 *
 * Prints nanoseconds per floor at 100, 10 000 and 1 000 000 regions: 16 hex digits of key, rows
 * drawn uniformly, each looked up inside a read section of its own, as a hit is, and one field of
 * the value read. Entries are put in random order: neighbours in the map are none in memory.
 * Each figure is the median of five runs (in brackets the extremes); every answer is checked.
 *
 * Usage: skiplist_bench [largest number of regions]
 */
#include "lib/bytes.h"

#include "lib/rcu.h"
#include "lib/skiplist.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KEY_LEN 16
#define ROWS 65536
#define RUNS 5

/* As long as a location roughly is. */
struct entry {
  char key[KEY_LEN];
  uint64_t number;
  char rest[40];
};

static struct keyroute_bytes key_in(const void *value)
{
  return kr_bytes(((const struct entry *)value)->key, KEY_LEN);
}

static uint64_t random_state = 1;

static uint64_t draw(void)
{
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return random_state >> 16;
}

static void die(const char *text)
{
  fprintf(stderr, "skiplist_bench: %s\n", text);
  exit(EXIT_FAILURE);
}

/* Regions start at equal steps over the whole key space; the first one at 0. */
static uint64_t start_of(uint64_t number, uint64_t count)
{
  return number * (UINT64_MAX / count);
}

static void write_key(char out[KEY_LEN], uint64_t value)
{
  for (int i = KEY_LEN - 1; i >= 0; i--, value >>= 4) {
    out[i] = "0123456789abcdef"[value & 15];
  }
}

static void fill(struct kr_skiplist *list, struct entry *entries, uint64_t count)
{
  uint64_t *order = malloc(count * sizeof(*order));

  if (order == NULL) {
    die("out of memory");
  }
  for (uint64_t i = 0; i < count; i++) {
    uint64_t other = draw() % (i + 1);

    order[i] = order[other];
    order[other] = i;
  }
  for (uint64_t i = 0; i < count; i++) {
    struct entry *entry = &entries[i];
    void *replaced;

    entry->number = order[i];
    write_key(entry->key, start_of(order[i], count));
    if (kr_skiplist_put(list, entry, &replaced) != 0) {
      die("out of memory");
    }
  }
  free(order);
}

static double seconds(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Nanoseconds per floor over all rows. */
static double run(const struct kr_skiplist *list, char (*rows)[KEY_LEN], const uint64_t *answers)
{
  double begin = seconds();

  for (size_t i = 0; i < ROWS; i++) {
    kr_rcu_read_begin();
    const struct entry *entry = kr_skiplist_floor(list, kr_bytes(rows[i], KEY_LEN));

    if (entry == NULL || entry->number != answers[i]) {
      die("wrong answer");
    }
    kr_rcu_read_end();
  }
  return (seconds() - begin) * 1e9 / ROWS;
}

static int compare_figures(const void *a, const void *b)
{
  const double *left = a;
  const double *right = b;

  return (*left > *right) - (*left < *right);
}

static void measure(uint64_t count)
{
  static char rows[ROWS][KEY_LEN];
  static uint64_t answers[ROWS];
  struct kr_mem *mem = kr_mem_new(NULL);
  struct kr_skiplist *list = mem != NULL ? kr_skiplist_new(mem, key_in) : NULL;
  struct entry *entries = calloc(count, sizeof(*entries));
  double figures[RUNS];

  if (list == NULL || entries == NULL) {
    die("out of memory");
  }
  fill(list, entries, count);
  for (size_t i = 0; i < ROWS; i++) {
    uint64_t row = draw() << 16 ^ draw();
    uint64_t number = row / (UINT64_MAX / count);

    answers[i] = number < count ? number : count - 1;
    write_key(rows[i], row);
  }
  run(list, rows, answers);
  for (int i = 0; i < RUNS; i++) {
    figures[i] = run(list, rows, answers);
  }
  qsort(figures, RUNS, sizeof(figures[0]), compare_figures);
  printf("%8llu regions  %7.1f ns/floor (%.1f to %.1f)\n", (unsigned long long)count,
         figures[RUNS / 2], figures[0], figures[RUNS - 1]);
  kr_skiplist_free(list);
  kr_mem_release(mem);
  free(entries);
}

int main(int argc, char **argv)
{
  uint64_t largest = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;

  for (uint64_t count = 100; count <= largest; count *= 100) {
    measure(count);
  }
  return EXIT_SUCCESS;
}
