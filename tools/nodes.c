/*
 * Which nodes does the command line name? "1=127.0.0.1:8086,2=[::1]:8086,3": each by its number,
 * and by where it is, unless the directory knows that.
 */
#include "tools/nodes.h"

#include "tools/cli.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Read "HOST:PORT", and end the host with a NUL. */
static const char *read_place(struct keyroute_range_node *node, char *text)
{
  char *colon = strrchr(text, ':');
  long long port = 0;

  if (colon == NULL || !cli_number(&port, colon + 1, 1, 65535)) {
    return "a port is 1 to 65535, behind a colon";
  }
  *colon = '\0';
  if (text[0] == '[' && colon - text > 2 && colon[-1] == ']') {
    colon[-1] = '\0';
    text++;
  } else if (strchr(text, ':') != NULL) {
    return "an IPv6 address is written in brackets";
  }
  if (text[0] == '\0') {
    return "a host is empty";
  }
  node->host = text;
  node->port = (int)port;
  return NULL;
}

static const char *read_node(struct keyroute_range_node *node, char *text, bool placed)
{
  char *equals = strchr(text, '=');
  long long id = 0;

  if (equals != NULL) {
    *equals = '\0';
  } else if (placed) {
    return "a node is written ID=HOST:PORT";
  }
  if (!cli_number(&id, text, 0, LLONG_MAX)) {
    return "a node's ID is a number";
  }
  node->id = (uint64_t)id;
  return equals != NULL ? read_place(node, equals + 1) : NULL;
}

const char *nodes_read(struct nodes *nodes, const char *text, bool placed)
{
  const char *reason = NULL;

  nodes->text = cli_copy(text);
  for (char *at = nodes->text; at != NULL && reason == NULL;) {
    char *comma = strchr(at, ',');

    if (comma != NULL) {
      *comma = '\0';
    }
    nodes->list = cli_realloc(nodes->list, (nodes->count + 1) * sizeof(*nodes->list));
    nodes->list[nodes->count] = (struct keyroute_range_node){0, NULL, 0};
    reason = read_node(&nodes->list[nodes->count++], at, placed);
    at = comma != NULL ? comma + 1 : NULL;
  }
  return reason;
}

void nodes_free(struct nodes *nodes)
{
  free(nodes->list);
  free(nodes->text);
  *nodes = (struct nodes){NULL, 0, NULL};
}
