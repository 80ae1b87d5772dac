#ifndef LOOPBACK_H
#define LOOPBACK_H

#include "test/must.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

/* 127.0.0.1 and a port, 0 = one that is free. */
static inline struct sockaddr_in loopback(int port)
{
  return (struct sockaddr_in){
      .sin_family = AF_INET,
      .sin_port = htons((uint16_t)port),
      .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
  };
}

/* A port on 127.0.0.1 where connections are refused: it is taken until the process ends, so that no
 * other test's server gets it, and nobody listens. */
static inline int closed_port(void)
{
  struct sockaddr_in address = loopback(0);
  socklen_t len = sizeof(address);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

  must_work(fd >= 0);
  must_work(bind(fd, (struct sockaddr *)&address, len) == 0);
  must_work(getsockname(fd, (struct sockaddr *)&address, &len) == 0);
  return ntohs(address.sin_port);
}

#endif
