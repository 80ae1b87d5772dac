#ifndef KR_OPTIONS_H
#define KR_OPTIONS_H

#include "lib/settings.h"

/* Read the options into typed fields, every value checked, those only files gave included.
 * out  give back with kr_settings_free      options  NULL = defaults
 * Errors: INVALID_ARGUMENT a value, or something asked for that is not built (detail names property
 * and value); NO_MEMORY. */
int kr_options_settings(struct kr_settings **out, const struct keyroute_options *options,
                        struct keyroute_detail *detail);
void kr_settings_free(struct kr_settings *settings); /* NULL is accepted */

#endif
