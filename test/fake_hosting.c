/*
 * Which user regions the scripted region server serves.
 *
 *  1. A region that is not on the list is answered with NotServingRegionException; one that went
 *     elsewhere with RegionMovedException, until it comes back.
 *  2. A region is asked for by its name or by its encoded name.
 *
 * Source: HBase HRegionServer.getRegionByEncodedName, RSRpcServices.getRegion, HRegion.checkRow
 */
#include "test/fake_server_state.h"

#include "test/must.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { ENCODED_LEN = 32, DEFAULT_START_CODE = 77 };

/* ---- The list ------------------------------------------------------------------------------- */

static void free_bytes(struct keyroute_bytes bytes)
{
  free((void *)(uintptr_t)bytes.data);
}

static struct fake_hosted *make_hosted(const struct fake_region *region, int replica)
{
  struct fake_hosted *hosted = must(calloc(1, sizeof(*hosted)));

  hosted->name = fake_region_replica_name(region, replica);
  hosted->table = must(strdup(region->table));
  hosted->start = fake_bytes_copy(region->start);
  hosted->end = fake_bytes_copy(region->end);
  hosted->replica = replica;
  return hosted;
}

static void free_hosted(struct fake_hosted *hosted)
{
  free_bytes(hosted->name);
  free_bytes(hosted->start);
  free_bytes(hosted->end);
  free(hosted->table);
  free(hosted->moved_to);
  free(hosted);
}

void fake_clear_hosted(struct fake_server *server)
{
  while (server->hosted != NULL) {
    struct fake_hosted *hosted = server->hosted;

    server->hosted = hosted->next;
    free_hosted(hosted);
  }
}

/* Put a region in the place of what was known of it; NULL hosted = forget it. */
static void replace(struct fake_server *server, const struct fake_region *region, int replica,
                    struct fake_hosted *hosted)
{
  struct keyroute_bytes name = fake_region_replica_name(region, replica);

  pthread_mutex_lock(&server->lock);
  struct fake_hosted **at = &server->hosted;

  while (*at != NULL && !fake_bytes_equal((*at)->name, name)) {
    at = &(*at)->next;
  }
  struct fake_hosted *old = *at;

  if (old != NULL) {
    *at = old->next;
    free_hosted(old);
  }
  if (hosted != NULL) {
    hosted->next = server->hosted;
    server->hosted = hosted;
  }
  pthread_mutex_unlock(&server->lock);
  free_bytes(name);
}

void fake_server_host_region(struct fake_server *server, const struct fake_region *region,
                             int replica)
{
  replace(server, region, replica, make_hosted(region, replica));
}

void fake_server_unhost_region(struct fake_server *server, const struct fake_region *region,
                               int replica)
{
  replace(server, region, replica, NULL);
}

void fake_server_move_region(struct fake_server *server, const struct fake_region *region,
                             const char *host, int port, int64_t start_code, int64_t seqnum)
{
  struct fake_hosted *hosted = make_hosted(region, 0);

  hosted->moved_to = must(strdup(host));
  hosted->port = port;
  hosted->start_code = start_code;
  hosted->seqnum = seqnum;
  replace(server, region, 0, hosted);
}

/* ---- Several servers ------------------------------------------------------------------------ */

void fake_server_place_region(struct fake_server *meta, struct fake_server *on,
                              const struct fake_region *region)
{
  fake_server_place_replicas(meta, &on, 1, region);
}

void fake_server_place_replicas(struct fake_server *meta, struct fake_server *const *on, int count,
                                const struct fake_region *region)
{
  struct fake_region placed = *region;
  int *ports = must(calloc((size_t)count, sizeof(*ports)));

  for (int i = 0; i < count; i++) {
    ports[i] = fake_server_port(on[i]);
    fake_server_host_region(on[i], region, i);
  }
  placed.host = "127.0.0.1";
  placed.port = ports[0];
  placed.start_code = region->start_code != 0 ? region->start_code : DEFAULT_START_CODE;
  placed.replicas = count;
  placed.replica_ports = ports;
  fake_server_put_region(meta, &placed);
  free(ports);
}

