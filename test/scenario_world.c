/*
 * The world around the client in a scenario.
 *
 *  1. Places stand in an array that does not change once the client has begun: threads that play
 *     what happens later only read it. The scripted servers have locks of their own.
 *  2. A statement about the catalog goes to every server that listens, unless at=NAME says which: a
 *     cluster has one catalog, and a server that was left behind holds an old one.
 *  3. Replicas are written cell by cell (r1=NAME), so that each may be on a server of its own,
 *     have no server, or be half there.
 *
 * For tests: no memory and statements that cannot be played end the test.
 */
#include "test/scenario_world.h"

#include "test/loopback.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES_MAX = 16, REPLICAS_MAX = 8 };

struct scenario_world {
  void *more; /* the other kind's state; NULL = none */
  struct scenario_place places[PLACES_MAX];
  size_t count;
  scenario_root_cb root_moved;
  void *arg;
  char root[320];
  bool root_set;
};

static const struct scenario_kind *other_kind;

void scenario_world_extend(const struct scenario_kind *kind)
{
  other_kind = kind;
}

struct scenario_world *scenario_world_new(scenario_root_cb root_moved, void *arg)
{
  struct scenario_world *world = calloc(1, sizeof(*world));

  if (world == NULL) {
    abort();
  }
  world->more = other_kind != NULL ? other_kind->start() : NULL;
  world->root_moved = root_moved;
  world->arg = arg;
  return world;
}

void scenario_world_free(struct scenario_world *world)
{
  for (size_t i = 0; i < world->count; i++) {
    fake_server_free(world->places[i].server);
    if (world->places[i].hole != NULL) {
      fake_black_hole_close(world->places[i].hole);
    }
  }
  if (world->more != NULL) {
    other_kind->stop(world->more);
  }
  free(world);
}

/* ---- Places --------------------------------------------------------------------------------- */

static struct scenario_place *find_place(const struct scenario_world *world,
                                         const struct scenario_line *line, const char *name)
{
  for (size_t i = 0; i < world->count; i++) {
    if (strcmp(world->places[i].name, name) == 0) {
      return (struct scenario_place *)&world->places[i];
    }
  }
  scenario_line_fail(line, "there is no server named %s", name);
}

const struct scenario_place *scenario_world_place(const struct scenario_world *world,
                                                  const struct scenario_line *line,
                                                  const char *name)
{
  return find_place(world, line, name);
}

static struct fake_server *find_server(const struct scenario_world *world,
                                       struct scenario_line *line)
{
  const char *name = scenario_line_word(line, 1);
  struct scenario_place *place = find_place(world, line, name);

  if (place->server == NULL) {
    scenario_line_fail(line, "%s does not listen", name);
  }
  return place->server;
}

static struct scenario_place *add_place(struct scenario_world *world, struct scenario_line *line)
{
  struct scenario_place *place = &world->places[world->count];

  if (world->count == PLACES_MAX) {
    scenario_line_fail(line, "too many servers");
  }
  world->count++;
  snprintf(place->name, sizeof(place->name), "%s", scenario_line_word(line, 1));
  snprintf(place->host, sizeof(place->host), "127.0.0.1");
  place->start_code = scenario_line_number(line, "code", 1000 + (int64_t)world->count);
  return place;
}

void scenario_world_add(struct scenario_world *world, struct scenario_line *line, int port)
{
  struct scenario_place *place = add_place(world, line);

  place->port = port;
  place->start_code = 0;
}

static void play_server(struct scenario_world *world, struct scenario_line *line)
{
  struct scenario_place *place = add_place(world, line);

  place->server = fake_server_start(0);
  place->port = fake_server_port(place->server);
}

/* place NAME host=H port=N; or the next process on another one's port: place NAME like=OTHER. */
static void play_place(struct scenario_world *world, struct scenario_line *line)
{
  struct scenario_place *place = add_place(world, line);
  const char *like = scenario_line_text(line, "like");
  const char *host = scenario_line_text(line, "host");

  place->port = (int)scenario_line_number(line, "port", 16020);
  if (like != NULL) {
    const struct scenario_place *other = find_place(world, line, like);

    snprintf(place->host, sizeof(place->host), "%s", other->host);
    place->port = other->port;
  } else if (host != NULL) {
    snprintf(place->host, sizeof(place->host), "%s", host);
  }
}

static void play_closed_port(struct scenario_world *world, struct scenario_line *line)
{
  add_place(world, line)->port = closed_port();
}

