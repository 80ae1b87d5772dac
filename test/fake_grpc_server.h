#ifndef FAKE_GRPC_SERVER_H
#define FAKE_GRPC_SERVER_H

/* A scripted gRPC server for tests, on loopback, with a thread of its own. A handler for each
 * method gets the request and writes down how it is answered, which the server then does.
 *
 *     static void read_rows(void *arg, struct fake_grpc_call *call)
 *     {
 *       fake_grpc_message(call, fake_grpc_request(call));
 *       fake_grpc_pause(call, 20);
 *       fake_grpc_trailer(call, "grpc-status-details-bin", details);
 *       fake_grpc_status(call, 5, "no such table");
 *     }
 *
 *     struct fake_grpc_server *server = fake_grpc_server_start(0);
 *     fake_grpc_server_handle(server, "/google.bigtable.v2.Bigtable/ReadRows", read_rows, NULL);
 *     ... the client under test asks fake_grpc_server_port(server) ...
 *     fake_grpc_server_free(server);
 *
 * Handlers run on the server's thread, one at a time. All else may be called from any other thread.
 * Trouble of the server itself (no port, no memory) aborts the test. Programs that use it are
 * linked with libtestgrpc.la ($(GRPC_LDADD)). */

#include "keyroute/keyroute.h"

struct fake_grpc_server;
struct fake_grpc_call; /* one request with its script */

/* Start listening on 127.0.0.1. port 0 = any free one. */
struct fake_grpc_server *fake_grpc_server_start(int port);

/* The same with TLS; PEM, the text itself. client_roots: wants a certificate of these from its
 * clients; NULL = wants none. */
struct fake_grpc_server *fake_grpc_server_start_tls(int port, const char *certificate,
                                                    const char *key, const char *client_roots);

/* The port, which stays the same over stop and restart. */
int fake_grpc_server_port(const struct fake_grpc_server *server);

/* How calls of a method ("/package.Service/Method") are answered from now on. Those of methods
 * without a handler get UNIMPLEMENTED. */
typedef void fake_grpc_handler(void *arg, struct fake_grpc_call *call);
void fake_grpc_server_handle(struct fake_grpc_server *server, const char *method,
                             fake_grpc_handler *handler, void *arg);

/* As if the process had died: connections are broken, new ones refused. */
void fake_grpc_server_stop(struct fake_grpc_server *server);

/* Listen again, on the same port. */
void fake_grpc_server_restart(struct fake_grpc_server *server);

/* Break all connections; new ones are welcome. */
void fake_grpc_server_drop_connections(struct fake_grpc_server *server);

/* How many calls, of any method, have come; how many of these are not over; open connections. */
unsigned fake_grpc_server_seen(struct fake_grpc_server *server);
unsigned fake_grpc_server_open_calls(struct fake_grpc_server *server);
unsigned fake_grpc_server_connections(struct fake_grpc_server *server);

/* Wait until so many have come, or until no more than so many are open. False = not within
 * timeout_ms. */
bool fake_grpc_server_wait_seen(struct fake_grpc_server *server, unsigned calls, int timeout_ms);
bool fake_grpc_server_wait_open(struct fake_grpc_server *server, unsigned calls, int timeout_ms);

/* Stop, and release everything. NULL is accepted. */
void fake_grpc_server_free(struct fake_grpc_server *server);

/* ---- In a handler: the request -------------------------------------------------------------- */

const char *fake_grpc_method(const struct fake_grpc_call *call);
struct keyroute_bytes fake_grpc_request(const struct fake_grpc_call *call);

/* A metadata entry of the request, decoded if its key ends with "-bin"; data NULL = there is
 * none. */
struct keyroute_bytes fake_grpc_metadata(const struct fake_grpc_call *call, const char *key);

/* ---- In a handler: the script, in the order in which it is played ---------------------------- */

/* Send a message. */
void fake_grpc_message(struct fake_grpc_call *call, struct keyroute_bytes message);

/* Let some time pass; other calls are not held up. */
void fake_grpc_pause(struct fake_grpc_call *call, int ms);

/* Say nothing more, until the client gives up. */
void fake_grpc_hang(struct fake_grpc_call *call);

/* Break the connection, with all calls on it. */
void fake_grpc_break(struct fake_grpc_call *call);

/* How it ends: metadata, status code and text. Without a word of it, OK and nothing. */
void fake_grpc_trailer(struct fake_grpc_call *call, const char *key, struct keyroute_bytes value);
void fake_grpc_status(struct fake_grpc_call *call, int code, const char *text);

#endif
