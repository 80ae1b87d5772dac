/* An hbase-site.xml, read as a user's: through keyroute_options_read_file, and into settings. */
#include "lib/options.h"

#include "lib/property.h"
#include "test/failing_mem.h"
#include "test/fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A file that is in memory only; *path gets a name for it. */
static int open_file(char path[64], struct keyroute_bytes text)
{
  int fd = memfd_create("hbase-site.xml", MFD_CLOEXEC);

  FUZZ_CHECK(fd >= 0);
  FUZZ_CHECK(write(fd, text.data, text.len) == (ssize_t)text.len);
  snprintf(path, 64, "/proc/self/fd/%d", fd);
  return fd;
}

/* Every number that came out is within what is said of its property. */
static void check_settings(const struct keyroute_options *options)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  struct kr_settings *settings = NULL;
  int error = kr_options_settings(&settings, options, &detail);

  fuzz_check_error(error, 0, KEYROUTE_E_INVALID_ARGUMENT);
  FUZZ_CHECK((settings != NULL) == (error == 0));
  if (error != 0) {
    fuzz_check_line(detail.message);
    return;
  }
  FUZZ_CHECK(settings->retries >= 0 && settings->pause_ms >= 1 && settings->deadline_ms >= 1);
  FUZZ_CHECK(settings->zookeeper[0] != '\0' && settings->user != NULL);
  FUZZ_CHECK(settings->parent[0] == '\0' || settings->parent[0] == '/');
  FUZZ_CHECK(settings->max_frame_len > 0 && settings->scans_per_table >= 1);
  kr_settings_free(settings);
}

static void read_file(struct keyroute_options *options, struct keyroute_bytes text)
{
  struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
  char path[64];
  int fd = open_file(path, text);
  int error = keyroute_options_read_file(options, path, &detail);

  close(fd);
  fuzz_check_error(error, 0, KEYROUTE_E_INVALID_ARGUMENT);
  FUZZ_CHECK(detail.error == error);
  if (error == 0) {
    check_settings(options);
  } else {
    fuzz_check_line(detail.message);
    FUZZ_CHECK(error == KEYROUTE_E_NO_MEMORY || strncmp(detail.message, path, strlen(path)) == 0 ||
               strncmp(detail.message, "property ", 9) == 0);
    FUZZ_CHECK(strcmp(keyroute_options_get(options, "hbase.client.pause"), "77") == 0);
  }
  for (int id = 0; id < KR_PROPERTY_COUNT; id++) {
    keyroute_options_get(options, kr_property_get((enum kr_property_id)id)->name);
  }
}

int FUZZ_ENTRY(site_xml)(const uint8_t *data, size_t len)
{
  struct fuzz_input input = fuzz_input(data, len);
  unsigned fails = fuzz_u8(&input);
  struct keyroute_options *options = NULL;

  mem_fail(0);
  FUZZ_CHECK(keyroute_options_new(&options, &failing_allocator) == 0);
  FUZZ_CHECK(keyroute_options_set(options, "hbase.client.pause", "77", NULL) == 0);
  mem_fail(fails);
  read_file(options, fuzz_rest(&input));
  keyroute_options_free(options);
  mem_fail(0);
  FUZZ_CHECK(mem_live() == 0);
  return 0;
}
