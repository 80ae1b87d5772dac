#ifndef SHARE_H
#define SHARE_H

#include "keyroute/keyroute.h"

/* The part of the key space from start to end, 0 to 1: as if keys had eight bytes. */
double share_of_keys(struct keyroute_bytes start, struct keyroute_bytes end);

/* A share as text: "33.33%", "<0.01%" for what is less, "100%" for all. */
enum { SHARE_TEXT = 16 };
void share_text(char out[SHARE_TEXT], double share);

/* A bar of width columns for a share of 1; at least one column, so that it is never nothing. */
enum { SHARE_BAR_MAX = 100 };
void share_bar(char out[SHARE_BAR_MAX + 1], size_t width, double share);

#endif
