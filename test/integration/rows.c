/*
 * Rows as the Java client tells them. They are unescaped where they stand, as that makes nothing
 * longer: a big file is one piece of memory, and an array of cells that point into it.
 */
#include "test/integration/rows.h"

#include <check.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int hex(char digit)
{
  return isdigit((unsigned char)digit) ? digit - '0' : digit - 'A' + 10;
}

/* Cut a field at its end and undo its escapes, in place. */
static struct keyroute_bytes cut_field(char **at, char end)
{
  char *from = *at, *to = *at;
  struct keyroute_bytes field = {*at, 0};

  for (; *from != end; from++) {
    ck_assert_msg(*from != '\0', "a line ends early");
    if (*from == '\\') {
      *to++ = (char)(hex(from[2]) * 16 + hex(from[3]));
      from += 3;
    } else {
      *to++ = *from;
    }
  }
  field.len = (size_t)(to - *at);
  *at = from + 1;
  return field;
}

static void parse_cell(struct keyroute_cell *cell, char **at)
{
  cell->row = cut_field(at, '\t');
  cell->family = cut_field(at, ':');
  cell->qualifier = cut_field(at, '\t');
  cell->timestamp = strtoll(*at, at, 10);
  ck_assert_int_eq(*(*at)++, '\t');
  cell->value = cut_field(at, '\n');
  cell->type = 4;
}

static int compare_bytes(struct keyroute_bytes a, struct keyroute_bytes b)
{
  int order = memcmp(a.data, b.data, a.len < b.len ? a.len : b.len);

  return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_cells(const void *a, const void *b)
{
  const struct keyroute_cell *x = a, *y = b;
  int order = compare_bytes(x->family, y->family);

  order = order != 0 ? order : compare_bytes(x->qualifier, y->qualifier);
  return order != 0 ? order : (x->timestamp < y->timestamp) - (x->timestamp > y->timestamp);
}

static size_t count_lines(const char *text)
{
  size_t count = 0;

  for (; (text = strchr(text, '\n')) != NULL; text++) {
    count++;
  }
  return count;
}

void rows_parse(struct rows *rows, char *text)
{
  size_t count = count_lines(text);

  *rows = (struct rows){calloc(count + 1, sizeof(struct row)), 0,
                        calloc(count + 1, sizeof(struct keyroute_cell)), text};
  ck_assert(rows->each != NULL && rows->cells != NULL);
  struct row *last = NULL;

  for (size_t i = 0; i < count; i++) {
    struct keyroute_cell *cell = &rows->cells[i];

    parse_cell(cell, &text);
    if (last == NULL || compare_bytes(last->key, cell->row) != 0) {
      last = &rows->each[rows->count++];
      *last = (struct row){cell->row, cell, 0};
    }
    last->count++;
  }
  for (size_t i = 0; i < rows->count; i++) {
    size_t first = (size_t)(rows->each[i].cells - rows->cells);

    qsort(&rows->cells[first], rows->each[i].count, sizeof(rows->cells[0]), compare_cells);
  }
}

void rows_read(struct rows *rows, const char *path)
{
  FILE *file = fopen(path, "r");
  long size;

  ck_assert_msg(file != NULL, "%s", path);
  ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
  size = ftell(file);
  rewind(file);
  char *text = malloc((size_t)size + 1);

  ck_assert_ptr_nonnull(text);
  ck_assert_uint_eq(fread(text, 1, (size_t)size, file), (size_t)size);
  text[size] = '\0';
  fclose(file);
  rows_parse(rows, text);
}

void rows_clear(struct rows *rows)
{
  free(rows->each);
  free(rows->cells);
  free(rows->text);
}

static bool same_cell(const struct keyroute_cell *a, const struct keyroute_cell *b)
{
  return compare_bytes(a->row, b->row) == 0 && compare_cells(a, b) == 0 &&
         compare_bytes(a->value, b->value) == 0 && a->type == b->type;
}

bool rows_same(char *text, const struct row *expected, const struct keyroute_result *result,
               size_t index)
{
  size_t count;
  const struct keyroute_cell *cells = keyroute_result_cells(result, index, &count);
  size_t common = count < expected->count ? count : expected->count, same = 0;
  char key[ROWS_DIFFERENCE_MAX / 2];

  while (same < common && same_cell(&cells[same], &expected->cells[same])) {
    same++;
  }
  if (same == count && same == expected->count) {
    return true;
  }
  keyroute_escape(key, sizeof(key), expected->key);
  snprintf(text, ROWS_DIFFERENCE_MAX, "row %s: %zu cells instead of %zu, of which %zu are right",
           key, count, expected->count, same);
  return false;
}
