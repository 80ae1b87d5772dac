#ifndef KR_BIGTABLE_TLS_H
#define KR_BIGTABLE_TLS_H

#include "lib/settings.h"

/* The texts of the files that the settings name for TLS; NULL = none is named. */
struct kr_bigtable_tls {
  char *roots, *certificate, *key;
};

/* Read them. out  release with kr_bigtable_tls_clear, on success only
 * Errors: INVALID_ARGUMENT a file cannot be read, or the settings contradict one another (detail
 * names the property); NO_MEMORY. */
int kr_bigtable_tls_read(struct kr_bigtable_tls *out, const struct kr_settings *settings,
                         struct keyroute_detail *detail);
void kr_bigtable_tls_clear(struct kr_bigtable_tls *tls, struct kr_mem *mem);

#endif
