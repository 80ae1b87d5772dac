/* What each gRPC status means, with the details that nodes send beside it. */
#include "lib/bigtable_status.h"

#include "lib/bytes.h"
#include "lib/descriptor.h"
#include "test/failing_mem.h"
#include "test/made_chunks.h"
#include "test/run_suite.h"

#include <string.h>

static struct kr_mem *mem;
static struct kr_buf details;
static struct kr_failure failure;
static struct kr_grpc_status status;

static const struct keyroute_bytes region = {"map,k5,7.r12.", 13};

static void setup(void)
{
  mem = failing_mem_new();
  kr_buf_init(&details, mem);
  status = (struct kr_grpc_status){.pushback_ms = -1};
}

static void teardown(void)
{
  kr_buf_clear(&details);
  failing_mem_done(mem);
}

static void map(int code)
{
  status.code = code;
  status.details = kr_buf_view(&details);
  kr_bigtable_status_map(&failure, mem, &status, region);
}

/* ---- Codes ----------------------------------------------------------------------------------- */

static const struct {
  int status;
  const char *name;
  int code;
  enum keyroute_kind kind;
  enum keyroute_fault fault;
  bool final, nothing_done;
} codes[] = {
    {1, "CANCELLED", KEYROUTE_E_REMOTE, KEYROUTE_KIND_REFRESH, KEYROUTE_FAULT_NOT_SERVING, 0, 0},
    {2, "UNKNOWN", KEYROUTE_E_REMOTE, KEYROUTE_KIND_REFRESH, KEYROUTE_FAULT_NOT_SERVING, 0, 0},
    {3, "INVALID_ARGUMENT", KEYROUTE_E_REMOTE, KEYROUTE_KIND_FATAL, KEYROUTE_FAULT_REQUEST_FAILED,
     1, 1},
    {4, "DEADLINE_EXCEEDED", KEYROUTE_E_TIMEOUT, KEYROUTE_KIND_REFRESH, KEYROUTE_FAULT_NOT_SERVING,
     0, 0},
    {5, "NOT_FOUND", KEYROUTE_E_REMOTE, KEYROUTE_KIND_REFRESH, KEYROUTE_FAULT_NOT_SERVING, 0, 1},
    {6, "ALREADY_EXISTS", KEYROUTE_E_REMOTE, KEYROUTE_KIND_FATAL, KEYROUTE_FAULT_REQUEST_FAILED, 1,
     1},
    {7, "PERMISSION_DENIED", KEYROUTE_E_AUTH, KEYROUTE_KIND_FATAL, KEYROUTE_FAULT_REQUEST_FAILED, 1,
     1},
    {8, "RESOURCE_EXHAUSTED", KEYROUTE_E_OVERLOADED, KEYROUTE_KIND_KEEP, KEYROUTE_FAULT_OVERLOADED,
     0, 1},
    {9, "FAILED_PRECONDITION", KEYROUTE_E_REMOTE, KEYROUTE_KIND_FATAL,
     KEYROUTE_FAULT_REQUEST_FAILED, 1, 1},
    {10, "ABORTED", KEYROUTE_E_REMOTE, KEYROUTE_KIND_KEEP, KEYROUTE_FAULT_REQUEST_FAILED, 0, 0},
    {11, "OUT_OF_RANGE", KEYROUTE_E_REMOTE, KEYROUTE_KIND_FATAL, KEYROUTE_FAULT_REQUEST_FAILED, 1,
     1},
    {12, "UNIMPLEMENTED", KEYROUTE_E_REMOTE, KEYROUTE_KIND_FATAL, KEYROUTE_FAULT_REQUEST_FAILED, 1,
     1},
    {13, "INTERNAL", KEYROUTE_E_REMOTE, KEYROUTE_KIND_REFRESH, KEYROUTE_FAULT_NOT_SERVING, 0, 0},
    {14, "UNAVAILABLE", KEYROUTE_E_UNREACHABLE, KEYROUTE_KIND_DROP_SERVER,
     KEYROUTE_FAULT_CONNECTION_FAILED, 0, 0},
    {15, "DATA_LOSS", KEYROUTE_E_REMOTE, KEYROUTE_KIND_REFRESH, KEYROUTE_FAULT_NOT_SERVING, 0, 0},
    {16, "UNAUTHENTICATED", KEYROUTE_E_AUTH, KEYROUTE_KIND_FATAL, KEYROUTE_FAULT_REQUEST_FAILED, 1,
     1},
    {17, "UNKNOWN", KEYROUTE_E_REMOTE, KEYROUTE_KIND_REFRESH, KEYROUTE_FAULT_NOT_SERVING, 0, 0},
    {-1, "UNKNOWN", KEYROUTE_E_REMOTE, KEYROUTE_KIND_REFRESH, KEYROUTE_FAULT_NOT_SERVING, 0, 0},
};

