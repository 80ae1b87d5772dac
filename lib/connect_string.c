/*
 * Takes apart the text by which people name a ZooKeeper ensemble.
 *
 * ZooKeeper's own form is "host:port,host:port/chroot". HBase's property hbase.zookeeper.quorum is
 * a plain list of hosts, mostly without ports, and both are seen with blanks behind the commas. One
 * parser takes them all.
 *
 *  1. The chroot begins at the first slash. It is one for all hosts, since it stands at the end.
 *  2. "/" and a trailing slash mean nothing; empty, "." and ".." components are refused here,
 *     where the text can be named, and not by a server that says "bad arguments".
 *  3. Two colons without brackets are refused: "::1:2181" can be read in two ways.
 *  4. Hosts are not looked up, and not checked beyond what no host name or address can hold.
 *
 * Pure; any thread.  Follows ZooKeeper's ConnectStringParser, but for rules 2 and 3, which are
 * stricter.
 */
#include "lib/connect_string.h"

#include "lib/bytes.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A DNS name has at most 253 characters; a scoped IPv6 address fits too. */
#define HOST_MAX 253

struct parser {
  struct kr_connect_string *string;
  int default_port;
  char *reason;
  size_t size;
};

__attribute__((format(printf, 3, 4))) static int refuse(const struct parser *parser,
                                                        struct keyroute_bytes part,
                                                        const char *format, ...)
{
  char why[160];
  char shown[120];
  va_list args;

  va_start(args, format);
  vsnprintf(why, sizeof(why), format, args);
  va_end(args);
  if (parser->size > 0) {
    snprintf(parser->reason, parser->size, "%s: \"%s\"", why,
             kr_bytes_print(shown, sizeof(shown), part));
  }
  return KEYROUTE_E_INVALID_ARGUMENT;
}

static bool is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static struct keyroute_bytes trim(const char *begin, const char *end)
{
  while (begin < end && is_blank(*begin)) {
    begin++;
  }
  while (begin < end && is_blank(end[-1])) {
    end--;
  }
  return kr_bytes(begin, (size_t)(end - begin));
}

static bool is_host_byte(char c, bool bracketed)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_' || (bracketed && (c == ':' || c == '%'));
}

/* -1 = not a port. */
static int parse_port(const char *begin, const char *end)
{
  size_t len = (size_t)(end - begin);
  int64_t port = 0;

  if (len > 5 || kr_bytes_number(&port, kr_bytes(begin, len), 65535) != len) {
    return -1;
  }
  return port >= 1 ? (int)port : -1;
}

static int add_host(const struct parser *parser, struct keyroute_bytes part,
                    struct keyroute_bytes host, bool bracketed, int port)
{
  struct kr_connect_string *string = parser->string;
  const char *text = host.data;

