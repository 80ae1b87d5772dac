/* A program of another language that a C test drives over pipes.  fixture.h says what each
 * function does.
 *
 * The child is run.sh, which execs the program.  It writes the protocol to a pipe and reads
 * commands from another; prepare.sh's stderr goes to a third (the last line is the reason of a
 * failure), the program's own is the test's.
 *
 * 1. The child never outlives the test: it ends when its stdin is closed, and gets SIGTERM when
 *    the thread that started it dies.  It is in a process group of its own, so that a terminal's
 *    ^C reaches the test first and the group can be killed as a whole.
 * 2. Nothing waits without a deadline: every read is preceded by poll().
 * 3. Pipes are close-on-exec, so that no other child keeps the program's stdin open.
 *
 * Only libc is used, none of the library under test.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2, vasprintf */
#endif
#include "test/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PREPARE_MS (15 * 60 * 1000)
#define READY_MS (180 * 1000)
#define COMMAND_MS (150 * 1000)
#define POLITE_STOP_MS 5000
#define TERM_STOP_MS 7000
#define KILL_STOP_MS 5000

struct text {
  char *data; /* ends with NUL unless NULL */
  size_t len;
};

struct fixture {
  pid_t pid;
  int commands;       /* write end of the child's stdin, -1 after closing */
  int answers;        /* read end of its stdout */
  struct text unread; /* came from answers, not yet given out as lines */
  struct text ready;  /* the READY line */
  struct text answer; /* after OK or ERR */
  int deadline_ms;
};

static char last_reason[512];

static int64_t now_ms(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int left_ms(int64_t end)
{
  int64_t left = end - now_ms();
  return left > 0 ? (int)left : 0;
}

__attribute__((format(printf, 2, 3))) static enum fixture_result fail(enum fixture_result result,
                                                                      const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(last_reason, sizeof last_reason, format, arguments);
  va_end(arguments);
  fprintf(stderr, "fixture: %s\n", last_reason);
  return result;
}

static void text_append(struct text *text, const char *data, size_t len)
{
  char *grown = realloc(text->data, text->len + len + 1);
  if (grown == NULL) {
    fprintf(stderr, "fixture: out of memory\n");
    abort();
  }
  if (len > 0) {
    memcpy(grown + text->len, data, len);
  }
  text->data = grown;
  text->len += len;
  text->data[text->len] = '\0';
}

static void text_clear(struct text *text)
{
  free(text->data);
  text->data = NULL;
  text->len = 0;
}

/* Starting and ending processes. */

/* In the child: from here to exec only what is safe after fork. */
static void become(char *const argv[], pid_t parent, const int from[3])
{
  for (int fd = 0; fd < 3; fd++) {
    if (from[fd] >= 0 && dup2(from[fd], fd) < 0) {
      _exit(127);
    }
  }
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) {
    _exit(127);
  }
  execv(argv[0], argv);
  _exit(127);
}

/* from = what the child gets as fds 0, 1 and 2, above 2 each; -1 = what the test has. */
static pid_t spawn(char *const argv[], const int from[3])
{
  pid_t parent = getpid();
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    become(argv, parent, from);
  }
  if (pid > 0) {
    setpgid(pid, pid);
  }
  return pid;
}

/* A pipe whose ends are above 2, even if the test has closed its standard streams. */
static int open_pipe(int ends[2])
{
  int low[2];
  if (pipe2(low, O_CLOEXEC) != 0) {
    return -1;
  }
  for (int i = 0; i < 2; i++) {
    ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, 3);
    close(low[i]);
  }
  return ends[0] < 0 || ends[1] < 0 ? -1 : 0;
}

/* Waits for the end of a process; false if it did not come in time. */
static bool await_exit(pid_t pid, int *status, int timeout_ms)
{
  int64_t end = now_ms() + timeout_ms;
  for (;;) {
    pid_t got = waitpid(pid, status, WNOHANG);
    if (got == pid || (got < 0 && errno != EINTR)) {
      return true;
    }
    if (now_ms() >= end) {
      return false;
    }
    nanosleep(&(struct timespec){.tv_nsec = 5 * 1000 * 1000}, NULL);
  }
}

static int end_group(pid_t pid)
{
  int status = 0;
  kill(-pid, SIGKILL);
  await_exit(pid, &status, KILL_STOP_MS);
  return status;
}

/* Reading lines. */

/* Appends what can be read now; 1 something came, 0 end of file, -1 time is over or error. */
static int read_some(int fd, struct text *into, int64_t end)
{
  struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
  int ready;
  do {
    ready = poll(&poll_fd, 1, left_ms(end));
  } while (ready < 0 && errno == EINTR);
  if (ready <= 0) {
    return -1;
  }
  char bytes[65536];
  ssize_t got;
  do {
    got = read(fd, bytes, sizeof bytes);
  } while (got < 0 && errno == EINTR);
  if (got <= 0) {
    return got == 0 ? 0 : -1;
  }
  text_append(into, bytes, (size_t)got);
  return 1;
}

