/* Adds up the sampled waits for locks: which thread waited, for which lock, and which held it. */
#ifndef SPROF_LOCK_WAITS_H
#define SPROF_LOCK_WAITS_H

#include <stdint.h>

#include "sampler/bpf/events.h"

struct lock_waits;
struct sample_sink;
struct sandbox;

/* The sandbox is for lock_places_new(). */
struct lock_waits *lock_waits_new(const struct sandbox *sandbox);
void lock_waits_free(struct lock_waits *waits);
/*
 * A wait for facts->lock was sampled in a process of `user`: `thread` is the sink's, and the sample
 * weighs weight_ns, of which the thread waited waiting_ns. `waker` is the thread that ended it;
 * PROFILE_NONE: not known.
 */
void lock_waits_add(struct lock_waits *waits, struct sample_sink *out, uint32_t user, uint32_t pid,
		    uint32_t thread, const struct wait_facts *facts, uint32_t waker,
		    uint64_t weight_ns, uint64_t waiting_ns);
/* "the_lock (program)", the variable at that address, or ""; valid until the next call. */
const char *lock_waits_symbol(struct lock_waits *waits, uint32_t pid, uint64_t address);
/* Tells the sink the rows that have changed. */
void lock_waits_tell(struct lock_waits *waits, struct sample_sink *out);

#endif
