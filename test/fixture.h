/* Drives a program of another language from a C test, one that has a folder with prepare.sh and
 * run.sh: an HBase cluster (test/cluster/), Bigtable nodes (test/nodes/).  The language over its
 * pipes is the same for all: one line a command; data lines of an answer begin with ". ", its last
 * line is "OK ..." or "ERR reason"; the first line is "READY name=value ...".
 *
 * One fixture = one child process group, which ends when the test ends, however that happens; to be
 * exact, when the thread that started it ends.  A fixture is not for use from several threads at
 * once; several fixtures are independent of each other.
 */
#ifndef KR_TEST_FIXTURE_H
#define KR_TEST_FIXTURE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct fixture;

enum { FIXTURE_ARGUMENTS_MAX = 8 };

struct fixture_program {
  const char *name;             /* for messages that go on with "not available" */
  const char *folder;           /* of prepare.sh and run.sh */
  const char *folder_variable;  /* of the environment, that says where the folder is */
  const char *prepare_argument; /* of prepare.sh; NULL = none */
  const char *arguments[FIXTURE_ARGUMENTS_MAX]; /* of run.sh, up to a NULL if there are fewer */
};

enum fixture_result {
  FIXTURE_OK = 0,
  FIXTURE_UNAVAILABLE, /* what it needs is not here: skip the test and say why */
  FIXTURE_FAILED,      /* it should have worked */
};

/** Run prepare.sh (15 min at most), start run.sh and wait until it is ready (180 s at most).
 *  out  to be stopped; untouched unless FIXTURE_OK
 *  The reason of any other result is told by fixture_reason() and printed on stderr.
 */
enum fixture_result fixture_start(struct fixture **out, const struct fixture_program *program);

/** Why the last fixture_start() did not succeed, in one line. */
const char *fixture_reason(void);

/** Copy the value of " name=value" out of the READY line; false if it is missing or too long. */
bool fixture_field(const struct fixture *fixture, char *into, size_t size, const char *name);

/** End the program and free the fixture: politely, by SIGTERM after 5 s, by SIGKILL after 12 s.
 *  NULL is fine. */
void fixture_stop(struct fixture *fixture);

/** Send one command and wait for its answer.
 *  reply  gets the data lines without their ". ", each ended by a newline ("" if there were none);
 *         free() it; NULL if not wanted; not set when the result is negative
 *  Result: 0 the answer was OK; 1 it was ERR; -1 no answer (the deadline passed or the program
 *  ended: it is of no more use).  Anything but 0 is also told on stderr.
 */
int fixture_command(struct fixture *fixture, char **reply, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

/** The text after OK or ERR of the last command; valid until the next one. */
const char *fixture_answer(const struct fixture *fixture);

/** How long a command may take from now on; 150 s unless set. */
void fixture_set_deadline(struct fixture *fixture, int deadline_ms);

pid_t fixture_pid(const struct fixture *fixture);

#endif