static void play_black_hole(struct scenario_world *world, struct scenario_line *line)
{
  struct scenario_place *place = add_place(world, line);

  place->hole = fake_black_hole_open(&place->port);
}

/* ---- The root ------------------------------------------------------------------------------- */

static void print_root(struct scenario_world *world, const struct scenario_place *place)
{
  char code[24] = "";

  if (place->start_code != 0) {
    snprintf(code, sizeof(code), ":%" PRId64, place->start_code);
  }
  snprintf(world->root, sizeof(world->root), "%s:%d%s", place->host, place->port, code);
  world->root_set = true;
}

static void play_root(struct scenario_world *world, struct scenario_line *line)
{
  const char *name = scenario_line_word(line, 1);
  bool tell = scenario_line_has(line, "tell");

  if (strcmp(name, "none") == 0) {
    world->root[0] = '\0';
    world->root_set = true;
  } else {
    print_root(world, find_place(world, line, name));
  }
  world->root_moved(world->arg, world->root[0] != '\0' ? world->root : NULL, tell);
}

const char *scenario_world_root(struct scenario_world *world)
{
  if (!world->root_set && world->count > 0) {
    print_root(world, &world->places[0]);
  }
  return world->root[0] != '\0' ? world->root : NULL;
}

/* ---- The catalog ---------------------------------------------------------------------------- */

typedef void (*server_fn)(struct fake_server *server, void *arg);

/* Do something to every server that listens, or to the one of at=NAME. */
static void each_server(struct scenario_world *world, struct scenario_line *line, server_fn fn,
                        void *arg)
{
  const char *only = scenario_line_text(line, "at");

  for (size_t i = 0; i < world->count; i++) {
    struct scenario_place *place = &world->places[i];

    if (place->server != NULL && (only == NULL || strcmp(only, place->name) == 0)) {
      fn(place->server, arg);
    }
  }
}

/* One cell, or its end. */
struct cell_change {
  struct keyroute_bytes row;
  char qualifier[64];
  struct keyroute_bytes value;
  bool remove;
};

static void change_cell(struct fake_server *server, void *arg)
{
  struct cell_change *change = arg;

  if (change->remove) {
    fake_server_delete_cell(server, change->row, "info", change->qualifier);
  } else {
    fake_server_put_cell(server, change->row, "info", change->qualifier, change->value);
  }
}

static void encode_number(uint8_t out[8], int64_t number)
{
  for (int i = 0; i < 8; i++) {
    out[i] = (uint8_t)((uint64_t)number >> (56 - 8 * i));
  }
}

/* Where one replica is written to be. */
struct replica {
  struct keyroute_bytes row;
  int number;
  const struct scenario_place *place; /* NULL = an empty server cell */
  int64_t seqnum;
};

static void put_replica(struct fake_server *server, void *arg)
{
  const struct replica *replica = arg;
  struct cell_change change = {.row = replica->row};
  char address[300] = "";
  uint8_t number[8];

  if (replica->place != NULL) {
    snprintf(address, sizeof(address), "%s:%d", replica->place->host, replica->place->port);
  }
  snprintf(change.qualifier, sizeof(change.qualifier), "server_%04X", (unsigned)replica->number);
  change.value = keyroute_string(address);
  change_cell(server, &change);
  snprintf(change.qualifier, sizeof(change.qualifier), "serverstartcode_%04X",
           (unsigned)replica->number);
  encode_number(number, replica->place != NULL ? replica->place->start_code : 0);
  change.value = (struct keyroute_bytes){number, sizeof(number)};
  change_cell(server, &change);
  snprintf(change.qualifier, sizeof(change.qualifier), "seqnumDuringOpen_%04X",
           (unsigned)replica->number);
  encode_number(number, replica->seqnum);
  change_cell(server, &change);
}

static void put_region(struct fake_server *server, void *arg)
{
  fake_server_put_region(server, arg);
}

static void delete_region(struct fake_server *server, void *arg)
{
  fake_server_delete_region(server, arg);
}

static void put_replicas(struct scenario_world *world, struct scenario_line *line,
                         const struct fake_region *region)
{
  struct replica replica = {.row = fake_region_name(region), .seqnum = region->seqnum};

  for (replica.number = 1; replica.number < REPLICAS_MAX; replica.number++) {
    char key[16];

    snprintf(key, sizeof(key), "r%d", replica.number);
    const char *name = scenario_line_text(line, key);

    if (name != NULL) {
      replica.place = strcmp(name, "none") == 0 ? NULL : find_place(world, line, name);
      each_server(world, line, put_replica, &replica);
    }
  }
  free((void *)(uintptr_t)replica.row.data);
}

