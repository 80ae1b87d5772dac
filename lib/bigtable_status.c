/*
 * What a gRPC status means.
 *
 * A status is one of seventeen codes with a text, and may have details: messages in a list
 * (google.rpc.Status), each with the name of its type. It comes from the node, or from the client
 * itself where there was nobody to answer.
 *
 *  1. A node that does not have a range does not have its table: NOT_FOUND. So the location is
 *     read anew, one level up.
 *  2. A detail of type RangeDescriptor is a hint: what the node knows of the range that was asked
 *     for. It is taken for a place if it is about that very range, the table's number being the
 *     range's; one about others says no more than that the location is old. The place is where its
 *     first replica is, and its generation is what tells new from old.
 *  3. A wait is asked for by a RetryInfo, or by the header grpc-retry-pushback-ms: the longer one
 *     counts.
 *  4. UNAVAILABLE is the client's word for no connection, or one that broke; also a node's for
 *     being on its way down. Time that ran out before there was a connection is silence all the
 *     same: it may have been short.
 *  5. The text is the node's: only its first line is used, escaped. Details that cannot be read are
 *     as none: the code is what counts.
 *  6. A code that is not known is UNKNOWN, whose location is read anew: that costs one read, where
 *     a wrongly kept one would cost every later request.
 *  7. "Nothing done" is said of codes that nodes answer with before they begin.
 *
 * Threads: any.  Source: google/rpc/status.proto, code.proto, error_details.proto; gRPC's
 * doc/statuscodes.md
 */
#include "lib/bigtable_status.h"

#include "lib/bytes.h"
#include "lib/descriptor.h"
#include "lib/proto/bigtable.pb-c.h"
#include "lib/proto_alloc.h"

#include <stdio.h>
#include <string.h>

/* A node that asks for a longer wait than a day is not believed. */
#define MAX_WAIT_MS INT64_C(86400000)

/* The codes that more is said of than stands in the table. */
enum { UNKNOWN = 2, UNAVAILABLE = 14 };

struct meaning {
  const char *name;
  int code;
  enum keyroute_kind kind;
  enum keyroute_fault fault;
  bool nothing_done;
  bool final;
};

#define RETRIED(kind, fault, nothing_done)                                                         \
  KEYROUTE_E_REMOTE, KEYROUTE_KIND_##kind, KEYROUTE_FAULT_##fault, nothing_done, false
#define FINAL KEYROUTE_E_REMOTE, KEYROUTE_KIND_FATAL, KEYROUTE_FAULT_REQUEST_FAILED, true, true
#define AUTH KEYROUTE_E_AUTH, KEYROUTE_KIND_FATAL, KEYROUTE_FAULT_REQUEST_FAILED, true, true

/* By grpc_status_code. */
static const struct meaning meanings[] = {
    {"OK", RETRIED(REFRESH, NOT_SERVING, false)}, /* never mapped */
    {"CANCELLED", RETRIED(REFRESH, NOT_SERVING, false)},
    {"UNKNOWN", RETRIED(REFRESH, NOT_SERVING, false)},
    {"INVALID_ARGUMENT", FINAL},
    {"DEADLINE_EXCEEDED", KEYROUTE_E_TIMEOUT, KEYROUTE_KIND_REFRESH, KEYROUTE_FAULT_NOT_SERVING,
     false, false},
    {"NOT_FOUND", RETRIED(REFRESH, NOT_SERVING, true)},
    {"ALREADY_EXISTS", FINAL},
    {"PERMISSION_DENIED", AUTH},
    {"RESOURCE_EXHAUSTED", KEYROUTE_E_OVERLOADED, KEYROUTE_KIND_KEEP, KEYROUTE_FAULT_OVERLOADED,
     true, false},
    {"FAILED_PRECONDITION", FINAL},
    {"ABORTED", RETRIED(KEEP, REQUEST_FAILED, false)},
    {"OUT_OF_RANGE", FINAL},
    {"UNIMPLEMENTED", FINAL},
    {"INTERNAL", RETRIED(REFRESH, NOT_SERVING, false)},
    {"UNAVAILABLE", KEYROUTE_E_UNREACHABLE, KEYROUTE_KIND_DROP_SERVER,
     KEYROUTE_FAULT_CONNECTION_FAILED, false, false},
    {"DATA_LOSS", RETRIED(REFRESH, NOT_SERVING, false)},
    {"UNAUTHENTICATED", AUTH},
};

static const struct meaning *find_meaning(int code)
{
  const int count = sizeof(meanings) / sizeof(meanings[0]);

  return &meanings[code > 0 && code < count ? code : UNKNOWN];
}

/* ---- The text -------------------------------------------------------------------------------- */

static struct keyroute_bytes first_line(struct keyroute_bytes text)
{
  size_t len = 0;

  while (len < text.len && ((const char *)text.data)[len] != '\n' &&
         ((const char *)text.data)[len] != '\r') {
    len++;
  }
  return kr_bytes(text.data, len);
}

/* Where a text goes on behind a mark; empty = it is not in it. */
static struct keyroute_bytes behind(struct keyroute_bytes text, const char *mark)
{
  size_t len = strlen(mark);
  const char *at = text.len > 0 ? memmem(text.data, text.len, mark, len) : NULL;
  const char *end = (const char *)text.data + text.len;

  return at != NULL ? kr_bytes(at + len, (size_t)(end - at) - len) : kr_bytes(NULL, 0);
}

/* How long the message was that the client refused; 0 = that is not said. Source: gRPC C core,
 * message_size_filter.cc */
static size_t refused_len(const struct kr_grpc_status *status)
{
  struct keyroute_bytes number = behind(status->message, "eceived message larger than max (");
  int64_t value;

  return kr_bytes_number(&value, number, INT64_MAX) > 0 ? (size_t)value : 0;
}

