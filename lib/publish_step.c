/*
 * One step of a change: what is asked of which node?
 *
 *  1. A row is replaced only if it says what the plan was made from (CheckAndMutateRow on the old
 *     descriptor, or on there being none), so that a publisher whose lock was lost, or one that
 *     should not be there, undoes nothing of another's.
 *  2. Tables need no check. Those that are made are strictly new; those that are dropped were given
 *     up by the change in the journal, and no id is used twice.
 *  3. The journal is written only where there is none, and read once more before the first row is
 *     switched. It is removed unchecked: it is this publisher's, who holds the lock.
 *  4. The registry compares the version that was read.
 *  5. A table's leaseholder is written first, and checked; the other nodes that hold the same table
 *     of the index get the same afterwards. Readers of the index ask the leaseholder.
 *  6. Whether this is still the one that may publish is asked before each write.
 *
 * Threads: the one that publishes.
 */
#include "lib/publish_step.h"

#include "lib/bigtable_write.h"
#include "lib/bytes.h"
#include "lib/publish_copy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- The journal ----------------------------------------------------------------------------- */

static int write_journal(struct kr_publisher *publisher, struct kr_failure *failure)
{
  struct kr_journal_cells cells;
  bool made = false;
  int error;

  kr_journal_write(&cells, publisher->means->mem, publisher->change);
  struct kr_bigtable_change change = {kr_journal_key(), cells.cells, cells.count};

  if (cells.bytes.failed) {
    error = kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  } else {
    error = kr_publish_mutate_checked(&made, publisher, publisher->root, &change,
                                      KR_JOURNAL_QUALIFIER, NULL, failure);
  }
  if (error == 0 && !made) {
    error = kr_fail(failure, KEYROUTE_E_CORRUPT,
                    "another change stands in the journal of meta1 meanwhile");
  }
  if (error == 0) {
    error = kr_publish_mutate_others(publisher, publisher->root, &change, failure);
  }
  kr_buf_clear(&cells.bytes);
  return error;
}

static int remove_journal(struct kr_publisher *publisher, struct kr_failure *failure)
{
  const struct kr_descriptor *meta1 = publisher->root;
  struct kr_bigtable_change change = {kr_journal_key(), NULL, 0};
  int error = 0;

  for (size_t i = 0; i < meta1->replica_count && error == 0; i++) {
    error = kr_publish_mutate(publisher, &meta1->replicas[i], meta1->id, &change, failure);
  }
  return error;
}

struct found_journal {
  struct kr_mem *mem;
  const struct kr_change *change;
  bool same;
};

static int visit_journal(void *arg, const struct kr_row *row, struct kr_failure *failure)
{
  struct found_journal *found = arg;
  struct kr_journal *journal = NULL;

  if (!kr_bytes_equal(row->key, kr_journal_key())) {
    return KR_VISIT_ENOUGH;
  }
  int error = kr_journal_read(&journal, found->mem, row, failure);

  found->same = error == 0 && kr_journal_same(&journal->change, found->change);
  kr_journal_free(found->mem, journal);
  return error != 0 ? error : KR_VISIT_ENOUGH;
}

