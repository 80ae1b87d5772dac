/*
 * Which cluster is meant, and a connection to it: what all commands begin with.
 *
 * Files come first, then the environment's user, then the options of the command line in the order
 * they were given. Nothing is sent to anybody: what is wrong here is wrong usage.
 */
#include "tools/connect.h"

#include "tools/cli.h"
#include "tools/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_log(void *payload, enum keyroute_log_level level, const char *text)
{
  static const char *const names[] = {"error", "warning", "info", "debug"};

  (void)payload;
  cli_complain("%s: %s", names[level], text);
}

int connect_fail(int error, const struct keyroute_detail *detail)
{
  const char *message = detail->message[0] != '\0' ? detail->message : keyroute_strerror(error);

  cli_complain("%s: %s", keyroute_errname(error), message);
  return error == KEYROUTE_E_INVALID_ARGUMENT ? CLI_USAGE : CLI_TROUBLE;
}

/* Say what a wrong option is, not which property it stands for: the library names that in front. */
static int fail_setting(const struct setting *setting, int error,
                        const struct keyroute_detail *detail)
{
  static const char front[] = "property ";
  const char *message = detail->message[0] != '\0' ? detail->message : keyroute_strerror(error);
  size_t name_len = strlen(setting->name);
  const char *name = message + strlen(front);

  if (strncmp(message, front, strlen(front)) == 0 && strncmp(name, setting->name, name_len) == 0) {
    const char *rest = name + name_len;

    if (strncmp(rest, " is ", 4) == 0 || strncmp(rest, ": ", 2) == 0) {
      message = strchr(rest + 1, ' ') + 1;
    }
  }
  cli_complain("-%c%s%s: %s", setting->option, setting->option == 'D' ? " " : "",
               setting->option == 'D' ? setting->name : "", message);
  return error == KEYROUTE_E_INVALID_ARGUMENT ? CLI_USAGE : CLI_TROUBLE;
}

static void tell_read(const struct line *line, const char *path)
{
  if (line->verbose > 0) {
    cli_complain("info: read %s", path);
  }
}

/* The library reads $HBASE_CONF_DIR/hbase-site.xml where it exists. */
static void tell_environment(const struct line *line)
{
  const char *folder = getenv("HBASE_CONF_DIR");
  char path[4096];

  if (folder != NULL && folder[0] != '\0') {
    snprintf(path, sizeof(path), "%s/hbase-site.xml", folder);
    if (access(path, F_OK) == 0) {
      tell_read(line, path);
    }
  }
}

/* The files, then the environment's user, who is above them. */
static int read_configs(const struct line *line, struct keyroute_options *options,
                        struct keyroute_detail *detail)
{
  const char *user = getenv("HADOOP_USER_NAME");
  int error = 0;

  if (line->config_count == 0) {
    error = keyroute_options_read_environment(options, detail);
    if (error == 0) {
      tell_environment(line);
    }
    return error;
  }
  for (size_t i = 0; i < line->config_count && error == 0; i++) {
    error = keyroute_options_read_file(options, line->configs[i], detail);
    if (error == 0) {
      tell_read(line, line->configs[i]);
    }
  }
  if (error == 0 && user != NULL && user[0] != '\0') {
    error = keyroute_options_set(options, "keyroute.user", user, detail);
  }
  return error;
}

static bool is_layout_range(const struct line *line, const struct keyroute_options *options)
{
  const char *layout = keyroute_options_get(options, "keyroute.layout");
  bool good = layout != NULL && strcmp(layout, "range") == 0;

  if (!good) {
    const char *command = options_command(line->command);

    cli_complain("%s: layout %s has no ranges. Try 'keyroute %s --help'.", command,
                 layout != NULL ? layout : "-", command);
  }
  return good;
}

/* Returns an exit status, or -1 for go on. */
static int configure(const struct line *line, struct keyroute_options *options,
                     struct keyroute_detail *detail)
{
  int error = read_configs(line, options, detail);

  if (error != 0) {
    return connect_fail(error, detail);
  }
  if (line->command >= COMMAND_RANGE_INIT) {
    error = keyroute_options_set_layout(options, "range");
    if (error != 0) {
      return connect_fail(error, detail);
    }
  }
  for (size_t i = 0; i < line->setting_count; i++) {
    const struct setting *setting = &line->settings[i];

    error = keyroute_options_set(options, setting->name, setting->value, detail);
    if (error != 0) {
      return fail_setting(setting, error, detail);
    }
  }
  if (line->command >= COMMAND_RANGE_INIT && !is_layout_range(line, options)) {
    return CLI_USAGE;
  }
  if (line->verbose > 0) {
    keyroute_options_set_log(options, line->verbose > 1 ? KEYROUTE_LOG_DEBUG : KEYROUTE_LOG_INFO,
                             print_log, NULL);
  }
  return -1;
}

int connect_open(struct keyroute_connection **out, const struct line *line)
{
  struct keyroute_options *options = NULL;
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  int status = -1;
  int error = keyroute_options_new(&options, NULL);

  if (error == 0) {
    status = configure(line, options, &detail);
  }
  if (error == 0 && status == -1) {
    error = keyroute_open(out, options, &detail);
  }
  if (error != 0) {
    status = connect_fail(error, &detail);
  }
  keyroute_options_free(options);
  keyroute_detail_clear(&detail);
  return status;
}

const char *connect_canonical(const char *table)
{
  static const char front[] = "default:";

  return strncmp(table, front, strlen(front)) == 0 ? table + strlen(front) : table;
}
