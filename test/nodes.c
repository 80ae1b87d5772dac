/* Drives real Bigtable nodes from a C test.  nodes.h says what each function does; fixture.c does
 * it.  Only libc is used, none of the library under test.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* strsep */
#endif
#include "test/nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct nodes {
  struct fixture *fixture;
  char addresses[NODES_MAX * 24];
  const char *each[NODES_MAX]; /* in addresses */
};

static void find_folder(char *folder, size_t size)
{
  const char *told = getenv("KEYROUTE_NODES_DIR");
  const char *source = getenv("srcdir");

  if (told != NULL) {
    snprintf(folder, size, "%s", told);
  } else {
    snprintf(folder, size, "%s/test/nodes", source != NULL ? source : ".");
  }
}

/* Cut the list of addresses into its parts. */
static bool read_ready(struct nodes *nodes, int count)
{
  if (!fixture_field(nodes->fixture, nodes->addresses, sizeof(nodes->addresses), "nodes")) {
    return false;
  }
  char *rest = nodes->addresses;
  for (int i = 0; i < count; i++) {
    nodes->each[i] = strsep(&rest, ",");
    if (nodes->each[i] == NULL) {
      return false;
    }
  }
  return true;
}

enum fixture_result nodes_start(struct nodes **out, int count)
{
  char folder[4000];
  char number[16];
  struct nodes *nodes = calloc(1, sizeof(*nodes));

  if (nodes == NULL || count > NODES_MAX) {
    fprintf(stderr, "nodes: out of memory, or too many\n");
    abort();
  }
  find_folder(folder, sizeof(folder));
  snprintf(number, sizeof(number), "%d", count);
  enum fixture_result result =
      fixture_start(&nodes->fixture, &(struct fixture_program){
                                         .name = "Bigtable nodes are",
                                         .folder = folder,
                                         .folder_variable = "KEYROUTE_NODES_DIR",
                                         .arguments = {"--nodes", number},
                                     });
  if (result == FIXTURE_OK && !read_ready(nodes, count)) {
    fprintf(stderr, "nodes: the READY line lacks something\n");
    result = FIXTURE_FAILED;
  }
  if (result != FIXTURE_OK) {
    nodes_stop(nodes);
    return result;
  }
  *out = nodes;
  return FIXTURE_OK;
}

void nodes_stop(struct nodes *nodes)
{
  if (nodes != NULL) {
    fixture_stop(nodes->fixture);
    free(nodes);
  }
}

int nodes_command(struct nodes *nodes, char **reply, const char *format, ...)
{
  va_list arguments;

  va_start(arguments, format);
  int result = fixture_command(nodes->fixture, reply, format, arguments);
  va_end(arguments);
  return result;
}

const char *nodes_answer(const struct nodes *nodes)
{
  return fixture_answer(nodes->fixture);
}

const char *nodes_address(const struct nodes *nodes, int node)
{
  return nodes->each[node];
}
