/*
 * keyroute: the command line. Finds the command and hands over.
 *
 * The program is a client of keyroute.h and of nothing else of the library.
 *
 *  1. Answers go to stdout, trouble to stderr; the exit statuses are those of cli.h.
 *  2. A closed stdout must not become the number of a socket: standard descriptors that are missing
 *     are filled before anything else is opened.
 *  3. SIGPIPE is ignored, so that a reader who leaves becomes an error of a write. It ends the
 *     program without a word, since that reader has had enough; any other error of a write is told.
 *     SIGINT keeps its default: it ends the program at once; commands flush before they wait.
 */
#include "keyroute/keyroute.h"

#include "tools/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct command {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *about;
};

static const struct command commands[] = {
    {"locate", cmd_locate, "which server holds these rows"},
    {"get", cmd_get, "what these rows hold, read from their servers"},
    {"group", cmd_group, "how these rows are spread over servers"},
    {"regions", cmd_regions, "the regions of a table, and what is wrong with them"},
    {"range", cmd_range, "make, change and show a range directory"},
};

static void print_help(void)
{
  puts("Usage: keyroute COMMAND [OPTION]... [ARGUMENT]...\n"
       "Tell which server holds a key, in a store whose key space is cut into regions.\n"
       "\n"
       "Commands:");
  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
    printf("  %-10s  %s\n", commands[i].name, commands[i].about);
  }
  puts("\n"
       "Options:\n"
       "  -h, --help     print this help and exit; 'keyroute COMMAND --help' for a command's\n"
       "  -V, --version  print the version and exit\n"
       "\n"
       "Exit status: 0 all found, 1 some not found, 2 wrong usage, 3 nothing could be asked.");
}

/* Fill descriptor numbers 0 and 2 if they are closed; false if stdout is. */
static bool prepare_descriptors(void)
{
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) {
      continue;
    }
    if (fd == STDOUT_FILENO) {
      return false;
    }
    /* The lowest free number is the one that is missing. */
    if (open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) < 0) {
      return false;
    }
  }
  return true;
}

static int run(int argc, char **argv)
{
  const char *word = argc > 1 ? argv[1] : "";

  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
    if (strcmp(word, commands[i].name) == 0) {
      return commands[i].run(argc - 1, argv + 1);
    }
  }
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
    print_help();
    return CLI_FOUND;
  }
  if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
    printf("keyroute %s\n", keyroute_version());
    return CLI_FOUND;
  }
  if (word[0] == '\0') {
    cli_complain("which command? Try 'keyroute --help'.");
  } else {
    cli_complain("no such %s: %s. Try 'keyroute --help'.", word[0] == '-' ? "option" : "command",
                 word);
  }
  return CLI_USAGE;
}

int main(int argc, char **argv)
{
  struct sigaction ignore = {.sa_handler = SIG_IGN};

  if (!prepare_descriptors()) {
    cli_complain("standard output is closed");
    return CLI_TROUBLE;
  }
  sigaction(SIGPIPE, &ignore, NULL);
  int status = run(argc, argv);
  int error = cli_flush();
  if (error != 0) {
    if (status != CLI_TROUBLE && error != EPIPE) {
      cli_complain("cannot write the answers: %s", strerror(error));
    }
    return CLI_TROUBLE;
  }
  return status;
}
