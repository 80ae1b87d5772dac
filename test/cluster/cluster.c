/* Drives a real HBase from a C test.  cluster.h says what each function does; fixture.c does it.
 *
 * What is here is what is HBase's own: where its folder is, the words of run.sh, and what its READY
 * line tells.  Only libc is used, none of the library under test.
 */
#include "cluster.h"

#include "test/fixture.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct cluster {
  struct fixture *fixture;
  char zookeeper[64];
  char parent[64];
  char version[64];
};

static struct fixture_program describe(const struct cluster_options *options, char *name,
                                       size_t name_size)
{
  const char *folder = options->folder != NULL ? options->folder : getenv("KEYROUTE_CLUSTER_DIR");
  const char *version = options->version != NULL ? options->version : "2.6.3";
  snprintf(name, name_size, "HBase %s is", version);
  struct fixture_program program = {.name = name,
                                    .folder = folder != NULL ? folder : "test/cluster",
                                    .folder_variable = "KEYROUTE_CLUSTER_DIR",
                                    .prepare_argument = version,
                                    .arguments = {"--version", version}};
  int count = 2;
  if (options->bench) {
    program.arguments[count++] = "--bench";
  }
  if (options->processes) {
    program.arguments[count++] = "--processes";
  }
  if (options->log != NULL) {
    program.arguments[count++] = "--log";
    program.arguments[count++] = options->log;
  }
  return program;
}

static bool read_ready(struct cluster *cluster)
{
  return fixture_field(cluster->fixture, cluster->zookeeper, sizeof cluster->zookeeper,
                       "zookeeper") &&
         fixture_field(cluster->fixture, cluster->parent, sizeof cluster->parent, "parent") &&
         fixture_field(cluster->fixture, cluster->version, sizeof cluster->version, "version");
}

enum cluster_result cluster_start(struct cluster **out, const struct cluster_options *options)
{
  static const struct cluster_options defaults = {0};
  char name[80];
  struct fixture_program program =
      describe(options != NULL ? options : &defaults, name, sizeof name);
  struct cluster *cluster = calloc(1, sizeof *cluster);
  if (cluster == NULL) {
    fprintf(stderr, "cluster: out of memory\n");
    abort();
  }
  switch (fixture_start(&cluster->fixture, &program)) {
  case FIXTURE_UNAVAILABLE:
    free(cluster);
    return CLUSTER_UNAVAILABLE;
  case FIXTURE_FAILED:
    free(cluster);
    return CLUSTER_FAILED;
  case FIXTURE_OK:
    break;
  }
  if (!read_ready(cluster)) {
    fprintf(stderr, "cluster: the READY line lacks something\n");
    cluster_stop(cluster);
    return CLUSTER_FAILED;
  }
  *out = cluster;
  return CLUSTER_OK;
}

const char *cluster_reason(void)
{
  return fixture_reason();
}

void cluster_stop(struct cluster *cluster)
{
  if (cluster != NULL) {
    fixture_stop(cluster->fixture);
    free(cluster);
  }
}

int cluster_command(struct cluster *cluster, char **reply, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  int result = fixture_command(cluster->fixture, reply, format, arguments);
  va_end(arguments);
  return result;
}

const char *cluster_answer(const struct cluster *cluster)
{
  return fixture_answer(cluster->fixture);
}

void cluster_set_deadline(struct cluster *cluster, int deadline_ms)
{
  fixture_set_deadline(cluster->fixture, deadline_ms);
}

const char *cluster_zookeeper(const struct cluster *cluster)
{
  return cluster->zookeeper;
}

const char *cluster_parent(const struct cluster *cluster)
{
  return cluster->parent;
}

const char *cluster_version(const struct cluster *cluster)
{
  return cluster->version;
}

pid_t cluster_pid(const struct cluster *cluster)
{
  return fixture_pid(cluster->fixture);
}
