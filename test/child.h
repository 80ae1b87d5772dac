#ifndef CHILD_H
#define CHILD_H

/* Children that a test forks: one tells by its exit code what it saw. */

#include "test/blocking.h"

#include <check.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILD_PATIENCE_MS = 60000 };

/* In a child: this must hold. */
#define EXPECT(holds) child_expect((holds), #holds, __LINE__)

static inline void child_expect(bool holds, const char *what, int line)
{
  if (!holds) {
    dprintf(STDERR_FILENO, "child, line %d: %s\n", line, what);
    _exit(1);
  }
}

/* Wait for a child, which must end well and in time. */
static inline void child_await(pid_t child)
{
  int status = 0;
  pid_t ended = 0;

  ck_assert_int_gt(child, 0);
  for (int waited = 0; waited < CHILD_PATIENCE_MS && ended == 0; waited += 5) {
    ended = waitpid(child, &status, WNOHANG);
    if (ended == 0) {
      pause_ms(5);
    }
  }
  if (ended == 0) {
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    ck_abort_msg("the child hangs");
  }
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %#x", status);
}

#endif
