#ifndef KR_SOCKET_H
#define KR_SOCKET_H

#include "lib/buf.h"
#include "lib/error.h"
#include "lib/loop.h"
#include "lib/worker.h"

/* One TCP connection. All on the loop thread. */
struct kr_socket;

/* What a socket tells its owner; none is called inside kr_socket_open, kr_socket_write or
 * kr_socket_close. Any of them may close the socket. */
struct kr_socket_events {
  void (*opened)(void *arg);
  void (*received)(void *arg, struct keyroute_bytes bytes); /* borrowed for the call; never empty */
  /* The end, whether or not it ever opened: the last call, the socket is gone when it returns.
   * Codes RESOLVE, UNREACHABLE, NO_MEMORY; failure->server is set. */
  void (*closed)(void *arg, const struct kr_failure *failure);
};

/* Begin to connect. A numeric host is used at once, a name is resolved by the worker; its addresses
 * are tried one after another, all within timeout_ms.
 * host    copied; IPv6 without brackets
 * events  must outlive the socket
 * NULL = out of memory: nothing will be called. */
struct kr_socket *kr_socket_open(struct kr_mem *mem, struct kr_loop *loop,
                                 struct kr_worker *resolver, const char *host, int port,
                                 int64_t timeout_ms, const struct kr_socket_events *events,
                                 void *arg);

/* Send bytes, after those sent before. Takes the memory out of buf, which is empty afterwards.
 * Only once opened. Errors: NO_MEMORY (also when buf->failed is set), nothing is sent then. */
int kr_socket_write(struct kr_socket *socket, struct kr_buf *buf);

/* How many bytes wait to be sent: what the system has not taken yet. Only once opened. */
size_t kr_socket_waiting(const struct kr_socket *socket);

/* Forget a socket: nothing more is called, the connection ends at once, the memory goes some loop
 * turns later. NULL is accepted. */
void kr_socket_close(struct kr_socket *socket);

#endif
