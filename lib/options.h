#ifndef KR_OPTIONS_H
#define KR_OPTIONS_H

#include "lib/settings.h"

/* Read the options into settings; NULL = defaults and the environment. As
 * kr_settings_read. */
int kr_options_settings(struct kr_settings **out, const struct keyroute_options *options,
                        struct keyroute_detail *detail);

#endif
