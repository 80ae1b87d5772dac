/* What the fuzzed subjects share. */
#include "test/fuzz/fuzz.h"

#include "lib/bytes.h"
#include "test/failing_mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_check(bool good, const char *claim, const char *file, int line)
{
  if (!good) {
    fprintf(stderr, "%s:%d: not true: %s\n", file, line, claim);
    abort();
  }
}

/* ---- Reading an input ----------------------------------------------------------------------- */

struct fuzz_input fuzz_input(const uint8_t *data, size_t len)
{
  static const uint8_t nothing;
  const uint8_t *at = len > 0 ? data : &nothing;

  return (struct fuzz_input){at, at + len};
}

struct keyroute_bytes fuzz_bytes(struct fuzz_input *input, size_t len)
{
  size_t left = (size_t)(input->end - input->at);
  struct keyroute_bytes bytes = kr_bytes(input->at, len < left ? len : left);

  input->at += bytes.len;
  return bytes;
}

struct keyroute_bytes fuzz_rest(struct fuzz_input *input)
{
  return fuzz_bytes(input, SIZE_MAX);
}

bool fuzz_over(const struct fuzz_input *input)
{
  return input->at == input->end;
}

uint8_t fuzz_u8(struct fuzz_input *input)
{
  return fuzz_over(input) ? 0 : *input->at++;
}

uint16_t fuzz_u16(struct fuzz_input *input)
{
  uint16_t high = fuzz_u8(input);

  return (uint16_t)(high << 8 | fuzz_u8(input));
}

char *fuzz_text(struct keyroute_bytes bytes)
{
  char *text = strndup(bytes.data, bytes.len);

  FUZZ_CHECK(text != NULL);
  return text;
}

/* ---- Memory --------------------------------------------------------------------------------- */

struct kr_mem *fuzz_mem_new(struct fuzz_input *input)
{
  mem_fail(0);
  struct kr_mem *mem = kr_mem_new(&failing_allocator);

  FUZZ_CHECK(mem != NULL);
  mem_fail(fuzz_u8(input));
  return mem;
}

bool fuzz_mem_failed(void)
{
  return mem_has_failed();
}

void fuzz_mem_done(struct kr_mem *mem)
{
  kr_mem_release(mem);
  mem_fail(0);
  FUZZ_CHECK(mem_live() == 0);
}

/* ---- What is always true -------------------------------------------------------------------- */

void fuzz_check_inside(struct keyroute_bytes view, struct keyroute_bytes whole)
{
  uintptr_t at = (uintptr_t)view.data;
  uintptr_t begin = (uintptr_t)whole.data;

  if (view.len > 0) {
    FUZZ_CHECK(at >= begin && view.len <= whole.len && at - begin <= whole.len - view.len);
  }
}

void fuzz_check_line(const char *line)
{
  size_t len = strlen(line);

  FUZZ_CHECK(len > 0);
  for (size_t i = 0; i < len; i++) {
    FUZZ_CHECK(line[i] >= ' ' && line[i] <= '~');
  }
}

void fuzz_check_error(int error, int one, int other)
{
  if (error == KEYROUTE_E_NO_MEMORY) {
    FUZZ_CHECK(fuzz_mem_failed());
  } else {
    FUZZ_CHECK(error == one || error == other);
  }
}

void fuzz_check_failure(const struct kr_failure *failure)
{
  FUZZ_CHECK(failure->code < 0 && strcmp(keyroute_errname(failure->code), "UNKNOWN") != 0);
  FUZZ_CHECK(failure->kind > KEYROUTE_KIND_NONE && failure->kind <= KEYROUTE_KIND_FATAL);
  FUZZ_CHECK(failure->wait_ms >= 0);
  FUZZ_CHECK(strnlen(failure->server, sizeof(failure->server)) < sizeof(failure->server));
  FUZZ_CHECK(strnlen(failure->message, sizeof(failure->message)) < sizeof(failure->message));
  fuzz_check_line(failure->message);
}

/* A name is written whole, cut, or only measured. */
static void check_written(size_t (*write)(const struct keyroute_location *, int, void *, size_t),
                          const struct keyroute_location *location, int replica)
{
  size_t len = write(location, replica, NULL, 0);
  char *whole = malloc(len + 1);
  char *half = malloc(len / 2 + 1);

  FUZZ_CHECK(whole != NULL && half != NULL);
  FUZZ_CHECK(write(location, replica, whole, len) == len);
  FUZZ_CHECK(write(location, replica, half, len / 2) == len);
  FUZZ_CHECK(memcmp(whole, half, len / 2) == 0);
  free(whole);
  free(half);
}

/* Every byte is there: a sanitizer sees what is not. */
static unsigned sum(struct keyroute_bytes bytes)
{
  unsigned of = 0;

  for (size_t i = 0; i < bytes.len; i++) {
    of += ((const uint8_t *)bytes.data)[i];
  }
  return of;
}

static void check_cell(const struct keyroute_cell *cell, struct keyroute_bytes row)
{
  static volatile unsigned sums;

  FUZZ_CHECK(kr_bytes_equal(cell->row, row));
  FUZZ_CHECK(cell->qualifier.data != NULL && cell->value.data != NULL);
  sums += sum(cell->family) + sum(cell->qualifier) + sum(cell->value) + sum(cell->tags);
}

void fuzz_check_got(const struct kr_got *got, const struct kr_gets *gets)
{
  bool any = false;

  FUZZ_CHECK(got->row_count == gets->row_count);
  for (size_t i = 0; i < got->row_count; i++) {
    const struct kr_got_row *row = &got->rows[i];

    FUZZ_CHECK((row->cells != NULL) == (row->cell_count > 0));
    if (row->failure != NULL) {
      FUZZ_CHECK(row->cell_count == 0 && row->failure->sent && row->failure->server[0] != '\0');
      fuzz_check_failure(row->failure);
    }
    for (size_t k = 0; k < row->cell_count; k++) {
      check_cell(&row->cells[k], gets->rows[i]);
      any = true;
    }
  }
  FUZZ_CHECK((got->block != NULL) == any);
}

static void check_replica(const struct keyroute_location *location, int replica)
{
  const char *host = keyroute_location_host(location, replica);
  int port = keyroute_location_port(location, replica);

  FUZZ_CHECK(host == NULL || host[0] != '\0');
  FUZZ_CHECK(host != NULL ? port >= 1 && port <= 65535 : port == 0);
  FUZZ_CHECK(host != NULL || keyroute_location_start_code(location, replica) == 0);
  check_written(keyroute_location_region_name, location, replica);
  check_written(keyroute_location_encoded_name, location, replica);
}

void fuzz_check_location(const struct keyroute_location *location)
{
  struct keyroute_bytes start = keyroute_location_start_key(location);
  struct keyroute_bytes end = keyroute_location_end_key(location);
  int count = keyroute_location_replica_count(location);

  FUZZ_CHECK(keyroute_location_table(location).len > 0);
  FUZZ_CHECK(end.len == 0 || kr_bytes_compare(start, end) < 0);
  FUZZ_CHECK(kr_location_covers(location, start, KR_AT));
  FUZZ_CHECK(end.len == 0 || !kr_location_covers(location, end, KR_AT));
  FUZZ_CHECK(keyroute_location_region_id(location) >= 0);
  FUZZ_CHECK(count >= 1 && count <= KR_REPLICAS_MAX);
  for (int replica = -1; replica <= count; replica++) {
    check_replica(location, replica);
  }
}
