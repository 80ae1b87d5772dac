/*
 * How did a call go? The library's detail is lent for the callback only, and printing is done
 * later, on another thread: what will be printed is copied here.
 */
#include "tools/outcome.h"

#include "tools/cli.h"

#include <stdlib.h>

static void copy_steps(struct outcome *outcome, const struct keyroute_trace *trace)
{
  size_t count = keyroute_trace_count(trace);

  outcome->steps = cli_alloc(count * sizeof(*outcome->steps));
  for (size_t i = 0; i < count; i++) {
    struct keyroute_step step = {.size = sizeof(step)};

    if (keyroute_trace_step(trace, i, &step) != 0) {
      break;
    }
    outcome->steps[outcome->step_count++] =
        (struct outcome_step){cli_copy(step.name), cli_copy(step.server), cli_copy(step.detail),
                              step.at_us, step.took_us};
  }
}

void outcome_copy(struct outcome *outcome, int error, const struct keyroute_detail *detail)
{
  outcome->error = error;
  outcome->message = cli_copy(detail->message);
  outcome->source = detail->source;
  outcome->deadline = detail->deadline;
  outcome->attempts = detail->attempts;
  outcome->rpcs = detail->rpcs;
  outcome->elapsed_us = detail->elapsed_us;
  copy_steps(outcome, detail->trace);
}

void outcome_clear(struct outcome *outcome)
{
  for (size_t i = 0; i < outcome->step_count; i++) {
    free(outcome->steps[i].name);
    free(outcome->steps[i].server);
    free(outcome->steps[i].detail);
  }
  free(outcome->steps);
  free(outcome->message);
  *outcome = (struct outcome){0};
}

const char *outcome_message(const struct outcome *outcome)
{
  return outcome->message != NULL && outcome->message[0] != '\0'
             ? outcome->message
             : keyroute_strerror(outcome->error);
}

bool outcome_unasked(int error)
{
  return error == KEYROUTE_E_BOOTSTRAP || error == KEYROUTE_E_RESOLVE ||
         error == KEYROUTE_E_UNREACHABLE || error == KEYROUTE_E_AUTH || error == KEYROUTE_E_TIMEOUT;
}
