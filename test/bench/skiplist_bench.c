/*
 * How long does the skip list take, and how much memory?
 *
 * Prints nanoseconds of the thread's processor time for a floor, for one of 16 at once, for a put
 * and for a take, and bytes a key; the same for keys that are put in order, a page of 1000 at once,
 * and taken all at once; at 100, 10 000 and 1 000 000 regions with keys of three families
 * (those of make_keys.c): 16 hex digits; "user" and 12 digits; tenant/folder/object. Rows are drawn
 * evenly; each is looked up in a read section of its own, as a hit is (16 at once in one), and one
 * field of the value read. Keys are put in random order: neighbours in the list are none in memory.
 * Floors are medians of seven runs (in brackets the extremes); every answer is checked.
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

enum { KEY_MAX = 48, ROWS = 65536, AT_ONCE = 16, RUNS = 7, PAGE = 1000 };

/* As long as a location roughly is. */
struct entry {
  uint64_t number;
  size_t len;
  char rest[96];
  char key[KEY_MAX];
};

static struct keyroute_bytes key_in(const void *value)
{
  const struct entry *entry = value;

  return kr_bytes(entry->key, entry->len);
}

static uint64_t random_state = 1;

static uint64_t draw(void)
{
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

static void die(const char *text)
{
  fprintf(stderr, "skiplist_bench: %s\n", text);
  exit(EXIT_FAILURE);
}

/* ---- Keys ---- */

static size_t write_hex(char *out, uint64_t place)
{
  return (size_t)snprintf(out, KEY_MAX, "%016llx", (unsigned long long)place);
}

static size_t write_user(char *out, uint64_t place)
{
  return (size_t)snprintf(out, KEY_MAX, "user%012llu", (unsigned long long)place);
}

static size_t write_tenant(char *out, uint64_t place)
{
  return (size_t)snprintf(out, KEY_MAX, "tenant-%04llu/folder-%04llu/object-%08llu",
                          (unsigned long long)(place / 10000000000),
                          (unsigned long long)(place / 100000000 % 100),
                          (unsigned long long)(place % 100000000));
}

static const struct family {
  const char *name;
  uint64_t places; /* over which regions lie at equal steps */
  size_t (*write_key)(char *out, uint64_t place);
} families[] = {{"hex", UINT64_MAX, write_hex},
                {"user", 1000000000000, write_user},
                {"tenant", 1000000000000, write_tenant}};

/* ---- One list ---- */

struct trial {
  const struct family *family;
  uint64_t count;
  struct kr_skiplist *list;
  struct entry *entries; /* in the order in which they are put in */
};

static char rows[ROWS][KEY_MAX];
static struct keyroute_bytes row_keys[ROWS];
static uint64_t answers[ROWS];

static double seconds(void)
{
  struct timespec now;

  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void make_entries(struct trial *trial)
{
  uint64_t step = trial->family->places / trial->count;

  trial->entries = calloc(trial->count, sizeof(*trial->entries));
  if (trial->entries == NULL) {
    die("out of memory");
  }
  for (uint64_t i = 0; i < trial->count; i++) {
    uint64_t other = draw() % (i + 1);

    trial->entries[i].number = trial->entries[other].number;
    trial->entries[other].number = i;
  }
  for (uint64_t i = 0; i < trial->count; i++) {
    struct entry *entry = &trial->entries[i];

    entry->len = trial->family->write_key(entry->key, entry->number * step);
  }
}

static void draw_rows(const struct trial *trial)
{
  uint64_t step = trial->family->places / trial->count;

  for (size_t i = 0; i < ROWS; i++) {
    answers[i] = draw() % trial->count;
    row_keys[i] =
        kr_bytes(rows[i], trial->family->write_key(rows[i], answers[i] * step + draw() % step));
  }
}

static double put_all(const struct trial *trial)
{
  double begin = seconds();

  for (uint64_t i = 0; i < trial->count; i++) {
    void *replaced;

    if (kr_skiplist_put(trial->list, &trial->entries[i], &replaced) != 0) {
      die("out of memory");
    }
  }
  return (seconds() - begin) * 1e9 / (double)trial->count;
}

static double take_all(const struct trial *trial)
{
  double begin = seconds();

  for (uint64_t i = 0; i < trial->count; i++) {
    if (kr_skiplist_take(trial->list, key_in(&trial->entries[i])) != &trial->entries[i]) {
      die("wrong value taken");
    }
  }
  return (seconds() - begin) * 1e9 / (double)trial->count;
}

static void **in_order(const struct trial *trial)
{
  void **sorted = calloc(trial->count, sizeof(*sorted));

  if (sorted == NULL) {
    die("out of memory");
  }
  for (uint64_t i = 0; i < trial->count; i++) {
    sorted[trial->entries[i].number] = &trial->entries[i];
  }
  return sorted;
}

static double put_pages(const struct trial *trial)
{
  void **sorted = in_order(trial);
  double begin = seconds();

  for (uint64_t done = 0; done < trial->count; done += PAGE) {
    uint64_t now = trial->count - done < PAGE ? trial->count - done : PAGE;

    if (kr_skiplist_put_many(trial->list, sorted + done, now) != 0) {
      die("out of memory");
    }
  }
  double each_ns = (seconds() - begin) * 1e9 / (double)trial->count;

  free(sorted);
  return each_ns;
}

static void ignore(void *value, void *arg)
{
  (void)value;
  (void)arg;
}

/* All but the first, which is left for the list to be one with something in it. */
static double take_stretch(const struct trial *trial)
{
  const struct keyroute_bytes first = key_in(kr_skiplist_first(trial->list));
  double begin = seconds();

  if (kr_skiplist_take_between(trial->list, &first, NULL, ignore, NULL) != trial->count - 1) {
    die("wrong number of values taken");
  }
  return (seconds() - begin) * 1e9 / (double)trial->count;
}

static void check(const struct entry *entry, size_t row)
{
  if (entry == NULL || entry->number != answers[row]) {
    die("wrong answer");
  }
}

static double one_by_one(const struct trial *trial)
{
  double begin = seconds();

  for (size_t i = 0; i < ROWS; i++) {
    kr_rcu_read_begin();
    check(kr_skiplist_floor(trial->list, row_keys[i]), i);
    kr_rcu_read_end();
  }
  return (seconds() - begin) * 1e9 / ROWS;
}

static double many_at_once(const struct trial *trial)
{
  double begin = seconds();

  for (size_t i = 0; i < ROWS; i += AT_ONCE) {
    void *found[AT_ONCE];

    kr_rcu_read_begin();
    kr_skiplist_floor_many(trial->list, found, &row_keys[i], AT_ONCE);
    for (size_t j = 0; j < AT_ONCE; j++) {
      check(found[j], i + j);
    }
    kr_rcu_read_end();
  }
  return (seconds() - begin) * 1e9 / ROWS;
}

/* ---- Figures ---- */

static int compare_figures(const void *a, const void *b)
{
  const double *left = a;
  const double *right = b;

  return (*left > *right) - (*left < *right);
}

static void print_median(double figures[RUNS])
{
  qsort(figures, RUNS, sizeof(figures[0]), compare_figures);
  printf("  %7.1f (%.1f to %.1f)", figures[RUNS / 2], figures[0], figures[RUNS - 1]);
}

static void measure(const struct family *family, uint64_t count)
{
  struct kr_mem *mem = kr_mem_new(NULL);
  struct trial trial = {.family = family, .count = count};
  double single[RUNS], many[RUNS];

  trial.list = mem != NULL ? kr_skiplist_new(mem, key_in) : NULL;
  if (trial.list == NULL) {
    die("out of memory");
  }
  make_entries(&trial);
  draw_rows(&trial);
  double put_ns = put_all(&trial);

  one_by_one(&trial);
  for (int i = 0; i < RUNS; i++) {
    single[i] = one_by_one(&trial);
    many[i] = many_at_once(&trial);
  }
  printf("%-6s %8llu", family->name, (unsigned long long)count);
  print_median(single);
  print_median(many);
  printf("  %5.1f", (double)kr_skiplist_size(trial.list) / (double)count);
  printf("  %6.0f  %6.0f", put_ns, take_all(&trial));
  put_ns = put_pages(&trial);
  printf("  %5.1f", (double)kr_skiplist_size(trial.list) / (double)count);
  printf("  %6.0f  %6.0f\n", put_ns, take_stretch(&trial));
  kr_skiplist_free(trial.list);
  kr_rcu_barrier();
  kr_mem_release(mem);
  free(trial.entries);
}

int main(int argc, char **argv)
{
  uint64_t largest = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;

  puts("keys    regions  ns a floor  ns each of 16 at once  bytes a key  ns a put  ns a take"
       "  paged: bytes a key  ns a put  ns a take");
  for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
    for (uint64_t count = 100; count <= largest; count *= 100) {
      measure(&families[i], count);
    }
  }
  return EXIT_SUCCESS;
}
