#ifndef KR_NOTE_H
#define KR_NOTE_H

#include "lib/error.h"
#include "lib/mem.h"

/* How something failed, kept for all whom it concerns: the part of a kr_failure that is told in the
 * end. Counted; one thread at a time. */
struct kr_note {
  struct kr_mem *mem;
  size_t refs;
  int code;
  const char *told; /* whoever told it last: the message as it was kept there; NULL = nobody has */
  const char *server;
  const char *message;
  char text[];
};

struct kr_note *kr_note_new(struct kr_mem *mem, const struct kr_failure *failure); /* NULL = out of
                                                                                    * memory */
struct kr_note *kr_note_ref(struct kr_note *note);
void kr_note_release(struct kr_note *note); /* NULL is accepted */

#endif
