/*
 * Error codes, their texts and kinds: all from the one table in keyroute.h. And kr_failure, the
 * form in which one part of the library tells another why something did not work.
 */
#include "lib/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Is there a detail, and does its size say that it has this field? */
#define DETAIL_HAS(detail, field)                                                                  \
  ((detail) != NULL &&                                                                             \
   (detail)->size >= offsetof(struct keyroute_detail, field) + sizeof((detail)->field))

struct error_row {
  int code;
  const char *name;
  const char *text;
  enum keyroute_kind kind;
  bool retried;
};

#define ERROR_ROW(name, number, text, kind, retried)                                               \
  {number, #name, text, KEYROUTE_KIND_##kind, retried},
static const struct error_row error_rows[] = {KEYROUTE_ERRORS(ERROR_ROW)};
#undef ERROR_ROW

static const struct error_row *find_row(int error)
{
  for (size_t i = 0; i < sizeof(error_rows) / sizeof(error_rows[0]); i++) {
    if (error_rows[i].code == error) {
      return &error_rows[i];
    }
  }
  return NULL;
}

const char *keyroute_strerror(int error)
{
  const struct error_row *row = find_row(error);

  if (error == 0) {
    return "success";
  }
  return row != NULL ? row->text : "unknown error";
}

const char *keyroute_errname(int error)
{
  const struct error_row *row = find_row(error);

  if (error == 0) {
    return "OK";
  }
  return row != NULL ? row->name : "UNKNOWN";
}

bool keyroute_is_retriable(int error)
{
  const struct error_row *row = find_row(error);

  return row != NULL && row->retried;
}

enum keyroute_kind keyroute_error_kind(int error)
{
  const struct error_row *row = find_row(error);

  return row != NULL ? row->kind : KEYROUTE_KIND_NONE;
}

int kr_fail(struct kr_failure *failure, int code, const char *format, ...)
{
  va_list arguments;

  memset(failure, 0, offsetof(struct kr_failure, message));
  failure->code = code;
  failure->kind = keyroute_error_kind(code);
  va_start(arguments, format);
  vsnprintf(failure->message, sizeof(failure->message), format, arguments);
  va_end(arguments);
  return code;
}

int kr_detail_fail(struct keyroute_detail *detail, int code, const char *format, ...)
{
  va_list arguments;

  if (DETAIL_HAS(detail, error)) {
    detail->error = code;
  }
  if (DETAIL_HAS(detail, message)) {
    va_start(arguments, format);
    vsnprintf(detail->message, sizeof(detail->message), format, arguments);
    va_end(arguments);
  }
  return code;
}

const char *kr_early_end(int code)
{
  return code == KEYROUTE_E_CLOSED      ? "the connection is being closed"
         : code == KEYROUTE_E_CANCELLED ? "the call was cancelled"
                                        : "out of memory";
}

void kr_fail_name_server(struct kr_failure *failure, const char *server)
{
  char *message = failure->message;
  size_t size = sizeof(failure->message);
  char what[sizeof(failure->message)];

  memcpy(what, message, size);
  snprintf(failure->server, sizeof(failure->server), "%s", server);
  int used = snprintf(message, size, "server %s: ", failure->server);

  snprintf(message + used, size - (size_t)used, "%s", what);
}

bool kr_fail_scan(struct kr_failure *failure)
{
  bool too_large = failure->code == KEYROUTE_E_TOO_LARGE;

  if (too_large) {
    failure->code = KEYROUTE_E_PROTOCOL;
    failure->kind = keyroute_error_kind(failure->code);
  }
  return too_large;
}
