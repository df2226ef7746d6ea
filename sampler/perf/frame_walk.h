/*
 * Reads the Python frames of a thread that stands still, and sends them to the recorder. No
 * allocation and no log: it runs in a process that was forked from one with threads.
 */
#ifndef SPROF_FRAME_WALK_H
#define SPROF_FRAME_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct frame_walk;
struct perf_record;
struct perf_sample;
struct reader_shared;
struct reader_targets;

size_t frame_walk_size(void);
/*
 * `walk` is frame_walk_size() zeroed bytes. cpu_index distinguishes its numbers of code objects
 * from those of other walks.
 */
void frame_walk_init(struct frame_walk *walk, const struct reader_targets *targets,
		     struct reader_shared *shared, size_t cpu_index);
/*
 * What a reader may still take of its CPU's time, which it is preferred on: a part of the time that
 * passed, less what it used. It is below 0 after it took more, and then nothing is read.
 */
int64_t frame_walk_allowance(int64_t before_ns, uint64_t passed_ns, uint64_t used_ns);
/*
 * Reads the frames of the sampled thread, if its process runs Python and time is left. at_once:
 * this process got the CPU in the interrupt of the sample; else the thread may have run on.
 */
void frame_walk_sample(struct frame_walk *walk, const struct perf_record *sample, bool at_once);
/* Is the C stack still what was copied with the sample? `room` takes as much as the copy. */
bool frame_walk_stack_is(pid_t pid, const struct perf_sample *sample, void *room);

#endif
