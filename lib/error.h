#ifndef KR_ERROR_H
#define KR_ERROR_H

#include "keyroute/keyroute.h"

/* The longest host name: one in DNS is no longer. */
enum { KR_HOST_MAX = 255 };

/* A place that a server named: where a region is now. */
struct kr_place {
  char host[KR_HOST_MAX + 1]; /* "" = none was named */
  uint16_t port;
  int64_t start_code; /* 0 = not said */
  int64_t seqnum;     /* -1 = not said */
};

/* Why something did not work, as the part that saw it tells the part that asked. */
struct kr_failure {
  int code;                  /* KEYROUTE_E_..., 0 = none */
  enum keyroute_kind kind;   /* what it says about the location used */
  bool final;                /* trying again cannot help, whatever the code says */
  bool connecting;           /* no connection could be made: the server is not there */
  bool sent;                 /* the request left: the server may have acted on it */
  bool refused;              /* and says by this exception that it has not */
  enum keyroute_fault fault; /* what the exception is to whoever was sent there; with REMOTE,
                              * OVERLOADED and AUTH */
  int64_t wait_ms;           /* the server's own wait, 0 = none */
  struct kr_place moved;     /* with the fault MOVED: to where, as far as the server says */
  size_t answer_len;         /* with TOO_LARGE of a whole answer: how large it was, else 0 */
  char server[272];          /* "host:port" that failed, "" = none */
  char message[768];         /* one line, printable, names the thing */
};

/* Fill in a failure with the code's own kind; the message is printf-like and cut to fit. Returns
 * code. */
int kr_fail(struct kr_failure *failure, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a caller's detail, as much of it as its size says is there; NULL is accepted.
 * Returns code. */
int kr_detail_fail(struct keyroute_detail *detail, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* One line for what ends a call early and has no more to say: CANCELLED, CLOSED, NO_MEMORY. */
const char *kr_early_end(int code);

/* Say which server failed: in failure->server, and in front of the message. */
void kr_fail_name_server(struct kr_failure *failure, const char *server);

/* The failure is that of a scan, which asks for a few small rows: an answer TOO_LARGE is not to be
 * asked for again in smaller parts but is nonsense, PROTOCOL. Returns whether it was too large. */
bool kr_fail_scan(struct kr_failure *failure);

#endif
