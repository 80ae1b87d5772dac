/*
 * The gRPC client with TLS: whom it believes, and what it shows. Certificates are made by openssl
 * when the test begins; without it the tests are skipped.
 */
#include "test/failing_mem.h"
#include "test/fake_grpc_server.h"
#include "test/grpc_harness.h"
#include "test/run_suite.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/grpc_tls_testXXXXXX";
static char ca[8192], other_ca[8192], certificate[8192], key[8192];
static struct fake_grpc_server *server;

/* ---- Certificates --------------------------------------------------------------------------- */

/* One CA that signs for the address and a name, and one that signs for nobody. */
static const char make_certificates[] =
    "set -e; cd '%s'; "
    "new='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'; "
    "openssl req -x509 $new -days 2 -subj /CN=ca -keyout ca.key -out ca.pem; "
    "openssl req -x509 $new -days 2 -subj /CN=other -keyout other.key -out other.pem; "
    "openssl req $new -subj /CN=node -keyout node.key -out node.csr; "
    "echo subjectAltName=DNS:node.test,IP:127.0.0.1 >names; "
    "openssl x509 -req -in node.csr -days 2 -CA ca.pem -CAkey ca.key -CAcreateserial "
    "-extfile names -out node.pem";

static void run_in_folder(const char *script)
{
  char command[2048];

  snprintf(command, sizeof(command), "{ ");
  snprintf(command + 2, sizeof(command) - 2, script, folder);
  strncat(command, "; } >/dev/null 2>&1", sizeof(command) - strlen(command) - 1);
  ck_assert_int_eq(system(command), 0);
}

static void read_file(char *to, size_t size, const char *name)
{
  char path[64];

  snprintf(path, sizeof(path), "%s/%s", folder, name);
  FILE *file = fopen(path, "r");

  ck_assert_ptr_nonnull(file);
  to[fread(to, 1, size - 1, file)] = '\0';
  fclose(file);
}

static void echo(void *arg, struct fake_grpc_call *call)
{
  (void)arg;
  fake_grpc_message(call, fake_grpc_request(call));
}

static void make_all(void)
{
  ck_assert_ptr_nonnull(mkdtemp(folder));
  run_in_folder(make_certificates);
  read_file(ca, sizeof(ca), "ca.pem");
  read_file(other_ca, sizeof(other_ca), "other.pem");
  read_file(certificate, sizeof(certificate), "node.pem");
  read_file(key, sizeof(key), "node.key");
}

