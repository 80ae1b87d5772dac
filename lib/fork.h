#ifndef KR_FORK_H
#define KR_FORK_H

/* Have forks of this process noticed and prepared for from now on. Any thread, any number of times.
 * Errors: NO_MEMORY. */
int kr_fork_watch(void);

/* How many forks lie between this process and the one that watched first: what a parent has made
 * carries another number than what its child makes. No system call. Any thread. */
unsigned kr_fork_generation(void);

#endif
