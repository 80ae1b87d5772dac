/*
 * What does the range directory say now?
 *
 * Whoever changes it, or shows it, reads it from the nodes themselves: what a cache has may be old,
 * and a change is planned from what is there. The way is that of a lookup: the registry says where
 * meta1 is, its rows say where the ranges of meta2 are, whose rows say where those of map are.
 *
 *  1. All of meta1 is read at once: the ranges of meta2, and the journal of a change that was
 *     interrupted. There are some thousand ranges of map to one of meta2.
 *  2. map is walked along: nothing of it is kept but what the visitor keeps.
 *  3. While a change of meta2 is half made, two of its ranges overlap. Of each key the one of the
 *     larger generation is read, as readers do.
 *  4. The leaseholder is asked, which is the first of the nodes.
 *
 * Threads: the one that publishes; rows are looked at where the means bring them, while it waits.
 */
#include "lib/directory.h"

#include "lib/bigtable_write.h"
#include "lib/bytes.h"

#include <inttypes.h>
#include <stdio.h>

enum { PAGE_ROWS = 1000 };

/* ---- Tables ---------------------------------------------------------------------------------- */

void kr_directory_table(struct kr_buf *out, uint64_t id)
{
  char text[32];

  snprintf(text, sizeof(text), ".r%" PRIu64 ".", id);
  kr_buf_text(out, text);
}

bool kr_directory_is_absent(const struct kr_failure *failure)
{
  return failure->code == KEYROUTE_E_REMOTE && failure->fault == KEYROUTE_FAULT_NOT_SERVING;
}

/* One page of a table. */
struct page {
  kr_visit_row visit;
  void *arg;
  struct kr_failure *failure;
  struct kr_buf *last; /* the key of the last row */
  size_t count;
  bool more;
  int outcome; /* the visitor's */
};

static void take_page(void *arg, const struct kr_rows *rows)
{
  struct page *page = arg;

  page->count = rows->count;
  page->more = rows->more;
  for (size_t i = 0; i < rows->count && page->outcome == KR_VISIT_ON; i++) {
    page->outcome = page->visit(page->arg, &rows->rows[i], page->failure);
  }
  page->last->len = 0;
  if (rows->count > 0) {
    kr_buf_bytes(page->last, rows->rows[rows->count - 1].key);
  }
}

/* Read page by page until all is read or the visitor has enough. */
static int read_pages(struct kr_publish_means *means, const struct kr_descriptor_replica *node,
                      struct kr_scan *scan, struct page *page)
{
  struct kr_buf start;
  int error = 0;

  kr_buf_init(&start, means->mem);
  kr_buf_bytes(&start, scan->start_row);
  do {
    scan->start_row = kr_buf_view(&start);
    error = start.failed || page->last->failed
                ? kr_fail(page->failure, KEYROUTE_E_NO_MEMORY, "out of memory")
                : means->ops->scan(means, node, scan, take_page, page, page->failure);
    start.len = 0;
    kr_buf_bytes(&start, kr_buf_view(page->last));
    scan->include_start = false;
  } while (error == 0 && page->outcome == KR_VISIT_ON && page->count > 0 &&
           (page->more || page->count >= scan->limit));
  kr_buf_clear(&start);
  return error != 0 ? error : page->outcome < 0 ? page->outcome : 0;
}

int kr_directory_rows(struct kr_publish_means *means, uint64_t id,
                      const struct kr_descriptor_replica *node, struct keyroute_bytes start,
                      struct keyroute_bytes stop, kr_visit_row visit, void *arg,
                      struct kr_failure *failure)
{
  struct kr_buf table, last;
  struct page page = {.visit = visit, .arg = arg, .failure = failure, .last = &last};
  int error;

