/*
 * How far is it?
 *
 * A thread of its own writes the line, so that it moves on however long the main thread waits for a
 * server. It is started for terminals only: scripts get neither the thread nor a byte of this.
 *
 *  1. Whoever writes to stderr takes the line away first, and holds a lock until that is written
 *     (cli_complain does); the thread brings the line back at its next turn. The lock of the counts
 *     is not held meanwhile.
 *  2. The line is taken away with blanks, which every terminal knows, and cut to the terminal's
 *     width, since one that wraps could not be.
 */
#include "tools/progress.h"

#include "tools/cli.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_MS = 1000, EACH_MS = 250, LINE_MAX_LEN = 200 };

static struct {
  bool runs;        /* the main thread's */
  const char *noun; /* set before the thread starts, and so is begun */
  pthread_t thread;
  struct timespec begun;
  pthread_mutex_t lock; /* of the three below */
  pthread_cond_t ended;
  size_t count, failed;
  bool ends;
  pthread_mutex_t terminal; /* of stderr, and of what is below */
  size_t drawn;             /* columns that the line takes */
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER, .terminal = PTHREAD_MUTEX_INITIALIZER};

void progress_format(char *out, size_t size, const char *noun, size_t count, size_t failed,
                     long long elapsed_ms)
{
  unsigned long long each_s =
      (unsigned long long)count * 1000 / (unsigned long long)(elapsed_ms > 0 ? elapsed_ms : 1);

  int len = snprintf(out, size, "%zu %s, %llu/s", count, noun, each_s);
  if (failed > 0 && len > 0 && (size_t)len < size) {
    snprintf(out + len, size - (size_t)len, ", %zu failed", failed);
  }
}

void progress_hide(void)
{
  pthread_mutex_lock(&progress.terminal);
  if (progress.drawn > 0) {
    fprintf(stderr, "\r%*s\r", (int)progress.drawn, "");
    progress.drawn = 0;
  }
}

void progress_show(void)
{
  pthread_mutex_unlock(&progress.terminal);
}

static size_t terminal_width(void)
{
  struct winsize about = {.ws_col = 0};

  return ioctl(STDERR_FILENO, TIOCGWINSZ, &about) == 0 && about.ws_col > 1 ? about.ws_col : 80;
}

static long long elapsed_ms(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (now.tv_sec - progress.begun.tv_sec) * 1000LL +
         (now.tv_nsec - progress.begun.tv_nsec) / 1000000;
}

static void draw(size_t count, size_t failed)
{
  char text[LINE_MAX_LEN];
  char line[LINE_MAX_LEN + 8];

  progress_format(text, sizeof(text), progress.noun, count, failed, elapsed_ms());
  pthread_mutex_lock(&progress.terminal);
  size_t room = terminal_width() - 1;
  if (strlen(text) > room) {
    text[room] = '\0';
  }
  size_t len = strlen(text);
  size_t rest = progress.drawn > len ? progress.drawn - len : 0;
  snprintf(line, sizeof(line), "\r%s", text);
  fputs(line, stderr);
  fprintf(stderr, "%*s", (int)rest, ""); /* of a longer one */
  progress.drawn = len + rest;
  fflush(stderr);
  pthread_mutex_unlock(&progress.terminal);
}

static struct timespec after(struct timespec begin, long ms)
{
  begin.tv_sec += ms / 1000;
  begin.tv_nsec += ms % 1000 * 1000000;
  if (begin.tv_nsec >= 1000000000) {
    begin.tv_sec++;
    begin.tv_nsec -= 1000000000;
  }
  return begin;
}

static void *run(void *unused)
{
  struct timespec next = after(progress.begun, FIRST_MS);

  (void)unused;
  pthread_mutex_lock(&progress.lock);
  while (!progress.ends) {
    if (pthread_cond_timedwait(&progress.ended, &progress.lock, &next) == 0) {
      continue;
    }
    size_t count = progress.count;
    size_t failed = progress.failed;
    pthread_mutex_unlock(&progress.lock);
    draw(count, failed);
    pthread_mutex_lock(&progress.lock);
    clock_gettime(CLOCK_MONOTONIC, &next);
    next = after(next, EACH_MS);
  }
  pthread_mutex_unlock(&progress.lock);
  return NULL;
}

void progress_begin(const char *noun, bool quiet, bool answers)
{
  pthread_condattr_t attributes;

  if (quiet || !isatty(STDERR_FILENO) || (answers && isatty(STDOUT_FILENO))) {
    return;
  }
  progress.noun = noun;
  clock_gettime(CLOCK_MONOTONIC, &progress.begun);
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&progress.ended, &attributes);
  pthread_condattr_destroy(&attributes);
  progress.ends = false;
  progress.runs = pthread_create(&progress.thread, NULL, run, NULL) == 0;
}

void progress_set(size_t count, size_t failed)
{
  if (!progress.runs) {
    return;
  }
  pthread_mutex_lock(&progress.lock);
  progress.count = count;
  progress.failed = failed;
  pthread_mutex_unlock(&progress.lock);
}

void progress_end(void)
{
  if (!progress.runs) {
    return;
  }
  pthread_mutex_lock(&progress.lock);
  progress.ends = true;
  pthread_cond_signal(&progress.ended);
  pthread_mutex_unlock(&progress.lock);
  pthread_join(progress.thread, NULL);
  pthread_cond_destroy(&progress.ended);
  progress.runs = false;
  progress_hide();
  progress_show();
}
