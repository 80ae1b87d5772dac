/*
 * Keeps signals away from the threads that the library starts or has libraries start.
 *
 * A new thread inherits its maker's mask. Were signals open there, an application's handlers would
 * run on threads it does not know, and libuv 1.44 would raise SIGPIPE. What the process does about
 * a signal is the application's and never changed.
 */
#include "lib/signals.h"

#include <stddef.h>

void kr_signals_block(sigset_t *saved)
{
  sigset_t all;

  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, saved);
}

void kr_signals_restore(const sigset_t *saved)
{
  pthread_sigmask(SIG_SETMASK, saved, NULL);
}
