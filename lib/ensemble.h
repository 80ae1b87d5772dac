#ifndef KR_ENSEMBLE_H
#define KR_ENSEMBLE_H

#include "lib/connect_string.h"
#include "lib/error.h"

#include <netinet/in.h>
#include <sys/socket.h>

/* What a server's address said when it was tried. */
enum kr_endpoint_state {
  KR_ENDPOINT_SILENT,  /* nothing (yet) */
  KR_ENDPOINT_ANSWERS, /* it serves */
  KR_ENDPOINT_REFUSES, /* no connection, endpoint.error says why */
  KR_ENDPOINT_CLOSES   /* a connection, then the end of it */
};

/* One address of one host of the ensemble. */
struct kr_endpoint {
  const struct kr_host_port *host; /* borrowed from the ensemble */
  union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
  } address;
  socklen_t address_len;
  char numeric[80]; /* "10.0.0.1" or "fe80::1%eth0" */
  enum kr_endpoint_state state;
  int error; /* errno */
};

/* malloc'ed: it is made on a worker that may outlive the connection. */
struct kr_endpoints {
  struct kr_endpoint *list;
  size_t count;
};

/* Asked between steps: true = nobody waits for the outcome any more. */
typedef bool (*kr_ensemble_stop_cb)(void *arg);

/* The addresses of all hosts; hosts that do not resolve are left out. May block as long as the C
 * library's resolver does.
 * out      clear with kr_endpoints_clear, also after an error
 * failure  what did not resolve, code RESOLVE, even if the rest did; code 0 if all did
 * Errors: RESOLVE no host resolves; NO_MEMORY; CANCELLED stop said so. */
int kr_ensemble_resolve(struct kr_endpoints *out, const struct kr_connect_string *ensemble,
                        struct kr_failure *failure, kr_ensemble_stop_cb stop, void *arg);

void kr_endpoints_clear(struct kr_endpoints *endpoints);

/* Whether one of them is in this state. */
bool kr_endpoints_any(const struct kr_endpoints *endpoints, enum kr_endpoint_state state);

/* "10.0.0.1:2181,[::1]:2181" of those in one state, or of all with KR_ENDPOINT_SILENT. Release with
 * free. NULL = out of memory. */
char *kr_endpoints_format(const struct kr_endpoints *endpoints, enum kr_endpoint_state state);

#endif
