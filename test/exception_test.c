/* What a server's exceptions mean: class names, flags, waits and texts. */
#include "lib/exception.h"

#include "test/run_suite.h"

#include <check.h>
#include <string.h>

#define HBASE "org.apache.hadoop.hbase."

static struct kr_failure map(const char *class_name, const char *text)
{
  struct kr_exception exception = {.class_name = class_name, .text = text};
  struct kr_failure failure;

  kr_exception_map(&failure, &exception);
  return failure;
}

static struct kr_failure map_flags(const char *class_name, bool do_not_retry, bool overloaded)
{
  struct kr_exception exception = {class_name, "text", do_not_retry, overloaded};
  struct kr_failure failure;

  kr_exception_map(&failure, &exception);
  return failure;
}

static int64_t wait_of(const char *text)
{
  return map(HBASE "quotas.RpcThrottlingException", text).wait_ms;
}

#define OVERLOADED KEYROUTE_E_OVERLOADED, KEYROUTE_KIND_KEEP
#define REMOTE(kind) KEYROUTE_E_REMOTE, KEYROUTE_KIND_##kind
#define AUTH KEYROUTE_E_AUTH, KEYROUTE_KIND_FATAL

/* All that are known, and some that only look so. */
static const struct {
  const char *class_name;
  int code;
  enum keyroute_kind kind;
  bool final;
  bool refused; /* nothing was done */
} classes[] = {
    {HBASE "CallDroppedException", OVERLOADED, false, true},
    {HBASE "CallQueueTooBigException", OVERLOADED, false, true},
    {HBASE "ipc.RpcServer$CallQueueTooBigException", OVERLOADED, false, true},
    {HBASE "RegionTooBusyException", OVERLOADED, false, true},
    {HBASE "regionserver.RegionOverloadedException", OVERLOADED, false, true},
    {HBASE "quotas.RpcThrottlingException", OVERLOADED, false, true},
    {HBASE "quotas.ThrottlingException", OVERLOADED, false, true},
    {HBASE "ipc.ServerTooBusyException", OVERLOADED, false, true},
    {HBASE "ipc.CallerDisconnectedException", REMOTE(KEEP), false, false},
    {HBASE "regionserver.LeaseException", REMOTE(KEEP), false, false},
    {HBASE "MultiActionResultTooLarge", REMOTE(KEEP), false, true},
    {HBASE "exceptions.OutOfOrderScannerNextException", REMOTE(KEEP), false, false},
    {HBASE "PleaseHoldException", REMOTE(KEEP), false, true},
    {HBASE "exceptions.RegionOpeningException", REMOTE(KEEP), false, true},
    {HBASE "RetryImmediatelyException", REMOTE(KEEP), false, true},
    {HBASE "exceptions.ScannerResetException", REMOTE(KEEP), false, false},
    {HBASE "UnknownScannerException", REMOTE(KEEP), false, true},
    {HBASE "security.visibility.VisibilityControllerNotReadyException", REMOTE(KEEP), false, true},
    {HBASE "MasterNotRunningException", REMOTE(REFRESH), false, true},
    {HBASE "NotAllMetaRegionsOnlineException", REMOTE(REFRESH), false, true},
    {HBASE "NotServingRegionException", REMOTE(REFRESH), false, true},
    {HBASE "exceptions.RegionMovedException", REMOTE(HINT), false, true},
    {HBASE "client.RegionOfflineException", REMOTE(REFRESH), false, true},
    {HBASE "ipc.ServerNotRunningYetException", REMOTE(REFRESH), false, true},
    {HBASE "UnknownRegionException", REMOTE(REFRESH), false, true},
    {HBASE "regionserver.WrongRegionException", REMOTE(REFRESH), false, true},
    {HBASE "exceptions.MasterStoppedException", REMOTE(DROP_SERVER), false, true},
    {HBASE "PleaseRestartMasterException", REMOTE(DROP_SERVER), false, true},
    {HBASE "regionserver.RegionServerAbortedException", REMOTE(DROP_SERVER), false, false},
    {HBASE "regionserver.RegionServerStoppedException", REMOTE(DROP_SERVER), false, true},
    {HBASE "YouAreDeadException", REMOTE(DROP_SERVER), false, true},
    {HBASE "DoNotRetryIOException", REMOTE(FATAL), true, false},
    {HBASE "ipc.EmptyServiceNameException", REMOTE(FATAL), true, true},
    {HBASE "ipc.FatalConnectionException", REMOTE(FATAL), true, true},
    {HBASE "regionserver.NoSuchColumnFamilyException", REMOTE(FATAL), true, true},
    {HBASE "quotas.QuotaExceededException", REMOTE(FATAL), false, true},
    {HBASE "exceptions.RequestTooBigException", REMOTE(KEEP), true, true},
    {HBASE "client.RowTooBigException", REMOTE(FATAL), true, true},
    {HBASE "TableNotEnabledException", REMOTE(FATAL), true, true},
    {HBASE "TableNotFoundException", REMOTE(FATAL), true, true},
    {HBASE "exceptions.UnknownProtocolException", REMOTE(FATAL), true, true},
    {HBASE "ipc.UnknownServiceException", REMOTE(FATAL), true, true},
    {HBASE "ipc.UnsupportedCellCodecException", REMOTE(FATAL), true, true},
    {HBASE "ipc.UnsupportedCompressionCodecException", REMOTE(FATAL), true, true},
    {HBASE "ipc.UnsupportedCryptoException", REMOTE(FATAL), true, true},
    {HBASE "ipc.WrongVersionException", REMOTE(FATAL), true, true},
    {"org.apache.hadoop.security.AccessControlException", AUTH, true, true},
    {HBASE "security.AccessDeniedException", AUTH, true, true},
    {"org.apache.hadoop.security.authorize.AuthorizationException", AUTH, true, true},
    {HBASE "ipc.BadAuthException", AUTH, true, true},
    {HBASE "security.SecurityNotEnabledException", AUTH, true, true},
    {"javax.security.sasl.SaslException", AUTH, true, true},
    {"java.io.IOException", REMOTE(REFRESH), false, false},
    {"java.nio.file.AccessDeniedException", REMOTE(REFRESH), false, false},
    {"com.example.NotServingRegionException", REMOTE(REFRESH), false, false},
};

