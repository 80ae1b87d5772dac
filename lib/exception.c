/*
 * What a server's exception means.
 *
 * On the wire an exception is a Java class name with a stack trace, and two flags. There is no
 * class hierarchy on the wire: Java's client knows that a RegionMovedException is a
 * NotServingRegionException because it has the classes; here every class that matters stands in a
 * table by name, subclasses too.
 *
 *  1. Classes move between packages from release to release (CallQueueTooBigException was nested in
 *     ipc.RpcServer before 1.3), so those of Hadoop and HBase are known by their last name. Classes
 *     of other packages are known by their full name only: java.nio.file has an
 *     AccessDeniedException too.
 *  2. "Do not retry" is the server's word and makes a failure final, except where the class says
 *     more: a scanner that has gone or a throttled request is marked so in some releases, though
 *     the next attempt is a new one and may well succeed.
 *  3. A class not listed is REMOTE, kind refresh: it costs one read of the catalog, where a wrongly
 *     kept location would cost every later request.
 *  4. RegionOpeningException keeps the location, unlike in Java: it is the right server, early.
 *  5. The text is the server's: only its first line is used, escaped, and what is found in it (a
 *     wait, where a region has moved) is checked.
 *  6. What the same class is to an application that got it is a fault (keyroute_report): the kind,
 *     and where it matters what of that kind.
 *  7. "Nothing done" is said only of classes that servers throw before they begin with what is
 *     asked; one not listed may come from anywhere, and so may those marked LATE.
 *
 * Threads: any, nothing is kept.
 * Source: HBase ClientExceptionsUtil, ipc.ServerRpcConnection, quotas.RpcThrottlingException,
 * exceptions.RegionMovedException
 */
#include "lib/exception.h"

#include "lib/bytes.h"

#include <string.h>

#define HADOOP_PREFIX "org.apache.hadoop."
#define HBASE_PREFIX "org.apache.hadoop.hbase."
#define MAX_WAIT_MS (24 * 3600 * 1000.0)

enum final {
  AS_TOLD, /* as the reply's do_not_retry says */
  NEVER,   /* another try may help whatever the reply says */
  ALWAYS   /* another try is the same again */
};

struct meaning {
  const char *name; /* last name of a Hadoop or HBase class, or a full name */
  int code;
  enum keyroute_kind kind;
  enum keyroute_fault fault;
  bool nothing_done;
  enum final final;
};

/* What follows a class's name: code, kind, what it is to an application that got it, and whether it
 * is thrown before anything is done. */
#define FAULT_OF_KEEP KEYROUTE_FAULT_REQUEST_FAILED
#define FAULT_OF_REFRESH KEYROUTE_FAULT_NOT_SERVING
#define FAULT_OF_HINT KEYROUTE_FAULT_MOVED
#define FAULT_OF_DROP_SERVER KEYROUTE_FAULT_SERVER_DEAD
#define FAULT_OF_FATAL KEYROUTE_FAULT_REQUEST_FAILED
#define OVERLOADED KEYROUTE_E_OVERLOADED, KEYROUTE_KIND_KEEP, KEYROUTE_FAULT_OVERLOADED, true
#define REMOTE(kind) KEYROUTE_E_REMOTE, KEYROUTE_KIND_##kind, FAULT_OF_##kind, true
#define REMOTE_LATE(kind) KEYROUTE_E_REMOTE, KEYROUTE_KIND_##kind, FAULT_OF_##kind, false
#define REMOTE_OPENING KEYROUTE_E_REMOTE, KEYROUTE_KIND_KEEP, KEYROUTE_FAULT_OPENING, true
#define REMOTE_NOT_RUNNING                                                                         \
  KEYROUTE_E_REMOTE, KEYROUTE_KIND_REFRESH, KEYROUTE_FAULT_NOT_RUNNING, true
#define AUTH KEYROUTE_E_AUTH, KEYROUTE_KIND_FATAL, KEYROUTE_FAULT_REQUEST_FAILED, true