  if (host.len == 0) {
    return refuse(parser, part, "no host in front of the port");
  }
  if (host.len > HOST_MAX) {
    return refuse(parser, part, "a host name has at most %d characters", HOST_MAX);
  }
  for (size_t i = 0; i < host.len; i++) {
    if (!is_host_byte(text[i], bracketed)) {
      return refuse(parser, part, "not a host name");
    }
  }
  char *copy = kr_copy(string->mem, host);
  if (copy == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  string->hosts[string->count++] = (struct kr_host_port){copy, port};
  return 0;
}

static int parse_bracketed(const struct parser *parser, struct keyroute_bytes part)
{
  const char *begin = part.data;
  const char *end = begin + part.len;
  const char *close = memchr(begin, ']', part.len);
  int port = parser->default_port;

  if (close == NULL) {
    return refuse(parser, part, "\"[\" without \"]\"");
  }
  if (memchr(begin, ':', (size_t)(close - begin)) == NULL) {
    return refuse(parser, part, "brackets hold an IPv6 address");
  }
  if (close + 1 != end) {
    port = close[1] == ':' ? parse_port(close + 2, end) : -1;
    if (port < 0) {
      return refuse(parser, part, "a port is a number from 1 to 65535");
    }
  }
  return add_host(parser, part, kr_bytes(begin + 1, (size_t)(close - begin - 1)), true, port);
}

static int parse_host(const struct parser *parser, struct keyroute_bytes part)
{
  const char *begin = part.data;
  const char *end = begin + part.len;

  if (*begin == '[') {
    return parse_bracketed(parser, part);
  }
  const char *colon = memchr(begin, ':', part.len);
  if (colon == NULL) {
    return add_host(parser, part, part, false, parser->default_port);
  }
  if (memchr(colon + 1, ':', (size_t)(end - colon - 1)) != NULL) {
    return refuse(parser, part, "an IPv6 address is written in brackets, \"[::1]:2181\"");
  }
  int port = parse_port(colon + 1, end);
  if (port < 0) {
    return refuse(parser, part, "a port is a number from 1 to 65535");
  }
  return add_host(parser, part, kr_bytes(begin, (size_t)(colon - begin)), false, port);
}

static int parse_hosts(const struct parser *parser, const char *begin, const char *end)
{
  struct keyroute_bytes list = kr_bytes(begin, (size_t)(end - begin));

  for (;;) {
    const char *comma = memchr(begin, ',', (size_t)(end - begin));
    struct keyroute_bytes part = trim(begin, comma != NULL ? comma : end);
    if (part.len == 0) {
      return refuse(parser, list, "empty host in the list");
    }
    int error = parse_host(parser, part);
    if (error != 0 || comma == NULL) {
      return error;
    }
    begin = comma + 1;
  }
}

static bool is_dots(const char *begin, const char *end)
{
  return (end - begin == 1 && begin[0] == '.') ||
         (end - begin == 2 && begin[0] == '.' && begin[1] == '.');
}

static int parse_chroot(const struct parser *parser, const char *begin, const char *end)
{
  struct keyroute_bytes whole = kr_bytes(begin, (size_t)(end - begin));

  if (begin < end && end[-1] == '/') {
    end--;
  }
  for (const char *at = begin; at < end;) {
    const char *component = at + 1;
    const char *slash = memchr(component, '/', (size_t)(end - component));
    const char *stop = slash != NULL ? slash : end;
    if (stop == component || is_dots(component, stop)) {
      return refuse(parser, whole, "the chroot has an empty or dotted component");
    }
    for (const char *c = component; c < stop; c++) {
      if ((unsigned char)*c < 0x20 || *c == 0x7f) {
        return refuse(parser, whole, "the chroot holds a control character");
      }
    }
    at = stop;
  }
  parser->string->chroot = kr_copy(parser->string->mem, kr_bytes(begin, (size_t)(end - begin)));
  return parser->string->chroot != NULL ? 0 : KEYROUTE_E_NO_MEMORY;
}

static int parse(const struct parser *parser, struct keyroute_bytes text)
{
  const char *begin = text.data;
  const char *end = begin + text.len;
  const char *slash = memchr(begin, '/', text.len);

  if (text.len == 0) {
    return refuse(parser, text, "no host");
  }
  if (slash == begin) {
    return refuse(parser, text, "no host in front of the chroot");
  }
  int error = parse_hosts(parser, begin, slash != NULL ? slash : end);
  return error != 0 ? error : parse_chroot(parser, slash != NULL ? slash : end, end);
}

/* Room for as many hosts as there can be. */
static struct kr_connect_string *string_new(struct kr_mem *mem, struct keyroute_bytes text)
{
  struct kr_connect_string *string = kr_calloc(mem, sizeof(*string));
  size_t commas = 0;

  if (string == NULL) {
    return NULL;
  }
  for (size_t i = 0; i < text.len; i++) {
    commas += ((const char *)text.data)[i] == ',';
  }
  string->mem = kr_mem_ref(mem);
  string->hosts = kr_calloc(mem, (commas + 1) * sizeof(*string->hosts));
  if (string->hosts == NULL) {
    kr_connect_string_free(string);
    return NULL;
  }
  return string;
}

int kr_connect_string_parse(struct kr_connect_string **out, struct kr_mem *mem, const char *text,
                            int default_port, char *reason, size_t size)
{
  struct keyroute_bytes trimmed = trim(text, text + strlen(text));
  struct kr_connect_string *string = string_new(mem, trimmed);

  if (string == NULL) {
    return KEYROUTE_E_NO_MEMORY;
  }
  struct parser parser = {string, default_port, reason, size};
  int error = parse(&parser, trimmed);
  if (error != 0) {
    kr_connect_string_free(string);
    return error;
  }
  *out = string;
  return 0;
}

void kr_connect_string_free(struct kr_connect_string *string)
{
  if (string == NULL) {
    return;
  }
  struct kr_mem *mem = string->mem;
  for (size_t i = 0; i < string->count; i++) {
    kr_free(mem, string->hosts[i].host);
  }
  kr_free(mem, string->hosts);
  kr_free(mem, string->chroot);
  kr_free(mem, string);
  kr_mem_release(mem);
}

char *kr_connect_string_format(const struct kr_connect_string *string)
{
  size_t size = 1;
  size_t len = 0;

  for (size_t i = 0; i < string->count; i++) {
    size += strlen(string->hosts[i].host) + sizeof("[]:65535,");
  }
  char *text = kr_alloc(string->mem, size);
  if (text == NULL) {
    return NULL;
  }
  for (size_t i = 0; i < string->count; i++) {
    const struct kr_host_port *host = &string->hosts[i];
    const char *form = strchr(host->host, ':') != NULL ? "%s[%s]:%d" : "%s%s:%d";
    len += (size_t)snprintf(text + len, size - len, form, i > 0 ? "," : "", host->host, host->port);
  }
  return text;
}
