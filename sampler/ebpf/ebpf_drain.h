/*
 * The way of a sample from the ring to the sink: records of the ring and of the side band are
 * queued, put in order of time, and handled. Events of processes go to the targets; samples get
 * their stacks and go to the sink.
 */
#ifndef SPROF_EBPF_DRAIN_H
#define SPROF_EBPF_DRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ebpf_drain;
struct ebpf_snapshots;
struct ebpf_targets;
struct memory_shares;
struct profile_stats;
struct sandbox;
struct sideband_record;
struct sink;

/* All but the shares must outlive it; they and the sandbox may be NULL. */
struct ebpf_drain *ebpf_drain_new(struct ebpf_targets *targets, struct ebpf_snapshots *snapshots,
				  struct profile_stats *stats, const struct sandbox *sandbox,
				  const struct memory_shares *memory);
void ebpf_drain_free(struct ebpf_drain *d); /* NULL is fine */

/*
 * Between these two calls samples go to `sink`. After unwind_until_ns, snapshots wait for the next
 * round; if too many wait, only their leaf is kept.
 */
void ebpf_drain_begin(struct ebpf_drain *d, struct sink *sink, uint64_t unwind_until_ns);
void ebpf_drain_end(struct ebpf_drain *d);
/* Do snapshots wait for the next round? */
bool ebpf_drain_is_behind(const struct ebpf_drain *d);
/* As source_ops.turn. */
void ebpf_drain_turn(struct ebpf_drain *d, bool forget);
/* Tells the sink the sums of the segment that ends. */
void ebpf_drain_tell_sums(struct ebpf_drain *d);
/*
 * Before the end of the last round: tells the sink what it has not been told yet. Of snapshots for
 * which there is no time now, the leaf is kept.
 */
void ebpf_drain_finish(struct ebpf_drain *drain);

/*
 * Queue a record of the ring (a callback of ring_buffer__new()) or of the side band (a callback of
 * sideband_read()); `drain` is a struct ebpf_drain.
 */
int ebpf_drain_queue_record(void *drain, void *data, size_t size);
void ebpf_drain_queue_sideband(void *drain, const struct sideband_record *r);

/* Handles everything older than before_ns; returns how many records wait for the next round. */
size_t ebpf_drain_handle(struct ebpf_drain *d, uint64_t before_ns);

#endif
