/*
 * A range directory in a scenario: nodes that are places as servers are, tables on them.
 *
 *  1. An index table is on one node; where that is, is remembered by its id.
 *  2. Nothing but what a statement says is done: a range that moves leaves its old table behind,
 *     and its old row, as far as the new one has another key.
 *
 * For tests: statements that cannot be played end the test.
 */
#include "test/scenario_directory.h"

#include "lib/bytes.h"
#include "test/fake_bigtable.h"
#include "test/must.h"

#include <stdlib.h>
#include <string.h>

enum { IDS = 64, REPLICAS_MAX = 3, KEY_MAX = 200 };

struct directory {
  struct fake_bigtable *nodes; /* all there can be; which have a name is the world's matter */
  char names[FAKE_BIGTABLE_NODES][32];
  int count;
  int homes[IDS];                      /* where a range's row was last said to be on, by id */
  bool made[FAKE_BIGTABLE_NODES][IDS]; /* is there such a table? */
};

static void *start(void)
{
  return must(calloc(1, sizeof(struct directory)));
}

static void stop(void *state)
{
  struct directory *directory = state;

  if (directory->nodes != NULL) {
    fake_bigtable_stop(directory->nodes);
  }
  free(directory);
}

/* ---- Nodes ---- */

/* node NAME */
static void play_node(struct directory *directory, struct scenario_world *world,
                      struct scenario_line *line)
{
  const char *name = scenario_line_word(line, 1);

  if (directory->nodes == NULL) {
    directory->nodes = fake_bigtable_start(FAKE_BIGTABLE_NODES);
  }
  if (directory->count == FAKE_BIGTABLE_NODES || strlen(name) >= sizeof(directory->names[0])) {
    scenario_line_fail(line, "too many nodes, or too long a name");
  }
  memcpy(directory->names[directory->count], name, strlen(name) + 1);
  scenario_world_add(world, line, fake_bigtable_port(directory->nodes, directory->count));
  directory->count++;
}

static int find_node(const struct directory *directory, const struct scenario_line *line,
                     const char *name)
{
  for (int i = 0; name != NULL && i < directory->count; i++) {
    if (strcmp(directory->names[i], name) == 0) {
      return i;
    }
  }
  scenario_line_fail(line, "there is no node named %s", name != NULL ? name : "so");
}

/* ---- Ranges ---- */

/* What a row about a range of that table begins with; 0 = meta1, which has no row. */
static int level_of(const struct scenario_line *line, const char *table)
{
  static const char *const tables[] = {"meta1", "meta2", "map"};
  int level = 0;

  while (strcmp(tables[level], table) != 0) {
    if (++level == 3) {
      scenario_line_fail(line, "%s is no table of a directory", table);
    }
  }
  return level;
}

/* key=ID; below IDS. */
static uint64_t read_id(struct scenario_line *line, const char *key, int64_t fallback)
{
  int64_t id = scenario_line_number(line, key, fallback);

  if (id < 1 || id >= IDS) {
    scenario_line_fail(line, "%s is to be 1 to %d", key, IDS - 1);
  }
  return (uint64_t)id;
}

static void make_table(struct directory *directory, int node, uint64_t id)
{
  if (!directory->made[node][id]) {
    fake_bigtable_make(directory->nodes, node, id);
    directory->made[node][id] = true;
  }
}

static void fill_replicas(struct directory *directory, struct scenario_line *line,
                          struct kr_descriptor_replica *replicas, struct kr_descriptor *range)
{
  static const char *const keys[REPLICAS_MAX] = {"on", "r1", "r2"};

  for (int i = 0; i < REPLICAS_MAX; i++) {
    const char *name = scenario_line_text(line, keys[i]);

    if (name != NULL || i == 0) {
      int node = find_node(directory, line, name);

      replicas[range->replica_count++] = (struct kr_descriptor_replica){
          .node_id = (uint64_t)node + 1,
          .host = keyroute_string("127.0.0.1"),
          .port = (uint16_t)fake_bigtable_port(directory->nodes, node),
      };
      make_table(directory, node, range->id);
    }
  }
}

