/*
 * The library's log: lines for the application's callback. The library prints nothing by itself.
 * A line that is not wanted costs one comparison.
 */
#include "lib/log.h"

#include <stdarg.h>
#include <stdio.h>

void kr_log_line(const struct kr_log *log, enum keyroute_log_level level, const char *format, ...)
{
  char line[1024];
  va_list arguments;

  if (log->cb == NULL || level > log->level) {
    return;
  }
  va_start(arguments, format);
  vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  log->cb(log->payload, level, line);
}