START_TEST(test_bigtable_status__code_says_what_is_to_be_done)
{
  map(codes[_i].status);

  ck_assert_str_eq(failure.message, codes[_i].name);
  ck_assert_int_eq(failure.code, codes[_i].code);
  ck_assert_int_eq(failure.kind, codes[_i].kind);
  ck_assert_int_eq(failure.fault, codes[_i].fault);
  ck_assert(failure.final == codes[_i].final);
  ck_assert(failure.refused == codes[_i].nothing_done);
  ck_assert(failure.sent && !failure.connecting);
  ck_assert_str_eq(failure.server, "");
  ck_assert_int_eq(failure.wait_ms, 0);
}
END_TEST

START_TEST(test_bigtable_status__first_line_of_the_text_is_told)
{
  status.message = keyroute_string("table \x01 \"r12\"\nnot found");
  map(5);

  ck_assert_str_eq(failure.message, "NOT_FOUND: table \\x01 \"r12\"");
}
END_TEST

START_TEST(test_bigtable_status__no_connection_speaks_against_the_server)
{
  status.connecting = true;
  map(14);

  ck_assert_int_eq(failure.code, KEYROUTE_E_UNREACHABLE);
  ck_assert(failure.connecting && !failure.sent);
}
END_TEST

START_TEST(test_bigtable_status__name_that_does_not_resolve_is_that)
{
  status.connecting = status.resolving = true;
  map(14);

  ck_assert_int_eq(failure.code, KEYROUTE_E_RESOLVE);
  ck_assert_int_eq(failure.kind, KEYROUTE_KIND_DROP_SERVER);
  ck_assert(failure.connecting && !failure.sent);
}
END_TEST

START_TEST(test_bigtable_status__time_that_ran_out_before_a_connection_is_silence)
{
  status.connecting = true;
  map(4);

  ck_assert_int_eq(failure.code, KEYROUTE_E_TIMEOUT);
  ck_assert(!failure.connecting && !failure.sent);
}
END_TEST

START_TEST(test_bigtable_status__answer_that_is_too_long_says_how_long)
{
  status.too_long = true;
  status.message = keyroute_string("Received message larger than max (70000 vs. 65536)");
  map(8);

  ck_assert_int_eq(failure.code, KEYROUTE_E_TOO_LARGE);
  ck_assert_int_eq(failure.kind, keyroute_error_kind(KEYROUTE_E_TOO_LARGE));
  ck_assert_uint_eq(failure.answer_len, 70000);
  ck_assert(!failure.refused);
  status.message = keyroute_string("whatever else it may say");
  map(8);
  ck_assert_uint_eq(failure.answer_len, 0);
}
END_TEST

/* ---- Details --------------------------------------------------------------------------------- */

static void add_detail(const char *type, struct keyroute_bytes value)
{
  struct kr_buf any;

  kr_buf_init(&any, mem);
  made_field(&any, 1, keyroute_string(type));
  made_field(&any, 2, value);
  made_field(&details, 3, kr_buf_view(&any));
  kr_buf_clear(&any);
}

static void add_wait(int64_t seconds, int32_t nanos)
{
  struct kr_buf delay, info;

  kr_buf_init(&delay, mem);
  kr_buf_init(&info, mem);
  made_number(&delay, 1, (uint64_t)seconds);
  made_number(&delay, 2, (uint64_t)(int64_t)nanos);
  made_field(&info, 1, kr_buf_view(&delay));
  add_detail("type.googleapis.com/google.rpc.RetryInfo", kr_buf_view(&info));
  kr_buf_clear(&delay);
  kr_buf_clear(&info);
}

static const struct {
  int64_t seconds;
  int32_t nanos;
  int64_t pushback_ms, want_ms;
} waits[] = {
    {2, 500000000, -1, 2500}, {0, 1, -1, 1},
    {0, 0, 700, 700},         {2, 0, 700, 2000},
    {2, 0, 7000, 7000},       {-1, 0, -1, 0},
    {0, -1, -1, 0},           {86400, 0, -1, 86400000},
    {86400, 1000000, -1, 0},  {INT64_MAX, 999999999, -1, 0},
    {0, INT32_MAX, -1, 2148}, {0, 0, INT64_MAX, 0},
};

START_TEST(test_bigtable_status__longer_of_the_waits_asked_for_is_kept)
{
  add_wait(waits[_i].seconds, waits[_i].nanos);
  status.pushback_ms = waits[_i].pushback_ms;
  map(8);

  ck_assert_int_eq(failure.code, KEYROUTE_E_OVERLOADED);
  ck_assert_int_eq(failure.wait_ms, waits[_i].want_ms);
}
END_TEST

static void add_hint(uint64_t id, uint64_t generation, const char *host)
{
  const struct kr_descriptor_replica replicas[] = {
      {.node_id = 1, .host = keyroute_string(host), .port = 7001},
      {.node_id = 2, .host = keyroute_string("n9"), .port = 7009}};
  const struct kr_descriptor descriptor = {
      .id = id, .generation = generation, .replicas = replicas, .replica_count = 2};
  struct kr_buf encoded;

  kr_buf_init(&encoded, mem);
  kr_descriptor_write(&encoded, &descriptor);
  ck_assert_uint_gt(encoded.len, 4);
  add_detail("type.googleapis.com/keyroute.RangeDescriptor",
             kr_bytes(encoded.data + 4, encoded.len - 4)); /* the message alone */
  kr_buf_clear(&encoded);
}

