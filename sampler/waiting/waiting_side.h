/*
 * The BPF programs that follow waits (sampler/bpf/waiting.bpf.c), beside the program that takes CPU
 * samples, whose tables and ring they share. Its life: new, watch, start, poll, stop, tell, free.
 */
#ifndef SPROF_WAITING_SIDE_H
#define SPROF_WAITING_SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct bpf_object;
struct sprof_bpf;
struct waiting_side;

/*
 * Loads the programs, with `wakers` also the one that follows who wakes; attaches nothing. `main`
 * is loaded and outlives the result. `period_ns`: wait_period_ns of the source's config. 0 or
 * -errno.
 */
int waiting_side_new(const struct sprof_bpf *main, uint64_t period_ns, bool wakers,
		     struct waiting_side **ret);
void waiting_side_free(struct waiting_side *w);

/* The process is a target. */
void waiting_side_watch(struct waiting_side *w, pid_t pid);
/* From here on its threads are watched. 0 or -errno. */
int waiting_side_start(struct waiting_side *w);
/*
 * To be called in each round: watches the threads of targets that are new, and lowers the time
 * between two samples if there are few.
 */
void waiting_side_poll(struct waiting_side *w, uint64_t now_ns);
/* Ends the recording of waits. Records of what was seen before may still be in the ring. */
void waiting_side_stop(struct waiting_side *w);
/* What its programs have cost: program_cost_ns(). */
uint64_t waiting_side_cost_ns(const struct waiting_side *w);
/* What its maps take beside those of `main`: program_memory_bytes(). */
uint64_t waiting_side_memory_bytes(const struct waiting_side *w, const struct bpf_object *main);
/* As kernel_side_allow_copies(). */
void waiting_side_allow_copies(struct waiting_side *w, int32_t nr, int32_t max);
/* Before stop: hands over a record for each watched thread, of what it did so far. */
void waiting_side_tell_times(struct waiting_side *w,
			     int (*fn)(void *context, void *record, size_t size), void *context);
/*
 * After stop: hands over a record for each watched thread, and one for the wait that it is in. The
 * records are those of the ring, and have the same callback.
 */
void waiting_side_tell(struct waiting_side *w, int (*fn)(void *context, void *record, size_t size),
		       void *context);

#endif
