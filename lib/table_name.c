/*
 * Is this a name that a table of HBase can have, and what is its canonical spelling?
 *
 * HBase's rules, run against TableName of HBase 2.6.3 name by name:
 *  1. A name is a qualifier, or a namespace, the first ':', and a qualifier; neither is empty.
 *  2. A qualifier holds letters, digits, '_', '-' and '.', and begins with none of the last two. A
 *     namespace holds letters, digits and '_'.
 *  3. Neither is "zookeeper" (a table's directory used to share its place with ZooKeeper's), and
 *     no qualifier is "-ROOT-" or ".META.", which rule 2 covers already.
 *  4. The namespace "default" is left out when a name is written: "default:t" is "t".
 *
 * "Letter" is Java's Character.isLetterOrDigit, for one UTF-16 unit at a time. Without Unicode's
 * tables this file can only be honest about a part of it: the text must be strict UTF-8; code
 * points above U+FFFF are refused (Java sees two surrogates there, and those are no letters), so
 * are the C1 controls, the private area and the noncharacters; every other code point from U+00A0
 * on is taken for a letter. What is let through too much is a table that cannot exist, and the
 * catalog says so: TABLE_NOT_FOUND.
 *
 * Pure: any thread, no memory. Source: HBase TableName.isLegalFullyQualifiedTableName
 */
#include "lib/table_name.h"

#include "lib/bytes.h"

#include <stdint.h>
#include <string.h>

/* How many bytes a UTF-8 sequence has by its first byte, of those that may be in a name; 0 for a
 * byte that begins none, or one above U+FFFF. */
static size_t sequence_length(uint8_t first)
{
  if (first < 0x80) {
    return 1;
  }
  if (first >= 0xC2 && first <= 0xDF) {
    return 2;
  }
  return (first & 0xF0) == 0xE0 ? 3 : 0;
}

/* Decode the code point at `at`, strictly: no overlong forms, no surrogates. Returns how many bytes
 * it has, 0 if it cannot be in a name. */
static size_t decode(uint32_t *out, const uint8_t *at, size_t left)
{
  static const uint8_t first_bits[] = {0, 0x7F, 0x1F, 0x0F};
  static const uint32_t smallest[] = {0, 0, 0x80, 0x800};
  size_t length = sequence_length(at[0]);

  if (length == 0 || length > left) {
    return 0;
  }
  uint32_t point = at[0] & first_bits[length];
  for (size_t i = 1; i < length; i++) {
    if ((at[i] & 0xC0) != 0x80) {
      return 0;
    }
    point = point << 6 | (at[i] & 0x3F);
  }
  if (point < smallest[length] || (point >= 0xD800 && point <= 0xDFFF)) {
    return 0;
  }
  *out = point;
  return length;
}

static bool is_letter_or_digit(uint32_t point)
{
  if (point < 0x80) {
    return (point >= '0' && point <= '9') || (point >= 'A' && point <= 'Z') ||
           (point >= 'a' && point <= 'z');
  }
  if (point < 0xA0 || (point >= 0xE000 && point <= 0xF8FF)) {
    return false;
  }
  return !(point >= 0xFDD0 && point <= 0xFDEF) && point < 0xFFFE;
}

/* The characters of one part; `others` are those allowed besides letters and digits. */
static int check_part(struct keyroute_bytes part, const char *others, const char *wrong,
                      const char **reason)
{
  const uint8_t *at = part.data;

  for (size_t i = 0; i < part.len;) {
    uint32_t point = 0;
    size_t length = decode(&point, at + i, part.len - i);

    if (length == 0) {
      *reason = "it is not UTF-8 of characters up to U+FFFF";
      return KEYROUTE_E_INVALID_ARGUMENT;
    }
    if (!is_letter_or_digit(point) && (point >= 0x80 || strchr(others, (int)point) == NULL)) {
      *reason = wrong;
      return KEYROUTE_E_INVALID_ARGUMENT;
    }
    i += length;
  }
  if (kr_bytes_is(part, "zookeeper")) {
    *reason = "HBase reserves the name \"zookeeper\"";
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  return 0;
}

static int check_namespace(struct keyroute_bytes part, const char **reason)
{
  if (part.len == 0) {
    *reason = "the namespace is empty";
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  return check_part(part, "_", "a namespace holds only letters, digits and '_'", reason);
}

static int check_qualifier(struct keyroute_bytes part, const char **reason)
{
  const char *text = part.data;

  if (part.len == 0) {
    *reason = "the table's name is empty";
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  if (text[0] == '.' || text[0] == '-') {
    *reason = "a table's name does not begin with '.' or '-'";
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  return check_part(part, "_-.", "a table's name holds only letters, digits, '_', '-' and '.'",
                    reason);
}

int kr_table_name_check(struct keyroute_bytes *out, const char *name, const char **reason)
{
  size_t len = name != NULL ? strlen(name) : 0;

  if (len > KR_TABLE_NAME_MAX) {
    *reason = "it is longer than 1024 bytes";
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  struct keyroute_bytes whole = kr_bytes(len > 0 ? name : "", len);
  const char *colon = memchr(whole.data, ':', len);
  if (colon == NULL) {
    int error = check_qualifier(whole, reason);
    if (error == 0) {
      *out = whole;
    }
    return error;
  }
  struct keyroute_bytes space = kr_bytes(name, (size_t)(colon - name));
  struct keyroute_bytes qualifier = kr_bytes(colon + 1, len - space.len - 1);
  int error = check_namespace(space, reason);
  if (error == 0) {
    error = check_qualifier(qualifier, reason);
  }
  if (error == 0) {
    *out = kr_bytes_is(space, "default") ? qualifier : whole;
  }
  return error;
}