START_TEST(test_bigtable_status__descriptor_of_the_range_is_its_place)
{
  add_wait(1, 0);
  add_hint(12, 8, "n2");
  map(5);

  ck_assert_int_eq(failure.code, KEYROUTE_E_REMOTE);
  ck_assert_int_eq(failure.kind, KEYROUTE_KIND_HINT);
  ck_assert_int_eq(failure.fault, KEYROUTE_FAULT_MOVED);
  ck_assert_str_eq(failure.moved.host, "n2");
  ck_assert_int_eq(failure.moved.port, 7001);
  ck_assert_int_eq(failure.moved.start_code, 0);
  ck_assert_int_eq(failure.moved.seqnum, 8);
  ck_assert_int_eq(failure.wait_ms, 1000);
}
END_TEST

START_TEST(test_bigtable_status__descriptor_of_another_range_is_no_place)
{
  add_hint(2, 8, "n2"); /* "r2." is what "r12." ends with */
  add_hint(13, 8, "n2");
  map(5);

  ck_assert_int_eq(failure.fault, KEYROUTE_FAULT_NOT_SERVING);
  ck_assert_int_eq(failure.kind, KEYROUTE_KIND_REFRESH);
  ck_assert_str_eq(failure.moved.host, "");
}
END_TEST

START_TEST(test_bigtable_status__generation_beyond_all_numbers_is_no_place)
{
  add_hint(12, UINT64_MAX, "n2");
  map(5);

  ck_assert_int_eq(failure.fault, KEYROUTE_FAULT_NOT_SERVING);
}
END_TEST

START_TEST(test_bigtable_status__hint_does_not_make_a_refusal_of_something_else)
{
  static const int others[] = {3, 7, 8, 14};

  for (size_t i = 0; i < 4; i++) {
    details.len = 0;
    add_hint(12, 8, "n2");
    map(others[i]);
    ck_assert_int_ne(failure.fault, KEYROUTE_FAULT_MOVED);
    ck_assert_str_eq(failure.moved.host, "");
  }
}
END_TEST

START_TEST(test_bigtable_status__details_that_cannot_be_read_are_none)
{
  add_hint(12, 8, "n2");
  for (size_t cut = 1; cut < details.len; cut++) {
    status.code = 5;
    status.details = kr_bytes(details.data, cut);
    kr_bigtable_status_map(&failure, mem, &status, region);
    ck_assert_int_eq(failure.fault, KEYROUTE_FAULT_NOT_SERVING);
  }
  details.len = 0;
  add_detail("type.googleapis.com/keyroute.RangeDescriptor", keyroute_string("no descriptor"));
  add_detail("type.googleapis.com/google.rpc.RetryInfo", keyroute_string("\xff"));
  map(5);
  ck_assert_int_eq(failure.fault, KEYROUTE_FAULT_NOT_SERVING);
  ck_assert_int_eq(failure.wait_ms, 0);
}
END_TEST

START_TEST(test_bigtable_status__code_is_told_without_memory_for_its_details)
{
  bool failed = true;

  add_wait(1, 0);
  add_hint(12, 8, "n2");
  for (long n = 1; failed; n++) {
    mem_fail(n);
    map(5);
    failed = mem_has_failed();
    ck_assert_int_eq(failure.code, KEYROUTE_E_REMOTE);
  }
  mem_fail(0);
  ck_assert_int_eq(failure.fault, KEYROUTE_FAULT_MOVED);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("bigtable_status");
  TCase *tcase = tcase_create("all");

  suite_add_tcase(suite, tcase);
  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_add_loop_test(tcase, test_bigtable_status__code_says_what_is_to_be_done, 0,
                      sizeof(codes) / sizeof(codes[0]));
  tcase_add_test(tcase, test_bigtable_status__first_line_of_the_text_is_told);
  tcase_add_test(tcase, test_bigtable_status__no_connection_speaks_against_the_server);
  tcase_add_test(tcase, test_bigtable_status__name_that_does_not_resolve_is_that);
  tcase_add_test(tcase, test_bigtable_status__time_that_ran_out_before_a_connection_is_silence);
  tcase_add_test(tcase, test_bigtable_status__answer_that_is_too_long_says_how_long);
  tcase_add_loop_test(tcase, test_bigtable_status__longer_of_the_waits_asked_for_is_kept, 0,
                      sizeof(waits) / sizeof(waits[0]));
  tcase_add_test(tcase, test_bigtable_status__descriptor_of_the_range_is_its_place);
  tcase_add_test(tcase, test_bigtable_status__descriptor_of_another_range_is_no_place);
  tcase_add_test(tcase, test_bigtable_status__generation_beyond_all_numbers_is_no_place);
  tcase_add_test(tcase, test_bigtable_status__hint_does_not_make_a_refusal_of_something_else);
  tcase_add_test(tcase, test_bigtable_status__details_that_cannot_be_read_are_none);
  tcase_add_test(tcase, test_bigtable_status__code_is_told_without_memory_for_its_details);

  return run_suite(suite);
}