static void remove_all(void)
{
  run_in_folder("rm -r '%s'");
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static void serve(const char *client_roots)
{
  server = fake_grpc_server_start_tls(0, certificate, key, client_roots);
  fake_grpc_server_handle(server, GRPC_METHOD, echo, NULL);
}

static void tear_down(void)
{
  fake_grpc_server_free(server);
  ck_assert_int_eq(mem_live(), 0);
}

static struct kr_grpc_settings trusting(const char *roots)
{
  struct kr_grpc_settings settings = grpc_settings();

  settings.tls = true;
  settings.tls_roots = roots;
  return settings;
}

static int ask(const struct kr_grpc_settings *settings, struct grpc_result *result)
{
  struct kr_grpc *client = grpc_open(settings);
  struct kr_grpc_request asked = grpc_request(fake_grpc_server_port(server), "hello");
  int code = grpc_ask(client, &asked, result);

  grpc_module()->close(client);
  return code;
}

/* The call must find no connection. */
static void check_refused(const struct kr_grpc_settings *settings)
{
  struct grpc_result result = GRPC_RESULT_INIT;
  int code = ask(settings, &result);

  ck_assert_msg(code == 14, "%d %s", code, result.text);
  ck_assert(result.status.connecting);
  ck_assert_uint_eq(fake_grpc_server_seen(server), 0);
}

START_TEST(test_grpc_tls__server_of_a_known_ca_is_believed)
{
  struct grpc_result result = GRPC_RESULT_INIT;
  struct kr_grpc_settings settings = trusting(ca);
  serve(NULL);

  int code = ask(&settings, &result);

  ck_assert_msg(code == 0, "%d %s", code, result.text);
  ck_assert_str_eq(result.last, "hello");
}
END_TEST

START_TEST(test_grpc_tls__server_of_another_ca_is_refused)
{
  struct kr_grpc_settings settings = trusting(other_ca);
  serve(NULL);

  check_refused(&settings);
}
END_TEST

START_TEST(test_grpc_tls__name_that_is_asked_for_must_be_the_certificates)
{
  struct grpc_result result = GRPC_RESULT_INIT;
  struct kr_grpc_settings settings = trusting(ca);
  serve(NULL);

  settings.tls_server_name = "elsewhere.test";
  check_refused(&settings);
  settings.tls_server_name = "node.test";
  int code = ask(&settings, &result);

  ck_assert_msg(code == 0, "%d %s", code, result.text);
}
END_TEST

START_TEST(test_grpc_tls__plain_client_gets_nothing_from_it)
{
  struct kr_grpc_settings settings = grpc_settings();
  struct grpc_result result = GRPC_RESULT_INIT;
  serve(NULL);

  ck_assert_int_eq(ask(&settings, &result), 14);

  ck_assert_uint_eq(fake_grpc_server_seen(server), 0);
}
END_TEST

START_TEST(test_grpc_tls__plain_server_is_refused)
{
  struct kr_grpc_settings settings = trusting(ca);
  server = fake_grpc_server_start(0);
  settings.connect_timeout_ms = 1000;

  check_refused(&settings);
}
END_TEST

START_TEST(test_grpc_tls__certificate_is_shown_to_a_server_that_wants_one)
{
  struct grpc_result result = GRPC_RESULT_INIT;
  struct kr_grpc_settings settings = trusting(ca);
  serve(ca);

  ck_assert_int_eq(ask(&settings, &result), 14);
  ck_assert_uint_eq(fake_grpc_server_seen(server), 0);
  result = (struct grpc_result)GRPC_RESULT_INIT;
  settings.tls_certificate = certificate;
  settings.tls_key = key;
  int code = ask(&settings, &result);

  ck_assert_msg(code == 0, "%d %s", code, result.text);
}
END_TEST

/* ---- What is no PEM ------------------------------------------------------------------------- */

static void check_unusable(const struct kr_grpc_settings *settings, const char *words)
{
  struct kr_grpc *client = NULL;
  const char *reason = "";

  ck_assert_int_eq(grpc_module()->open(&client, settings, &reason), KEYROUTE_E_INVALID_ARGUMENT);

  ck_assert_ptr_null(client);
  ck_assert_msg(strstr(reason, words) != NULL, "%s", reason);
}

START_TEST(test_grpc_tls__what_is_no_pem_is_refused_by_name_at_open)
{
  struct kr_grpc_settings settings = trusting("/etc/ssl/ca.pem");
  check_unusable(&settings, "keyroute.grpc.tls.roots holds");

  settings = trusting(key);
  check_unusable(&settings, "keyroute.grpc.tls.roots holds");

  settings = trusting(ca);
  settings.tls_key = key;
  check_unusable(&settings, "or neither");

  settings.tls_certificate = key;
  check_unusable(&settings, "keyroute.grpc.tls.certificate holds");

  settings.tls_certificate = certificate;
  settings.tls_key = certificate;
  check_unusable(&settings, "keyroute.grpc.tls.key holds");
}
END_TEST

START_TEST(test_grpc_tls__pem_that_holds_no_certificate_inside_fails_calls)
{
  struct kr_grpc_settings settings =
      trusting("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
  serve(NULL);

  check_refused(&settings);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("grpc_tls");
  TCase *tests = tcase_create("tls");

  if (system("openssl version >/dev/null 2>&1") != 0) {
    puts("SKIPPED: openssl is missing");
    return 77;
  }
  tcase_set_timeout(tests, 120);
  tcase_add_unchecked_fixture(tests, make_all, remove_all);
  tcase_add_checked_fixture(tests, NULL, tear_down);
  tcase_add_test(tests, test_grpc_tls__server_of_a_known_ca_is_believed);
  tcase_add_test(tests, test_grpc_tls__server_of_another_ca_is_refused);
  tcase_add_test(tests, test_grpc_tls__name_that_is_asked_for_must_be_the_certificates);
  tcase_add_test(tests, test_grpc_tls__plain_client_gets_nothing_from_it);
  tcase_add_test(tests, test_grpc_tls__plain_server_is_refused);
  tcase_add_test(tests, test_grpc_tls__certificate_is_shown_to_a_server_that_wants_one);
  tcase_add_test(tests, test_grpc_tls__what_is_no_pem_is_refused_by_name_at_open);
  tcase_add_test(tests, test_grpc_tls__pem_that_holds_no_certificate_inside_fails_calls);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
