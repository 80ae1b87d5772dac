/*
 * Makes the files that all peers of the benchmark read, so that all hold the same regions and are
 * asked the same questions in the same order.
 *
 *   make_keys FAMILY REGIONS FOLDER
 *
 * writes FOLDER/FAMILY-REGIONS.keys, the regions' start keys in their order, of which the first is
 * empty, and FOLDER/FAMILY-REGIONS.uniform and .zipf, rows drawn over the regions evenly and after
 * Zipf's law with exponent .99. A file is a count (4 bytes, as all numbers little-endian), then so
 * many keys: length (2), bytes; in a file of rows each is followed by the number (4) of the region
 * that holds it. The same arguments make the same bytes.
 *
 *   hex     16 hexadecimal digits, spread over the whole key space
 *   user    "user" and 12 decimal digits: all keys share a prefix
 *   tenant  39 bytes, tenant/folder/object: prefixes within prefixes
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_MAX = 64, ROWS_FEW = 1 << 16, ROWS_MANY = 1 << 20, FEW_REGIONS = 10000 };

static const double EXPONENT = .99;

static void die(const char *what)
{
  fprintf(stderr, "make_keys: %s\n", what);
  exit(1);
}

/* ---- Chance ---- */

static uint64_t random_state = 0x9e3779b97f4a7c15;

/* Source: Marsaglia's xorshift64, with the multiplier of xorshift64*. */
static uint64_t draw(void)
{
  random_state ^= random_state >> 12;
  random_state ^= random_state << 25;
  random_state ^= random_state >> 27;
  return random_state * 0x2545f4914f6cdd1d;
}

/* Evenly from 0 to 1, without 1. */
static double draw_unit(void)
{
  return (double)(draw() >> 11) / (double)(1ULL << 53);
}

/* ---- Families ---- */

/* Keys stand for numbers below `span`, in the same order. */
struct family {
  const char *name;
  uint64_t span;
  int (*write)(char *key, unsigned long long number);
};

static int write_hex(char *key, unsigned long long number)
{
  return sprintf(key, "%016llx", number);
}

static int write_user(char *key, unsigned long long number)
{
  return sprintf(key, "user%012llu", number);
}

static int write_tenant(char *key, unsigned long long number)
{
  return sprintf(key, "tenant-%04llu/folder-%04llu/object-%08llu", number / 10000000000,
                 number / 100000000 % 100, number % 100000000);
}

static const struct family *find_family(const char *name)
{
  static const struct family families[] = {{"hex", UINT64_MAX, write_hex},
                                           {"user", 1000000000000, write_user},
                                           {"tenant", 1000000000000, write_tenant}};

  for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
    if (strcmp(families[i].name, name) == 0) {
      return &families[i];
    }
  }
  die("the families are hex, user and tenant");
  return NULL;
}

/* ---- Files ---- */

static void put_number(FILE *file, uint32_t number, int bytes)
{
  for (int i = 0; i < bytes; i++) {
    putc((int)(number >> 8 * i & 0xFF), file);
  }
}

static void put_key(FILE *file, const char *key, int len)
{
  put_number(file, (uint32_t)len, 2);
  fwrite(key, 1, (size_t)len, file);
}

static FILE *create(const char *folder, const struct family *family, uint32_t regions,
                    const char *kind)
{
  char path[1024];

  snprintf(path, sizeof(path), "%s/%s-%u.%s", folder, family->name, regions, kind);
  FILE *file = fopen(path, "wb");

  if (file == NULL) {
    die(path);
  }
  return file;
}

static void finish(FILE *file)
{
  if (ferror(file) != 0 || fclose(file) != 0) {
    die("cannot write");
  }
}

static void make_regions(FILE *file, const struct family *family, uint32_t regions)
{
  char key[KEY_MAX];
  uint64_t step = family->span / regions;

  put_number(file, regions, 4);
  put_key(file, "", 0);
  for (uint32_t i = 1; i < regions; i++) {
    put_key(file, key, family->write(key, i * step));
  }
  finish(file);
}

static void make_rows(FILE *file, const struct family *family, uint32_t regions,
                      uint32_t (*draw_region)(uint32_t regions))
{
  char key[KEY_MAX];
  uint64_t step = family->span / regions;
  uint32_t rows = regions > FEW_REGIONS ? ROWS_MANY : ROWS_FEW;

  put_number(file, rows, 4);
  for (uint32_t i = 0; i < rows; i++) {
    uint32_t region = draw_region(regions);

    put_key(file, key, family->write(key, region * step + draw() % step));
    put_number(file, region, 4);
  }
  finish(file);
}

/* ---- Which region ---- */

static uint32_t draw_evenly(uint32_t regions)
{
  return (uint32_t)(draw() % regions);
}

/* By rank, how likely it is that a row is in a region of that rank or a higher one; and which
 * region has that rank: ranks are not in the order of keys. */
static double *shares;
static uint32_t *ranked;

static void rank(uint32_t regions)
{
  double sum = 0;

  shares = malloc(regions * sizeof(*shares));
  ranked = malloc(regions * sizeof(*ranked));
  if (shares == NULL || ranked == NULL) {
    die("out of memory");
  }
  for (uint32_t i = 0; i < regions; i++) {
    uint32_t other = (uint32_t)(draw() % (i + 1));

    sum += pow(i + 1, -EXPONENT);
    shares[i] = sum;
    ranked[i] = ranked[other];
    ranked[other] = i;
  }
}

static uint32_t draw_zipf(uint32_t regions)
{
  double wanted = draw_unit() * shares[regions - 1];
  uint32_t low = 0, high = regions - 1;

  while (low < high) {
    uint32_t middle = low + (high - low) / 2;

    if (shares[middle] > wanted) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return ranked[low];
}

int main(int argc, char **argv)
{
  long regions = argc == 4 ? atol(argv[2]) : 0;

  if (regions < 1 || regions > 10000000) {
    fprintf(stderr, "usage: make_keys hex|user|tenant REGIONS FOLDER\n");
    return 2;
  }
  const struct family *family = find_family(argv[1]);
  uint32_t count = (uint32_t)regions;

  make_regions(create(argv[3], family, count, "keys"), family, count);
  make_rows(create(argv[3], family, count, "uniform"), family, count, draw_evenly);
  rank(count);
  make_rows(create(argv[3], family, count, "zipf"), family, count, draw_zipf);
  free(shares);
  free(ranked);
  return 0;
}
