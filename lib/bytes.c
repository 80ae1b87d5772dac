/*
 * Runs of bytes: their order, how they are written for people, and the numbers in them.
 *
 * Rows, start keys and region names may hold any byte, so none of them ever reaches a terminal, a
 * log or a message as it is: everything that prints goes through keyroute_escape, whose output is
 * printable ASCII and parses back to the same bytes.
 *
 *  1. Order is that of unsigned bytes, a prefix first: what HBase calls Bytes.BYTES_COMPARATOR.
 *  2. A backslash is always escaped. HBase's own toStringBinary leaves it, and then `\x41` may mean
 *     one byte or four.
 */
#include "lib/bytes.h"

#include <string.h>

int kr_bytes_compare(struct keyroute_bytes a, struct keyroute_bytes b)
{
  size_t shorter = a.len < b.len ? a.len : b.len;
  int order = shorter > 0 ? memcmp(a.data, b.data, shorter) : 0;

  if (order != 0) {
    return order;
  }
  return (a.len > b.len) - (a.len < b.len);
}

struct keyroute_bytes keyroute_string(const char *text)
{
  return kr_bytes(text, text != NULL ? strlen(text) : 0);
}

/* Write one byte's text, 1 or 4 characters, and give its length. */
static size_t escape_byte(char out[4], uint8_t byte)
{
  static const char digits[] = "0123456789ABCDEF";

  if (byte >= ' ' && byte <= '~' && byte != '\\') {
    out[0] = (char)byte;
    return 1;
  }
  out[0] = '\\';
  out[1] = 'x';
  out[2] = digits[byte >> 4];
  out[3] = digits[byte & 15];
  return 4;
}

/* The text of as many whole bytes as fit below size. Returns the length of the whole text; *fitted
 * is the length of what was written. */
static size_t escape(char *out, size_t size, struct keyroute_bytes bytes, size_t *fitted)
{
  const uint8_t *data = bytes.data;
  size_t total = 0;
  size_t written = 0;

  for (size_t i = 0; i < bytes.len; i++) {
    char text[4];
    size_t len = escape_byte(text, data[i]);

    if (written == total && total + len < size) {
      memcpy(out + written, text, len);
      written += len;
    }
    total += len;
  }
  if (size > 0) {
    out[written] = '\0';
  }
  *fitted = written;
  return total;
}

size_t keyroute_escape(char *out, size_t size, struct keyroute_bytes bytes)
{
  size_t fitted;

  return escape(out, size, bytes, &fitted);
}

static int hex_digit(char digit)
{
  if (digit >= '0' && digit <= '9') {
    return digit - '0';
  }
  if (digit >= 'a' && digit <= 'f') {
    return digit - 'a' + 10;
  }
  if (digit >= 'A' && digit <= 'F') {
    return digit - 'A' + 10;
  }
  return -1;
}

int keyroute_unescape(void *out, size_t *out_len, const char *text)
{
  uint8_t *to = out;
  size_t written = 0;

  if (out == NULL || out_len == NULL || text == NULL) {
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  for (const char *at = text; *at != '\0';) {
    if (*at != '\\') {
      to[written++] = (uint8_t)*at++;
      continue;
    }
    int high = at[1] == 'x' ? hex_digit(at[2]) : -1;
    int low = high >= 0 ? hex_digit(at[3]) : -1;

    if (low < 0) {
      return KEYROUTE_E_INVALID_ARGUMENT;
    }
    to[written++] = (uint8_t)(high << 4 | low);
    at += 4;
  }
  *out_len = written;
  return 0;
}

size_t kr_bytes_number(int64_t *out, struct keyroute_bytes text, int64_t max)
{
  const char *data = text.data;
  int64_t number = 0;
  size_t len = 0;

  for (; len < text.len && data[len] >= '0' && data[len] <= '9'; len++) {
    int digit = data[len] - '0';

    if (number > (max - digit) / 10) {
      return 0;
    }
    number = number * 10 + digit;
  }
  *out = number;
  return len;
}

char *kr_bytes_print(char *out, size_t size, struct keyroute_bytes bytes)
{
  size_t fitted;

  if (keyroute_escape(out, size, bytes) >= size) {
    escape(out, size - 3, bytes, &fitted);
    memcpy(out + fitted, "...", 4);
  }
  return out;
}

struct keyroute_bytes kr_bytes_put(uint8_t **to, struct keyroute_bytes bytes)
{
  struct keyroute_bytes copied = kr_bytes(*to, bytes.len);

  if (bytes.len > 0) {
    memcpy(*to, bytes.data, bytes.len);
    *to += bytes.len;
  }
  return copied;
}
