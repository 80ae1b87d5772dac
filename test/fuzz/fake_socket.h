#ifndef FAKE_SOCKET_H
#define FAKE_SOCKET_H

/* The symbols of lib/socket.c without a network: who plays the servers is told what a client does
 * and says what comes of it. To be linked with fake_loop.c. */

#include "lib/socket.h"

/* The server's side of one socket. */
struct fake_peer {
  /* A client connects. The peer tells what comes of it by one of the calls below, at once or
   * later; nothing is a connection that is never made. */
  void (*connects)(struct kr_socket *socket, const char *host, int port);

  /* Bytes from the client. */
  void (*receives)(struct kr_socket *socket, struct keyroute_bytes bytes);

  /* The client has gone, or has been told of the end. */
  void (*forgets)(struct kr_socket *socket);
};
void fake_socket_set_peer(const struct fake_peer *peer);

/* After so long, in order for one socket: the connection is made; bytes (copied) arrive; it ends.
 * What was to come behind the end does not. */
void fake_socket_open_later(struct kr_socket *socket, int64_t after_ms);
void fake_socket_send_later(struct kr_socket *socket, int64_t after_ms,
                            struct keyroute_bytes bytes);
void fake_socket_end_later(struct kr_socket *socket, int64_t after_ms);

/* A number for the peer's own use, 0 at first. */
unsigned *fake_socket_number(struct kr_socket *socket);

/* Sockets not closed yet. */
size_t fake_socket_count(void);

#endif
