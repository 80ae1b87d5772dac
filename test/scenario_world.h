#ifndef KR_TEST_SCENARIO_WORLD_H
#define KR_TEST_SCENARIO_WORLD_H

#include "test/fake_server.h"
#include "test/scenario_line.h"

/* The world around the client in a scenario: server processes by name, the catalog they hold, and
 * where the root is. */
struct scenario_world;

/* A server process: one that listens, or only a name in catalog rows. */
struct scenario_place {
  char name[32];
  char host[256];
  int port;
  int64_t start_code;
  struct fake_server *server;   /* NULL = only a name */
  struct fake_black_hole *hole; /* NULL = none */
};

/* Has the root moved to that place (NULL = there is none)? tell = the registry says so by
 * itself. */
typedef void (*scenario_root_cb)(void *arg, const char *root, bool tell);

/* A kind of servers that the world itself knows nothing of, with statements of their own: made and
 * freed with the world. play  false = it is none of them. */
struct scenario_kind {
  void *(*start)(void);
  void (*stop)(void *state);
  bool (*play)(void *state, struct scenario_world *world, struct scenario_line *line);
};

/* Have worlds know it, from now on. */
void scenario_world_extend(const struct scenario_kind *kind);

/* A place on loopback without a start code, named by the line's second word. */
void scenario_world_add(struct scenario_world *world, struct scenario_line *line, int port);

struct scenario_world *scenario_world_new(scenario_root_cb root_moved, void *arg);
void scenario_world_free(struct scenario_world *world);

/* Play a statement about the world; false = it is none. Any thread, one at a time for one server;
 * places are made before there are further threads. */
bool scenario_world_play(struct scenario_world *world, struct scenario_line *line);

/* The place of that name; a line that names none fails. */
const struct scenario_place *scenario_world_place(const struct scenario_world *world,
                                                  const struct scenario_line *line,
                                                  const char *name);

/* "host:port:startcode" of the root at the beginning: the first place unless `root` said otherwise;
 * NULL = none. */
const char *scenario_world_root(struct scenario_world *world);

/* What all servers saw, added up. */
struct fake_counts scenario_world_counts(const struct scenario_world *world);

#endif
