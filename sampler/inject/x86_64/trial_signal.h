/* The end of a signal handler, which calls rt_sigreturn(2), as a call that can be tried. */
#ifndef SPROF_TRIAL_SIGNAL_H
#define SPROF_TRIAL_SIGNAL_H

#include <sys/types.h>

/*
 * Sends the calling thread, the only one of process `self`, a signal whose handler returns. 0, or
 * -errno: the handler was not run. Where rt_sigreturn(2) fails, the process ends with SIGILL.
 */
int inject_trial_signal(pid_t self, int signal);

#endif