int kr_step_check_journal(struct kr_publisher *publisher, struct kr_failure *failure)
{
  const struct kr_descriptor *meta1 = publisher->root;
  struct found_journal found = {.mem = publisher->means->mem, .change = publisher->change};
  int error = kr_directory_rows(publisher->means, meta1->id, &meta1->replicas[0], kr_journal_key(),
                                keyroute_string("\001"), visit_journal, &found, failure);

  if (error == 0 && !found.same) {
    error = kr_fail(failure, KEYROUTE_E_CORRUPT,
                    "the journal of this change is gone from meta1: somebody else has undone it");
  }
  return error;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static int make_table(struct kr_publisher *publisher, const struct kr_step *step,
                      struct kr_failure *failure)
{
  static const char *const index_families[] = {KR_DESCRIPTOR_FAMILY};
  bool is_index = step->level != KR_MAP;
  struct kr_buf param, reply;
  char name[32];

  kr_buf_init(&param, publisher->means->mem);
  kr_buf_init(&reply, publisher->means->mem);
  snprintf(name, sizeof(name), "r%" PRIu64, step->range->id);
  kr_bigtable_write_create(&param, name, is_index ? index_families : publisher->families,
                           is_index ? 1 : publisher->family_count);
  int error =
      kr_publish_send(publisher, step->node, 0, KR_BIGTABLE_CREATE, &param, &reply, failure);

  kr_buf_clear(&reply);
  return error;
}

static int drop_table(struct kr_publisher *publisher, const struct kr_step *step,
                      struct kr_failure *failure)
{
  struct kr_buf param, reply;

  kr_buf_init(&param, publisher->means->mem);
  kr_buf_init(&reply, publisher->means->mem);
  int error = kr_publish_send(publisher, step->node, step->range->id, KR_BIGTABLE_DELETE, &param,
                              &reply, failure);

  kr_buf_clear(&reply);
  return error != 0 && kr_directory_is_absent(failure) ? 0 : error;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The range whose table has the rows of this level, where that of start is. */
static const struct kr_descriptor *table_above(const struct kr_publisher *publisher,
                                               enum kr_level level, struct keyroute_bytes row)
{
  return level == KR_META2 ? publisher->root : kr_directory_meta2(publisher->directory, row);
}

static int another_directory(struct kr_failure *failure, const struct kr_descriptor *table)
{
  const struct kr_descriptor_replica *node = &table->replicas[0];

  return kr_fail(
      failure, KEYROUTE_E_CORRUPT,
      "table r%" PRIu64 " on %.*s:%u has rows already, of another range directory (then"
      " keyroute.range.instance has to differ) or of an interrupted beginning with other nodes"
      " or ids (then it has to be deleted)",
      table->id, (int)node->host.len, (const char *)node->host.data, node->port);
}

static int somebody_else(struct kr_failure *failure, enum kr_level level, struct keyroute_bytes key)
{
  char text[128];

  return kr_fail(
      failure, KEYROUTE_E_CORRUPT,
      "the row of %s's range at \"%s\" has changed meanwhile: somebody else publishes, too",
      kr_level_name(level), kr_bytes_print(text, sizeof(text), key));
}

/* Put range in the place of from, at a row; NULL is nothing. */
static int switch_row(struct kr_publisher *publisher, const struct kr_step *step,
                      struct keyroute_bytes row, const struct kr_bigtable_change *change,
                      const struct keyroute_bytes *old, struct kr_failure *failure)
{
  const struct kr_descriptor *table = table_above(publisher, step->level, row);
  bool made = false;

  if (table == NULL) {
    return kr_fail(failure, KEYROUTE_E_HOLE, "no range of meta2 holds the row of a range of map");
  }
  int error = kr_publish_mutate_checked(&made, publisher, table, change, KR_DESCRIPTOR_QUALIFIER,
                                        old, failure);

  if (error == 0 && !made) {
    /* It may have been done before, and the answer been lost. */
    error = kr_step_is_done(&made, publisher, step, failure);
    if (error == 0 && !made) {
      const struct kr_descriptor *range = step->range != NULL ? step->range : step->from;

      error = publisher->change != NULL ? somebody_else(failure, step->level, range->start_key)
                                        : another_directory(failure, table);
    }
  }
  return error != 0 ? error : kr_publish_mutate_others(publisher, table, change, failure);
}

static int put_or_remove(struct kr_publisher *publisher, const struct kr_step *step,
                         struct kr_failure *failure)
{
  const struct kr_descriptor *range = step->range != NULL ? step->range : step->from;
  struct kr_buf row, new_value, old_value;
  struct kr_mem *mem = publisher->means->mem;

  kr_buf_init(&row, mem);
  kr_buf_init(&new_value, mem);
  kr_buf_init(&old_value, mem);
  kr_level_key(&row, step->level, range->start_key);
  if (step->range != NULL) {
    kr_descriptor_write(&new_value, step->range);
  }
  if (step->from != NULL) {
    kr_descriptor_write(&old_value, step->from);
  }
  struct kr_cell cell = {.family = keyroute_string(KR_DESCRIPTOR_FAMILY),
                         .qualifier = keyroute_string(KR_DESCRIPTOR_QUALIFIER),
                         .value = kr_buf_view(&new_value)};
  struct kr_bigtable_change change = {kr_buf_view(&row), &cell, step->range != NULL ? 1 : 0};
  struct keyroute_bytes old = kr_buf_view(&old_value);
  int error = row.failed || new_value.failed || old_value.failed
                  ? kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory")
                  : switch_row(publisher, step, change.row, &change,
                               step->from != NULL ? &old : NULL, failure);

  kr_buf_clear(&row);
  kr_buf_clear(&new_value);
  kr_buf_clear(&old_value);
  return error;
}

static int write_root(struct kr_publisher *publisher, const struct kr_step *step,
                      struct kr_failure *failure)
{
  struct kr_publish_means *means = publisher->means;
  struct kr_buf data;

  kr_buf_init(&data, means->mem);
  kr_descriptor_write(&data, step->range);
  int error = data.failed ? kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory")
                          : means->ops->write_root(means, kr_buf_view(&data),
                                                   publisher->directory->version, failure);

  kr_buf_clear(&data);
  if (error == 0) {
    publisher->root = step->range;
  }
  return error;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

int kr_step_is_done(bool *out, struct kr_publisher *publisher, const struct kr_step *step,
                    struct kr_failure *failure)
{
  const struct kr_descriptor *range = step->range != NULL ? step->range : step->from;
  struct kr_descriptor *found = NULL;

  if (step->kind == KR_STEP_ROOT) {
    *out = kr_same_range(publisher->root, step->range);
    return 0;
  }
  int error =
      kr_directory_row(&found, publisher->directory, step->level, range->start_key, failure);

  if (error == 0) {
    *out = step->kind == KR_STEP_PUT ? found != NULL && kr_same_range(found, range) : found == NULL;
  }
  kr_free(publisher->means->mem, found);
  return error;
}

int kr_step_do(struct kr_publisher *publisher, const struct kr_step *step,
               struct kr_failure *failure)
{
  int error = kr_publish_may_write(publisher, failure);

  if (error != 0) {
    return error;
  }
  switch (step->kind) {
  case KR_STEP_JOURNAL:
    return write_journal(publisher, failure);
  case KR_STEP_MAKE:
    return make_table(publisher, step, failure);
  case KR_STEP_COPY:
    return kr_publish_copy(publisher, step, failure);
  case KR_STEP_PUT:
  case KR_STEP_REMOVE:
    return put_or_remove(publisher, step, failure);
  case KR_STEP_ROOT:
    return write_root(publisher, step, failure);
  case KR_STEP_DROP:
    return drop_table(publisher, step, failure);
  case KR_STEP_FORGET:
    return remove_journal(publisher, failure);
  }
  return 0;
}
