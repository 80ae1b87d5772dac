/*
 * Which rows are asked for? Those of the command line, or of a file with one row a line.
 *
 *  1. A row is written as HBase writes it, `\xHH` for a byte that is not printable; with hex, as
 *     plain hexadecimal digits. Arguments and files are read by the same rules.
 *  2. A line ends at "\n" only and nothing is trimmed: a row may end in blanks or "\r". An empty
 *     line is the empty row. A NUL byte as such is refused, since a row would end there unseen.
 *  3. Memory is bounded by the longest line allowed, which is what the longest row takes when each
 *     of its bytes is escaped.
 *  4. Files are read with read(2) into a buffer of our own: stdio does not tell whether a whole
 *     line is there already, and who prints answers wants to know before it waits for the next row.
 */
#include "tools/rows.h"

#include "tools/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* HBase's rows have at most 32767 bytes; the catalog's keys are the tighter bound, and the
 * library's to check. */
#define MAX_LINE ((size_t)4 * 32767)

struct rows {
  struct row_rules rules;
  char **texts; /* arguments; NULL = a file */
  size_t count;
  size_t next;
  int fd;
  const char *name;
  bool regular;
  off_t begin; /* where the file stood, to read it again from there */
  size_t line;
  char *buffer; /* what was read and not handed out is from `from` to `to` */
  size_t room, from, to;
  bool ended;
};

struct keyroute_bytes row_bytes(const struct row *row)
{
  return (struct keyroute_bytes){row->data, row->len};
}

struct rows *rows_from_arguments(char **texts, size_t count, struct row_rules rules)
{
  struct rows *rows = cli_alloc(sizeof(*rows));

  *rows =
      (struct rows){.rules = rules, .texts = texts, .count = count, .name = "arguments", .fd = -1};
  return rows;
}

struct rows *rows_from_file(const char *path, struct row_rules rules)
{
  bool is_stdin = strcmp(path, "-") == 0;
  int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  struct stat about;

  if (fd < 0) {
    return NULL;
  }
  struct rows *rows = cli_alloc(sizeof(*rows));
  *rows = (struct rows){.rules = rules, .fd = fd, .name = is_stdin ? "standard input" : path};
  rows->room = 64 * 1024;
  rows->buffer = cli_alloc(rows->room);
  rows->begin = lseek(fd, 0, SEEK_CUR);
  rows->regular = rows->begin >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
  return rows;
}