/* range TABLE "start" "end" id=N gen=N on=NAME [r1=NAME] [r2=NAME] [in=ID]: its tables, and its row
 * in the index. */
static void play_range(struct directory *directory, struct scenario_world *world,
                       struct scenario_line *line)
{
  int level = level_of(line, scenario_line_word(line, 1));
  struct kr_descriptor_replica replicas[REPLICAS_MAX];
  struct kr_descriptor range = {
      .id = read_id(line, "id", level + 1),
      .generation = (uint64_t)scenario_line_number(line, "gen", 1),
      .start_key = scenario_line_bytes(line, 2),
      .end_key = scenario_line_bytes(line, 3),
      .replicas = replicas,
  };

  (void)world;
  fill_replicas(directory, line, replicas, &range);
  directory->homes[range.id] = (int)replicas[0].node_id - 1;
  if (level > 0) {
    uint64_t index = read_id(line, "in", level);

    fake_bigtable_publish(directory->nodes, directory->homes[index], index, level, &range);
  }
}

/* Write, or delete, what the index has of a range. */
static void put_row(struct directory *directory, struct scenario_line *line,
                    struct keyroute_bytes value)
{
  int level = level_of(line, scenario_line_word(line, 1));
  struct keyroute_bytes start = scenario_line_bytes(line, 2);
  uint64_t index = read_id(line, "in", level);
  char key[KEY_MAX];

  if (start.len + 1 > sizeof(key)) {
    scenario_line_fail(line, "too long a key");
  }
  key[0] = (char)level;
  memcpy(key + 1, start.data, start.len);
  fake_bigtable_put(directory->nodes, directory->homes[index], index, kr_bytes(key, start.len + 1),
                    "r", "d", value);
}

/* unlist TABLE "start" [in=ID]: the row goes. */
static void play_unlist(struct directory *directory, struct scenario_world *world,
                        struct scenario_line *line)
{
  (void)world;
  put_row(directory, line, kr_bytes(NULL, 0));
}

/* scrawl TABLE "start" "value" [in=ID]: the row holds this. */
static void play_scrawl(struct directory *directory, struct scenario_world *world,
                        struct scenario_line *line)
{
  (void)world;
  put_row(directory, line, scenario_line_bytes(line, 3));
}

/* ---- Tables ---- */

/* gone id=N on=NAME */
static void play_gone(struct directory *directory, struct scenario_world *world,
                      struct scenario_line *line)
{
  int node = find_node(directory, line, scenario_line_text(line, "on"));
  uint64_t id = read_id(line, "id", 0);

  (void)world;
  fake_bigtable_drop(directory->nodes, node, id);
  directory->made[node][id] = false;
}

/* store "row" "value" id=N on=NAME: f:q of it. */
static void play_store(struct directory *directory, struct scenario_world *world,
                       struct scenario_line *line)
{
  (void)world;
  fake_bigtable_put(directory->nodes, find_node(directory, line, scenario_line_text(line, "on")),
                    read_id(line, "id", 0), scenario_line_bytes(line, 1), "f", "q",
                    scenario_line_bytes(line, 2));
}

/* ---- Statements ---- */

static bool play(void *state, struct scenario_world *world, struct scenario_line *line)
{
  static const struct {
    const char *name;
    void (*play)(struct directory *directory, struct scenario_world *world,
                 struct scenario_line *line);
  } statements[] = {{"gone", play_gone},     {"node", play_node},   {"range", play_range},
                    {"scrawl", play_scrawl}, {"store", play_store}, {"unlist", play_unlist}};
  const char *name = scenario_line_word(line, 0);

  for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
    if (strcmp(statements[i].name, name) == 0) {
      statements[i].play(state, world, line);
      return true;
    }
  }
  return false;
}

const struct scenario_kind scenario_directory = {.start = start, .stop = stop, .play = play};
