/*
 * One real ZooKeeper server for tests: org.apache.zookeeper.server.ZooKeeperServerMain, from the
 * jars that test/cluster/prepare.sh fetches, in a temporary folder, on a port of loopback that was
 * free a moment before. PDEATHSIG ends it with the test's process, whatever way that ends.
 */
#ifndef THREADED
#define THREADED
#endif
#include "test/zookeeper.h"

#include "test/loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zookeeper/zookeeper.h>

struct zookeeper {
  char folder[64];
  int port;
  pid_t pid;
};

__attribute__((noreturn)) static void die(const char *what, const char *detail)
{
  fprintf(stderr, "zookeeper: %s: %s\n", what, detail);
  abort();
}

static void sleep_ms(int ms)
{
  struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};

  nanosleep(&time, NULL);
}

/* ---- The jars ------------------------------------------------------------------------------- */

/* The last line of prepare.sh is a class path: the folder of classes, a colon, the folder of jars
 * with a slash and an asterisk behind. */
static void take_folder(char *folder, size_t size, char *line)
{
  line[strcspn(line, "\n")] = '\0';
  const char *colon = strrchr(line, ':');
  snprintf(folder, size, "%s", colon != NULL ? colon + 1 : line);
  size_t len = strlen(folder);
  if (len > 2 && strcmp(folder + len - 2, "/*") == 0) {
    folder[len - 2] = '\0';
  }
}

const char *zookeeper_jars(void)
{
  static char folder[512];
  const char *source = getenv("srcdir");
  char command[600];
  char line[480];

  if (folder[0] != '\0') {
    return folder;
  }
  snprintf(command, sizeof(command), "'%s/test/cluster/prepare.sh' 2.6.3",
           source != NULL ? source : ".");
  FILE *pipe = popen(command, "r");
  if (pipe == NULL) {
    return NULL;
  }
  while (fgets(line, sizeof(line), pipe) != NULL) {
    take_folder(folder, sizeof(folder), line);
  }
  if (pclose(pipe) != 0 || access(folder, R_OK) != 0) {
    folder[0] = '\0';
    return NULL;
  }
  return folder;
}

/* Only what the server needs: a short class path starts faster. */
static void class_path(char *out, size_t size)
{
  static const char *const patterns[] = {"zookeeper-3", "zookeeper-jute-", "slf4j-",
                                         "reload4j-",   "metrics-core-",   "snappy-java-",
                                         "netty-",      "commons-cli-",    "audience-annotations-"};
  size_t len = 0;

  out[0] = '\0';
  for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
    char pattern[600];
    glob_t found;
    snprintf(pattern, sizeof(pattern), "%s/%s*.jar", zookeeper_jars(), patterns[i]);
    if (glob(pattern, 0, NULL, &found) != 0) {
      continue;
    }
    for (size_t j = 0; j < found.gl_pathc && len < size; j++) {
      len += (size_t)snprintf(out + len, size - len, "%s:", found.gl_pathv[j]);
    }
    globfree(&found);
  }
}

/* ---- The server ----------------------------------------------------------------------------- */

static int free_port(void)
{
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = loopback(0);
  socklen_t len = sizeof(address);

  if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) != 0 ||
      getsockname(fd, (struct sockaddr *)&address, &len) != 0) {
    die("no free port", strerror(errno));
  }
  close(fd);
  return ntohs(address.sin_port);
}

static void write_configuration(const struct zookeeper *server)
{
  char path[128];

  snprintf(path, sizeof(path), "%s/zoo.cfg", server->folder);
  FILE *file = fopen(path, "w");
  if (file == NULL) {
    die(path, strerror(errno));
  }
  fprintf(file,
          "tickTime=500\ndataDir=%s/data\nclientPortAddress=127.0.0.1\nclientPort=%d\n"
          "admin.enableServer=false\nmaxClientCnxns=0\n4lw.commands.whitelist=*\n",
          server->folder, server->port);
  fclose(file);
}

__attribute__((noreturn)) static void become_server(const struct zookeeper *server, pid_t parent)
{
  static char jars[8192];
  char configuration[128];
  char log[128];
  sigset_t none;

  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    _exit(1);
  }
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  snprintf(configuration, sizeof(configuration), "%s/zoo.cfg", server->folder);
  snprintf(log, sizeof(log), "%s/log", server->folder);
  int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  dup2(fd, 1);
  dup2(fd, 2);
  class_path(jars, sizeof(jars));
  execlp("java", "java", "-Xmx96m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
         "-Dzookeeper.forceSync=no", "-Dzookeeper.admin.enableServer=false", "-cp", jars,
         "org.apache.zookeeper.server.ZooKeeperServerMain", configuration, (char *)NULL);
  _exit(127);
}

/* A server that serves answers "isro" with "rw". */
static bool is_serving(const struct zookeeper *server)
{
  struct sockaddr_in address = loopback(server->port);
  char answer[8] = "";
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool serving = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
                 send(fd, "isro", 4, MSG_NOSIGNAL) == 4 &&
                 recv(fd, answer, sizeof(answer) - 1, 0) > 0 && strncmp(answer, "rw", 2) == 0;

  if (fd >= 0) {
    close(fd);
  }
  return serving;
}