static void play_region(struct scenario_world *world, struct scenario_line *line)
{
  const char *on = scenario_line_text(line, "on");
  const struct scenario_place *place = on != NULL ? find_place(world, line, on) : NULL;
  struct fake_region region = {
      .table = scenario_line_word(line, 1),
      .start = scenario_line_bytes(line, 2),
      .end = scenario_line_bytes(line, 3),
      .id = scenario_line_number(line, "id", 1),
      .host = place != NULL ? place->host : NULL,
      .port = place != NULL ? place->port : 0,
      .start_code = place != NULL ? place->start_code : 0,
      .split = scenario_line_has(line, "split"),
      .offline = scenario_line_has(line, "offline"),
      .seqnum = scenario_line_number(line, "seq", 1),
  };

  each_server(world, line, put_region, &region);
  put_replicas(world, line, &region);
}

/* regions TABLE count=N: bounds "00001" ... "N-1", the first and the last one open. */
static void play_regions(struct scenario_world *world, struct scenario_line *line)
{
  const struct scenario_place *place = find_place(world, line, scenario_line_text(line, "on"));
  int count = (int)scenario_line_number(line, "count", 1);
  char start[16], end[16];
  struct fake_region region = {
      .table = scenario_line_word(line, 1),
      .id = scenario_line_number(line, "id", 1),
      .host = place->host,
      .port = place->port,
      .start_code = place->start_code,
      .seqnum = 1,
  };
  bool is_gone = scenario_line_has(line, "gone");

  for (int i = 0; i < count; i++) {
    snprintf(start, sizeof(start), "%05d", i);
    snprintf(end, sizeof(end), "%05d", i + 1);
    region.start = keyroute_string(i > 0 ? start : "");
    region.end = keyroute_string(i + 1 < count ? end : "");
    each_server(world, line, is_gone ? delete_region : put_region, &region);
  }
}

/* The region that `TABLE "start" id=N` names, as far as its row key goes. */
static struct fake_region named_region(struct scenario_line *line)
{
  return (struct fake_region){
      .table = scenario_line_word(line, 1),
      .start = scenario_line_bytes(line, 2),
      .id = scenario_line_number(line, "id", 1),
  };
}

static void play_delete(struct scenario_world *world, struct scenario_line *line)
{
  struct fake_region region = named_region(line);

  each_server(world, line, delete_region, &region);
}

static void change_named_cell(struct scenario_world *world, struct scenario_line *line,
                              const char *qualifier, struct keyroute_bytes value, bool remove)
{
  struct fake_region region = named_region(line);
  struct cell_change change = {fake_region_name(&region), "", value, remove};

  snprintf(change.qualifier, sizeof(change.qualifier), "%s", qualifier);
  each_server(world, line, change_cell, &change);
  free((void *)(uintptr_t)change.row.data);
}

static void play_cell(struct scenario_world *world, struct scenario_line *line)
{
  change_named_cell(world, line, scenario_line_word(line, 3), scenario_line_bytes(line, 4), false);
}

static void play_no_cell(struct scenario_world *world, struct scenario_line *line)
{
  change_named_cell(world, line, scenario_line_word(line, 3), (struct keyroute_bytes){NULL, 0},
                    true);
}

static void play_row_cell(struct scenario_world *world, struct scenario_line *line)
{
  struct cell_change change = {scenario_line_bytes(line, 1), "", scenario_line_bytes(line, 3),
                               false};

  snprintf(change.qualifier, sizeof(change.qualifier), "%s", scenario_line_word(line, 2));
  each_server(world, line, change_cell, &change);
}

/* cells TABLE "start" id=N count=N [size=BYTES]: cells that mean nothing, "x00000" and so on. */
static void play_cells(struct scenario_world *world, struct scenario_line *line)
{
  struct fake_region region = named_region(line);
  struct cell_change change = {.row = fake_region_name(&region)};
  int count = (int)scenario_line_number(line, "count", 1);
  size_t size = (size_t)scenario_line_number(line, "size", 1);
  char *value = calloc(1, size);

  if (value == NULL) {
    abort();
  }
  change.value = (struct keyroute_bytes){value, size};
  for (int i = 0; i < count; i++) {
    snprintf(change.qualifier, sizeof(change.qualifier), "x%05d", i);
    each_server(world, line, change_cell, &change);
  }
  free(value);
  free((void *)(uintptr_t)change.row.data);
}

