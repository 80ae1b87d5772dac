#include "test/batch_harness.h"

#include <stdio.h>
#include <string.h>

struct hop_world world;
struct keyroute_result *result;
struct keyroute_detail detail;
struct keyroute_key keys[ROWS_MAX];
char names[ROWS_MAX][ROW_SIZE];
size_t key_count;

void setup(void)
{
  hop_world_start(&world, NULL);
  result = NULL;
  detail = (struct keyroute_detail)KEYROUTE_DETAIL_INIT;
  key_count = 0;
}

void setup_open(void)
{
  setup();
  hop_world_open(&world);
}

void teardown(void)
{
  keyroute_result_free(result);
  keyroute_detail_clear(&detail);
  hop_world_stop(&world);
}

TCase *add_case(Suite *suite, const char *name, SFun set_up)
{
  TCase *tests = tcase_create(name);

  tcase_set_timeout(tests, 300);
  tcase_add_checked_fixture(tests, set_up, teardown);
  suite_add_tcase(suite, tests);
  return tests;
}

void add(const char *table, const char *key)
{
  snprintf(names[key_count], ROW_SIZE, "%s", key);
  keys[key_count] = (struct keyroute_key){table, row(names[key_count])};
  key_count++;
}

void add_generated(const char *table, const char *prefix, size_t count)
{
  char name[ROW_SIZE];

  fake_rows_generate(world.rows, table, prefix, count, 0);
  for (size_t i = 0; i < count; i++) {
    snprintf(name, sizeof(name), "%s%06zu", prefix, i);
    add(table, name);
  }
}

void add_both(size_t count)
{
  char name[ROW_SIZE];

  for (size_t i = 0; i < count; i++) {
    snprintf(name, sizeof(name), "%c%04zu", i % 2 == 0 ? 'a' : 'z', i);
    hop_world_put(&world, name, name);
    add("t", name);
  }
}

int get_with(const struct keyroute_read *read, int64_t deadline_ms, unsigned flags, int replica)
{
  struct keyroute_call call = {sizeof(call), deadline_ms, flags, replica};

  keyroute_result_free(result);
  result = NULL;
  return keyroute_get_many(&result, world.cluster.conn, keys, key_count, read, &call, &detail);
}

void get_all(void)
{
  int error = get_with(NULL, PATIENCE_MS, 0, 0);

  ck_assert_msg(error == 0, "%s: %s", keyroute_errname(error), detail.message);
  ck_assert_uint_eq(keyroute_result_count(result), key_count);
}

void assert_read(size_t index)
{
  const struct keyroute_cell *cell =
      keyroute_result_find(result, index, keyroute_string("f"), keyroute_string("q"));

  ck_assert_msg(keyroute_result_error(result, index) == 0, "row %s: %s", names[index],
                keyroute_result_message(result, index));
  ck_assert_msg(cell != NULL, "row %s has no cell", names[index]);
  ck_assert_uint_eq(cell->value.len, strlen(names[index]));
  ck_assert_mem_eq(cell->value.data, names[index], strlen(names[index]));
  ck_assert_ptr_nonnull(keyroute_result_location(result, index));
}

void assert_all_read(void)
{
  ck_assert_msg(keyroute_result_failed(result) == 0, "%s", detail.message);
  for (size_t i = 0; i < key_count; i++) {
    assert_read(i);
  }
}

void get_and_read_all(void)
{
  get_all();
  assert_all_read();
}

void assert_failed(size_t index, int error)
{
  ck_assert_msg(keyroute_result_error(result, index) == error, "row %s: %s, %s", names[index],
                keyroute_errname(keyroute_result_error(result, index)),
                keyroute_result_message(result, index));
  ck_assert_str_ne(keyroute_result_message(result, index), "");
  ck_assert_ptr_null(keyroute_result_location(result, index));
  ck_assert_ptr_null(keyroute_result_cells(result, index, NULL));
}

void warm(void)
{
  hop_world_warm(&world, "a");
  hop_world_warm(&world, "z");
}

void fault(int i, const struct fake_fault *given)
{
  struct fake_fault with_method = *given;

  with_method.method = given->method != NULL ? given->method : "Multi";
  fake_server_fault(world.servers[i], &with_method);
}

void exception(int i, const char *class_name, int times)
{
  fault(i, &(struct fake_fault){.what = FAKE_EXCEPTION, .class_name = class_name, .times = times});
}

unsigned rows_read(int i)
{
  return fake_server_counts(world.servers[i]).rows_read;
}

unsigned requests(int i)
{
  struct fake_counts counts = fake_server_counts(world.servers[i]);

  return counts.gets + counts.multis;
}

void place_wide(size_t regions)
{
  char start[ROW_SIZE], end[ROW_SIZE];

  for (size_t i = 0; i < regions; i++) {
    snprintf(start, sizeof(start), "x%06zu", i * 100);
    snprintf(end, sizeof(end), "x%06zu", (i + 1) * 100);
    struct fake_region region = {
        .table = "w",
        .start = row(i == 0 ? "" : start),
        .end = row(i + 1 == regions ? "" : end),
        .id = (int64_t)(100 + i),
    };

    fake_server_place_region(world.cluster.server, world.servers[i % HOP_SERVERS], &region);
  }
}

void place_gap(bool offline)
{
  for (char letter = 'b'; letter <= 'f'; letter++) {
    char start[2] = {letter, '\0'}, end[2] = {(char)(letter + 1), '\0'};
    struct fake_region region = {
        .table = "h",
        .start = row(start),
        .end = row(end),
        .id = letter,
        .host = "127.0.0.1",
        .port = fake_server_port(world.servers[0]),
        .start_code = 77,
    };

    region.offline = offline && letter == 'd';
    if (region.offline) {
      fake_server_put_region(world.cluster.server, &region);
    } else if (letter != 'd') {
      fake_server_place_region(world.cluster.server, world.servers[letter % 2], &region);
    }
  }
}

void add_letters(size_t each)
{
  char name[ROW_SIZE];

  for (char letter = 'b'; letter <= 'f'; letter++) {
    for (size_t i = 0; i < each; i++) {
      snprintf(name, sizeof(name), "%c%06zu", letter, i);
      fake_rows_put(world.rows, "h", row(name), "f", "q", 1, row(name));
      add("h", name);
    }
  }
}