void fake_server_hand_over_region(struct fake_server *meta, struct fake_server *from,
                                  struct fake_server *to, const struct fake_region *region)
{
  int64_t start_code = region->start_code != 0 ? region->start_code : DEFAULT_START_CODE;

  fake_server_place_region(meta, to, region);
  fake_server_move_region(from, region, "127.0.0.1", fake_server_port(to), start_code,
                          region->seqnum);
}

/* ---- Who is asked for ----------------------------------------------------------------------- */

/* The 32 digits in front of the last dot. */
static struct keyroute_bytes encoded_name(struct keyroute_bytes name)
{
  return (struct keyroute_bytes){(const char *)name.data + name.len - 1 - ENCODED_LEN, ENCODED_LEN};
}

bool fake_specifier_names(const Kr__Pb__RegionSpecifier *specifier, struct keyroute_bytes name)
{
  bool whole = specifier->type == KR__PB__REGION_SPECIFIER__REGION_SPECIFIER_TYPE__REGION_NAME;

  return fake_bytes_equal(fake_bytes(specifier->value), whole ? name : encoded_name(name));
}

/* As far as text has room, with what is not printable escaped. */
static const char *printable(char *text, size_t size, struct keyroute_bytes bytes)
{
  size_t len = 0;

  text[0] = '\0';
  for (size_t i = 0; i < bytes.len && len + 5 < size; i++) {
    unsigned char byte = ((const unsigned char *)bytes.data)[i];

    len += (size_t)snprintf(text + len, size - len, isprint(byte) ? "%c" : "\\x%02X", byte);
  }
  return text;
}

static void say_moved(struct fake_exception *wrong, const struct fake_hosted *hosted)
{
  *wrong = fake_exception_of("org.apache.hadoop.hbase.exceptions.RegionMovedException", NULL);
  snprintf(wrong->text, sizeof(wrong->text),
           "Region moved to: hostname=%.200s port=%d startCode=%lld. As of locationSeqNum=%lld.",
           hosted->moved_to, hosted->port, (long long)hosted->start_code,
           (long long)hosted->seqnum);
  wrong->host = hosted->moved_to;
  wrong->port = hosted->port;
}

static void say_not_serving(struct fake_exception *wrong, const struct fake_server *server,
                            struct keyroute_bytes name)
{
  char text[200];

  *wrong = fake_exception_of("org.apache.hadoop.hbase.NotServingRegionException", NULL);
  snprintf(wrong->text, sizeof(wrong->text), "%s is not online on 127.0.0.1,%d,%d",
           printable(text, sizeof(text), name), server->port, DEFAULT_START_CODE);
}

const struct fake_hosted *fake_find_hosted(const struct fake_server *server,
                                           const Kr__Pb__RegionSpecifier *specifier,
                                           struct fake_exception *wrong)
{
  const struct fake_hosted *hosted = specifier != NULL ? server->hosted : NULL;

  while (hosted != NULL && !fake_specifier_names(specifier, hosted->name)) {
    hosted = hosted->next;
  }
  if (hosted != NULL && hosted->moved_to == NULL) {
    return hosted;
  }
  if (hosted != NULL) {
    say_moved(wrong, hosted);
  } else {
    say_not_serving(wrong, server,
                    specifier != NULL ? fake_bytes(specifier->value) : keyroute_string("it"));
  }
  return NULL;
}

bool fake_hosted_covers(const struct fake_hosted *hosted, struct keyroute_bytes row,
                        struct fake_exception *wrong)
{
  char name[150], text[100];

  if (fake_bytes_compare(hosted->start, row) <= 0 &&
      (hosted->end.len == 0 || fake_bytes_compare(row, hosted->end) < 0)) {
    return true;
  }
  *wrong = fake_exception_of("org.apache.hadoop.hbase.regionserver.WrongRegionException", NULL);
  snprintf(wrong->text, sizeof(wrong->text),
           "Requested row out of range for get on HRegion %s, row='%s'",
           printable(name, sizeof(name), hosted->name), printable(text, sizeof(text), row));
  return false;
}