#define CLASS_COUNT ((int)(sizeof(classes) / sizeof(classes[0])))

START_TEST(test_exception__class_has_its_meaning)
{
  struct kr_failure failure = map(classes[_i].class_name, "text");

  ck_assert_msg(failure.code == classes[_i].code, "code of %s", classes[_i].class_name);
  ck_assert_msg(failure.kind == classes[_i].kind, "kind of %s", classes[_i].class_name);
  ck_assert_msg(failure.final == classes[_i].final, "final of %s", classes[_i].class_name);
  ck_assert_msg(failure.refused == classes[_i].refused, "refused of %s", classes[_i].class_name);
  ck_assert(failure.sent);
}
END_TEST

START_TEST(test_exception__do_not_retry_makes_an_unknown_class_final)
{
  struct kr_failure failure = map_flags("com.example.OddException", true, false);

  ck_assert_int_eq(failure.code, KEYROUTE_E_REMOTE);
  ck_assert(failure.final);
}
END_TEST

START_TEST(test_exception__known_classes_know_better_than_do_not_retry)
{
  ck_assert(!map_flags(HBASE "UnknownScannerException", true, false).final);
  ck_assert(!map_flags(HBASE "quotas.ThrottlingException", true, false).final);
  ck_assert(map_flags(HBASE "ipc.BadAuthException", false, false).final);
}
END_TEST

START_TEST(test_exception__overloaded_flag_keeps_the_location)
{
  struct kr_failure failure = map_flags("com.example.OddException", false, true);

  ck_assert_int_eq(failure.code, KEYROUTE_E_OVERLOADED);
  ck_assert_int_eq(failure.kind, KEYROUTE_KIND_KEEP);
  ck_assert(failure.refused);
  ck_assert_int_eq(map_flags(HBASE "ipc.BadAuthException", false, true).code, KEYROUTE_E_AUTH);
}
END_TEST

