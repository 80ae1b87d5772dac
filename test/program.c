/*
 * The program keyroute, run as a script would. Its streams are files below a folder of the test's
 * own, unless the test has others for them.
 */
#include "test/program.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

char program_out[PROGRAM_MAX_OUTPUT];
char program_err[PROGRAM_MAX_OUTPUT];
static char folder[64];
static bool out_is_file;

void program_set_up(void)
{
  snprintf(folder, sizeof(folder), "/tmp/keyroute-cli-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  unsetenv("HBASE_CONF_DIR");
  unsetenv("HADOOP_USER_NAME");
}

const char *program_folder(void)
{
  return folder;
}

const char *program_file(const char *name)
{
  static char paths[4][128];
  static int next;
  char *path = paths[next++ % 4];

  snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
  return path;
}

void program_tear_down(void)
{
  unlink(program_file("in"));
  unlink(program_file("out"));
  unlink(program_file("err"));
  unlink(program_file("hbase-site.xml"));
  rmdir(folder);
}

void program_write_file(const char *name, const char *data, size_t len)
{
  FILE *to = fopen(program_file(name), "w");

  ck_assert_ptr_nonnull(to);
  ck_assert_uint_eq(fwrite(data, 1, len, to), len);
  fclose(to);
}

static void read_file(const char *name, char text[PROGRAM_MAX_OUTPUT])
{
  FILE *from = fopen(program_file(name), "r");

  text[0] = '\0';
  if (from != NULL) {
    text[fread(text, 1, PROGRAM_MAX_OUTPUT - 1, from)] = '\0';
    fclose(from);
  }
}

void program_configure(int port)
{
  char text[1024];
  int len = snprintf(text, sizeof(text),
                     "<configuration>"
                     "<property><name>keyroute.registry</name><value>static</value></property>"
                     "<property><name>keyroute.registry.static.root</name>"
                     "<value>127.0.0.1:%d:77</value></property>"
                     "<property><name>hbase.client.pause</name><value>1</value></property>"
                     "<property><name>hbase.client.retries.number</name><value>2</value></property>"
                     "</configuration>",
                     port);

  program_write_file("hbase-site.xml", text, (size_t)len);
  setenv("HBASE_CONF_DIR", folder, 1);
}

/* ---- Running it ----------------------------------------------------------------------------- */

static const char *path(void)
{
  const char *named = getenv("KEYROUTE");

  return named != NULL ? named : "./keyroute";
}

/* Have a stream go to a descriptor, or to the file of its name. */
static void add_stream(posix_spawn_file_actions_t *actions, int number, int to, const char *name)
{
  if (to >= 0) {
    posix_spawn_file_actions_adddup2(actions, to, number);
  } else {
    posix_spawn_file_actions_addopen(actions, number, program_file(name),
                                     O_CREAT | O_TRUNC | O_WRONLY, 0600);
  }
}

pid_t program_start(int in, int to, int err, char *const *arguments)
{
  posix_spawn_file_actions_t actions;
  pid_t pid;

  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, 0);
  add_stream(&actions, 1, to, "out");
  add_stream(&actions, 2, err, "err");
  int error = posix_spawn(&pid, path(), &actions, NULL, arguments, environ);
  ck_assert_msg(error == 0, "%s: %s", path(), strerror(error));
  posix_spawn_file_actions_destroy(&actions);
  out_is_file = to < 0;
  close(in);
  if (to >= 0) {
    close(to);
  }
  if (err >= 0) {
    close(err);
  }
  return pid;
}

int program_finish(pid_t pid)
{
  int status = 0;

  ck_assert_int_eq(waitpid(pid, &status, 0), pid);
  read_file("err", program_err);
  if (out_is_file) {
    read_file("out", program_out);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int program_run(const char *word, ...)
{
  char *arguments[PROGRAM_MAX_ARGUMENTS] = {(char *)"keyroute"};
  va_list words;
  int count = 1;
  int in = open(program_file("in"), O_RDONLY | O_CLOEXEC);

  va_start(words, word);
  for (; word != NULL && count < PROGRAM_MAX_ARGUMENTS - 1; word = va_arg(words, const char *)) {
    arguments[count++] = (char *)(size_t)word;
  }
  va_end(words);
  if (in < 0) {
    in = open("/dev/null", O_RDONLY | O_CLOEXEC);
  }
  return program_finish(program_start(in, -1, -1, arguments));
}

/* ---- What it printed ------------------------------------------------------------------------ */

void program_assert_begins(const char *text, const char *words)
{
  ck_assert_msg(strncmp(text, words, strlen(words)) == 0, "%.1000s", text);
}

void program_assert_has(const char *text, const char *words)
{
  ck_assert_msg(strstr(text, words) != NULL, "\"%.1000s\" lacks \"%s\"", text, words);
}

void program_assert_usage(int status, const char *words)
{
  ck_assert_msg(status == 2, "exit %d: %.1000s", status, program_err);
  ck_assert_str_eq(program_out, "");
  program_assert_begins(program_err, "keyroute: ");
  program_assert_has(program_err, words);
  ck_assert_msg(program_count_lines(program_err) == 1, "more than one line: %.1000s", program_err);
}

size_t program_count_lines(const char *text)
{
  size_t lines = 0;

  for (; *text != '\0'; text++) {
    lines += *text == '\n';
  }
  return lines;
}