  kr_buf_init(&table, means->mem);
  kr_buf_init(&last, means->mem);
  kr_directory_table(&table, id);
  if (table.failed) {
    error = kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  } else {
    struct kr_scan scan = {.region = kr_buf_view(&table),
                           .start_row = start,
                           .stop_row = stop,
                           .include_start = true,
                           .limit = PAGE_ROWS,
                           .family = KR_DESCRIPTOR_FAMILY};

    error = read_pages(means, node, &scan, &page);
  }
  kr_buf_clear(&table);
  kr_buf_clear(&last);
  return error;
}

int kr_directory_stands(bool *out, struct kr_publish_means *means, uint64_t id,
                        const struct kr_descriptor_replica *node, struct kr_failure *failure)
{
  struct kr_method method = {.name = KR_BIGTABLE_GET_TABLE};
  struct kr_buf table, reply;
  int error;

  kr_buf_init(&table, means->mem);
  kr_buf_init(&reply, means->mem);
  kr_directory_table(&table, id);
  method.region = kr_buf_view(&table);
  error = table.failed ? kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory")
                       : means->ops->call(means, node, &method, &reply, failure);
  kr_buf_clear(&table);
  kr_buf_clear(&reply);
  if (error != 0 && !kr_directory_is_absent(failure)) {
    return error;
  }
  *out = error == 0;
  return 0;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* A row that cannot be believed. */
static int corrupt(struct kr_failure *failure, enum kr_level level, struct keyroute_bytes key,
                   const char *reason)
{
  char text[128];

  return kr_fail(failure, KEYROUTE_E_CORRUPT, "row %s of %s cannot be believed: %s",
                 kr_bytes_print(text, sizeof(text), key), level == KR_META2 ? "meta1" : "meta2",
                 reason);
}

/* Read the row of a range of this level. */
static int read_range(struct kr_descriptor **out, struct kr_mem *mem, enum kr_level level,
                      const struct kr_row *row, struct kr_failure *failure)
{
  const struct kr_cell *cell = kr_row_find(row, KR_DESCRIPTOR_FAMILY, KR_DESCRIPTOR_QUALIFIER);
  struct kr_descriptor *range = NULL;
  const char *reason = "";
  struct kr_buf key;

  if (cell == NULL) {
    return corrupt(failure, level, row->key, "it has no column r:d");
  }
  int error = kr_descriptor_read(&range, mem, cell->value, &reason);

  if (error != 0) {
    return error == KEYROUTE_E_NO_MEMORY ? kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory")
                                         : corrupt(failure, level, row->key, reason);
  }
  kr_buf_init(&key, mem);
  kr_level_key(&key, level, range->start_key);
  if (key.failed) {
    error = kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  } else if (!kr_bytes_equal(kr_buf_view(&key), row->key)) {
    error = corrupt(failure, level, row->key, "its descriptor has another start key");
  }
  kr_buf_clear(&key);
  if (error != 0) {
    kr_free(mem, range);
    return error;
  }
  *out = range;
  return 0;
}

/* ---- meta1 ----------------------------------------------------------------------------------- */

static int keep_meta2(struct kr_directory *directory, const struct kr_row *row,
                      struct kr_failure *failure)
{
  struct kr_mem *mem = directory->means->mem;

  if (directory->meta2_count == directory->meta2_room) {
    size_t room = directory->meta2_room > 0 ? 2 * directory->meta2_room : 8;
    struct kr_descriptor **list = kr_realloc(mem, directory->meta2, room * sizeof(*list));

    if (list == NULL) {
      return kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
    }
    directory->meta2 = list;
    directory->meta2_room = room;
  }
  int error = read_range(&directory->meta2[directory->meta2_count], mem, KR_META2, row, failure);

  directory->meta2_count += error == 0;
  return error;
}

static int visit_meta1(void *arg, const struct kr_row *row, struct kr_failure *failure)
{
  struct kr_directory *directory = arg;

  if (kr_bytes_equal(row->key, kr_journal_key())) {
    return kr_journal_read(&directory->journal, directory->means->mem, row, failure);
  }
  if (row->key.len > 0 && *(const uint8_t *)row->key.data == 1) {
    return keep_meta2(directory, row, failure);
  }
  return KR_VISIT_ON; /* of no concern to readers either */
}

/* What says where meta1 is, for messages. */
static const char *name_root(const struct kr_publish_means *means)
{
  return means->znode != NULL ? means->znode : "its znode";
}

static int read_root(struct kr_directory *directory, struct kr_failure *failure)
{
  struct kr_publish_means *means = directory->means;
  const char *reason = "";
  struct kr_buf data;

  kr_buf_init(&data, means->mem);
  int error = means->ops->read_root(means, &data, &directory->version, failure);

  if (error == 0 && data.failed) {
    error = kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  } else if (error == 0 && directory->version >= 0) {
    error = kr_descriptor_read(&directory->root, means->mem, kr_buf_view(&data), &reason);
    if (error != 0) {
      error = kr_fail(failure, error == KEYROUTE_E_CORRUPT ? KEYROUTE_E_BOOTSTRAP : error,
                      "what says where meta1 is cannot be believed: %.400s: %s", name_root(means),
                      error == KEYROUTE_E_CORRUPT ? reason : "out of memory");
    }
  }
  kr_buf_clear(&data);
  return error;
}

int kr_directory_read(struct kr_directory *out, struct kr_publish_means *means,
                      struct kr_failure *failure)
{
  *out = (struct kr_directory){.means = means};
  int error = read_root(out, failure);

  if (error != 0 || out->root == NULL) {
    return error;
  }
  return kr_directory_rows(means, out->root->id, &out->root->replicas[0], kr_bytes(NULL, 0),
                           kr_bytes(NULL, 0), visit_meta1, out, failure);
}

int kr_directory_check(const struct kr_directory *directory, struct kr_failure *failure)
{
  if (directory->root != NULL) {
    return 0;
  }
  return kr_fail(failure, KEYROUTE_E_BOOTSTRAP, "there is no range directory: no such znode %.400s",
                 name_root(directory->means));
}

void kr_directory_clear(struct kr_directory *directory)
{
  struct kr_mem *mem = directory->means->mem;

  for (size_t i = 0; i < directory->meta2_count; i++) {
    kr_free(mem, directory->meta2[i]);
  }
  kr_free(mem, directory->meta2);
  kr_free(mem, directory->root);
  kr_journal_free(mem, directory->journal);
  *directory = (struct kr_directory){.means = directory->means};
}

const struct kr_descriptor *kr_directory_meta2(const struct kr_directory *directory,
                                               struct keyroute_bytes row)
{
  const struct kr_descriptor *found = NULL;

  for (size_t i = 0; i < directory->meta2_count; i++) {
    const struct kr_descriptor *range = directory->meta2[i];

    if (kr_descriptor_holds(range, row) &&
        (found == NULL || range->generation > found->generation)) {
      found = range;
    }
  }
  return found;
}

/* ---- map ------------------------------------------------------------------------------------- */

struct walk {
  struct kr_mem *mem;
  kr_visit visit;
  void *arg;
  int outcome;
};

static int visit_meta2(void *arg, const struct kr_row *row, struct kr_failure *failure)
{
  struct walk *walk = arg;
  struct kr_descriptor *range = NULL;

  if (row->key.len == 0 || *(const uint8_t *)row->key.data != 2) {
    return KR_VISIT_ON;
  }
  int error = read_range(&range, walk->mem, KR_MAP, row, failure);

  walk->outcome = error != 0 ? error : walk->visit(walk->arg, range, failure);
  kr_free(walk->mem, range);
  return walk->outcome;
}

/* Where the next range of meta2 begins above a row that none covers, or a newer one than `range`
 * inside it; data NULL = nowhere. */
static struct keyroute_bytes next_start(const struct kr_directory *directory,
                                        struct keyroute_bytes row,
                                        const struct kr_descriptor *range)
{
  struct keyroute_bytes next = {NULL, 0};

  for (size_t i = 0; i < directory->meta2_count; i++) {
    const struct kr_descriptor *other = directory->meta2[i];

    if (kr_bytes_compare(other->start_key, row) > 0 &&
        (range == NULL || other->generation > range->generation) &&
        (next.data == NULL || kr_bytes_compare(other->start_key, next) < 0)) {
      next = other->start_key;
    }
  }
  return next;
}

/* Walk through one stretch that one range of meta2 holds, from *row on; where the next one begins
 * goes there, empty if it was the last. */
static int walk_stretch(struct kr_directory *directory, struct keyroute_bytes *row,
                        struct walk *walk, struct kr_failure *failure)
{
  const struct kr_descriptor *range = kr_directory_meta2(directory, *row);
  struct keyroute_bytes stop = next_start(directory, *row, range);
  int error = 0;

  if (range != NULL) {
    if (stop.data == NULL ||
        (range->end_key.len > 0 && kr_bytes_compare(range->end_key, stop) < 0)) {
      stop = range->end_key;
    }
    error = kr_directory_rows(directory->means, range->id, &range->replicas[0], *row, stop,
                              visit_meta2, walk, failure);
  }
  *row = stop;
  return error;
}

int kr_directory_walk(struct kr_directory *directory, struct keyroute_bytes start, kr_visit visit,
                      void *arg, struct kr_failure *failure)
{
  struct walk walk = {.mem = directory->means->mem, .visit = visit, .arg = arg};
  struct kr_buf first;

  kr_buf_init(&first, walk.mem);
  kr_level_key(&first, KR_MAP, start);
  struct keyroute_bytes row = kr_buf_view(&first);
  int error = first.failed ? kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory") : 0;

  while (error == 0 && walk.outcome == KR_VISIT_ON && row.len > 0) {
    error = walk_stretch(directory, &row, &walk, failure);
  }
  kr_buf_clear(&first);
  return error;
}

/* ---- One row --------------------------------------------------------------------------------- */

struct one_row {
  struct kr_mem *mem;
  enum kr_level level;
  struct keyroute_bytes key;
  struct kr_descriptor *range;
};

static int visit_one(void *arg, const struct kr_row *row, struct kr_failure *failure)
{
  struct one_row *one = arg;

  if (!kr_bytes_equal(row->key, one->key)) {
    return KR_VISIT_ENOUGH;
  }
  int error = read_range(&one->range, one->mem, one->level, row, failure);

  return error != 0 ? error : KR_VISIT_ENOUGH;
}

int kr_directory_row(struct kr_descriptor **out, struct kr_directory *directory,
                     enum kr_level level, struct keyroute_bytes start, struct kr_failure *failure)
{
  struct kr_mem *mem = directory->means->mem;
  struct one_row one = {.mem = mem, .level = level};
  struct kr_buf key, stop;
  int error;

  kr_buf_init(&key, mem);
  kr_buf_init(&stop, mem);
  kr_level_key(&key, level, start);
  kr_level_key(&stop, level, start);
  kr_buf_u8(&stop, 0);
  one.key = kr_buf_view(&key);
  const struct kr_descriptor *above =
      level == KR_META2 ? directory->root : kr_directory_meta2(directory, one.key);

  if (key.failed || stop.failed) {
    error = kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  } else if (above == NULL) {
    error = kr_fail(failure, KEYROUTE_E_HOLE, "no range of meta2 holds the row of a range of map");
  } else {
    error = kr_directory_rows(directory->means, above->id, &above->replicas[0], one.key,
                              kr_buf_view(&stop), visit_one, &one, failure);
  }
  kr_buf_clear(&key);
  kr_buf_clear(&stop);
  if (error == 0) {
    *out = one.range;
  }
  return error;
}
