/*
 * Which rows break locators: start keys themselves, their neighbours and random ones. Both clients
 * are asked for each of them once the cluster is quiet; what differs in any field is printed.
 */
#include "test/integration/comparison.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_MAX = 4000, RANDOM_ROWS = 40 };

unsigned comparison_seed;

static struct real_row rows[ROWS_MAX];
static struct real_answer theirs[ROWS_MAX];
static size_t row_count;

void comparison_set_seed(unsigned seed)
{
  const char *given = getenv("KEYROUTE_SEED");

  comparison_seed = given != NULL ? (unsigned)strtoul(given, NULL, 10) : seed;
  printf("KEYROUTE_SEED=%u\n", comparison_seed);
}

void comparison_create_awkward(const char *commas)
{
  static const struct comparison_key plain[] = {KEY("g"), KEY("p")};
  static const struct comparison_key with_commas[] = {KEY(","), KEY("a,b"), KEY("a,b,"), KEY("c,,"),
                                                      KEY("c,,,1")};
  static const struct comparison_key low[] = {KEY("\0"), KEY("\0\0"), KEY("\1"),
                                              KEY("!a"), KEY("+"),    KEY("-")};
  static const struct comparison_key high[] = {KEY("\x7f"), KEY("\x80"), KEY("\xfe\xff"),
                                               KEY("\xff"), KEY("\xff\xff\xff")};
  static char long_a[1000], long_b[1000];
  struct comparison_key longs[] = {{long_a, sizeof(long_a)}, {long_b, sizeof(long_b)}};

  memset(long_a, 'k', sizeof(long_a));
  memset(long_b, 'k', sizeof(long_b));
  long_b[999] = 'l';
  comparison_create("t", "", plain, 2);
  comparison_create("t1", "", plain, 1);
  comparison_create(commas, "", with_commas, 5);
  comparison_create("low", "", low, 6);
  comparison_create("high", "", high, 5);
  comparison_create("longkeys", "", longs, 2);
}

size_t comparison_count(void)
{
  return row_count;
}

const struct real_row *comparison_row(void)
{
  return &rows[(size_t)rand_r(&comparison_seed) % (row_count / 2)];
}

void comparison_add(const char *table, const void *key, size_t len)
{
  ck_assert(row_count < ROWS_MAX && len <= sizeof(rows[0].key));
  struct real_row *row = &rows[row_count++];

  snprintf(row->table, sizeof(row->table), "%s", table);
  memcpy(row->key, key, len);
  row->len = len;
}

void comparison_add_neighbours(const char *table, const void *key, size_t len)
{
  unsigned char more[1100];

  memcpy(more, key, len);
  more[len] = 0;
  comparison_add(table, key, len);
  comparison_add(table, more, len + 1);
  if (len > 0) {
    comparison_add(table, key, len - 1);
    more[len - 1]++;
    comparison_add(table, more, len);
  }
}

static void add_random_rows(const char *table, int count)
{
  for (int i = 0; i < count; i++) {
    unsigned char key[24];
    size_t len = (size_t)rand_r(&comparison_seed) % sizeof(key);

    for (size_t j = 0; j < len; j++) {
      key[j] = (unsigned char)rand_r(&comparison_seed);
    }
    comparison_add(table, key, len);
  }
}

void comparison_create(const char *table, const char *options, const struct comparison_key *splits,
                       size_t count)
{
  static char command[1 << 20], key[4 * 1100 + 3];
  char *to = command;

  to += sprintf(to, "create %s %s", table, options);
  for (size_t i = 0; i < count; i++) {
    to += sprintf(to, " %s", real_key_text(key, splits[i].data, splits[i].len));
    comparison_add_neighbours(table, splits[i].data, splits[i].len);
  }
  real_command("%s", command);
  comparison_add(table, "", 0);
  add_random_rows(table, RANDOM_ROWS);
}

/* Ask for every row and count the differences, each printed. */
static size_t count_differences(struct keyroute_connection *conn, unsigned flags)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  size_t differences = 0;

  for (size_t i = 0; i < row_count; i++) {
    struct keyroute_call call = KEYROUTE_CALL_INIT;
    struct keyroute_location *location = NULL;
    struct real_answer ours = {0};
    char key[4 * 1100 + 3];

    call.flags = flags;
    int error = keyroute_locate(&location, conn, rows[i].table,
                                (struct keyroute_bytes){rows[i].key, rows[i].len}, &call, &detail);

    if (error == 0) {
      real_describe(&ours, location, 0);
    }
    const char *difference = real_difference(&ours, &theirs[i]);

    if (difference[0] != '\0' || (error != 0 && error != KEYROUTE_E_TABLE_NOT_FOUND)) {
      fprintf(stderr, "%s %s: %s %s\n", rows[i].table, real_key_text(key, rows[i].key, rows[i].len),
              difference, detail.message);
      differences++;
    }
    keyroute_location_release(location);
  }
  keyroute_detail_clear(&detail);
  return differences;
}

void comparison_check(struct keyroute_connection *conn)
{
  struct keyroute_connection *fresh = real_open(NULL);

  real_command("wait-quiet");
  real_oracle(theirs, rows, row_count);
  ck_assert_uint_eq(count_differences(conn, KEYROUTE_REFRESH), 0);
  ck_assert_uint_eq(count_differences(fresh, 0), 0);
  ck_assert_uint_eq(count_differences(fresh, 0), 0); /* and now all from the cache */
  keyroute_close(fresh);
}
