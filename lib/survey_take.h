#ifndef KR_SURVEY_TAKE_H
#define KR_SURVEY_TAKE_H

#include "lib/survey_state.h"
#include "lib/transport.h"

/* The answer to a survey's request, or its failure: the hop is told, and what the rows say is
 * noted. Loop thread. */
void kr_survey_received(void *arg, const struct kr_failure *failure, const struct kr_rows *rows);

#endif