static void run_server(struct zookeeper *server)
{
  pid_t self = getpid();

  fflush(NULL);
  server->pid = fork();
  if (server->pid < 0) {
    die("fork", strerror(errno));
  }
  if (server->pid == 0) {
    become_server(server, self);
  }
  for (int i = 0; i < 1200 && !is_serving(server); i++) {
    if (waitpid(server->pid, NULL, WNOHANG) == server->pid) {
      die("the server ended; its log is in", server->folder);
    }
    sleep_ms(50);
  }
  if (!is_serving(server)) {
    die("the server does not serve; its log is in", server->folder);
  }
}

struct zookeeper *zookeeper_start(void)
{
  struct zookeeper *server = calloc(1, sizeof(*server));

  if (server == NULL) {
    die("start", "out of memory");
  }
  snprintf(server->folder, sizeof(server->folder), "/tmp/keyroute-zookeeper-XXXXXX");
  if (mkdtemp(server->folder) == NULL) {
    die(server->folder, strerror(errno));
  }
  server->port = free_port();
  write_configuration(server);
  run_server(server);
  return server;
}

void zookeeper_kill(struct zookeeper *server)
{
  if (server->pid > 0) {
    kill(server->pid, SIGKILL);
    waitpid(server->pid, NULL, 0);
    server->pid = 0;
  }
}

void zookeeper_restart(struct zookeeper *server)
{
  zookeeper_kill(server);
  run_server(server);
}

void zookeeper_pause(struct zookeeper *server)
{
  kill(server->pid, SIGSTOP);
  waitpid(server->pid, NULL, WUNTRACED); /* its threads may go on until they are seen to stop */
}

void zookeeper_resume(struct zookeeper *server)
{
  kill(server->pid, SIGCONT);
}

static void remove_folder(const char *folder)
{
  pid_t pid = fork();

  if (pid == 0) {
    execlp("rm", "rm", "-rf", folder, (char *)NULL);
    _exit(127);
  }
  waitpid(pid, NULL, 0);
}

void zookeeper_stop(struct zookeeper *server)
{
  zookeeper_kill(server);
  remove_folder(server->folder);
  free(server);
}

int zookeeper_port(const struct zookeeper *server)
{
  return server->port;
}

/* ---- What it holds -------------------------------------------------------------------------- */

static void ignore_event(zhandle_t *handle, int type, int state, const char *path, void *arg)
{
  (void)handle;
  (void)type;
  (void)state;
  (void)path;
  (void)arg;
}

static void ignore_line(const char *line)
{
  (void)line;
}

static zhandle_t *log_in(const struct zookeeper *server)
{
  char host[32];

  snprintf(host, sizeof(host), "127.0.0.1:%d", server->port);
  zhandle_t *handle =
      zookeeper_init2(host, ignore_event, 8000, NULL, NULL, ZOO_NO_LOG_CLIENTENV, ignore_line);
  for (int i = 0; handle != NULL && i < 1000; i++) {
    if (zoo_state(handle) == ZOO_CONNECTED_STATE) {
      return handle;
    }
    sleep_ms(10);
  }
  die("no session with", host);
}

static void log_out(zhandle_t *handle, int rc, const char *path)
{
  zookeeper_close(handle);
  if (rc != ZOK) {
    die(path, zerror(rc));
  }
}

void zookeeper_create(struct zookeeper *server, const char *path, const char *value)
{
  zhandle_t *handle = log_in(server);

  log_out(handle,
          zoo_create(handle, path, value, (int)strlen(value), &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0),
          path);
}

void zookeeper_set(struct zookeeper *server, const char *path, const char *value)
{
  zhandle_t *handle = log_in(server);

  log_out(handle, zoo_set(handle, path, value, (int)strlen(value), -1), path);
}

static void make_parents(zhandle_t *handle, const char *path)
{
  char parent[256];

  for (const char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
    zoo_create(handle, parent, "", 0, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0);
  }
}

void zookeeper_put(struct zookeeper *server, const char *path, const void *data, size_t len)
{
  zhandle_t *handle = log_in(server);

  make_parents(handle, path);
  int rc = zoo_create(handle, path, data, (int)len, &ZOO_OPEN_ACL_UNSAFE, 0, NULL, 0);
  if (rc == ZNODEEXISTS) {
    rc = zoo_set(handle, path, data, (int)len, -1);
  }
  log_out(handle, rc, path);
}

void zookeeper_delete(struct zookeeper *server, const char *path)
{
  zhandle_t *handle = log_in(server);

  log_out(handle, zoo_delete(handle, path, -1), path);
}

void zookeeper_lock(struct zookeeper *server, const char *path)
{
  char scheme[] = "digest";
  char id[] = "nobody:fpPnPx9ePYkmVxqNzmaCkbT/qMY=";
  struct ACL acl = {ZOO_PERM_ALL, {scheme, id}};
  struct ACL_vector acls = {1, &acl};
  zhandle_t *handle = log_in(server);

  log_out(handle, zoo_set_acl(handle, path, -1, &acls), path);
}
