#ifndef KR_SURVEY_STATE_H
#define KR_SURVEY_STATE_H

#include "lib/hop.h"
#include "lib/listing.h"

/* What the files of a survey share: survey.c (its course), survey_take.c (answers). */

/* How often the catalog may change under it. */
enum { KR_SURVEY_RESTARTS_MAX = 4 };

enum { KR_SURVEY_TABLE_TEXT = 120 }; /* of a table's name in a message */

/* What is being read. */
enum kr_survey_phase {
  KR_SURVEY_ANCHOR, /* down from the span's start: the region that begins below it */
  KR_SURVEY_ROWS,   /* up, from that region on */
  KR_SURVEY_ANY     /* there was no row: has the table any? */
};

/* Embedded in a call, which outlives it. The owner fills in the first part. */
struct kr_survey {
  struct kr_call *call;         /* times, trace, detail */
  struct keyroute_table *table; /* counted by the owner */
  struct kr_listing_question question;

  /* Runs once. The survey is the owner's again, to be cleared. */
  void (*done)(struct kr_survey *survey);

  /* The outcome. */
  struct kr_failure failure; /* code 0 = the listing is complete */
  struct kr_listing listing;

  /* Its own. */
  struct kr_hop hop;       /* one request to the parent */
  struct kr_lookup lookup; /* the region of a table that has no parent */
  struct keyroute_table *parent;
  enum kr_survey_phase phase;
  struct kr_buf anchor;       /* where a region starts, below the span */
  bool anchor_known;          /* there is such a region, or was */
  bool anchor_reaches;        /* the span */
  struct kr_buf from, to;     /* the parent's rows between which is read next */
  enum kr_position from_side; /* KR_BEFORE: downwards, from the border of two regions */
  bool resumes;               /* from is the last row that was read, */
  bool last_split;            /* of a split parent */
  uint32_t asked;             /* rows of the last request */
  size_t received;            /* rows of its answer, the one that it resumed from aside */
  bool cut_short;             /* there may be more in the parent's region */
  bool is_torn;               /* the row that it resumed from is no longer what it was */
  bool short_of_memory;
  bool met;        /* the table has rows */
  unsigned silent; /* answers in succession without a new row, though there are more */
  unsigned restarts, retries;
  uint64_t epoch, sent; /* the cache's, when the last request was sent */
};

/* May all be read again, should the catalog have changed? If not, what comes is taken as it is. */
static inline bool kr_survey_may_restart(const struct kr_survey *survey)
{
  return survey->restarts < KR_SURVEY_RESTARTS_MAX;
}

static inline void kr_survey_set_key(struct kr_buf *buf, struct keyroute_bytes key)
{
  buf->len = 0;
  kr_buf_bytes(buf, key);
}

#endif
