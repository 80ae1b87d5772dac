/*
 * Options: which of several values stands, what is refused and in which words, and what a
 * connection then runs with.
 */
#include "lib/options.h"

#include "lib/property.h"
#include "test/failing_mem.h"
#include "test/run_suite.h"

#include <check.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct keyroute_options *options;
static struct kr_settings *settings;
static struct keyroute_detail detail = KEYROUTE_DETAIL_INIT;
static char folder[64];
static char path[128];

static void set_up(void)
{
  settings = NULL;
  detail = (struct keyroute_detail)KEYROUTE_DETAIL_INIT;
  snprintf(folder, sizeof(folder), "/tmp/keyroute-options-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(path, sizeof(path), "%s/hbase-site.xml", folder);
  ck_assert_int_eq(keyroute_options_new(&options, NULL), 0);
  unsetenv("HBASE_CONF_DIR");
  unsetenv("HADOOP_USER_NAME");
}

static void tear_down(void)
{
  kr_settings_free(settings);
  keyroute_options_free(options);
  unlink(path);
  rmdir(folder);
}

/* Read a file made of the inside of <configuration>. */
static int read_site(const char *inside)
{
  FILE *file = fopen(path, "w");

  ck_assert_ptr_nonnull(file);
  fprintf(file, "<configuration>\n%s</configuration>\n", inside);
  fclose(file);
  return keyroute_options_read_file(options, path, &detail);
}

#define PROPERTY(name, value) "<property><name>" name "</name><value>" value "</value></property>\n"
#define FINAL_PROPERTY(name, value)                                                                \
  "<property><name>" name "</name><value>" value "</value><final>true</final></property>\n"

static void set(const char *name, const char *value)
{
  int error = keyroute_options_set(options, name, value, &detail);

  ck_assert_msg(error == 0, "%s", detail.message);
}

static const struct kr_settings *open_settings(void)
{
  kr_settings_free(settings);
  settings = NULL;
  int error = kr_options_settings(&settings, options, &detail);
  ck_assert_msg(error == 0, "%s", detail.message);
  return settings;
}

static void assert_open_refused(const char *words)
{
  int error = kr_options_settings(&settings, options, &detail);

  ck_assert_int_eq(error, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_msg(strstr(detail.message, words) != NULL, "%s", detail.message);
  ck_assert_ptr_null(settings);
}

static void assert_set_refused(const char *name, const char *value, const char *words)
{
  int error = keyroute_options_set(options, name, value, &detail);

  ck_assert_msg(error == KEYROUTE_E_INVALID_ARGUMENT, "%s=%s was accepted", name, value);
  ck_assert_int_eq(detail.error, error);
  ck_assert_msg(strstr(detail.message, words) != NULL, "%s", detail.message);
  ck_assert_msg(strstr(detail.message, name) != NULL, "%s", detail.message);
}

START_TEST(test_options__defaults_are_those_of_the_manual)
{
  const struct passwd *login = getpwuid(getuid());

  const struct kr_settings *now = open_settings();

  ck_assert_str_eq(now->layout, "auto");
  ck_assert_str_eq(now->registry, "zookeeper");
  ck_assert_ptr_null(now->static_root);
  ck_assert_str_eq(now->zookeeper, "localhost:2181");
  ck_assert_str_eq(now->chroot, "");
  ck_assert_str_eq(now->parent, "/hbase");
  ck_assert_str_eq(now->meta_znode, "meta-region-server");
  ck_assert_str_eq(now->root_znode, "root-region-server");
  ck_assert_int_eq(now->session_timeout_ms, 90000);
  ck_assert_int_eq(now->session_idle_ms, 0);
  ck_assert_int_eq(now->connect_timeout_ms, 10000);
  ck_assert_int_eq(now->rpc_timeout_ms, 60000);
  ck_assert_int_eq(now->connection_idle_ms, 120000);
  ck_assert_uint_eq(now->max_frame_len, 67108864);
  ck_assert_int_eq(now->deadline_ms, 30000);
  ck_assert_int_eq(now->retries, 15);
  ck_assert_int_eq(now->pause_ms, 100);
  ck_assert_int_eq(now->pause_overloaded_ms, 100);
  ck_assert_int_eq(now->pause_max_ms, 10000);
  ck_assert_int_eq(now->prefetch, 10);
  ck_assert_int_eq(now->scans_per_table, 8);
  ck_assert_int_eq(now->failed_server_ms, 2000);
  ck_assert_uint_eq(now->cache_max_regions, 1000000);
  ck_assert_uint_eq(now->cache_max_bytes, 268435456);
  ck_assert_int_eq(now->cache_ttl_ms, 0);
  ck_assert_int_eq(now->cache_idle_ms, 3600000);
  ck_assert_int_eq(now->cache_sweep_ms, 1000);
  ck_assert(login == NULL || strcmp(now->user, login->pw_name) == 0);
}
END_TEST

START_TEST(test_options__no_options_are_the_defaults)
{
  int error = kr_options_settings(&settings, NULL, &detail);

  ck_assert_int_eq(error, 0);
  ck_assert_str_eq(settings->parent, "/hbase");
}
END_TEST

START_TEST(test_options__every_default_passes_its_own_check)
{
  for (int id = 0; id < KR_PROPERTY_COUNT; id++) {
    const struct kr_property *row = kr_property_get((enum kr_property_id)id);

    ck_assert_ptr_nonnull(row->name);
    ck_assert_ptr_nonnull(row->reason);
    ck_assert(row->unit != NULL || (row->accepts != NULL && row->check != NULL));
    ck_assert_ptr_eq(kr_property_find(row->name), row);
    if (row->fallback != NULL) {
      ck_assert_int_eq(kr_property_check(row, row->name, row->fallback, "", &detail), 0);
      ck_assert_str_eq(keyroute_options_get(options, row->name), row->fallback);
    }
  }
}
END_TEST

START_TEST(test_options__call_beats_file_whatever_the_order)
{
  set("hbase.client.pause", "7");
  int error = read_site(FINAL_PROPERTY("hbase.client.pause", "8")
                            FINAL_PROPERTY("hbase.client.retries.number", "3"));
  set("hbase.client.retries.number", "4");

  ck_assert_int_eq(error, 0);
  ck_assert_str_eq(keyroute_options_get(options, "hbase.client.pause"), "7");
  ck_assert_int_eq(open_settings()->pause_ms, 7);
  ck_assert_int_eq(open_settings()->retries, 4);
}
END_TEST

START_TEST(test_options__later_file_beats_earlier_but_for_final)
{
  ck_assert_int_eq(read_site(FINAL_PROPERTY("a", "1") PROPERTY("b", "1") PROPERTY("b", "2")), 0);
  ck_assert_int_eq(read_site(PROPERTY("a", "9") PROPERTY("b", "9") PROPERTY("c", "9")), 0);

  ck_assert_str_eq(keyroute_options_get(options, "a"), "1");
  ck_assert_str_eq(keyroute_options_get(options, "b"), "9");
  ck_assert_str_eq(keyroute_options_get(options, "c"), "9");
  ck_assert_ptr_null(keyroute_options_get(options, "d"));
}
END_TEST

START_TEST(test_options__misspelt_names_of_ours_are_refused_in_a_call_only)
{
  assert_set_refused("keyroute.deadline", "7", "keyroute.deadline: keyroute has no such property");
  int error = read_site(PROPERTY("keyroute.deadline", "7"));
  set("hbase.client.pauze", "7");

  ck_assert_int_eq(error, 0);
  ck_assert_str_eq(keyroute_options_get(options, "hbase.client.pauze"), "7");
}
END_TEST

static char warning[256];

static void note_warning(void *payload, enum keyroute_log_level level, const char *line)
{
  (void)payload;
  ck_assert_int_eq(level, KEYROUTE_LOG_WARNING);
  ck_assert_str_eq(warning, "");
  snprintf(warning, sizeof(warning), "%s", line);
}

START_TEST(test_options__misspelt_name_of_ours_in_a_file_is_logged_once_with_its_line)
{
  char expected[256];

  warning[0] = '\0';
  keyroute_options_set_log(options, KEYROUTE_LOG_WARNING, note_warning, NULL);
  int error = read_site(PROPERTY("hbase.client.pauze", "7") PROPERTY("keyroute.deadline", "7")
                            PROPERTY("keyroute.deadline.ms", "7"));
  open_settings();

  snprintf(expected, sizeof(expected),
           "%s:3: property keyroute.deadline: keyroute has no such property", path);
  ck_assert_int_eq(error, 0);
  ck_assert_str_eq(warning, expected);
}
END_TEST

START_TEST(test_options__what_is_missing_is_named)
{
  static const struct {
    const char *name, *value, *message;
  } missing[] = {
      {NULL, "7", "the property's name is NULL"},
      {"", "7", "the property's name is empty"},
      {"keyroute.user", NULL, "property keyroute.user: the value is NULL"},
  };

  for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++) {
    int error = keyroute_options_set(options, missing[i].name, missing[i].value, &detail);

    ck_assert_int_eq(error, KEYROUTE_E_INVALID_ARGUMENT);
    ck_assert_str_eq(detail.message, missing[i].message);
  }
  ck_assert_int_eq(keyroute_options_set(NULL, "x", "y", &detail), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_str_eq(detail.message, "the options are NULL");
  ck_assert_int_eq(keyroute_options_read_file(options, NULL, &detail), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_str_eq(detail.message, "the file's path is NULL");
}
END_TEST

START_TEST(test_options__client_name_beats_its_twin_in_a_file)
{
  int error = read_site(PROPERTY("hbase.client.zookeeper.quorum", "c")
                            PROPERTY("hbase.zookeeper.quorum", "s")
                                PROPERTY("hbase.client.zookeeper.property.clientPort", "1")
                                    PROPERTY("hbase.zookeeper.property.clientPort", "2"));

  ck_assert_int_eq(error, 0);
  ck_assert_str_eq(open_settings()->zookeeper, "c:1");
}
END_TEST

START_TEST(test_options__set_zookeeper_beats_a_client_name_in_a_file)
{
  ck_assert_int_eq(read_site(PROPERTY("hbase.client.zookeeper.quorum", "c")), 0);

  int error = keyroute_options_set_zookeeper(options, "z1:5,z2/prod");

  ck_assert_int_eq(error, 0);
  ck_assert_str_eq(open_settings()->zookeeper, "z1:5,z2:2181");
  ck_assert_str_eq(open_settings()->chroot, "/prod");
}
END_TEST

START_TEST(test_options__deprecated_name_counts_where_the_new_one_is_missing)
{
  ck_assert_int_eq(read_site(PROPERTY("hbase.client.pause.cqtbe", "500")), 0);
  ck_assert_int_eq(open_settings()->pause_overloaded_ms, 500);

  ck_assert_int_eq(read_site(PROPERTY("hbase.client.pause.server.overloaded", "600")), 0);
  ck_assert_int_eq(open_settings()->pause_overloaded_ms, 600);

  set("hbase.client.pause", "1000");
  ck_assert_int_eq(open_settings()->pause_overloaded_ms, 1000);
}
END_TEST

START_TEST(test_options__numbers_are_read_as_hadoop_reads_them)
{
  set("hbase.client.pause", " 7\n");
  ck_assert_int_eq(open_settings()->pause_ms, 7);
  set("hbase.client.pause", "0x10");
  ck_assert_int_eq(open_settings()->pause_ms, 16);
  set("hbase.client.pause", "+5");
  ck_assert_int_eq(open_settings()->pause_ms, 5);

  assert_set_refused("hbase.client.pause", "10s", "not a whole number");
  assert_set_refused("hbase.client.pause", "", "not a whole number");
  assert_set_refused("hbase.client.pause", "1_0", "not a whole number");
  assert_set_refused("hbase.client.pause", "0", "1 to 60000 ms");
  assert_set_refused("hbase.client.pause", "-1", "out of range");
  assert_set_refused("hbase.client.pause", "99999999999999999999", "not a whole number");
  ck_assert_int_eq(open_settings()->pause_ms, 5);
}
END_TEST

START_TEST(test_options__bad_number_in_a_file_names_file_line_and_property)
{
  char place[256];

  int error = read_site(PROPERTY("x", "y") PROPERTY("hbase.client.pause", "soon"));

  snprintf(place, sizeof(place), "%s:3: property hbase.client.pause is \"soon\": ", path);
  ck_assert_int_eq(error, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_msg(strncmp(detail.message, place, strlen(place)) == 0, "%s", detail.message);
  ck_assert_ptr_null(keyroute_options_get(options, "x"));
}
END_TEST

START_TEST(test_options__overridden_bad_number_does_no_harm)
{
  set("hbase.client.pause", "7");

  int error = read_site(PROPERTY("hbase.client.pause", "soon"));

  ck_assert_int_eq(error, 0);
  ck_assert_int_eq(open_settings()->pause_ms, 7);
}
END_TEST

START_TEST(test_options__variables_are_replaced_innermost_first)
{
  const struct passwd *login = getpwuid(getuid());

  set("k", "b");
  set("b", "B");
  set("x", "${b}-${${k}}");
  ck_assert_str_eq(keyroute_options_get(options, "x"), "B-B");
  set("x", "${b}-${nope}-${b}");
  ck_assert_str_eq(keyroute_options_get(options, "x"), "B-${nope}-${b}");
  set("x", "${b ${b}");
  ck_assert_str_eq(keyroute_options_get(options, "x"), "${b B");
  set("x", "$ {b} $b ${} ${env.HOME}");
  ck_assert_str_eq(keyroute_options_get(options, "x"), "$ {b} $b ${} ${env.HOME}");
  set("x", "${user.name}");
  ck_assert(login == NULL || strcmp(keyroute_options_get(options, "x"), login->pw_name) == 0);
}
END_TEST

START_TEST(test_options__variable_may_be_defined_by_a_later_file)
{
  ck_assert_int_eq(read_site(PROPERTY("hbase.client.pause", "${our.pause}")), 0);
  assert_open_refused("property hbase.client.pause is \"${our.pause}\"");

  ck_assert_int_eq(read_site(PROPERTY("our.pause", "12")), 0);

  ck_assert_int_eq(open_settings()->pause_ms, 12);
}
END_TEST

START_TEST(test_options__endless_variables_spoil_only_who_uses_them)
{
  int error = read_site(PROPERTY("x1", "${x2}") PROPERTY("x2", "${x1}") PROPERTY("y", "${y}${y}")
                            PROPERTY("hbase.client.pause", "9"));

  ck_assert_int_eq(error, 0);
  ck_assert_ptr_null(keyroute_options_get(options, "x1"));
  ck_assert_ptr_null(keyroute_options_get(options, "y"));
  ck_assert_int_eq(open_settings()->pause_ms, 9);
  assert_set_refused("hbase.client.pause", "${x1}", "nests too deeply");
}
END_TEST

START_TEST(test_options__values_that_multiply_are_refused_early)
{
  enum { LEN = 700000 };
  char *big = malloc(LEN + 1);
  char name[16];
  int error = 0;

  memset(big, 'a', LEN);
  big[LEN] = '\0';
  set("big", big);
  for (int i = 0; i < 200 && error == 0; i++) {
    snprintf(name, sizeof(name), "p%d", i);
    error = keyroute_options_set(options, name, "${big}", &detail);
  }

  ck_assert_int_eq(error, KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_msg(strstr(detail.message, "64 MiB") != NULL, "%s", detail.message);
  free(big);
}
END_TEST

START_TEST(test_options__many_properties_cost_no_quadratic_time)
{
  enum { COUNT = 100000 };
  FILE *file = fopen(path, "w");

  fputs("<configuration>", file);
  for (int i = COUNT; i > 0; i--) {
    fprintf(file, "<property><name>p%d</name><value>%d</value></property>\n", i, i);
  }
  fputs("</configuration>", file);
  fclose(file);
  ck_assert_int_eq(keyroute_options_read_file(options, path, &detail), 0);
  ck_assert_int_eq(keyroute_options_read_file(options, path, &detail), 0);

  ck_assert_str_eq(keyroute_options_get(options, "p4711"), "4711");
}
END_TEST

START_TEST(test_options__deadline_is_the_meta_operation_timeout_unless_set)
{
  ck_assert_int_eq(read_site(PROPERTY("hbase.client.operation.timeout", "5000")), 0);
  ck_assert_int_eq(open_settings()->deadline_ms, 5000);
  ck_assert_int_eq(read_site(PROPERTY("hbase.client.meta.operation.timeout", "6000")), 0);
  ck_assert_int_eq(open_settings()->deadline_ms, 6000);
  ck_assert_int_eq(keyroute_options_set_deadline_ms(options, 7000), 0);
  ck_assert_int_eq(open_settings()->deadline_ms, 7000);
}
END_TEST

START_TEST(test_options__endless_timeouts_of_hbase_become_a_day)
{
  set("hbase.client.operation.timeout", "0");
  ck_assert_int_eq(open_settings()->deadline_ms, 86400000);
  set("hbase.client.operation.timeout", "2147483647");
  ck_assert_int_eq(open_settings()->deadline_ms, 86400000);
  set("hbase.rpc.timeout", "0");
  ck_assert_int_eq(open_settings()->rpc_timeout_ms, 2147483647);
}
END_TEST

START_TEST(test_options__parent_is_a_path_without_trailing_slash)
{
  ck_assert_int_eq(keyroute_options_set_parent(options, "/hbase-secure/"), 0);
  ck_assert_str_eq(open_settings()->parent, "/hbase-secure");
  ck_assert_int_eq(keyroute_options_set_parent(options, "/"), 0);
  ck_assert_str_eq(open_settings()->parent, "");

  assert_set_refused("zookeeper.znode.parent", "hbase", "does not begin with '/'");
  assert_set_refused("zookeeper.znode.parent", "", "does not begin with '/'");
  assert_set_refused("zookeeper.znode.parent", "/a//b", "empty");
  assert_set_refused("zookeeper.znode.parent", "/a/../b", "'..'");
  assert_set_refused("zookeeper.znode.parent", "//", "empty");
  assert_set_refused("zookeeper.znode.metaserver", "a/b", "one znode");
}
END_TEST

START_TEST(test_options__layout_says_which_znodes_count)
{
  ck_assert_str_eq(open_settings()->meta_znode, "meta-region-server");
  ck_assert_str_eq(open_settings()->root_znode, "root-region-server");
  ck_assert_int_eq(keyroute_options_set_layout(options, "meta"), 0);
  ck_assert_str_eq(open_settings()->layout, "meta");
  ck_assert_str_eq(open_settings()->meta_znode, "meta-region-server");
  ck_assert_ptr_null(open_settings()->root_znode);
  ck_assert_int_eq(keyroute_options_set_layout(options, "root"), 0);
  ck_assert_ptr_null(open_settings()->meta_znode);
  ck_assert_str_eq(open_settings()->root_znode, "root-region-server");
  ck_assert_ptr_null(open_settings()->range_znode);
}
END_TEST

START_TEST(test_options__range_directory_has_a_znode_and_an_instance)
{
  ck_assert_int_eq(keyroute_options_set_layout(options, "range"), 0);
  ck_assert_int_eq(keyroute_options_set_parent(options, "/hbase-secure"), 0);
  ck_assert_str_eq(open_settings()->parent, "/keyroute");
  ck_assert_str_eq(open_settings()->range_znode, "meta1");
  ck_assert_ptr_null(open_settings()->meta_znode);
  ck_assert_ptr_null(open_settings()->root_znode);
  ck_assert_str_eq(open_settings()->range_instance, "projects/keyroute/instances/keyroute");
  ck_assert_int_eq(keyroute_options_set(options, "keyroute.range.znode", "/meta1", NULL), 0);
  ck_assert_int_eq(
      keyroute_options_set(options, "keyroute.range.instance", "projects/a/instances/b-1", NULL),
      0);
  ck_assert_str_eq(open_settings()->parent, "");
  ck_assert_str_eq(open_settings()->range_instance, "projects/a/instances/b-1");

  assert_set_refused("keyroute.range.znode", "/", "path of one znode");
  assert_set_refused("keyroute.range.znode", "/a/", "path of one znode");
  assert_set_refused("keyroute.range.znode", "a/b", "does not begin with '/'");
  assert_set_refused("keyroute.range.znode", "/a//b", "empty");
  assert_set_refused("keyroute.range.instance", "projects/a", "projects/PROJECT");
  assert_set_refused("keyroute.range.instance", "projects//instances/b", "projects/PROJECT");
  assert_set_refused("keyroute.range.instance", "projects/a/instances/", "projects/PROJECT");
  assert_set_refused("keyroute.range.instance", "projects/a/instances/b/c", "projects/PROJECT");
  assert_set_refused("keyroute.range.instance", "projects/a b/instances/b", "projects/PROJECT");
}
END_TEST

START_TEST(test_options__layouts_that_are_none_are_refused_in_words)
{
  assert_set_refused("keyroute.layout", "flat", "no such layout");
}
END_TEST

START_TEST(test_options__bad_ensemble_is_refused_when_set)
{
  assert_set_refused("hbase.zookeeper.quorum", "", "empty");
  assert_set_refused("hbase.zookeeper.quorum", "a:70000", "a:70000");
  assert_set_refused("hbase.zookeeper.quorum", "a,,b", "a,,b");
  ck_assert_int_eq(keyroute_options_set_zookeeper(options, "a:x"), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_str_eq(open_settings()->zookeeper, "localhost:2181");
}
END_TEST

START_TEST(test_options__security_not_built_is_refused_at_open_not_before)
{
  ck_assert_int_eq(read_site(PROPERTY("hbase.security.authentication", "kerberos")), 0);
  assert_open_refused("property hbase.security.authentication is \"kerberos\"");
  set("hbase.security.authentication", "simple");

  set("hbase.client.netty.tls.enabled", "true");
  assert_open_refused("hbase.client.netty.tls.enabled");
  set("hbase.client.netty.tls.enabled", "false");

  ck_assert_str_eq(open_settings()->parent, "/hbase");
}
END_TEST

START_TEST(test_options__foreign_registry_is_refused_unless_ours_is_chosen)
{
  set("hbase.client.registry.impl", "org.apache.hadoop.hbase.client.RpcConnectionRegistry");
  assert_open_refused("RpcConnectionRegistry");

  set("keyroute.registry", "zookeeper");

  ck_assert_str_eq(open_settings()->registry, "zookeeper");
}
END_TEST

START_TEST(test_options__static_registry_needs_its_root)
{
  set("keyroute.registry", "static");
  assert_open_refused("keyroute.registry.static.root");
  assert_set_refused("keyroute.registry.static.root", "host", "host:port");
  assert_set_refused("keyroute.registry.static.root", ":1", "host:port");
  assert_set_refused("keyroute.registry.static.root", "h:0", "1 to 65535");
  assert_set_refused("keyroute.registry.static.root", "h:1:x", "start code");
  assert_set_refused("keyroute.registry.static.root", "[]:1", "host:port");

  set("keyroute.registry.static.root", "[::1]:16020");
  ck_assert_str_eq(open_settings()->static_root, "[::1]:16020");
  set("keyroute.registry.static.root", "h:16020:1796001106352");
  ck_assert_str_eq(open_settings()->static_root, "h:16020:1796001106352");
}
END_TEST

START_TEST(test_options__environment_names_folder_and_user)
{
  ck_assert_int_eq(read_site(PROPERTY("other", "1")), 0);
  keyroute_options_free(options);
  ck_assert_int_eq(keyroute_options_new(&options, NULL), 0);
  setenv("HBASE_CONF_DIR", folder, 1);
  setenv("HADOOP_USER_NAME", "alice", 1);

  int error = keyroute_options_read_environment(options, &detail);

  ck_assert_int_eq(error, 0);
  ck_assert_str_eq(keyroute_options_get(options, "other"), "1");
  ck_assert_str_eq(open_settings()->user, "alice");
}
END_TEST

START_TEST(test_options__no_options_are_those_of_the_environment)
{
  struct kr_settings *read;

  ck_assert_int_eq(read_site(PROPERTY("zookeeper.znode.parent", "/elsewhere")), 0);
  setenv("HBASE_CONF_DIR", folder, 1);
  setenv("HADOOP_USER_NAME", "alice", 1);

  int error = kr_options_settings(&read, NULL, &detail);

  ck_assert_int_eq(error, 0);
  ck_assert_str_eq(read->parent, "/elsewhere");
  ck_assert_str_eq(read->user, "alice");
  kr_settings_free(read);
}
END_TEST

START_TEST(test_options__environment_without_a_file_is_no_error)
{
  setenv("HBASE_CONF_DIR", "/nonexistent", 1);
  setenv("HADOOP_USER_NAME", "", 1);

  int error = keyroute_options_read_environment(options, &detail);

  ck_assert_int_eq(error, 0);
  ck_assert_ptr_null(keyroute_options_get(options, "keyroute.user"));
}
END_TEST

START_TEST(test_options__arguments_that_are_missing_are_refused)
{
  struct keyroute_allocator half = {NULL, NULL, NULL, NULL};

  ck_assert_int_eq(keyroute_options_new(NULL, NULL), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_options_new(&options, &half), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_options_set(options, NULL, "1", NULL), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_options_set(options, "a", NULL, NULL), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_options_set(options, "", "1", NULL), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_options_read_file(options, NULL, NULL), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_options_set_retries(options, 1001), KEYROUTE_E_INVALID_ARGUMENT);
  ck_assert_int_eq(keyroute_options_set_pause_ms(options, 0), KEYROUTE_E_INVALID_ARGUMENT);
  keyroute_options_free(NULL);
}
END_TEST

/* Everything once. */
static int run_through(void)
{
  struct keyroute_options *scarce = NULL;
  struct kr_settings *read = NULL;
  int error = keyroute_options_new(&scarce, &failing_allocator);

  if (error == 0) {
    error = keyroute_options_set(scarce, "hbase.zookeeper.quorum", "a,${b}:1/c", &detail);
  }
  if (error == 0) {
    error = keyroute_options_read_file(scarce, path, &detail);
  }
  if (error == 0) {
    error = kr_options_settings(&read, scarce, &detail);
  }
  kr_settings_free(read);
  keyroute_options_free(scarce);
  return error;
}

START_TEST(test_options__every_failed_allocation_is_no_memory)
{
  int error = KEYROUTE_E_NO_MEMORY;

  ck_assert_int_eq(read_site(PROPERTY("b", "host") PROPERTY("keyroute.registry.static.root", "h:1")
                                 PROPERTY("keyroute.registry", "static")),
                   0);
  for (long n = 1; error == KEYROUTE_E_NO_MEMORY; n++) {
    ck_assert_int_lt(n, 500);
    mem_fail_from(n);
    error = run_through();
    ck_assert_int_eq(mem_live(), 0);
  }

  ck_assert_msg(error == 0, "%s", detail.message);
}
END_TEST

START_TEST(test_options__user_name_is_replaced_or_memory_is_said_to_be_short)
{
  struct keyroute_options *scarce = NULL;
  struct passwd *login = getpwuid(getuid());
  int error = KEYROUTE_E_NO_MEMORY;

  ck_assert_int_eq(keyroute_options_new(&scarce, &failing_allocator), 0);
  for (long n = 1; error == KEYROUTE_E_NO_MEMORY; n++) {
    ck_assert_int_lt(n, 100);
    mem_fail(n);
    error = keyroute_options_set(scarce, "x", "${user.name}", NULL);
    mem_fail(0);
  }

  ck_assert_int_eq(error, 0);
  ck_assert(login == NULL || strcmp(keyroute_options_get(scarce, "x"), login->pw_name) == 0);
  keyroute_options_free(scarce);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("options");
  TCase *tests = tcase_create("options");

  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_set_timeout(tests, 300);
  tcase_add_test(tests, test_options__defaults_are_those_of_the_manual);
  tcase_add_test(tests, test_options__no_options_are_the_defaults);
  tcase_add_test(tests, test_options__every_default_passes_its_own_check);
  tcase_add_test(tests, test_options__call_beats_file_whatever_the_order);
  tcase_add_test(tests, test_options__later_file_beats_earlier_but_for_final);
  tcase_add_test(tests, test_options__misspelt_names_of_ours_are_refused_in_a_call_only);
  tcase_add_test(tests, test_options__misspelt_name_of_ours_in_a_file_is_logged_once_with_its_line);
  tcase_add_test(tests, test_options__what_is_missing_is_named);
  tcase_add_test(tests, test_options__client_name_beats_its_twin_in_a_file);
  tcase_add_test(tests, test_options__set_zookeeper_beats_a_client_name_in_a_file);
  tcase_add_test(tests, test_options__deprecated_name_counts_where_the_new_one_is_missing);
  tcase_add_test(tests, test_options__numbers_are_read_as_hadoop_reads_them);
  tcase_add_test(tests, test_options__bad_number_in_a_file_names_file_line_and_property);
  tcase_add_test(tests, test_options__overridden_bad_number_does_no_harm);
  tcase_add_test(tests, test_options__variables_are_replaced_innermost_first);
  tcase_add_test(tests, test_options__variable_may_be_defined_by_a_later_file);
  tcase_add_test(tests, test_options__endless_variables_spoil_only_who_uses_them);
  tcase_add_test(tests, test_options__values_that_multiply_are_refused_early);
  tcase_add_test(tests, test_options__many_properties_cost_no_quadratic_time);
  tcase_add_test(tests, test_options__deadline_is_the_meta_operation_timeout_unless_set);
  tcase_add_test(tests, test_options__endless_timeouts_of_hbase_become_a_day);
  tcase_add_test(tests, test_options__parent_is_a_path_without_trailing_slash);
  tcase_add_test(tests, test_options__layout_says_which_znodes_count);
  tcase_add_test(tests, test_options__range_directory_has_a_znode_and_an_instance);
  tcase_add_test(tests, test_options__layouts_that_are_none_are_refused_in_words);
  tcase_add_test(tests, test_options__bad_ensemble_is_refused_when_set);
  tcase_add_test(tests, test_options__security_not_built_is_refused_at_open_not_before);
  tcase_add_test(tests, test_options__foreign_registry_is_refused_unless_ours_is_chosen);
  tcase_add_test(tests, test_options__static_registry_needs_its_root);
  tcase_add_test(tests, test_options__environment_names_folder_and_user);
  tcase_add_test(tests, test_options__no_options_are_those_of_the_environment);
  tcase_add_test(tests, test_options__environment_without_a_file_is_no_error);
  tcase_add_test(tests, test_options__arguments_that_are_missing_are_refused);
  tcase_add_test(tests, test_options__every_failed_allocation_is_no_memory);
  tcase_add_test(tests, test_options__user_name_is_replaced_or_memory_is_said_to_be_short);
  suite_add_tcase(suite, tests);
  return run_suite(suite);
}
