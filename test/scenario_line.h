#ifndef KR_TEST_SCENARIO_LINE_H
#define KR_TEST_SCENARIO_LINE_H

/* One line of a scenario, taken apart into words. */

#include "keyroute/keyroute.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A word: `key`, `"text"` (an argument that is bytes) or `key=value`, `key="value"`. */
struct scenario_word {
  char *key; /* "" for "text" alone */
  char *value;
  size_t value_len;
  bool has_value;
  bool used; /* somebody has asked for it */
};

struct scenario_line {
  const char *file;
  int number;
  struct scenario_word *words;
  size_t count;
  size_t first; /* words in front of it are not part of this line */
};

/* Take a line apart; what stands behind `->` becomes a line of its own. Text that cannot be read
 * ends the test, with file and line. Release both with scenario_line_clear. */
void scenario_line_parse(struct scenario_line *out, struct scenario_line *expected,
                         const char *file, int number, const char *text);
void scenario_line_clear(struct scenario_line *line);

/* The n-th word that is not key=value, marked as used; it is an error if there is none. */
struct keyroute_bytes scenario_line_bytes(struct scenario_line *line, size_t index);
const char *scenario_line_word(struct scenario_line *line, size_t index);

/* Is there such a word, or a further argument? */
bool scenario_line_has(struct scenario_line *line, const char *key);
bool scenario_line_more(const struct scenario_line *line, size_t index);

/* The value of key=value; NULL, or the fallback, if there is none. */
const char *scenario_line_text(struct scenario_line *line, const char *key);
/* The next one that was not asked for yet, of a key that may stand there several times. */
const char *scenario_line_next(struct scenario_line *line, const char *key);
int64_t scenario_line_number(struct scenario_line *line, const char *key, int64_t fallback);

/* End the test if a word was not used: it is misspelt. */
void scenario_line_done(const struct scenario_line *line);

/* End the test because of this line. */
void scenario_line_fail(const struct scenario_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));

#endif