START_TEST(test_exception__throttling_names_its_wait)
{
  ck_assert_int_eq(wait_of("number of requests exceeded - wait 1sec, 500ms"), 1500);
  ck_assert_int_eq(wait_of("read size limit exceeded - wait 2mins, 0sec, 7ms"), 120007);
  ck_assert_int_eq(wait_of("read size limit exceeded - wait 1hr, 1min, 1sec, 0ms"), 3661000);
  ck_assert_int_eq(wait_of("number of requests exceeded - wait 0.50sec"), 500);
  ck_assert_int_eq(wait_of(HBASE "quotas.RpcThrottlingException: x - wait 40ms\n\tat y"), 40);
}
END_TEST

START_TEST(test_exception__odd_waits_do_no_harm)
{
  ck_assert_int_eq(wait_of("no wait at all"), 0);
  ck_assert_int_eq(wait_of(" - wait "), 0);
  ck_assert_int_eq(wait_of(" - wait 5parsecs"), 0);
  ck_assert_int_eq(wait_of(" - wait -5sec"), 0);
  ck_assert_int_eq(wait_of(" - wait 99999999999999999999999hrs"), 24 * 3600 * 1000);
  ck_assert_int_eq(map("java.io.IOException", "a - wait 5sec").wait_ms, 0);
}
END_TEST

START_TEST(test_exception__tables_descriptor_is_left_out_of_the_message)
{
  struct kr_failure failure =
      map(HBASE "regionserver.NoSuchColumnFamilyException",
          "Column family x does not exist in region t,,1.abc. in table 't', {TABLE_ATTRIBUTES => "
          "{METADATA => {'hbase.store.file-tracker.impl' => 'DEFAULT'}}}, {NAME => 'f'}\n\tat a");

  ck_assert_str_eq(failure.message, "NoSuchColumnFamilyException: Column family x does not exist "
                                    "in region t,,1.abc. in table 't'");
}
END_TEST

START_TEST(test_exception__message_is_class_and_first_line)
{
  const char *trace = HBASE "NotServingRegionException: hbase:meta,,1 is not online\n\tat a.B(C)";

  ck_assert_str_eq(map(HBASE "NotServingRegionException", trace).message,
                   "NotServingRegionException: hbase:meta,,1 is not online");
  ck_assert_str_eq(map("java.io.IOException", "java.io.IOException").message,
                   "java.io.IOException");
  ck_assert_str_eq(map(NULL, NULL).message, "exception");
}
END_TEST

START_TEST(test_exception__message_is_printable_and_bounded)
{
  char text[5000];

  memset(text, '\x1b', sizeof(text) - 1);
  text[sizeof(text) - 1] = '\0';
  struct kr_failure failure = map("java.io.\x07IOException", text);

  ck_assert_uint_lt(strlen(failure.message), sizeof(failure.message));
  for (const char *at = failure.message; *at != '\0'; at++) {
    ck_assert(*at >= ' ' && *at <= '~');
  }
}
END_TEST

static const struct {
  const char *text, *host;
  int port;
  int64_t start_code, seqnum;
} moves[] = {
    {"Region moved to: hostname=h.example port=16020 startCode=1700000000000. As of "
     "locationSeqNum=12.",
     "h.example", 16020, 1700000000000, 12},
    {HBASE "exceptions.RegionMovedException: Region moved to: hostname=h port=1 startCode=2. As of "
           "locationSeqNum=3.\n\tat org.apache.hadoop.hbase.regionserver.HRegionServer",
     "h", 1, 2, 3},
    {"Region moved to: hostname=h port=65535 startCode=2.", "h", 65535, 2, -1},
    {"Region moved to: hostname=h port=16020. As of locationSeqNum=3.", "h", 16020, 0, 3},
    {"Region moved to: hostname=h port=16020", "h", 16020, 0, -1},
    {"hostname=fe80::1 port=16020 startCode=9223372036854775807. As of locationSeqNum=0.",
     "fe80::1", 16020, INT64_MAX, 0},
    {"Region moved to: hostname=h port=16020 startCode=. As of locationSeqNum=.", "h", 16020, 0,
     -1},
};

