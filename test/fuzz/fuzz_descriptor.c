/* What a range directory says of one range: the value of an index row, and its message alone, as a
 * refusal carries it. What is believed is within its bounds, and written back it reads the same. */
#include "lib/descriptor.h"

#include "lib/bytes.h"
#include "test/fuzz/fuzz.h"

#include <string.h>

static void check_replica(const struct kr_descriptor_replica *replica)
{
  char host[256] = "";

  FUZZ_CHECK(replica->host.len > 0 && replica->host.len < sizeof(host));
  memcpy(host, replica->host.data, replica->host.len);
  fuzz_check_line(host);
  FUZZ_CHECK(replica->port != 0);
}

static void check_bounds(const struct kr_descriptor *read)
{
  FUZZ_CHECK(read->id != 0 && read->generation <= INT64_MAX);
  FUZZ_CHECK(read->start_key.len <= KR_DESCRIPTOR_KEY_MAX);
  FUZZ_CHECK(read->end_key.len <= KR_DESCRIPTOR_KEY_MAX);
  FUZZ_CHECK(read->end_key.len == 0 || kr_bytes_compare(read->start_key, read->end_key) < 0);
  FUZZ_CHECK(read->replica_count > 0 && read->replica_count <= KR_DESCRIPTOR_REPLICAS_MAX);
  for (size_t i = 0; i < read->replica_count; i++) {
    check_replica(&read->replicas[i]);
  }
}

static void check_equal(const struct kr_descriptor *a, const struct kr_descriptor *b)
{
  FUZZ_CHECK(a->id == b->id && a->generation == b->generation);
  FUZZ_CHECK(kr_bytes_equal(a->start_key, b->start_key));
  FUZZ_CHECK(kr_bytes_equal(a->end_key, b->end_key));
  FUZZ_CHECK(a->replica_count == b->replica_count);
  for (size_t i = 0; i < a->replica_count; i++) {
    FUZZ_CHECK(a->replicas[i].node_id == b->replicas[i].node_id);
    FUZZ_CHECK(kr_bytes_equal(a->replicas[i].host, b->replicas[i].host));
    FUZZ_CHECK(a->replicas[i].port == b->replicas[i].port);
  }
}

static void check_written_back(struct kr_mem *mem, const struct kr_descriptor *read)
{
  struct kr_descriptor *again = NULL;
  const char *reason = NULL;
  struct kr_buf written;

  kr_buf_init(&written, mem);
  kr_descriptor_write(&written, read);
  if (written.failed) {
    FUZZ_CHECK(fuzz_mem_failed());
  } else if (kr_descriptor_read(&again, mem, kr_buf_view(&written), &reason) == 0) {
    check_equal(read, again);
  } else {
    FUZZ_CHECK(fuzz_mem_failed());
  }
  kr_free(mem, again);
  kr_buf_clear(&written);
}

static void check_read(struct kr_mem *mem, int error, struct kr_descriptor *read,
                       const char *reason)
{
  fuzz_check_error(error, 0, KEYROUTE_E_CORRUPT);
  FUZZ_CHECK((read != NULL) == (error == 0));
  FUZZ_CHECK((reason != NULL) == (error == KEYROUTE_E_CORRUPT));
  if (read != NULL) {
    check_bounds(read);
    check_written_back(mem, read);
  } else if (reason != NULL) {
    fuzz_check_line(reason);
  }
  kr_free(mem, read);
}

int FUZZ_ENTRY(descriptor)(const uint8_t *data, size_t len)
{
  struct fuzz_input input = fuzz_input(data, len);
  struct kr_mem *mem = fuzz_mem_new(&input);
  struct keyroute_bytes value = fuzz_rest(&input);
  struct kr_descriptor *read = NULL, *alone = NULL;
  const char *reason = NULL, *reason_alone = NULL;
  int error = kr_descriptor_read(&read, mem, value, &reason);

  check_read(mem, error, read, reason);
  error = kr_descriptor_read_message(&alone, mem, value, &reason_alone);
  check_read(mem, error, alone, reason_alone);
  fuzz_mem_done(mem);
  return 0;
}