/* ---- The details ----------------------------------------------------------------------------- */

/* Is that the name of a type, behind whatever host it is said to be at? */
static bool is_type(const Kr__Bigtable__Any *detail, const char *type)
{
  struct keyroute_bytes name = kr_proto_bytes(detail->type_url);
  size_t len = strlen(type);

  return name.len >= len && memcmp((const char *)name.data + name.len - len, type, len) == 0;
}

static int64_t longer(int64_t a, int64_t b)
{
  return a > b ? a : b;
}

/* The wait that a RetryInfo asks for; 0 = none that is believed. */
static int64_t read_wait_ms(struct kr_mem *mem, struct keyroute_bytes message)
{
  ProtobufCAllocator allocator = kr_proto_allocator(mem);
  bool is_short;
  Kr__Bigtable__RetryInfo *info =
      kr_proto_unpack(&kr__bigtable__retry_info__descriptor, mem, message, &is_short);
  int64_t wait_ms = 0;

  if (info == NULL) {
    return 0;
  }
  if (info->retry_delay != NULL && info->retry_delay->seconds >= 0 &&
      info->retry_delay->seconds <= MAX_WAIT_MS / 1000 && info->retry_delay->nanos >= 0) {
    wait_ms =
        info->retry_delay->seconds * 1000 + ((int64_t)info->retry_delay->nanos + 999999) / 1000000;
  }
  kr__bigtable__retry_info__free_unpacked(info, &allocator);
  return wait_ms <= MAX_WAIT_MS ? wait_ms : 0;
}

/* Is the region's table that of the range with this number? */
static bool is_of_range(struct keyroute_bytes region, uint64_t id)
{
  char name[32];
  int len = snprintf(name, sizeof(name), ".r%llu.", (unsigned long long)id);

  return region.len >= (size_t)len &&
         memcmp((const char *)region.data + region.len - (size_t)len, name, (size_t)len) == 0;
}

/* What the node knows of the range: its place, if it is the one that was asked for. */
static void take_hint(struct kr_failure *failure, struct kr_mem *mem, struct keyroute_bytes message,
                      struct keyroute_bytes region)
{
  struct kr_descriptor *descriptor;
  const char *reason;

  if (kr_descriptor_read_message(&descriptor, mem, message, &reason) != 0) {
    return;
  }
  const struct kr_descriptor_replica *first = &descriptor->replicas[0];

  if (is_of_range(region, descriptor->id) && first->host.len <= KR_HOST_MAX &&
      descriptor->generation <= INT64_MAX) {
    memcpy(failure->moved.host, first->host.data, first->host.len);
    failure->moved.host[first->host.len] = '\0';
    failure->moved.port = first->port;
    failure->moved.start_code = 0;
    failure->moved.seqnum = (int64_t)descriptor->generation;
    failure->kind = KEYROUTE_KIND_HINT;
    failure->fault = KEYROUTE_FAULT_MOVED;
  }
  kr_free(mem, descriptor);
}

static void read_details(struct kr_failure *failure, struct kr_mem *mem,
                         struct keyroute_bytes details, struct keyroute_bytes region)
{
  ProtobufCAllocator allocator = kr_proto_allocator(mem);
  bool is_short;
  Kr__Bigtable__Status *status =
      kr_proto_unpack(&kr__bigtable__status__descriptor, mem, details, &is_short);

  for (size_t i = 0; status != NULL && i < status->n_details; i++) {
    const Kr__Bigtable__Any *detail = status->details[i];
    struct keyroute_bytes value = kr_proto_bytes(detail->value);

    if (is_type(detail, "/google.rpc.RetryInfo")) {
      failure->wait_ms = longer(failure->wait_ms, read_wait_ms(mem, value));
    } else if (is_type(detail, "/keyroute.RangeDescriptor") &&
               failure->kind == KEYROUTE_KIND_REFRESH) {
      take_hint(failure, mem, value, region);
    }
  }
  if (status != NULL) {
    kr__bigtable__status__free_unpacked(status, &allocator);
  }
}

/* ---- All of it ------------------------------------------------------------------------------- */

/* What the client says of itself beside the code. */
static void read_flags(struct kr_failure *failure, const struct kr_grpc_status *status)
{
  if (status->too_long) {
    failure->code = KEYROUTE_E_TOO_LARGE;
    failure->fault = KEYROUTE_FAULT_REQUEST_FAILED;
    failure->refused = false;
    failure->answer_len = refused_len(status);
  } else if (status->code == UNAVAILABLE && status->resolving) {
    failure->code = KEYROUTE_E_RESOLVE;
  } else {
    return;
  }
  failure->kind = keyroute_error_kind(failure->code);
}

void kr_bigtable_status_map(struct kr_failure *failure, struct kr_mem *mem,
                            const struct kr_grpc_status *status, struct keyroute_bytes region)
{
  const struct meaning *meaning = find_meaning(status->code);
  struct keyroute_bytes line = first_line(status->message);
  char escaped[500];

  kr_bytes_print(escaped, sizeof(escaped), line);
  kr_fail(failure, meaning->code, "%s%s%s", meaning->name, line.len > 0 ? ": " : "", escaped);
  failure->kind = meaning->kind;
  failure->fault = meaning->fault;
  failure->final = meaning->final;
  failure->connecting = status->connecting && status->code == UNAVAILABLE;
  failure->sent = !status->connecting;
  failure->refused = meaning->nothing_done;
  if (status->pushback_ms > 0 && status->pushback_ms <= MAX_WAIT_MS) {
    failure->wait_ms = status->pushback_ms;
  }
  read_flags(failure, status);
  if (status->details.len > 0) {
    read_details(failure, mem, status->details, region);
  }
}
