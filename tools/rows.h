#ifndef ROWS_H
#define ROWS_H

#include "keyroute/keyroute.h"

/* Where the rows to be looked up come from. */
struct rows;

/* What is a row? */
struct row_rules {
  bool hex;       /* written as plain hexadecimal */
  size_t min_len; /* in bytes */
  size_t max_len; /* 0 = what a line may hold */
};

/* One row as read. */
struct row {
  char *data; /* its bytes; free() it */
  size_t len;
  size_t line;        /* in the file, from 1; 0 = an argument */
  const char *reason; /* NULL, or why it is no row: data is then the text as written */
};

/* A row as written; its text is not kept. */
struct row row_parse(const char *text, struct row_rules rules);

/* Which comes first? As memcmp. */
int row_compare(struct keyroute_bytes a, struct keyroute_bytes b);

struct keyroute_bytes row_bytes(const struct row *row);

/* Rows given as arguments; texts is borrowed. */
struct rows *rows_from_arguments(char **texts, size_t count, struct row_rules rules);

/* Rows of a file, one a line; "-" is stdin. NULL = it cannot be opened, errno says why. */
struct rows *rows_from_file(const char *path, struct row_rules rules);
void rows_free(struct rows *rows);

/* Read the next row. 1 = there is one, 0 = the end, -1 = the file cannot be read: errno. */
int rows_next(struct rows *rows, struct row *row);

/* Might rows_next have to wait for whoever writes into a pipe? */
bool rows_would_wait(struct rows *rows);

/* Can all rows be read, looked at, and read again? Not so for pipes and terminals. */
bool rows_can_rewind(const struct rows *rows);
void rows_rewind(struct rows *rows);

/* The name of the source for messages. */
const char *rows_name(const struct rows *rows);

/* The longest text of the rows, if they are arguments; else 0. */
size_t rows_width(const struct rows *rows);

#endif
