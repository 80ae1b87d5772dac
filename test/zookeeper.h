#ifndef KR_TEST_ZOOKEEPER_H
#define KR_TEST_ZOOKEEPER_H

#include <stdbool.h>
#include <stddef.h>

/* One real ZooKeeper server on loopback, and a client to change what it holds. It dies with the
 * process that started it. Everything here aborts the test when it does not work. */
struct zookeeper;

/* The jars ZooKeeper needs, or NULL with the reason on stderr: the test is to be skipped. */
const char *zookeeper_jars(void);

/* tick 500 ms, so sessions live 1 to 10 s. Returns when it serves. */
struct zookeeper *zookeeper_start(void);
void zookeeper_stop(struct zookeeper *server); /* for good; its folder goes too */
int zookeeper_port(const struct zookeeper *server);

void zookeeper_kill(struct zookeeper *server);    /* SIGKILL */
void zookeeper_restart(struct zookeeper *server); /* same port, same data; returns when it serves */
void zookeeper_pause(struct zookeeper *server);   /* SIGSTOP */
void zookeeper_resume(struct zookeeper *server);  /* SIGCONT */

void zookeeper_create(struct zookeeper *server, const char *path, const char *value);
void zookeeper_set(struct zookeeper *server, const char *path, const char *value);
/* Make it hold these bytes, whether it is there or not; its parents are made, too. */
void zookeeper_put(struct zookeeper *server, const char *path, const void *data, size_t len);
void zookeeper_delete(struct zookeeper *server, const char *path);
/* Nobody may read it from now on. */
void zookeeper_lock(struct zookeeper *server, const char *path);

#endif
