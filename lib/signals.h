#ifndef KR_SIGNALS_H
#define KR_SIGNALS_H

#include <signal.h>

/* Block all signals in this thread, and so in those it starts meanwhile, also inside libraries.
 * saved  receives the mask to restore */
void kr_signals_block(sigset_t *saved);
void kr_signals_restore(const sigset_t *saved);

#endif
