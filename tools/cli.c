/*
 * What all commands of the program share: complaints, flushing, memory, numbers.
 *
 * Memory that runs out ends the program: it has nothing to tidy up that the kernel does not.
 */
#include "tools/cli.h"

#include "tools/progress.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cli_complain(const char *format, ...)
{
  va_list arguments;

  progress_hide();
  fputs("keyroute: ", stderr);
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  progress_show();
}

int cli_flush(void)
{
  /* stdio remembers that a write failed, but not why. */
  static int first_error;

  if ((fflush(stdout) != 0 || ferror(stdout)) && first_error == 0) {
    first_error = errno;
  }
  return first_error;
}

void *cli_realloc(void *old, size_t size)
{
  void *memory = realloc(old, size > 0 ? size : 1);

  if (memory == NULL) {
    cli_complain("out of memory");
    exit(CLI_TROUBLE);
  }
  return memory;
}

void *cli_alloc(size_t size)
{
  return memset(cli_realloc(NULL, size), 0, size > 0 ? size : 1);
}

char *cli_copy(const char *text)
{
  size_t size = strlen(text) + 1;

  return memcpy(cli_alloc(size), text, size);
}

char *cli_copy_bytes(struct keyroute_bytes bytes)
{
  char *copy = cli_alloc(bytes.len);

  if (bytes.len > 0) {
    memcpy(copy, bytes.data, bytes.len);
  }
  return copy;
}

bool cli_number(long long *out, const char *text, long long min, long long max)
{
  char *end = NULL;

  if (text[0] < '0' || text[0] > '9') {
    return false;
  }
  errno = 0;
  long long number = strtoll(text, &end, 10);
  if (errno != 0 || *end != '\0' || number < min || number > max) {
    return false;
  }
  *out = number;
  return true;
}
