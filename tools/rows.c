/*
 * Which rows are asked for? Those of the command line, or of a file with one row a line.
 *
 *  1. A row is written as HBase writes it, `\xHH` for a byte that is not printable; with hex, as
 *     plain hexadecimal digits. Arguments and files are read by the same rules.
 *  2. A line ends at "\n" only and nothing is trimmed: a row may end in blanks or "\r". An empty
 *     line is the empty row. A NUL byte as such is refused, since a row would end there unseen.
 *  3. Memory is bounded by the longest line allowed, which is what the longest row takes when each
 *     of its bytes is escaped.
 */
#include "tools/rows.h"

#include "tools/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* HBase's rows have at most 32767 bytes; the catalog's keys are the tighter bound, and the
 * library's to check. */
#define MAX_LINE ((size_t)4 * 32767)

struct rows {
  bool hex;
  char **texts; /* arguments; NULL = a file */
  size_t count;
  size_t next;
  FILE *file;
  const char *name;
  bool regular;
  off_t begin; /* where the file stood, to read it again from there */
  size_t line;
};

struct keyroute_bytes row_bytes(const struct row *row)
{
  return (struct keyroute_bytes){row->data, row->len};
}

struct rows *rows_from_arguments(char **texts, size_t count, bool hex)
{
  struct rows *rows = cli_alloc(sizeof(*rows));

  *rows = (struct rows){.hex = hex, .texts = texts, .count = count, .name = "arguments"};
  return rows;
}

struct rows *rows_from_file(const char *path, bool hex)
{
  bool is_stdin = strcmp(path, "-") == 0;
  FILE *file = is_stdin ? stdin : fopen(path, "re");
  struct stat about;

  if (file == NULL) {
    return NULL;
  }
  struct rows *rows = cli_alloc(sizeof(*rows));
  *rows = (struct rows){.hex = hex, .file = file, .name = is_stdin ? "standard input" : path};
  rows->begin = ftello(file);
  rows->regular = rows->begin >= 0 && fstat(fileno(file), &about) == 0 && S_ISREG(about.st_mode);
  return rows;
}

void rows_free(struct rows *rows)
{
  if (rows != NULL && rows->file != NULL && rows->file != stdin) {
    fclose(rows->file);
  }
  free(rows);
}

const char *rows_name(const struct rows *rows)
{
  return rows->name;
}

bool rows_can_rewind(const struct rows *rows)
{
  return rows->texts != NULL || rows->regular;
}

void rows_rewind(struct rows *rows)
{
  rows->next = 0;
  rows->line = 0;
  if (rows->file != NULL) {
    clearerr(rows->file);
    fseeko(rows->file, rows->begin, SEEK_SET);
  }
}

size_t rows_width(const struct rows *rows)
{
  size_t width = 0;

  for (size_t i = 0; i < rows->count; i++) {
    size_t len = strlen(rows->texts[i]);

    width = len > width ? len : width;
  }
  return width;
}

static int hex_digit(char c)
{
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Turn hexadecimal digits into bytes, in place. False if they are none, or an odd number. */
static bool parse_hex(struct row *row)
{
  size_t len = row->len / 2;

  if (row->len % 2 != 0) {
    return false;
  }
  for (size_t i = 0; i < row->len; i++) {
    if (hex_digit(row->data[i]) < 0) {
      return false;
    }
  }
  for (size_t i = 0; i < len; i++) {
    row->data[i] = (char)(hex_digit(row->data[2 * i]) * 16 + hex_digit(row->data[2 * i + 1]));
  }
  row->len = len;
  return true;
}

/* Turn a row's text into its bytes, in place, or say why it has none. */
static void parse(const struct rows *rows, struct row *row)
{
  if (row->reason != NULL) {
    return;
  }
  if (memchr(row->data, '\0', row->len) != NULL) {
    row->reason = "a NUL byte; write it as \\x00";
  } else if (rows->hex) {
    row->reason = parse_hex(row) ? NULL : "not pairs of hexadecimal digits";
  } else {
    char *bytes = cli_alloc(row->len + 1);
    size_t len = 0;

    if (keyroute_unescape(bytes, &len, row->data) != 0) {
      row->reason = "a \\ that does not begin \\xHH";
      free(bytes);
      return;
    }
    free(row->data);
    row->data = bytes;
    row->len = len;
  }
}

/* Read a line into row, what is too long of it not kept. False at the end of the file. */
static bool read_line(struct rows *rows, struct row *row)
{
  size_t room = 256;
  int c = getc(rows->file);

  if (c == EOF) {
    return false;
  }
  *row = (struct row){.data = cli_alloc(room), .line = ++rows->line};
  for (; c != EOF && c != '\n'; c = getc(rows->file)) {
    if (row->len == MAX_LINE) {
      row->reason = "a line longer than any row";
      continue;
    }
    if (row->len + 1 == room) {
      room *= 2;
      row->data = cli_realloc(row->data, room);
    }
    row->data[row->len++] = (char)c;
  }
  row->data[row->len] = '\0';
  return true;
}

int rows_next(struct rows *rows, struct row *row)
{
  if (rows->texts != NULL) {
    if (rows->next == rows->count) {
      return 0;
    }
    const char *text = rows->texts[rows->next++];
    *row = (struct row){.data = cli_copy(text), .len = strlen(text)};
  } else {
    errno = 0;
    if (!read_line(rows, row)) {
      return ferror(rows->file) ? -1 : 0;
    }
  }
  parse(rows, row);
  return 1;
}
