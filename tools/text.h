#ifndef TEXT_H
#define TEXT_H

#include "keyroute/keyroute.h"

/* Texts are the caller's: free() them. */

/* Bytes as HBase prints them, or, with hex, as plain hexadecimal. */
char *text_bytes(struct keyroute_bytes bytes, bool hex);

/* The same as one word of a table: "" for no bytes, \x20 for a blank. */
char *text_word(struct keyroute_bytes bytes, bool hex);

/* The same as what ends a line: blanks within it stay. */
char *text_phrase(struct keyroute_bytes bytes, bool hex);

/* "host:port", an IPv6 address in brackets; NULL if the replica is on no server. */
char *text_server(const struct keyroute_location *location, int replica);

/* A replica's region name, and its encoded name, "" if there is none. */
char *text_region_name(const struct keyroute_location *location, int replica);
char *text_encoded_name(const struct keyroute_location *location, int replica);

/* "cache", "catalog", "registry" or "none"; static. */
const char *text_source(enum keyroute_source source);

#endif
