/*
 * The perf events that take samples with registers and a copy of the stack. Every sampled thread
 * has an event on each CPU, because events that new threads and children inherit can only be mapped
 * per CPU; all events of a CPU write into one ring.
 */
#ifndef SPROF_TASK_EVENTS_H
#define SPROF_TASK_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/perf/perf_record.h"

struct perf_events;

/* Gets a record; it and what it points to are valid during the call. */
typedef void perf_events_fn(void *context, const struct perf_record *record);

/*
 * Can this process open such events? 0, and *ret_kernel says whether kernel code may be sampled
 * too; or the -errno of perf_event_open(2).
 */
int perf_events_check(bool *ret_kernel);

/*
 * `event` is "cycles", or "cpu-clock" or "auto" for the timer. Opens nothing yet. 0; -EOPNOTSUPP
 * where cycles were asked for and the host cannot count them; or the -errno of opening an event.
 */
int perf_events_new(const char *event, uint32_t freq_hz, struct perf_events **ret_events);
/*
 * To be called before anything is added: each sample wakes who waits for its ring, and switches of
 * threads are recorded.
 */
void perf_events_wake_at_once(struct perf_events *events);
void perf_events_free(struct perf_events *events); /* NULL is fine */

const char *perf_events_name(const struct perf_events *events);
bool perf_events_see_kernel(const struct perf_events *events);
uint64_t perf_events_period_ns(const struct perf_events *events);
/* Is the period of a sample in ns? If not, each sample weighs perf_events_period_ns(). */
bool perf_events_count_ns(const struct perf_events *events);

/* Opens events on whole CPUs, which run from then on. 0 or -errno, reported. */
int perf_events_add_machine(struct perf_events *events);
/*
 * Opens events on whole CPUs that count while a process of this cgroup, or of one below it, runs.
 * 0, or -errno (-EACCES, -EPERM: not allowed).
 */
int perf_events_add_cgroup(struct perf_events *events, const char *folder);
/*
 * Opens events on all threads of a process; what they start inherits them. Records that come
 * meanwhile go to fn. 0 or -errno (-ESRCH: it has ended), which perf_events_report() puts in words.
 */
int perf_events_add_process(struct perf_events *events, pid_t pid, perf_events_fn *fn,
			    void *context);
/* Events of processes that are added from now on begin with their next exec, or at once. */
void perf_events_begin_at_exec(struct perf_events *events, bool at_exec);
void perf_events_report(const struct perf_events *events, pid_t pid, int err);
/*
 * To be called before a process is added: new threads inherit the events and new processes do not.
 * Before Linux 5.13 this changes nothing.
 */
void perf_events_keep_to_threads(struct perf_events *events);
void perf_events_disable(struct perf_events *events);

/*
 * The ring of the index-th CPU: an event that it can be mapped from (-1: there is none) and its
 * size in bytes. false: there are no more CPUs.
 */
bool perf_events_ring(const struct perf_events *events, size_t index, int *ret_cpu, int *ret_fd,
		      size_t *ret_size);

/* Wakes the set no more. */
void perf_events_remove_from_epoll(struct perf_events *events, int epoll_fd);
/* The rings wake an epoll set when they hold 128 KiB; new ones are added. 0 or -errno. */
int perf_events_add_to_epoll(struct perf_events *events, int epoll_fd);
/* Hands over every record that is there; CPUs one after the other, so not in time order. */
void perf_events_read(struct perf_events *events, perf_events_fn *fn, void *context);

#endif