static const struct meaning meanings[] = {
    /* The server is right and busy. */
    {"CallDroppedException", OVERLOADED, NEVER},
    {"CallQueueTooBigException", OVERLOADED, NEVER},
    {"RegionTooBusyException", OVERLOADED, NEVER},
    {"RegionOverloadedException", OVERLOADED, NEVER},
    {"RpcThrottlingException", OVERLOADED, NEVER},
    {"ServerTooBusyException", OVERLOADED, NEVER},
    {"ThrottlingException", OVERLOADED, NEVER}, /* RpcThrottlingException before 1.4 */

    /* The server is right; what was asked did not work this time. */
    {"CallerDisconnectedException", REMOTE_LATE(KEEP), NEVER},
    {"LeaseException", REMOTE_LATE(KEEP), NEVER},
    {"MultiActionResultTooLarge", REMOTE(KEEP), NEVER}, /* spelt without "Exception" */
    {"OutOfOrderScannerNextException", REMOTE_LATE(KEEP), NEVER},
    {"PleaseHoldException", REMOTE(KEEP), NEVER},
    {"RegionOpeningException", REMOTE_OPENING, NEVER},
    {"RetryImmediatelyException", REMOTE(KEEP), NEVER},
    {"ScannerResetException", REMOTE_LATE(KEEP), NEVER},
    {"UnknownScannerException", REMOTE(KEEP), NEVER},
    {"VisibilityControllerNotReadyException", REMOTE(KEEP), NEVER},

    /* The region is not there. */
    {"MasterNotRunningException", REMOTE(REFRESH), NEVER},
    {"NotAllMetaRegionsOnlineException", REMOTE(REFRESH), NEVER},
    {"NotServingRegionException", REMOTE(REFRESH), NEVER},
    {"RegionMovedException", REMOTE(HINT), NEVER},
    {"RegionOfflineException", REMOTE(REFRESH), NEVER},
    {"ServerNotRunningYetException", REMOTE_NOT_RUNNING, NEVER},
    {"UnknownRegionException", REMOTE(REFRESH), NEVER},
    {"WrongRegionException", REMOTE(REFRESH), NEVER},

    /* The server is on its way out. */
    {"MasterStoppedException", REMOTE(DROP_SERVER), NEVER},
    {"PleaseRestartMasterException", REMOTE(DROP_SERVER), NEVER},
    {"RegionServerAbortedException", REMOTE_LATE(DROP_SERVER), NEVER},
    {"RegionServerStoppedException", REMOTE(DROP_SERVER), NEVER},
    {"YouAreDeadException", REMOTE(DROP_SERVER), NEVER},

    /* The request itself is at fault, wherever it is sent. */
    {"DoNotRetryIOException", REMOTE_LATE(FATAL), ALWAYS},
    {"EmptyServiceNameException", REMOTE(FATAL), ALWAYS},
    {"FatalConnectionException", REMOTE(FATAL), ALWAYS},
    {"NoSuchColumnFamilyException", REMOTE(FATAL), ALWAYS},
    {"QuotaExceededException", REMOTE(FATAL), AS_TOLD},
    {"RequestTooBigException", REMOTE(KEEP), ALWAYS},
    {"RowTooBigException", REMOTE(FATAL), ALWAYS},
    {"TableNotEnabledException", REMOTE(FATAL), ALWAYS},
    {"TableNotFoundException", REMOTE(FATAL), ALWAYS},
    {"UnknownProtocolException", REMOTE(FATAL), ALWAYS},
    {"UnknownServiceException", REMOTE(FATAL), ALWAYS},
    {"UnsupportedCellCodecException", REMOTE(FATAL), ALWAYS},
    {"UnsupportedCompressionCodecException", REMOTE(FATAL), ALWAYS},
    {"UnsupportedCryptoException", REMOTE(FATAL), ALWAYS},
    {"VersionMismatch", REMOTE(FATAL), ALWAYS}, /* in Hadoop's RPC, before 0.96 */
    {"WrongVersionException", REMOTE(FATAL), ALWAYS},

    /* Who we are. */
    {"AccessControlException", AUTH, ALWAYS}, /* Hadoop's */
    {"AccessDeniedException", AUTH, ALWAYS},
    {"AuthorizationException", AUTH, ALWAYS}, /* Hadoop's */
    {"BadAuthException", AUTH, ALWAYS},
    {"SecurityNotEnabledException", AUTH, ALWAYS},
    {"javax.security.sasl.SaslException", AUTH, ALWAYS},
};

static const struct meaning unknown = {"", REMOTE_LATE(REFRESH), AS_TOLD};

/* The part behind the last dot or, in nested classes, behind the last '$'. */
static const char *last_name(const char *class_name)
{
  const char *last = class_name;

  for (const char *at = class_name; *at != '\0'; at++) {
    if (*at == '.' || *at == '$') {
      last = at + 1;
    }
  }
  return last;
}

static bool has_prefix(const char *text, const char *prefix)
{
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

static const struct meaning *find_meaning(const char *class_name)
{
  const char *name = has_prefix(class_name, HADOOP_PREFIX) ? last_name(class_name) : class_name;

  for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
    if (strcmp(meanings[i].name, name) == 0) {
      return &meanings[i];
    }
  }
  return &unknown;
}

/* Read "12" or "0.50"; moves *at behind it, which stays put if there is no number. */
static double parse_number(const char **at)
{
  double value = 0;
  double place = 1;

  for (; **at >= '0' && **at <= '9'; (*at)++) {
    value = value * 10 + (**at - '0');
  }
  if (**at == '.') {
    for ((*at)++; **at >= '0' && **at <= '9'; (*at)++) {
      place /= 10;
      value += place * (**at - '0');
    }
  }
  return value;
}

/* ms in one of the unit at *at, 0 if there is none; moves *at behind it. */
static double parse_unit(const char **at)
{
  static const struct {
    const char *name;
    double ms;
  } units[] = {{"hrs", 3600e3}, {"hr", 3600e3}, {"mins", 60e3},
               {"min", 60e3},   {"sec", 1e3},   {"ms", 1}};

  for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
    if (has_prefix(*at, units[i].name)) {
      *at += strlen(units[i].name);
      return units[i].ms;
    }
  }
  return 0;
}

