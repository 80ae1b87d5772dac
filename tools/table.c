/*
 * How is an answer written for people? As a line of a table.
 *
 *  1. A table has a fixed number of columns, none of them empty and none with a blank in it but for
 *     the last: an empty key is "", a missing value is -, a blank in a key is \x20.
 *  2. Columns are padded to fixed widths, since lines come one by one and nobody knows the widest;
 *     a longer value moves the rest of its line.
 *  3. The header is for terminals only, so that scripts see nothing but answers.
 */
#include "tools/table.h"

#include <stdio.h>
#include <unistd.h>

void table_line(const struct table_column *columns, size_t count, size_t first_width,
                const char *const *texts)
{
  for (size_t i = 0; i < count; i++) {
    size_t width = i == 0 && first_width > 0 ? first_width : columns[i].width;

    if (i + 1 < count) {
      printf("%-*s  ", (int)width, texts[i]);
    } else {
      puts(texts[i]);
    }
  }
}

void table_header(const struct table_column *columns, size_t count, size_t first_width)
{
  const char *names[16];

  for (size_t i = 0; i < count && i < 16; i++) {
    names[i] = columns[i].name;
  }
  if (isatty(STDOUT_FILENO)) {
    table_line(columns, count, first_width, names);
  }
}

void table_steps(const struct outcome *outcome)
{
  for (size_t i = 0; i < outcome->step_count; i++) {
    const struct outcome_step *step = &outcome->steps[i];

    printf("  %8lld us  %8lld us  %-10s  %-24s  %s\n", step->at_us, step->took_us, step->name,
           step->server[0] != '\0' ? step->server : "-", step->detail);
  }
}