/* Takes one line, without its newline, out of what came; as read_some. */
static int read_line(struct fixture *fixture, struct text *line, int64_t end)
{
  struct text *unread = &fixture->unread;
  size_t searched = 0;
  for (;;) {
    char *newline = NULL;
    if (unread->len > searched) {
      newline = memchr(unread->data + searched, '\n', unread->len - searched);
      searched = unread->len;
    }
    if (newline != NULL) {
      size_t len = (size_t)(newline - unread->data);
      text_clear(line);
      text_append(line, unread->data, len);
      unread->len -= len + 1;
      memmove(unread->data, newline + 1, unread->len + 1);
      return 1;
    }
    int got = read_some(fixture->answers, unread, end);
    if (got <= 0) {
      return got;
    }
  }
}

/* Preparing: run prepare.sh to its end and keep what it said. */

static void copy_last_line(char *into, size_t size, const struct text *text)
{
  size_t end = text->len;
  while (end > 0 && text->data[end - 1] == '\n') {
    end--;
  }
  size_t start = end;
  while (start > 0 && text->data[start - 1] != '\n') {
    start--;
  }
  snprintf(into, size, "%.*s", (int)(end - start), end > 0 ? text->data + start : "");
}

static enum fixture_result judge(const struct fixture_program *program, int status,
                                 const struct text *said)
{
  char reason[400];
  copy_last_line(reason, sizeof reason, said);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return FIXTURE_OK;
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 1) {
    return fail(FIXTURE_UNAVAILABLE, "%s not available: %s", program->name, reason);
  }
  return fail(FIXTURE_FAILED, "prepare.sh ended with wait status %d: %s", status, reason);
}

static enum fixture_result prepare(const struct fixture_program *program)
{
  char path[4096];
  snprintf(path, sizeof path, "%s/prepare.sh", program->folder);
  if (access(path, X_OK) != 0) {
    return fail(FIXTURE_FAILED, "%s: %s (set %s)", path, strerror(errno), program->folder_variable);
  }
  int ends[2];
  if (open_pipe(ends) != 0) {
    return fail(FIXTURE_FAILED, "pipe: %s", strerror(errno));
  }
  char *argv[] = {path, (char *)(uintptr_t)program->prepare_argument, NULL};
  pid_t pid = spawn(argv, (int[3]){-1, ends[1], ends[1]});
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return fail(FIXTURE_FAILED, "fork: %s", strerror(errno));
  }
  int64_t end = now_ms() + PREPARE_MS;
  struct text said = {0};
  int got;
  while ((got = read_some(ends[0], &said, end)) > 0) {
  }
  close(ends[0]);
  int status = 0;
  if (got < 0 || !await_exit(pid, &status, left_ms(end))) {
    status = end_group(pid);
  }
  enum fixture_result result = judge(program, status, &said);
  text_clear(&said);
  return result;
}

/* Starting. */

static bool launch(struct fixture *fixture, const struct fixture_program *program)
{
  char path[4096];
  snprintf(path, sizeof path, "%s/run.sh", program->folder);
  char *argv[FIXTURE_ARGUMENTS_MAX + 2] = {path};
  for (int i = 0; i < FIXTURE_ARGUMENTS_MAX && program->arguments[i] != NULL; i++) {
    argv[i + 1] = (char *)(uintptr_t)program->arguments[i];
  }
  int to[2];
  int from[2];
  if (open_pipe(to) != 0 || open_pipe(from) != 0) {
    return false;
  }
  fixture->pid = spawn(argv, (int[3]){to[0], from[1], -1});
  close(to[0]);
  close(from[1]);
  fixture->commands = to[1];
  fixture->answers = from[0];
  return fixture->pid > 0;
}

static bool await_ready(struct fixture *fixture)
{
  return read_line(fixture, &fixture->ready, now_ms() + READY_MS) > 0 &&
         strncmp(fixture->ready.data, "READY ", 6) == 0;
}

enum fixture_result fixture_start(struct fixture **out, const struct fixture_program *program)
{
  enum fixture_result prepared = prepare(program);
  if (prepared != FIXTURE_OK) {
    return prepared;
  }
  struct fixture *fixture = calloc(1, sizeof *fixture);
  if (fixture == NULL) {
    return fail(FIXTURE_FAILED, "out of memory");
  }
  fixture->commands = fixture->answers = -1;
  fixture->deadline_ms = COMMAND_MS;
  text_append(&fixture->answer, "", 0);
  if (!launch(fixture, program)) {
    int error = errno;
    fixture_stop(fixture);
    return fail(FIXTURE_FAILED, "cannot start run.sh: %s", strerror(error));
  }
  if (!await_ready(fixture)) {
    fixture_stop(fixture);
    return fail(FIXTURE_FAILED, "%s not ready within %d s; what was said is above", program->name,
                READY_MS / 1000);
  }
  *out = fixture;
  return FIXTURE_OK;
}