struct table_state {
  const char *table;
  int state;
};

static void put_table_state(struct fake_server *server, void *arg)
{
  const struct table_state *state = arg;

  fake_server_put_table_state(server, state->table, state->state);
}

/* tablestate TABLE enabled|disabled|disabling|enabling */
static void play_table_state(struct scenario_world *world, struct scenario_line *line)
{
  static const char *const names[] = {"enabled", "disabled", "disabling", "enabling"};
  struct table_state state = {scenario_line_word(line, 1), 0};
  const char *name = scenario_line_word(line, 2);

  while (strcmp(names[state.state], name) != 0) {
    if (++state.state == sizeof(names) / sizeof(names[0])) {
      scenario_line_fail(line, "%s is no state of a table", name);
    }
  }
  each_server(world, line, put_table_state, &state);
}

/* ---- Regions and rows of users -------------------------------------------------------------- */

static struct fake_region whole_region(struct scenario_line *line)
{
  return (struct fake_region){
      .table = scenario_line_word(line, 1),
      .start = scenario_line_bytes(line, 2),
      .end = scenario_line_bytes(line, 3),
      .id = scenario_line_number(line, "id", 1),
  };
}

static void unhost_region(struct fake_server *server, void *arg)
{
  fake_server_unhost_region(server, arg, 0);
}

/* serve TABLE "start" "end" id=N on=NAME|none: that server has it, and no other one. */
static void play_serve(struct scenario_world *world, struct scenario_line *line)
{
  struct fake_region region = whole_region(line);
  const char *on = scenario_line_text(line, "on");

  each_server(world, line, unhost_region, &region);
  if (on != NULL && strcmp(on, "none") != 0) {
    fake_server_host_region(find_place(world, line, on)->server, &region, 0);
  }
}

/* hand TABLE "start" "end" id=N from=NAME to=NAME [seq=N]: the one knows that the other has it. */
static void play_hand(struct scenario_world *world, struct scenario_line *line)
{
  struct fake_region region = whole_region(line);
  const struct scenario_place *from = find_place(world, line, scenario_line_text(line, "from"));
  const struct scenario_place *to = find_place(world, line, scenario_line_text(line, "to"));

  if (to->server != NULL) {
    fake_server_host_region(to->server, &region, 0);
  }
  fake_server_move_region(from->server, &region, to->host, to->port, to->start_code,
                          scenario_line_number(line, "seq", 1));
}

/* What a table has, wherever its regions are. */
struct row_cell {
  const char *table;
  struct keyroute_bytes row, value;
};

static void put_row_cell(struct fake_server *server, void *arg)
{
  const struct row_cell *cell = arg;

  fake_server_put_row_cell(server, cell->table, cell->row, "f", "q", 1, cell->value);
}

/* row TABLE "row" "value": f:q of it. */
static void play_row(struct scenario_world *world, struct scenario_line *line)
{
  struct row_cell cell = {scenario_line_word(line, 1), scenario_line_bytes(line, 2),
                          scenario_line_bytes(line, 3)};

  each_server(world, line, put_row_cell, &cell);
}

/* ---- How servers behave --------------------------------------------------------------------- */

static enum fake_what what_of(const struct scenario_line *line, const char *name)
{
  static const struct {
    const char *name;
    enum fake_what what;
  } rows[] = {
      {"answer", FAKE_ANSWER},
      {"exception", FAKE_EXCEPTION},
      {"fatal", FAKE_FATAL},
      {"never", FAKE_NEVER},
      {"close", FAKE_CLOSE},
      {"reset", FAKE_RESET},
      {"half", FAKE_HALF},
      {"trickle", FAKE_TRICKLE},
      {"twice", FAKE_TWICE},
      {"reverse", FAKE_REVERSE},
      {"wrong-id", FAKE_WRONG_ID},
      {"garbage", FAKE_GARBAGE},
      {"huge-length", FAKE_HUGE_LENGTH},
      {"negative-length", FAKE_NEGATIVE_LENGTH},
      {"bad-message", FAKE_BAD_MESSAGE},
      {"bad-counts", FAKE_BAD_COUNTS},
      {"spare-bytes", FAKE_SPARE_BYTES},
      {"mixed-row", FAKE_MIXED_ROW},
      {"empty-row", FAKE_EMPTY_ROW},
      {"partial-row", FAKE_PARTIAL_ROW},
      {"early-stop", FAKE_EARLY_STOP},
      {"heartbeat", FAKE_HEARTBEAT},
      {"silent-stop", FAKE_SILENT_STOP},
      {"backwards", FAKE_BACKWARDS},
      {"no-limit", FAKE_NO_LIMIT},
      {"apply-close", FAKE_APPLY_CLOSE},
      {"no-result", FAKE_NO_RESULT},
  };

  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    if (strcmp(rows[i].name, name) == 0) {
      return rows[i].what;
    }
  }
  scenario_line_fail(line, "%s is no fault", name);
}

