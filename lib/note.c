/*
 * A failure that many rows share. A struct kr_failure takes more than a kilobyte; its texts are
 * short. So what may have to be told later, of rows that are tried again, is kept at its own length
 * and once for all rows that failed together.
 */
#include "lib/note.h"

#include <string.h>

struct kr_note *kr_note_new(struct kr_mem *mem, const struct kr_failure *failure)
{
  size_t message_size = strlen(failure->message) + 1;
  size_t server_size = strlen(failure->server) + 1;
  struct kr_note *note = kr_alloc(mem, sizeof(*note) + message_size + server_size);

  if (note == NULL) {
    return NULL;
  }
  *note = (struct kr_note){.mem = mem, .refs = 1, .code = failure->code};
  note->message = memcpy(note->text, failure->message, message_size);
  note->server = memcpy(note->text + message_size, failure->server, server_size);
  return note;
}

struct kr_note *kr_note_ref(struct kr_note *note)
{
  note->refs++;
  return note;
}

void kr_note_release(struct kr_note *note)
{
  if (note != NULL && --note->refs == 0) {
    kr_free(note->mem, note);
  }
}
