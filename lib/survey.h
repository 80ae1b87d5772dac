#ifndef KR_SURVEY_H
#define KR_SURVEY_H

#include "lib/survey_state.h"

/* Reads what the catalog says about a span of a table's keys. Loop thread. */

/* Begin. Its done runs before or after this returns. */
void kr_survey_start(struct kr_survey *survey);

/* End it early, with CANCELLED or CLOSED; its done runs now or later. */
void kr_survey_stop(struct kr_survey *survey, int code);

/* Release all that it holds; also of one that was never started. */
void kr_survey_clear(struct kr_survey *survey);

#endif
