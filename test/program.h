#ifndef PROGRAM_H
#define PROGRAM_H

/* The program keyroute as scripts see it, for tests: arguments, streams and exit statuses. Runs the
 * binary that the environment variable KEYROUTE names (default ./keyroute). Trouble ends the test.
 */

#include <stddef.h>
#include <sys/types.h>

enum { PROGRAM_MAX_OUTPUT = 1024 * 1024, PROGRAM_MAX_ARGUMENTS = 32 };

/* What the last run printed. */
extern char program_out[PROGRAM_MAX_OUTPUT];
extern char program_err[PROGRAM_MAX_OUTPUT];

/* Fixtures: a folder for files, an environment without a configuration. */
void program_set_up(void);
void program_tear_down(void);

/* "FOLDER/NAME"; one of a few static buffers. "in", "out", "err" and "hbase-site.xml" are removed
 * in the end. */
const char *program_file(const char *name);
const char *program_folder(void);
void program_write_file(const char *name, const char *data, size_t len);

/* A configuration for the program by default: meta is on this port of 127.0.0.1, as start code 77,
 * pauses are short and tries few. */
void program_configure(int port);

/* Run the program on the words up to NULL, stdin from the file "in" or else empty. Returns its exit
 * status, or minus the signal that ended it. */
int program_run(const char *word, ...);

/* Start it. in, to and err are descriptors, closed here; to and err -1 = the files of their names.
 */
pid_t program_start(int in, int to, int err, char *const *arguments);

/* Wait for it, and read what it wrote into files; as program_run. */
int program_finish(pid_t pid);

/* ---- What it printed ------------------------------------------------------------------------ */

void program_assert_begins(const char *text, const char *words);
void program_assert_has(const char *text, const char *words);

/* Exit status 2, nothing on stdout, one line on stderr that has these words. */
void program_assert_usage(int status, const char *words);

size_t program_count_lines(const char *text);

#endif
