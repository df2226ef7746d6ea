/*
 * Processes with libsprof.so in them that are to be woken: each gets the signal when one of its
 * threads may get it, and then comes to the rendezvous, answers that another recorder has it, or
 * does not answer.
 */
#ifndef SPROF_WAKE_H
#define SPROF_WAKE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct timer_wake;

/* `name` of the rendezvous; any_thread: wake through any thread, also one that waits. */
struct timer_wake *timer_wake_new(uint64_t name, bool any_thread);
void timer_wake_free(struct timer_wake *wake); /* NULL is fine */

/* Wants a process to be woken. `quiet`: the caller reports it if it never comes. */
void timer_wake_add(struct timer_wake *wake, pid_t pid, bool quiet);
/*
 * Sends its signal if it is time. 0, or -errno: it cannot be woken; -EBUSY: it is another
 * recorder's; -ETIMEDOUT: it does not answer.
 */
int timer_wake_try(struct timer_wake *wake, pid_t pid);
/* Has the signal not been sent yet? */
bool timer_wake_is_unsent(const struct timer_wake *wake, pid_t pid);
/* Once in a round: tries each that has not come. */
void timer_wake_poll(struct timer_wake *wake);

/* Was it asked to come? */
bool timer_wake_expects(const struct timer_wake *wake, pid_t pid);
/* The process has come, or is not wanted any more. */
void timer_wake_done(struct timer_wake *wake, pid_t pid);
/* The process has answered that it has another recorder. */
void timer_wake_is_busy(struct timer_wake *wake, pid_t pid);
/* Calls `visit` for each that is not quiet. */
void timer_wake_visit(const struct timer_wake *wake, void (*visit)(void *context, pid_t pid),
		      void *context);
/* The recording ends: warns of those that never came and forgets all. */
void timer_wake_end(struct timer_wake *wake);

#endif
