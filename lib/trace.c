/*
 * The record of one call: its steps in the order they ended, each with its time. A trace is a help
 * to people, so a step that finds no memory is left out and the call goes on; and of a call about
 * many rows only the first STEPS_MAX steps are kept, the last of which says so.
 */
#include "lib/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { STEPS_MAX = 1000 };

struct step {
  const char *name;
  int64_t at_us;
  int64_t took_us;
  char server[272];
  char detail[256];
};

struct keyroute_trace {
  struct kr_mem *mem;
  struct step *steps;
  size_t count;
  size_t cap;
};

struct keyroute_trace *kr_trace_new(struct kr_mem *mem)
{
  struct keyroute_trace *trace = kr_calloc(mem, sizeof(*trace));

  if (trace != NULL) {
    trace->mem = kr_mem_ref(mem);
  }
  return trace;
}

void kr_trace_free(struct keyroute_trace *trace)
{
  if (trace != NULL) {
    struct kr_mem *mem = trace->mem;

    kr_free(mem, trace->steps);
    kr_free(mem, trace);
    kr_mem_release(mem);
  }
}

static struct step *new_step(struct keyroute_trace *trace)
{
  if (trace->count == STEPS_MAX) {
    return NULL;
  }
  if (trace->count == trace->cap) {
    size_t cap = trace->cap > 0 ? 2 * trace->cap : 8;
    struct step *steps = kr_realloc(trace->mem, trace->steps, cap * sizeof(*steps));

    if (steps == NULL) {
      return NULL;
    }
    trace->steps = steps;
    trace->cap = cap;
  }
  return &trace->steps[trace->count++];
}

void kr_trace_add(struct keyroute_trace *trace, const char *name, int64_t at_us, int64_t took_us,
                  const char *server, const char *format, ...)
{
  struct step *step = trace != NULL ? new_step(trace) : NULL;
  va_list arguments;

  if (step == NULL) {
    return;
  }
  if (trace->count == STEPS_MAX) {
    *step = (struct step){.name = "...", .at_us = at_us, .detail = "further steps are not kept"};
    return;
  }
  step->name = name;
  step->at_us = at_us;
  step->took_us = took_us;
  snprintf(step->server, sizeof(step->server), "%s", server != NULL ? server : "");
  va_start(arguments, format);
  vsnprintf(step->detail, sizeof(step->detail), format, arguments);
  va_end(arguments);
}

size_t keyroute_trace_count(const struct keyroute_trace *trace)
{
  return trace != NULL ? trace->count : 0;
}

int keyroute_trace_step(const struct keyroute_trace *trace, size_t index,
                        struct keyroute_step *step)
{
  if (trace == NULL || step == NULL || step->size == 0 || index >= trace->count) {
    return KEYROUTE_E_INVALID_ARGUMENT;
  }
  const struct step *from = &trace->steps[index];
  struct keyroute_step whole = {step->size,    from->name,   from->at_us,
                                from->took_us, from->server, from->detail};

  memcpy(step, &whole, step->size < sizeof(whole) ? step->size : sizeof(whole));
  return 0;
}
