/*
 * The signal that libsprof.so listens for in a process without a recorder: does a process listen,
 * and which of its threads may get the signal? A handler that runs makes some system calls fail
 * with EINTR, so the thread is chosen with care.
 */
#ifndef SPROF_WAKE_SIGNAL_H
#define SPROF_WAKE_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct timer_process;

/* Is libsprof.so mapped in it? */
bool timer_wake_has_library(pid_t pid);
/* Is it mapped, does it listen, and are there no seccomp filters but our own? */
bool timer_wake_is_possible(pid_t pid);

/*
 * Sends the signal with this value to a thread that may get it; waited_ns is how long one has been
 * waited for, UINT64_MAX: any thread will do. 1: sent. 0: no thread may get it now. -errno: it
 * cannot be sent.
 */
int timer_wake_send(pid_t pid, uint64_t waited_ns, uint64_t value);

/*
 * A process that was sampled is no longer: its library looks at once whether the recording has
 * ended, and sleeps again. A thread that may get the signal is waited for until until_ns. Does
 * nothing where the payload was put in.
 */
void timer_sleep_again(const struct timer_process *p, uint64_t until_ns);

#endif
