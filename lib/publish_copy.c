/*
 * Copies rows of an index from one table to another, some hundred at a time.
 *
 *  1. Rows are looked at while the transport has them, on the loop, and written afterwards, from
 *     the publisher's thread: what is kept in between is the requests that write them.
 *  2. Nobody reads the new table yet, and nobody else writes to the old one. A copy that broke off
 *     is never gone on with: its change is undone, and the table goes (publish_change.c).
 *
 * Threads: the one that publishes, but for load_row.
 */
#include "lib/publish_copy.h"

#include "lib/bytes.h"

/* Rows of a table that are copied at a time. */
enum { COPY_ROWS = 500 };

/* Rows on their way from one table to another: requests to write them, each with its length in
 * front. */
struct load {
  struct kr_mem *mem;
  struct kr_buf requests;
  struct kr_buf next; /* the row to go on with */
  size_t rows;
};

static int load_row(void *arg, const struct kr_row *row, struct kr_failure *failure)
{
  struct load *load = arg;
  struct kr_bigtable_change change = {row->key, row->cells, row->cell_count};
  struct kr_buf request;

  kr_buf_init(&request, load->mem);
  kr_bigtable_write_mutate(&request, &change);
  kr_buf_varint(&load->requests, request.len);
  kr_buf_bytes(&load->requests, kr_buf_view(&request));
  load->requests.failed = load->requests.failed || request.failed;
  kr_buf_clear(&request);
  load->next.len = 0;
  kr_buf_bytes(&load->next, row->key);
  kr_buf_u8(&load->next, 0);
  if (load->requests.failed || load->next.failed) {
    return kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory");
  }
  return ++load->rows >= COPY_ROWS ? KR_VISIT_ENOUGH : KR_VISIT_ON;
}

static int unload(struct kr_publisher *publisher, const struct kr_step *step, struct load *load,
                  struct kr_failure *failure)
{
  struct kr_reader reader = kr_reader(kr_buf_view(&load->requests));
  int error = 0;

  while (error == 0 && kr_reader_left(&reader) > 0) {
    struct keyroute_bytes request = kr_read_bytes(&reader, kr_read_varint(&reader));
    struct kr_buf param, reply;

    kr_buf_init(&param, load->mem);
    kr_buf_init(&reply, load->mem);
    kr_buf_bytes(&param, request);
    error = kr_publish_send(publisher, step->node, step->range->id, KR_BIGTABLE_MUTATE, &param,
                            &reply, failure);
    kr_buf_clear(&reply);
  }
  return error;
}

/* The keys that two ranges share, in the table of the range that is copied. Those of meta1 are all,
 * the journal too. */
static void shared_keys(struct keyroute_bytes *start, struct keyroute_bytes *stop,
                        const struct kr_step *step)
{
  const struct kr_descriptor *a = step->from, *b = step->range;
  bool ends_first =
      b->end_key.len == 0 || (a->end_key.len > 0 && kr_bytes_compare(a->end_key, b->end_key) < 0);

  *start = kr_bytes_compare(a->start_key, b->start_key) < 0 ? b->start_key : a->start_key;
  *stop = ends_first ? a->end_key : b->end_key;
}

/* Copy the next rows, from load->next to stop. */
static int copy_load(struct kr_publisher *publisher, const struct kr_step *step, struct load *load,
                     struct keyroute_bytes stop, struct kr_failure *failure)
{
  const struct kr_descriptor *from = step->from;
  struct kr_buf first; /* next changes while it is read */
  int error;

  kr_buf_init(&first, load->mem);
  kr_buf_bytes(&first, kr_buf_view(&load->next));
  load->requests.len = 0;
  load->rows = 0;
  error = first.failed ? kr_fail(failure, KEYROUTE_E_NO_MEMORY, "out of memory")
                       : kr_directory_rows(publisher->means, from->id, &from->replicas[0],
                                           kr_buf_view(&first), stop, load_row, load, failure);
  kr_buf_clear(&first);
  return error != 0 ? error : unload(publisher, step, load, failure);
}

int kr_publish_copy(struct kr_publisher *publisher, const struct kr_step *step,
                    struct kr_failure *failure)
{
  struct load load = {.mem = publisher->means->mem};
  struct keyroute_bytes start, stop;
  int error = 0;

  kr_buf_init(&load.requests, load.mem);
  kr_buf_init(&load.next, load.mem);
  shared_keys(&start, &stop, step);
  kr_buf_bytes(&load.next, start);
  do {
    error = copy_load(publisher, step, &load, stop, failure);
    if (error == 0 && load.rows > 0) {
      error = kr_publish_may_write(publisher, failure); /* a load may take long */
    }
  } while (error == 0 && load.rows >= COPY_ROWS);
  kr_buf_clear(&load.requests);
  kr_buf_clear(&load.next);
  return error;
}
