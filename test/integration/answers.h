#ifndef KEYROUTE_TEST_ANSWERS_H
#define KEYROUTE_TEST_ANSWERS_H

#include "keyroute/keyroute.h"

/* What threads were told about regions while the catalog changed, and the judgement of it by what
 * hbase:meta is known to have said (the commands `watch` and `history`). Any thread may note; times
 * are ms of the real-time clock, which the cluster's processes have too. */
struct answers;

struct answers *answers_new(void);
void answers_free(struct answers *answers);

int64_t answers_now_ms(void);

/* A call began, and ended with a location. fresh = it asked past the cache; cached = it was
 * answered by the cache. */
void answers_note(struct answers *answers, const struct keyroute_location *location, bool fresh,
                  bool cached, int64_t began_ms, int64_t ended_ms);

/* A call ended by saying that there is nothing: TABLE_NOT_FOUND or HOLE; others are not kept. */
void answers_note_nothing(struct answers *answers, int error, const char *table,
                          struct keyroute_bytes row, int64_t began_ms, int64_t ended_ms);

/* Judge all that was noted by what the command `history` answers about all tables concerned. Wrong
 * ones are printed on stderr. Returns how many there are. */
unsigned answers_judge(struct answers *answers, char *history);

/* How many different things were said. */
unsigned answers_count(const struct answers *answers);

#endif
