#ifndef MADE094_H
#define MADE094_H

/* Values of HBase before 0.96, for tests: written on their own, so that the library's idea of order
 * and encodings is checked against a second one. Memory is a kr_buf's. */

#include "lib/buf.h"

/* A region, of a user's table or of .META. */
struct made094 {
  const char *table;
  struct keyroute_bytes start, end; /* of .META.: its rows */
  int64_t id;
  bool offline, split;
  bool old;         /* of 0.90: no hash in the name, version 0 */
  const char *host; /* NULL = on no server */
  int port;
  int64_t start_code;
};

/* One that is on no server. */
static inline struct made094 made094_region(const char *table, const char *start, const char *end,
                                            int64_t id)
{
  return (struct made094){
      .table = table, .start = keyroute_string(start), .end = keyroute_string(end), .id = id};
}

/* Append its name: "t,a,5.HASH."; of old ones and of .META. "t,a,5". */
void made094_name(struct kr_buf *out, const struct made094 *region);

/* Append its HRegionInfo. */
void made094_info(struct kr_buf *out, const struct made094 *region);

/* Append a KeyValue. */
void made094_cell(struct kr_buf *out, struct keyroute_bytes row, const char *family,
                  struct keyroute_bytes qualifier, int64_t timestamp, struct keyroute_bytes value);

/* Append bytes that are written down as hexadecimal digits, with blanks where they help. */
void made094_hex(struct kr_buf *out, const char *hex);

/* Append a reply with a body; or with an exception's class and text. */
void made094_reply(struct kr_buf *out, uint32_t id, int32_t state, struct keyroute_bytes body);
void made094_exception(struct kr_buf *out, uint32_t id, int32_t state, const char *class_name,
                       const char *text);

/* The order of the rows of .META., and of -ROOT-. A key that servers cannot compare ends the test.
 */
int made094_compare_meta(struct keyroute_bytes a, struct keyroute_bytes b);
int made094_compare_root(struct keyroute_bytes a, struct keyroute_bytes b);

#endif
