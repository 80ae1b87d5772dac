#ifndef LOOPBACK_H
#define LOOPBACK_H

#include <arpa/inet.h>
#include <netinet/in.h>

/* 127.0.0.1 and a port, 0 = one that is free. */
static inline struct sockaddr_in loopback(int port)
{
  return (struct sockaddr_in){
      .sin_family = AF_INET,
      .sin_port = htons((uint16_t)port),
      .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
  };
}

#endif