void rows_free(struct rows *rows)
{
  if (rows == NULL) {
    return;
  }
  if (rows->fd > STDIN_FILENO) {
    close(rows->fd);
  }
  free(rows->buffer);
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
  rows->from = rows->to = 0;
  rows->ended = false;
  if (rows->fd >= 0) {
    lseek(rows->fd, rows->begin, SEEK_SET);
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

/* Turn escapes into bytes, in place. False if there is a backslash that is none. */
static bool parse_escapes(struct row *row)
{
  char *bytes = cli_alloc(row->len + 1);
  size_t len = 0;

  if (keyroute_unescape(bytes, &len, row->data) != 0) {
    free(bytes);
    return false;
  }
  free(row->data);
  row->data = bytes;
  row->len = len;
  return true;
}

/* Turn a row's text into its bytes, in place, or say why it has none. */
static void parse(struct row *row, const struct row_rules *rules)
{
  if (row->reason != NULL) {
    return;
  }
  if (memchr(row->data, '\0', row->len) != NULL) {
    row->reason = "a NUL byte; write it as \\x00";
  } else if (rules->hex && !parse_hex(row)) {
    row->reason = "not pairs of hexadecimal digits";
  } else if (!rules->hex && !parse_escapes(row)) {
    row->reason = "a \\ that does not begin \\xHH";
  } else if (row->len < rules->min_len) {
    row->reason = "an empty row cannot be read";
  } else if (rules->max_len > 0 && row->len > rules->max_len) {
    row->reason = "a row longer than any in a table";
  }
}

struct row row_parse(const char *text, struct row_rules rules)
{
  struct row row = {.data = cli_copy(text), .len = strlen(text)};

  parse(&row, &rules);
  return row;
}

int row_compare(struct keyroute_bytes a, struct keyroute_bytes b)
{
  size_t len = a.len < b.len ? a.len : b.len;
  int order = len > 0 ? memcmp(a.data, b.data, len) : 0;

  return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

/* ---- Files ---------------------------------------------------------------------------------- */

/* Read some more, behind what is there. False at the end, or if it cannot be read: errno. */
static bool read_more(struct rows *rows)
{
  ssize_t got = 0;

  memmove(rows->buffer, rows->buffer + rows->from, rows->to - rows->from);
  rows->to -= rows->from;
  rows->from = 0;
  if (rows->to == rows->room) {
    rows->room *= 2;
    rows->buffer = cli_realloc(rows->buffer, rows->room);
  }
  do {
    got = read(rows->fd, rows->buffer + rows->to, rows->room - rows->to);
  } while (got < 0 && errno == EINTR);
  if (got > 0) {
    rows->to += (size_t)got;
  }
  rows->ended = got == 0;
  return got > 0;
}

static size_t buffered(const struct rows *rows)
{
  return rows->to - rows->from;
}

/* The end of the first line that is there; NULL if it is not whole. */
static const char *line_end(const struct rows *rows)
{
  return memchr(rows->buffer + rows->from, '\n', buffered(rows));
}

/* Hand out the first len bytes that are there. */
static void cut_row(struct rows *rows, struct row *row, size_t len)
{
  *row = (struct row){.data = cli_alloc(len + 1), .len = len, .line = ++rows->line};
  memcpy(row->data, rows->buffer + rows->from, len);
  rows->from += len;
}

/* A line that is too long: its beginning is handed out, the rest is passed over. */
static bool cut_long_row(struct rows *rows, struct row *row)
{
  cut_row(rows, row, MAX_LINE);
  row->reason = "a line longer than any row";
  while (line_end(rows) == NULL) {
    rows->from = rows->to;
    if (!read_more(rows)) {
      return rows->ended;
    }
  }
  rows->from = (size_t)(line_end(rows) - rows->buffer) + 1;
  return true;
}

/* Read a line into row. 1 = there is one, 0 = the end, -1 = the file cannot be read: errno. */
static int read_line(struct rows *rows, struct row *row)
{
  const char *end = line_end(rows);

  while (end == NULL && buffered(rows) <= MAX_LINE && !rows->ended) {
    if (!read_more(rows) && !rows->ended) {
      return -1;
    }
    end = line_end(rows);
  }
  size_t len = end != NULL ? (size_t)(end - rows->buffer) - rows->from : buffered(rows);
  if (len > MAX_LINE) {
    if (!cut_long_row(rows, row)) {
      free(row->data);
      return -1;
    }
  } else if (end == NULL && len == 0) {
    return 0;
  } else {
    cut_row(rows, row, len);
    rows->from += end != NULL;
  }
  return 1;
}

bool rows_would_wait(struct rows *rows)
{
  struct pollfd descriptor = {.fd = rows->fd, .events = POLLIN};

  if (rows_can_rewind(rows)) {
    return false;
  }
  while (!rows->ended && line_end(rows) == NULL && buffered(rows) <= MAX_LINE) {
    if (poll(&descriptor, 1, 0) == 0) {
      return true;
    }
    if (!read_more(rows) && !rows->ended) {
      return false; /* rows_next meets the same error and tells it */
    }
  }
  return false;
}

int rows_next(struct rows *rows, struct row *row)
{
  if (rows->texts != NULL) {
    if (rows->next == rows->count) {
      return 0;
    }
    *row = row_parse(rows->texts[rows->next++], rows->rules);
    return 1;
  }
  int got = read_line(rows, row);
  if (got > 0) {
    parse(row, &rows->rules);
  }
  return got;
}
