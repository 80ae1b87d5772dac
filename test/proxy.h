#ifndef KR_TEST_PROXY_H
#define KR_TEST_PROXY_H

/* A relay on loopback that can be told to misbehave. */
struct proxy;

enum proxy_mode {
  PROXY_PASS,   /* bytes go both ways */
  PROXY_STALL,  /* connections are taken and kept, no byte moves */
  PROXY_CLOSE,  /* connections are taken and closed at once */
  PROXY_FORGET, /* as PASS, but a ZooKeeper session that comes back is not known any more */
  PROXY_FLAP,   /* as PASS, but a connection ends when the client sends for the second time */
  PROXY_UPWARD  /* as PASS, but a scan down of HBase's catalog is one up, and an empty answer
                   to it does not say whether there is more, as before 0.98 */
};

struct proxy *proxy_start(int target_port);
int proxy_port(const struct proxy *proxy);
/* In force when it returns. Changing to anything but PROXY_STALL ends the connections there are. */
void proxy_set(struct proxy *proxy, enum proxy_mode mode);
int proxy_accepted(struct proxy *proxy); /* connections taken so far */
/* Count how often clients send a text, from now on; it is borrowed. */
void proxy_watch(struct proxy *proxy, const char *text);
int proxy_seen(struct proxy *proxy);
void proxy_stop(struct proxy *proxy);

#endif
