/*
 * keyroute range: make and change a range directory. (range_chain.c shows one.)
 *
 *  1. What a command has made is printed: the ranges that are there now, in the order of keys.
 *  2. A change that is refused, or that was not made whole, is exit status 1: the command may be
 *     run again as it was. The command line is wrong (2) only where that shows without asking
 *     anybody.
 */
#include "keyroute/range.h"

#include "tools/cli.h"
#include "tools/connect.h"
#include "tools/line.h"
#include "tools/nodes.h"
#include "tools/range_chain.h"
#include "tools/show_range.h"
#include "tools/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Changes --------------------------------------------------------------------------------- */

/* What a command line says of nodes, and of the key. */
struct words {
  struct nodes nodes, right_nodes, meta1, meta2;
  struct row key;
};

static int read_nodes(const struct line *line, struct nodes *out, const char *text,
                      const char *option, bool placed)
{
  const char *reason = text != NULL ? nodes_read(out, text, placed) : NULL;

  if (reason == NULL) {
    return -1;
  }
  cli_complain("%s %s: %s. Try 'keyroute %s --help'.", option, text, reason,
               options_command(line->command));
  return CLI_USAGE;
}

static int read_key(const struct line *line, struct words *words)
{
  if (line->row_count == 0) {
    return -1;
  }
  words->key = row_parse(line->rows[0], (struct row_rules){.hex = line->output.hex});
  if (words->key.reason != NULL) {
    cli_complain("KEY %s: %s. Try 'keyroute %s --help'.", line->rows[0], words->key.reason,
                 options_command(line->command));
    return CLI_USAGE;
  }
  return -1;
}

static int need(const struct line *line, bool given, const char *option)
{
  if (given) {
    return -1;
  }
  cli_complain("no %s is given. Try 'keyroute %s --help'.", option, options_command(line->command));
  return CLI_USAGE;
}

/* Is all there that the command needs? */
static int check_needs(const struct line *line)
{
  bool is_map = line->table != NULL && strcmp(line->table, "map") == 0;
  bool has_id = line->ids[0] != 0;

  switch (line->command) {
  case COMMAND_RANGE_SPLIT:
  case COMMAND_RANGE_MERGE:
    return is_map ? need(line, has_id, "--id") : -1;
  case COMMAND_RANGE_MOVE:
  case COMMAND_RANGE_INIT:
    return need(line, line->nodes != NULL, "--node");
  default:
    return -1;
  }
}

static int read_words(const struct line *line, struct words *words)
{
  bool placed = line->command == COMMAND_RANGE_INIT;
  int status = check_needs(line);

  if (status == -1) {
    status = read_nodes(line, &words->nodes, line->nodes, "--node", placed);
  }
  if (status == -1) {
    status = read_nodes(line, &words->right_nodes, line->right_nodes, "--right-node", false);
  }
  if (status == -1) {
    status = read_nodes(line, &words->meta1, line->meta1, "--meta1", true);
  }
  if (status == -1) {
    status = read_nodes(line, &words->meta2, line->meta2, "--meta2", true);
  }
  return status == -1 ? read_key(line, words) : status;
}

static void free_words(struct words *words)
{
  nodes_free(&words->nodes);
  nodes_free(&words->right_nodes);
  nodes_free(&words->meta1);
  nodes_free(&words->meta2);
  free(words->key.data);
}

static int init(struct keyroute_ranges **out, struct keyroute_connection *conn,
                const struct line *line, const struct words *words, struct keyroute_detail *detail)
{
  const struct nodes *all = &words->nodes;
  const struct nodes *meta1 = words->meta1.count > 0 ? &words->meta1 : all;
  const struct nodes *meta2 = words->meta2.count > 0 ? &words->meta2 : all;
  struct keyroute_range_init what = {
      .size = sizeof(what),
      .meta1 = meta1->list,
      .meta1_count = meta1->count,
      .meta2 = meta2->list,
      .meta2_count = meta2->count,
      .map = all->list,
      .map_count = all->count,
      .id = line->ids[0] != 0 ? line->ids[0] : 2,
      .families = line->families,
      .family_count = line->family_count,
  };

  return keyroute_range_init(out, conn, &what, &line->call, detail);
}

