#ifndef KR_CONNECT_STRING_H
#define KR_CONNECT_STRING_H

#include "lib/mem.h"

struct kr_host_port {
  char *host; /* an IPv6 address without its brackets */
  int port;
};

/* A ZooKeeper ensemble taken apart. */
struct kr_connect_string {
  struct kr_mem *mem; /* counted */
  struct kr_host_port *hosts;
  size_t count; /* at least 1 */
  char *chroot; /* "" or "/prod", no trailing slash */
};

/* Parse "host:port,host2,[::1]:2181/chroot"; hosts without a port get default_port.
 * out     free with kr_connect_string_free
 * reason  receives one printable line on error, cut to size
 * Errors: INVALID_ARGUMENT, NO_MEMORY.  Source: ZooKeeper ConnectStringParser */
int kr_connect_string_parse(struct kr_connect_string **out, struct kr_mem *mem, const char *text,
                            int default_port, char *reason, size_t size);

void kr_connect_string_free(struct kr_connect_string *string); /* NULL is accepted */

/* The hosts as text that parses back, every port filled in, no chroot: "a:2181,[::1]:2181".
 * Release with kr_free. NULL = out of memory. */
char *kr_connect_string_format(const struct kr_connect_string *string);

#endif