/* The wait in "... exceeded - wait 1mins, 3sec, 20ms", which older servers write "wait 0.50sec";
 * 0 if the text has none. */
static int64_t parse_wait_ms(const char *text)
{
  static const char mark[] = " - wait ";
  const char *at = strstr(text, mark);
  double wait_ms = 0;

  if (at == NULL) {
    return 0;
  }
  for (at += strlen(mark); *at >= '0' && *at <= '9'; at += strspn(at, ", ")) {
    double number = parse_number(&at);

    wait_ms += number * parse_unit(&at);
  }
  return (int64_t)(wait_ms < MAX_WAIT_MS ? wait_ms : MAX_WAIT_MS);
}

/* The first line of the text without the class name that Java writes in front of it, and without
 * the table's whole descriptor that some exceptions write behind it. */
static struct keyroute_bytes first_line(const char *text, const char *class_name)
{
  static const char descriptor[] = ", {TABLE_ATTRIBUTES";

  if (has_prefix(text, class_name)) {
    text += strlen(class_name);
    text += strspn(text, ": ");
  }
  size_t len = strcspn(text, "\r\n");
  const char *cut = memmem(text, len, descriptor, strlen(descriptor));

  return kr_bytes(text, cut != NULL ? (size_t)(cut - text) : len);
}

void kr_exception_map(struct kr_failure *failure, const struct kr_exception *exception)
{
  const char *class_name = exception->class_name != NULL ? exception->class_name : "";
  const char *text = exception->text != NULL ? exception->text : "";
  const struct meaning *meaning = find_meaning(class_name);
  bool overloaded = exception->server_overloaded && meaning->code != KEYROUTE_E_AUTH;
  const char *shown = has_prefix(class_name, HBASE_PREFIX) ? last_name(class_name) : class_name;
  struct keyroute_bytes line = first_line(text, class_name);
  char name[200];
  char escaped[500];

  kr_bytes_print(name, sizeof(name), keyroute_string(*shown != '\0' ? shown : "exception"));
  kr_bytes_print(escaped, sizeof(escaped), line);
  kr_fail(failure, overloaded ? KEYROUTE_E_OVERLOADED : meaning->code, "%s%s%s", name,
          line.len > 0 ? ": " : "", escaped);
  failure->kind = overloaded ? KEYROUTE_KIND_KEEP : meaning->kind;
  failure->final = meaning->final == AS_TOLD ? exception->do_not_retry : meaning->final == ALWAYS;
  failure->wait_ms = failure->code == KEYROUTE_E_OVERLOADED ? parse_wait_ms(text) : 0;
  failure->fault = overloaded ? KEYROUTE_FAULT_OVERLOADED : meaning->fault;
  failure->sent = true;
  failure->refused = overloaded || meaning->nothing_done;
  if (failure->fault == KEYROUTE_FAULT_MOVED) {
    kr_exception_moved(&failure->moved, text);
  }
}

enum keyroute_fault kr_exception_fault(const char *class_name)
{
  return find_meaning(class_name)->fault;
}

/* ---- Where a region has moved ---- */

/* What stands behind `mark` up to one of `ends`, or to the line's end; *at moves behind it. Empty,
 * and *at stays put, if there is no such mark. */
static struct keyroute_bytes field(struct keyroute_bytes *at, const char *mark, const char *ends)
{
  size_t mark_len = strlen(mark);
  const char *text = memmem(at->data, at->len, mark, mark_len);
  size_t len = 0;

  if (text == NULL) {
    return kr_bytes(NULL, 0);
  }
  const char *end = (const char *)at->data + at->len;

  for (text += mark_len; text + len < end && strchr(ends, text[len]) == NULL;) {
    len++;
  }
  *at = kr_bytes(text + len, (size_t)(end - text) - len);
  return kr_bytes(text, len);
}

/* The whole of a field as a number from 0 to max; fallback if there is no field. False = it is
 * there and is none. */
static bool field_number(int64_t *out, struct keyroute_bytes text, int64_t max, int64_t fallback)
{
  *out = fallback;
  return text.len == 0 || kr_bytes_number(out, text, max) == text.len;
}

bool kr_exception_moved(struct kr_place *out, const char *text)
{
  struct keyroute_bytes line = kr_bytes(text, strcspn(text, "\r\n"));
  struct keyroute_bytes host = field(&line, "hostname=", " ");
  struct kr_place place = {.host = ""};
  int64_t port;

  if (host.len == 0 || host.len > KR_HOST_MAX ||
      !field_number(&port, field(&line, "port=", " ."), UINT16_MAX, 0) || port == 0 ||
      !field_number(&place.start_code, field(&line, "startCode=", " ."), INT64_MAX, 0) ||
      !field_number(&place.seqnum, field(&line, "locationSeqNum=", " ."), INT64_MAX, -1)) {
    return false;
  }
  memcpy(place.host, host.data, host.len);
  place.port = (uint16_t)port;
  *out = place;
  return true;
}
