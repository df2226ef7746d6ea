/*
 * When threads got a CPU and lost it, lately: by this it is known whether a thread stood still
 * between its sample and the reading of its memory.
 */
#ifndef SPROF_THREAD_SWITCHES_H
#define SPROF_THREAD_SWITCHES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct thread_switches;

struct thread_switches *thread_switches_new(void);
void thread_switches_free(struct thread_switches *switches);

enum thread_switch { SWITCH_IN, SWITCH_OUT, SWITCH_PREEMPTED };

/* The switches of a thread need not come in order of time. */
void thread_switches_add(struct thread_switches *switches, pid_t tid, uint64_t time_ns,
			 enum thread_switch what);
void thread_switches_forget(struct thread_switches *switches, pid_t tid);

/* Samples before that time will not be asked about. */
void thread_switches_handled(struct thread_switches *switches, uint64_t before_ns);

/*
 * Did the thread lose its CPU at once when it was sampled, and not get one again before read_ns?
 * All switches up to then must have been added. `late`: who read did not get that CPU at once, so
 * nothing but the time says that the thread lost it in the interrupt of the sample.
 */
bool thread_stood_still(const struct thread_switches *switches, pid_t tid, uint64_t sampled_ns,
			uint64_t read_ns, bool late);

#endif
