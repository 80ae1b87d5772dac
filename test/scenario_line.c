/*
 * How a line of a scenario is read: words, with blanks between.
 *
 *   word           a name or a flag
 *   "text"         bytes, in HBase's escapes (\xHH); a quotation mark inside is \x22
 *   key=value      and key="text"
 *   # ...          up to the end of the line: for people
 *   ->             what follows is expected
 *
 * Whoever asks for a word marks it as used. A line with unused words fails its test: otherwise a
 * misspelt expectation would never be checked.
 *
 * For tests: no memory and unreadable text end the test.
 */
#include "test/scenario_line.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void scenario_line_fail(const struct scenario_line *line, const char *format, ...)
{
  char text[2048];
  va_list list;

  va_start(list, format);
  vsnprintf(text, sizeof(text), format, list);
  va_end(list);
  ck_abort_msg("%s:%d: %s", line->file, line->number, text);
  abort(); /* not reached */
}

static void *must(void *memory)
{
  if (memory == NULL) {
    abort();
  }
  return memory;
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* The text between quotation marks at *at, which moves behind the second one. */
static void take_quoted(struct scenario_line *line, struct scenario_word *word, const char **at)
{
  const char *end = strchr(*at + 1, '"');

  if (end == NULL) {
    scenario_line_fail(line, "a quotation mark is missing");
  }
  char *text = must(strndup(*at + 1, (size_t)(end - *at - 1)));

  word->value = must(malloc(strlen(text) + 1));
  if (keyroute_unescape(word->value, &word->value_len, text) != 0) {
    scenario_line_fail(line, "\"%s\" has a bad escape", text);
  }
  word->value[word->value_len] = '\0';
  word->has_value = true;
  free(text);
  *at = end + 1;
}

static void take_word(struct scenario_line *line, const char **at)
{
  line->words = must(realloc(line->words, (line->count + 1) * sizeof(*line->words)));
  struct scenario_word *word = &line->words[line->count++];
  size_t len = strcspn(*at, " \t\n=\"");

  memset(word, 0, sizeof(*word));
  word->key = must(strndup(*at, len));
  *at += len;
  if (**at == '=') {
    (*at)++;
    if (**at != '"') {
      len = strcspn(*at, " \t\n");
      word->value = must(strndup(*at, len));
      word->value_len = len;
      word->has_value = true;
      *at += len;
      return;
    }
  }
  if (**at == '"') {
    take_quoted(line, word, at);
  }
}

void scenario_line_parse(struct scenario_line *out, struct scenario_line *expected,
                         const char *file, int number, const char *text)
{
  struct scenario_line *into = out;

  *out = *expected = (struct scenario_line){.file = file, .number = number};
  for (const char *at = text;;) {
    at += strspn(at, " \t\n");
    if (*at == '\0' || *at == '#') {
      return;
    }
    if (strncmp(at, "->", 2) == 0) {
      into = expected;
      at += 2;
    } else {
      take_word(into, &at);
    }
  }
}

void scenario_line_clear(struct scenario_line *line)
{
  for (size_t i = 0; i < line->count; i++) {
    free(line->words[i].key);
    free(line->words[i].value);
  }
  free(line->words);
  line->words = NULL;
  line->count = 0;
}

/* ---- Asking --------------------------------------------------------------------------------- */

static bool is_argument(const struct scenario_word *word)
{
  return !word->has_value || word->key[0] == '\0';
}

static struct scenario_word *argument(const struct scenario_line *line, size_t index)
{
  for (size_t i = line->first; i < line->count; i++) {
    if (is_argument(&line->words[i]) && index-- == 0) {
      return &line->words[i];
    }
  }
  return NULL;
}

bool scenario_line_more(const struct scenario_line *line, size_t index)
{
  return argument(line, index) != NULL;
}

struct keyroute_bytes scenario_line_bytes(struct scenario_line *line, size_t index)
{
  struct scenario_word *word = argument(line, index);

  if (word == NULL || word->key[0] != '\0') {
    scenario_line_fail(line, "argument %zu is to be a text in quotation marks", index);
  }
  word->used = true;
  return (struct keyroute_bytes){word->value, word->value_len};
}

const char *scenario_line_word(struct scenario_line *line, size_t index)
{
  struct scenario_word *word = argument(line, index);

  if (word == NULL || word->key[0] == '\0') {
    scenario_line_fail(line, "argument %zu is to be a word", index);
  }
  word->used = true;
  return word->key;
}

bool scenario_line_has(struct scenario_line *line, const char *key)
{
  for (size_t i = line->first; i < line->count; i++) {
    if (!line->words[i].has_value && strcmp(line->words[i].key, key) == 0) {
      line->words[i].used = true;
      return true;
    }
  }
  return false;
}

static const char *value_of(struct scenario_line *line, const char *key, bool unused)
{
  for (size_t i = line->first; i < line->count; i++) {
    struct scenario_word *word = &line->words[i];

    if (word->has_value && strcmp(word->key, key) == 0 && !(unused && word->used)) {
      word->used = true;
      return word->value;
    }
  }
  return NULL;
}

const char *scenario_line_text(struct scenario_line *line, const char *key)
{
  return value_of(line, key, false);
}

const char *scenario_line_next(struct scenario_line *line, const char *key)
{
  return value_of(line, key, true);
}

int64_t scenario_line_number(struct scenario_line *line, const char *key, int64_t fallback)
{
  const char *text = scenario_line_text(line, key);
  char *end = NULL;
  long long number = text != NULL ? strtoll(text, &end, 10) : fallback;

  if (text != NULL && (text[0] == '\0' || *end != '\0')) {
    scenario_line_fail(line, "%s=%s is not a number", key, text);
  }
  return number;
}

void scenario_line_done(const struct scenario_line *line)
{
  for (size_t i = line->first; i < line->count; i++) {
    if (!line->words[i].used) {
      scenario_line_fail(line, "what is \"%s%s%s\"?", line->words[i].key,
                         line->words[i].has_value ? "=" : "",
                         line->words[i].has_value ? line->words[i].value : "");
    }
  }
}
