/*
 * How are the things that servers name written? Nothing that they sent is printed as it is: all of
 * it is escaped, or hexadecimal.
 */
#include "tools/text.h"

#include "tools/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *escaped(struct keyroute_bytes bytes)
{
  size_t size = keyroute_escape(NULL, 0, bytes) + 1;
  char *text = cli_alloc(size);

  keyroute_escape(text, size, bytes);
  return text;
}

static char *hexadecimal(struct keyroute_bytes bytes)
{
  static const char digits[] = "0123456789abcdef";
  const unsigned char *data = bytes.data;
  char *text = cli_alloc(2 * bytes.len + 1);

  for (size_t i = 0; i < bytes.len; i++) {
    text[2 * i] = digits[data[i] >> 4];
    text[2 * i + 1] = digits[data[i] & 15];
  }
  return text;
}

char *text_bytes(struct keyroute_bytes bytes, bool hex)
{
  return hex ? hexadecimal(bytes) : escaped(bytes);
}

/* Write a text with some of its blanks as \x20. "" itself, written by two quotes, stays apart from
 * no bytes, and - from a missing value. */
static char *guarded(struct keyroute_bytes bytes, bool hex, bool inner)
{
  char *text = text_bytes(bytes, hex);
  size_t len = strlen(text);
  char *word = cli_alloc(4 * len + 9);
  char *to = word;

  if (len == 0 || strcmp(text, "\"\"") == 0 || strcmp(text, "-") == 0) {
    strcpy(word, len == 0 ? "\"\"" : len == 1 ? "\\x2D" : "\\x22\\x22");
    free(text);
    return word;
  }
  for (size_t i = 0; i < len; i++) {
    if (text[i] == ' ' && (inner || i == 0 || i + 1 == len)) {
      memcpy(to, "\\x20", 4);
      to += 4;
    } else {
      *to++ = text[i];
    }
  }
  free(text);
  return word;
}

char *text_word(struct keyroute_bytes bytes, bool hex)
{
  return guarded(bytes, hex, true);
}

char *text_phrase(struct keyroute_bytes bytes, bool hex)
{
  return guarded(bytes, hex, false);
}

static char *host_port(const char *host, int port)
{
  char *shown = escaped(keyroute_string(host));
  size_t size = strlen(shown) + 16;
  char *text = cli_alloc(size);
  const char *format = strchr(shown, ':') != NULL ? "[%s]:%d" : "%s:%d";

  snprintf(text, size, format, shown, port);
  free(shown);
  return text;
}

char *text_server(const struct keyroute_location *location, int replica)
{
  const char *host = keyroute_location_host(location, replica);

  return host != NULL ? host_port(host, keyroute_location_port(location, replica)) : NULL;
}

typedef size_t name_writer(const struct keyroute_location *location, int replica, void *out,
                           size_t size);

static char *name_text(const struct keyroute_location *location, int replica, name_writer *write)
{
  size_t len = write(location, replica, NULL, 0);
  char *bytes = cli_alloc(len + 1);

  write(location, replica, bytes, len);
  char *text = escaped((struct keyroute_bytes){bytes, len});
  free(bytes);
  return text;
}

char *text_region_name(const struct keyroute_location *location, int replica)
{
  return name_text(location, replica, keyroute_location_region_name);
}

char *text_encoded_name(const struct keyroute_location *location, int replica)
{
  return name_text(location, replica, keyroute_location_encoded_name);
}

const char *text_source(enum keyroute_source source)
{
  switch (source) {
  case KEYROUTE_SOURCE_CACHE:
    return "cache";
  case KEYROUTE_SOURCE_CATALOG:
    return "catalog";
  case KEYROUTE_SOURCE_REGISTRY:
    return "registry";
  case KEYROUTE_SOURCE_NONE:
    break;
  }
  return "none";
}