static void play_fault(struct scenario_world *world, struct scenario_line *line)
{
  struct fake_server *server = find_server(world, line);
  struct fake_fault fault = {
      .what = what_of(line, scenario_line_word(line, 2)),
      .method = scenario_line_text(line, "method"),
      .times = (int)scenario_line_number(line, "times", 1),
      .delay_ms = (int)scenario_line_number(line, "delay", 0),
      .class_name = scenario_line_text(line, "class"),
      .text = scenario_line_text(line, "text"),
      .do_not_retry = scenario_line_has(line, "final"),
      .overloaded = scenario_line_has(line, "overloaded"),
      .rows = (size_t)scenario_line_number(line, "rows", 0),
  };

  if (scenario_line_has(line, "always")) {
    fault.times = -1;
  }
  fake_server_fault(server, &fault);
}

static void play_no_faults(struct scenario_world *world, struct scenario_line *line)
{
  fake_server_clear_faults(find_server(world, line));
}

static void play_stop(struct scenario_world *world, struct scenario_line *line)
{
  fake_server_stop(find_server(world, line));
}

static void play_restart(struct scenario_world *world, struct scenario_line *line)
{
  fake_server_restart(find_server(world, line));
}

static void play_drop(struct scenario_world *world, struct scenario_line *line)
{
  fake_server_drop_connections(find_server(world, line));
}

static void play_silent(struct scenario_world *world, struct scenario_line *line)
{
  fake_server_set_silent(find_server(world, line), true);
}

static void play_talk(struct scenario_world *world, struct scenario_line *line)
{
  fake_server_set_silent(find_server(world, line), false);
}

static void play_encoding(struct scenario_world *world, struct scenario_line *line)
{
  struct fake_server *server = find_server(world, line);
  const char *name = scenario_line_word(line, 2);

  fake_server_set_encoding(server, strcmp(name, "inline") == 0   ? FAKE_INLINE
                                   : strcmp(name, "packed") == 0 ? FAKE_CELL_BLOCK_PACKED
                                                                 : FAKE_CELL_BLOCK);
}

struct fake_counts scenario_world_counts(const struct scenario_world *world)
{
  struct fake_counts sum = {0};

  for (size_t i = 0; i < world->count; i++) {
    if (world->places[i].server != NULL) {
      struct fake_counts counts = fake_server_counts(world->places[i].server);

      sum.connects += counts.connects;
      sum.connections += counts.connections;
      sum.rpcs += counts.rpcs;
      sum.scans += counts.scans;
      sum.scanners += counts.scanners;
      sum.rows += counts.rows;
      sum.gets += counts.gets;
      sum.calls += counts.calls;
    }
  }
  return sum;
}

/* ---- Statements ----------------------------------------------------------------------------- */

bool scenario_world_play(struct scenario_world *world, struct scenario_line *line)
{
  static const struct {
    const char *name;
    void (*play)(struct scenario_world *world, struct scenario_line *line);
  } statements[] = {
      {"blackhole", play_black_hole},
      {"cell", play_cell},
      {"cells", play_cells},
      {"closed", play_closed_port},
      {"delete", play_delete},
      {"drop", play_drop},
      {"encoding", play_encoding},
      {"fault", play_fault},
      {"hand", play_hand},
      {"nocell", play_no_cell},
      {"nofaults", play_no_faults},
      {"place", play_place},
      {"region", play_region},
      {"regions", play_regions},
      {"restart", play_restart},
      {"root", play_root},
      {"row", play_row},
      {"rowcell", play_row_cell},
      {"serve", play_serve},
      {"server", play_server},
      {"silent", play_silent},
      {"stop", play_stop},
      {"tablestate", play_table_state},
      {"talk", play_talk},
  };
  const char *name = scenario_line_word(line, 0);

  for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
    if (strcmp(statements[i].name, name) == 0) {
      statements[i].play(world, line);
      scenario_line_done(line);
      return true;
    }
  }
  if (world->more != NULL && other_kind->play(world->more, world, line)) {
    scenario_line_done(line);
    return true;
  }
  return false;
}