START_TEST(test_exception__moved_region_names_its_place)
{
  struct kr_place moved;

  ck_assert(kr_exception_moved(&moved, moves[_i].text));

  ck_assert_str_eq(moved.host, moves[_i].host);
  ck_assert_int_eq(moved.port, moves[_i].port);
  ck_assert_int_eq(moved.start_code, moves[_i].start_code);
  ck_assert_int_eq(moved.seqnum, moves[_i].seqnum);
}
END_TEST

static const char *const no_moves[] = {
    "",
    "Region moved",
    "Region moved to: hostname= port=16020 startCode=1. As of locationSeqNum=1.",
    "Region moved to: hostname=h",
    "Region moved to: hostname=h port= startCode=1. As of locationSeqNum=1.",
    "Region moved to: hostname=h port=0 startCode=1. As of locationSeqNum=1.",
    "Region moved to: hostname=h port=65536 startCode=1. As of locationSeqNum=1.",
    "Region moved to: hostname=h port=-1 startCode=1. As of locationSeqNum=1.",
    "Region moved to: hostname=h port=1x startCode=1. As of locationSeqNum=1.",
    "Region moved to: hostname=h port=1 startCode=-1. As of locationSeqNum=1.",
    "Region moved to: hostname=h port=1 startCode=99999999999999999999. As of locationSeqNum=1.",
    "Region moved to: hostname=h port=1 startCode=1. As of locationSeqNum=99999999999999999999.",
    "Region moved to:\nhostname=h port=1 startCode=1. As of locationSeqNum=1.",
    "Region moved to: hostname=h\rport=1 startCode=1. As of locationSeqNum=1.",
    "port=1 startCode=1. As of locationSeqNum=1. hostname=h",
};

START_TEST(test_exception__text_that_is_no_place_is_none)
{
  struct kr_place moved = {.port = 7};

  ck_assert(!kr_exception_moved(&moved, no_moves[_i]));

  ck_assert_int_eq(moved.port, 7);
}
END_TEST

START_TEST(test_exception__host_longer_than_any_name_is_no_place)
{
  char text[400] = "hostname=";
  struct kr_place moved;

  memset(text + 9, 'h', 256);
  strcpy(text + 9 + 256, " port=1");

  ck_assert(!kr_exception_moved(&moved, text));
}
END_TEST

START_TEST(test_exception__fault_agrees_with_the_kind)
{
  enum keyroute_kind kind = keyroute_fault_kind(kr_exception_fault(classes[_i].class_name));
  enum keyroute_kind known = classes[_i].kind;

  /* To the location it is all one why a request is hopeless. */
  ck_assert_int_eq(kind, known == KEYROUTE_KIND_FATAL ? KEYROUTE_KIND_KEEP : known);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("exception");
  TCase *tcase = tcase_create("all");

  tcase_add_loop_test(tcase, test_exception__moved_region_names_its_place, 0,
                      (int)(sizeof(moves) / sizeof(moves[0])));
  tcase_add_loop_test(tcase, test_exception__text_that_is_no_place_is_none, 0,
                      (int)(sizeof(no_moves) / sizeof(no_moves[0])));
  tcase_add_test(tcase, test_exception__host_longer_than_any_name_is_no_place);
  tcase_add_loop_test(tcase, test_exception__fault_agrees_with_the_kind, 0, CLASS_COUNT);
  suite_add_tcase(suite, tcase);
  tcase_add_loop_test(tcase, test_exception__class_has_its_meaning, 0, CLASS_COUNT);
  tcase_add_test(tcase, test_exception__do_not_retry_makes_an_unknown_class_final);
  tcase_add_test(tcase, test_exception__known_classes_know_better_than_do_not_retry);
  tcase_add_test(tcase, test_exception__overloaded_flag_keeps_the_location);
  tcase_add_test(tcase, test_exception__throttling_names_its_wait);
  tcase_add_test(tcase, test_exception__odd_waits_do_no_harm);
  tcase_add_test(tcase, test_exception__message_is_class_and_first_line);
  tcase_add_test(tcase, test_exception__tables_descriptor_is_left_out_of_the_message);
  tcase_add_test(tcase, test_exception__message_is_printable_and_bounded);

  return run_suite(suite);
}
