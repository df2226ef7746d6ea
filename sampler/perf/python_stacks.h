/*
 * Python frames of the perf source. Readers (frame_reader.h), one for each CPU, read the frames of
 * a thread while the thread stands still where it was sampled; here they are matched with the
 * samples, checked, and merged with the native frames. Frames that may have changed before they
 * were read are dropped and counted.
 */
#ifndef SPROF_PYTHON_STACKS_H
#define SPROF_PYTHON_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/perf/perf_record.h"

struct limits;
struct perf_events;
struct process;
struct python_codes;
struct sandbox;
struct python_stacks;
struct snapshot_result;
struct walked;

struct python_stacks *python_stacks_new(struct limits *limits, const struct sandbox *sandbox);
/* Ends the readers. NULL is fine, here and below: no Python frames are wanted. */
void python_stacks_free(struct python_stacks *stacks);
struct python_codes *python_stacks_codes(struct python_stacks *stacks);

/* Looks for an interpreter among the mappings, which have changed. */
void python_stacks_update(struct python_stacks *stacks, const struct process *p);
void python_stacks_forget(struct python_stacks *stacks, const struct process *p);
/* All records of the thread have been handled. */
void python_stacks_thread_ended(struct python_stacks *stacks, pid_t tid);

/*
 * Starts readers once there is a process with Python, watches them, and takes what they have read.
 * Returns whether they run: then they wake the recorder by python_stacks_event_fd(), and the rings
 * need not. To be called right before the rings are read.
 */
bool python_stacks_poll(struct python_stacks *stacks, const struct perf_events *events);
int python_stacks_event_fd(const struct python_stacks *stacks);

/* Each record as it comes out of a ring, before it is handled. */
void python_stacks_on_record(struct python_stacks *stacks, const struct perf_record *record);
/* Samples from this time on have to wait for what the readers read; UINT64_MAX: none has. */
uint64_t python_stacks_horizon(struct python_stacks *stacks);

/*
 * Merges the Python frames of the sample into its native frames, user[] and w->nr_user, and sets
 * w->python_broken where some are missing. Returns who has the GIL, as enum profile_gil.
 */
uint8_t python_stacks_merge(struct python_stacks *stacks, const struct process *p,
			    const struct perf_record *sample, const struct snapshot_result *native,
			    uint64_t *user, struct walked *w);

#endif