static int change(struct keyroute_ranges **out, struct keyroute_connection *conn,
                  const struct line *line, const struct words *words,
                  struct keyroute_detail *detail)
{
  struct keyroute_range_change what = {
      .size = sizeof(what),
      .id = line->ids[0],
      .right_id = line->ids[1],
      .nodes = words->nodes.list,
      .node_count = words->nodes.count,
      .right_nodes = words->right_nodes.list,
      .right_node_count = words->right_nodes.count,
  };
  struct keyroute_bytes key = row_bytes(&words->key);

  switch (line->command) {
  case COMMAND_RANGE_SPLIT:
    return keyroute_range_split(out, conn, line->table, key, &what, &line->call, detail);
  case COMMAND_RANGE_MERGE:
    return keyroute_range_merge(out, conn, line->table, key, &what, &line->call, detail);
  case COMMAND_RANGE_MOVE:
    return keyroute_range_move(out, conn, line->table, key, &what, &line->call, detail);
  default:
    return init(out, conn, line, words, detail);
  }
}

static int print_made(const struct line *line, const struct keyroute_ranges *ranges)
{
  show_range_header(&line->output);
  for (size_t i = 0; i < keyroute_ranges_count(ranges); i++) {
    show_range(&line->output, ranges, i, "range");
  }
  return CLI_FOUND;
}

static int run_change(struct keyroute_connection *conn, const struct line *line,
                      const struct words *words)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct keyroute_ranges *ranges = NULL;
  int error = change(&ranges, conn, line, words, &detail);
  int status = error == 0 ? print_made(line, ranges) : show_range_failure(line, error, &detail);

  keyroute_ranges_free(ranges);
  keyroute_detail_clear(&detail);
  return status;
}

/* ---- The command ----------------------------------------------------------------------------- */

static const struct {
  const char *name;
  enum command command;
  const char *about;
} actions[] = {
    {"init", COMMAND_RANGE_INIT, "make a directory"},
    {"split", COMMAND_RANGE_SPLIT, "split a range in two"},
    {"merge", COMMAND_RANGE_MERGE, "merge a range with the one behind it"},
    {"move", COMMAND_RANGE_MOVE, "move a range to other nodes"},
    {"show", COMMAND_RANGE_SHOW, "list ranges, and what is wrong with them"},
};
enum { ACTIONS = sizeof(actions) / sizeof(actions[0]) };

static void print_help(void)
{
  puts("Usage: keyroute range ACTION [OPTION]... [ARGUMENT]...\n"
       "Make, change and show a range directory, see keyroute_range(7).\n"
       "\n"
       "Actions:");
  for (size_t i = 0; i < ACTIONS; i++) {
    printf("  %-10s  %s\n", actions[i].name, actions[i].about);
  }
  puts("\n'keyroute range ACTION --help' for an action's options.");
}

static int run_line(struct line *line, struct words *words)
{
  struct keyroute_connection *conn = NULL;
  int status = read_words(line, words);

  if (status == -1) {
    status = connect_open(&conn, line);
  }
  if (status == -1) {
    status = line->command == COMMAND_RANGE_SHOW ? range_chain_show(conn, line)
                                                 : run_change(conn, line, words);
  }
  keyroute_close(conn);
  return status;
}

static int run_action(enum command command, int argc, char **argv)
{
  struct words words = {.key.len = 0};
  struct line line;
  int status = line_parse(&line, command, argc, argv);

  if (status == -1) {
    status = run_line(&line, &words);
  }
  free_words(&words);
  line_free(&line);
  return status;
}

int cmd_range(int argc, char **argv)
{
  const char *word = argc > 1 ? argv[1] : "";

  for (size_t i = 0; i < ACTIONS; i++) {
    if (strcmp(word, actions[i].name) == 0) {
      return run_action(actions[i].command, argc - 1, argv + 1);
    }
  }
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
    print_help();
    return CLI_FOUND;
  }
  if (word[0] == '\0') {
    cli_complain("range: which action? Try 'keyroute range --help'.");
  } else {
    cli_complain("range: no such action: %s. Try 'keyroute range --help'.", word);
  }
  return CLI_USAGE;
}
