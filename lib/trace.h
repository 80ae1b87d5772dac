#ifndef KR_TRACE_H
#define KR_TRACE_H

#include "lib/mem.h"

/* The steps of one call. On the loop while the call runs, the caller's afterwards. */

struct keyroute_trace *kr_trace_new(struct kr_mem *mem); /* NULL = out of memory */
void kr_trace_free(struct keyroute_trace *trace);        /* NULL is accepted */

/* Add a step; NULL traces and failed allocations lose it silently. name is static text. */
void kr_trace_add(struct keyroute_trace *trace, const char *name, int64_t at_us, int64_t took_us,
                  const char *server, const char *format, ...)
    __attribute__((format(printf, 6, 7)));

#endif
