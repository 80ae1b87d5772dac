#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

/* How far the program is, on a line of stderr that is written anew now and then. There is one such
 * line; without a terminal there is none, and all of this does nothing. */

/* Begin to show it, once this has taken a second.
 * noun     what is counted: "rows"
 * answers  answers are printed as they come: if that is on a terminal, they are progress enough */
void progress_begin(const char *noun, bool quiet, bool answers);

/* So many are through, and so many of them in vain. */
void progress_set(size_t count, size_t failed);

/* Show it no more. May be called without progress_begin, and twice. */
void progress_end(void);

/* Something else is to be written on stderr: between these two the line is away, and nobody else
 * writes. Any thread. */
void progress_hide(void);
void progress_show(void);

/* The line's text: "12000 rows, 4000/s, 3 failed". */
void progress_format(char *out, size_t size, const char *noun, size_t count, size_t failed,
                     long long elapsed_ms);

#endif