bool fixture_field(const struct fixture *fixture, char *into, size_t size, const char *name)
{
  char key[32];
  snprintf(key, sizeof key, " %s=", name);
  const char *found = strstr(fixture->ready.data, key);
  if (found == NULL) {
    return false;
  }
  found += strlen(key);
  size_t len = strcspn(found, " ");
  snprintf(into, size, "%.*s", (int)len, found);
  return len > 0 && len < size;
}

const char *fixture_reason(void)
{
  return last_reason;
}

void fixture_stop(struct fixture *fixture)
{
  if (fixture == NULL) {
    return;
  }
  if (fixture->commands >= 0) {
    close(fixture->commands);
  }
  if (fixture->pid > 0 && !await_exit(fixture->pid, NULL, POLITE_STOP_MS)) {
    kill(fixture->pid, SIGTERM);
    if (!await_exit(fixture->pid, NULL, TERM_STOP_MS)) {
      fprintf(stderr, "fixture: process %ld did not end, killing it\n", (long)fixture->pid);
      end_group(fixture->pid);
    }
  }
  if (fixture->answers >= 0) {
    close(fixture->answers);
  }
  text_clear(&fixture->unread);
  text_clear(&fixture->ready);
  text_clear(&fixture->answer);
  free(fixture);
}

/* Commands. */

/* A broken pipe is an answer like any other here, not a signal that ends the test. */
static bool write_all(int fd, const struct text *text)
{
  sigset_t pipe_set;
  sigset_t before;
  sigemptyset(&pipe_set);
  sigaddset(&pipe_set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_set, &before);
  size_t done = 0;
  bool broken = false;
  while (done < text->len && !broken) {
    ssize_t wrote = write(fd, text->data + done, text->len - done);
    if (wrote > 0) {
      done += (size_t)wrote;
    } else if (wrote < 0 && errno != EINTR) {
      broken = true;
    }
  }
  if (broken && errno == EPIPE && !sigismember(&before, SIGPIPE)) {
    sigtimedwait(&pipe_set, NULL, &(struct timespec){0});
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return !broken;
}

/* Reads up to the final line: 0 OK, 1 ERR, -1 none came.  Data lines go to data. */
static int read_answer(struct fixture *fixture, struct text *data)
{
  int64_t end = now_ms() + fixture->deadline_ms;
  struct text line = {0};
  int result = -1;
  while (result < 0 && read_line(fixture, &line, end) > 0) {
    size_t word = strcspn(line.data, " ");
    const char *rest = line.data[word] == ' ' ? line.data + word + 1 : "";
    if (word == 1 && line.data[0] == '.') {
      text_append(data, rest, strlen(rest));
      text_append(data, "\n", 1);
    } else {
      result = word == 2 && strncmp(line.data, "OK", 2) == 0 ? 0 : 1;
      text_clear(&fixture->answer);
      text_append(&fixture->answer, rest, strlen(rest));
    }
  }
  text_clear(&line);
  return result;
}

int fixture_command(struct fixture *fixture, char **reply, const char *format, va_list arguments)
{
  char *command = NULL;
  int len = vasprintf(&command, format, arguments);
  if (len < 0) {
    fprintf(stderr, "fixture: out of memory\n");
    abort();
  }
  struct text sent = {0};
  struct text data = {0};
  text_append(&sent, command, (size_t)len);
  text_append(&sent, "\n", 1);
  text_append(&data, "", 0);
  int result = write_all(fixture->commands, &sent) ? read_answer(fixture, &data) : -1;
  if (result > 0) {
    fprintf(stderr, "fixture: %.80s: %s\n", command, fixture->answer.data);
  } else if (result < 0) {
    fprintf(stderr, "fixture: %.80s: no answer within %d ms, or it ended\n", command,
            fixture->deadline_ms);
  }
  if (result >= 0 && reply != NULL) {
    *reply = data.data;
    data.data = NULL;
  }
  text_clear(&data);
  text_clear(&sent);
  free(command);
  return result;
}

const char *fixture_answer(const struct fixture *fixture)
{
  return fixture->answer.data;
}

void fixture_set_deadline(struct fixture *fixture, int deadline_ms)
{
  fixture->deadline_ms = deadline_ms;
}

pid_t fixture_pid(const struct fixture *fixture)
{
  return fixture->pid;
}
