/*
 * A root's place as text: as somebody writes it down, and as HBase before 0.96 wrote it.
 *
 *     host:port   host:port:startcode   [IPv6 address]:port   ...      written down
 *     host,port,startcode   host:port                                  znode root-region-server
 *
 *  1. A port is 1 to 65535; a start code that is not said is 0.
 *  2. Anybody who may write to ZooKeeper can put anything here: a host that holds other than
 *     printable, unspaced ASCII is refused before it reaches a resolver or a log.
 *
 * Pure: any thread.  Source: HBase 0.94 RootRegionTracker, ServerName; 0.90 HServerAddress
 */
#include "lib/root_text.h"

#include "lib/bytes.h"
#include "lib/error.h"

#include <string.h>

/* A number at *at, which moves behind it. False = none, or above max. */
static bool take_number(int64_t *out, const char **at, const char *end, int64_t max)
{
  size_t digits = kr_bytes_number(out, kr_bytes(*at, (size_t)(end - *at)), max);

  *at += digits;
  return digits > 0;
}

static bool is_host(struct keyroute_bytes host)
{
  const char *text = host.data;

  for (size_t i = 0; i < host.len; i++) {
    if (text[i] <= ' ' || text[i] > '~') {
      return false;
    }
  }
  return host.len > 0 && host.len <= KR_HOST_MAX;
}

/* Read what stands behind the host: a port and, if there is more, a start code, each with the
 * separator in front. */
static bool read_numbers(struct kr_root_text *out, const char *at, const char *end, char separator)
{
  int64_t port;

  out->start_code = 0;
  if (at == end || *at++ != separator || !take_number(&port, &at, end, UINT16_MAX) || port == 0) {
    return false;
  }
  out->port = (uint16_t)port;
  if (at < end && (*at++ != separator || !take_number(&out->start_code, &at, end, INT64_MAX))) {
    return false;
  }
  return at == end;
}

/* The host ends at the first separator. */
static bool parse(struct kr_root_text *out, struct keyroute_bytes text, char separator)
{
  const char *begin = text.data;
  const char *found = text.len > 0 ? memchr(begin, separator, text.len) : NULL;

  if (found == NULL) {
    return false;
  }
  out->host = kr_bytes(begin, (size_t)(found - begin));
  return is_host(out->host) && read_numbers(out, found, begin + text.len, separator);
}

bool kr_root_text_parse(struct kr_root_text *out, struct keyroute_bytes text)
{
  const char *begin = text.data;

  if (text.len == 0 || begin[0] != '[') {
    return parse(out, text, ':');
  }
  const char *last = memchr(begin, ']', text.len);

  if (last == NULL) {
    return false;
  }
  out->host = kr_bytes(begin + 1, (size_t)(last - begin - 1));
  return is_host(out->host) && read_numbers(out, last + 1, begin + text.len, ':');
}

bool kr_root_text_parse_znode(struct kr_root_text *out, struct keyroute_bytes text)
{
  bool commas = text.len > 0 && memchr(text.data, ',', text.len) != NULL;

  return commas ? parse(out, text, ',') : parse(out, text, ':');
}
