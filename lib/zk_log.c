/*
 * Brings each line that ZooKeeper's client logs to the connection it is about.
 *
 * The client's log callback gets a line of text and no context, and its threads are not ours, so
 * the only thing that can tell two handles apart is the function called. Hence a fixed set of
 * functions, one a slot, that are lent to one handle each. Thread-local context was tried on paper
 * and dropped: the client's I/O thread never calls us before it logs.
 *
 *  1. A slot in use holds a count on its gate. It is lent until its handle is closed, so a handle
 *     that was left behind keeps its slot, and its shut gate swallows the lines.
 *  2. When no slot is left the handle is silent: the default would write to stderr.
 *  3. What ends a line, newlines and blanks, is cut off; other bytes that do not print are escaped.
 *  4. Never at a level above WARNING: what matters comes back as an error of the call.
 *
 *  5. A forked child has none of its parent's handles: all slots are free there.
 *
 * Process-wide by nature; the lock is held for a look-up only.  Source: zookeeper.h,
 * log_callback_fn
 */
#include "lib/zk_log.h"

#include "lib/bytes.h"

#include <pthread.h>
#include <string.h>

#define SLOTS 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct kr_zk_gate *slots[SLOTS]; /* under the lock */

static enum keyroute_log_level level_of(const char *line)
{
  if (strstr(line, ":ZOO_ERROR@") != NULL || strstr(line, ":ZOO_WARN@") != NULL) {
    return KEYROUTE_LOG_WARNING;
  }
  return KEYROUTE_LOG_DEBUG;
}

/* "<time>:<pid>(<thread>):ZOO_INFO@<function>@<line>: text"; the front says nothing to a reader. */
static struct keyroute_bytes text_of(const char *line)
{
  const char *at = strchr(line, '@');
  const char *front = at != NULL ? strstr(at, ": ") : NULL;
  const char *text = front != NULL ? front + 2 : line;
  size_t len = strlen(text);

  while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL) {
    len--;
  }
  return kr_bytes(text, len);
}

static void pass_on(int slot, const char *line)
{
  char shown[900];

  pthread_mutex_lock(&lock);
  struct kr_zk_gate *gate = slots[slot] != NULL ? kr_zk_gate_ref(slots[slot]) : NULL;
  pthread_mutex_unlock(&lock);
  if (gate == NULL) {
    return;
  }
  kr_zk_gate_log(gate, level_of(line), "ZooKeeper's client: %s",
                 kr_bytes_print(shown, sizeof(shown), text_of(line)));
  kr_zk_gate_release(gate);
}

static void drop(const char *line)
{
  (void)line;
}

/* The functions themselves, eight rows of eight. */
#define ROW(X, r) X(r##0) X(r##1) X(r##2) X(r##3) X(r##4) X(r##5) X(r##6) X(r##7)
#define ALL(X)                                                                                     \
  ROW(X, 0) ROW(X, 01) ROW(X, 02) ROW(X, 03) ROW(X, 04) ROW(X, 05) ROW(X, 06) ROW(X, 07)
#define DEFINE(octal)                                                                              \
  static void pass_on_##octal(const char *line)                                                    \
  {                                                                                                \
    pass_on(octal, line);                                                                          \
  }
#define NAME(octal) pass_on_##octal,

ALL(DEFINE)

static const kr_zk_log_cb functions[SLOTS] = {ALL(NAME)};

kr_zk_log_cb kr_zk_log_take(struct kr_zk_gate *gate, int *slot)
{
  *slot = -1;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < SLOTS && *slot < 0; i++) {
    if (slots[i] == NULL) {
      slots[i] = kr_zk_gate_ref(gate);
      *slot = i;
    }
  }
  pthread_mutex_unlock(&lock);
  return *slot >= 0 ? functions[*slot] : drop;
}

void kr_zk_log_release(int slot)
{
  if (slot < 0) {
    return;
  }
  pthread_mutex_lock(&lock);
  struct kr_zk_gate *gate = slots[slot];
  slots[slot] = NULL;
  pthread_mutex_unlock(&lock);
  kr_zk_gate_release(gate);
}

void kr_zk_log_before_fork(void)
{
  pthread_mutex_lock(&lock);
}

void kr_zk_log_after_fork(bool in_child)
{
  if (in_child) {
    memset(slots, 0, sizeof(slots)); /* the gates' own locks may be held: their counts stay */
  }
  pthread_mutex_unlock(&lock);
}
