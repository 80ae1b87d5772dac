/*
 * Which columns are asked for?
 *
 * "f:q,g,h:" is the column q of the family f, all of the family g, and of h the column whose
 * qualifier is empty. A family ends at the first colon, since its name can hold none. Commas are
 * looked for before escapes are read: one that is written as \x2C is part of its name.
 */
#include "tools/columns.h"

#include "tools/cli.h"

#include <stdlib.h>
#include <string.h>

/* The bytes of a text with escapes; data is never NULL on success. */
static bool unescape(struct keyroute_bytes *out, const char *text, size_t len)
{
  char *copy = cli_alloc(len + 1);
  char *bytes = cli_alloc(len + 1);
  size_t bytes_len = 0;

  memcpy(copy, text, len);
  int error = keyroute_unescape(bytes, &bytes_len, copy);
  free(copy);
  if (error != 0) {
    free(bytes);
    return false;
  }
  *out = (struct keyroute_bytes){bytes, bytes_len};
  return true;
}

static void free_column(struct keyroute_column *column)
{
  free((void *)(size_t)column->family.data);
  free((void *)(size_t)column->qualifier.data);
}

/* One column, up to its comma. */
static const char *add_column(struct columns *columns, const char *text, size_t len)
{
  static const char no_escape[] = "a \\ that does not begin \\xHH";
  const char *colon = memchr(text, ':', len);
  size_t family_len = colon != NULL ? (size_t)(colon - text) : len;
  struct keyroute_column column = {{NULL, 0}, {NULL, 0}};

  if (family_len == 0) {
    return "a column without a family";
  }
  if (!unescape(&column.family, text, family_len)) {
    return no_escape;
  }
  if (colon != NULL && !unescape(&column.qualifier, colon + 1, len - family_len - 1)) {
    free_column(&column);
    return no_escape;
  }
  columns->list = cli_realloc(columns->list, (columns->count + 1) * sizeof(*columns->list));
  columns->list[columns->count++] = column;
  return NULL;
}

const char *columns_add(struct columns *columns, const char *text)
{
  const char *reason = NULL;

  for (const char *at = text; reason == NULL; at++) {
    size_t len = strcspn(at, ",");

    reason = add_column(columns, at, len);
    at += len;
    if (*at == '\0') {
      break;
    }
  }
  return reason;
}

void columns_free(struct columns *columns)
{
  for (size_t i = 0; i < columns->count; i++) {
    free_column(&columns->list[i]);
  }
  free(columns->list);
  *columns = (struct columns){NULL, 0};
}
