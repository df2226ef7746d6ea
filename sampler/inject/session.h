/*
 * Between the files of inject: one process, at most one thread of it stopped, and the zone, which is all
 * the memory that the thread needs before anything is mapped.
 */
#ifndef SPROF_SESSION_H
#define SPROF_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/inject/inject.h"

/*
 * What the stopped thread needs of memory before anything is mapped. Offsets; a multiple of 64.
 *
 *	0	mailbox
 *	1536	scratch
 *	2048	stack of the stub, growing down from 8128
 *	8176	return addresses, which lead to
 *	8192	the frame to go back through
 */
#define ZONE_SIZE 16384u
#define ZONE_SCRATCH 1536u
#define ZONE_STACK_TOP 8128u
#define ZONE_CHAIN (ZONE_FRAME - 16u)
#define ZONE_FRAME 8192u

_Static_assert(sizeof(struct inject_mailbox) <= ZONE_SCRATCH, "zone");
_Static_assert(ZONE_SCRATCH + INJECT_SCRATCH_SIZE <= 2048, "zone");
_Static_assert(ZONE_FRAME + INJECT_FRAME_SIZE <= ZONE_SIZE, "zone");

struct inject {
	struct inject_process process;
	struct inject_thread thread;
	struct inject_frame_sizes sizes;
	uint64_t stub;	     /* address, 0 = none */
	uint64_t zone;	     /* of this stop */
	bool zone_is_shared; /* at the far end of the first thread's stack: to be cleared */
	uint32_t submitted;
	bool runs; /* the stopped thread runs our code */
	uint64_t stop_ns;
};

/* Finds a place for the zone of the thread that was stopped. -ENOTSUP: there is none. */
int inject_zone_place(struct inject *inject);
/* Fills it: an empty mailbox, and the frame to go back through. */
int inject_zone_write(struct inject *inject);
/* Where the stack pointer must stand for a `ret` to lead into the frame. */
uint64_t inject_zone_way_back(const struct inject *inject);
/* Bytes into the zone, or out of it. 0, or -EFAULT. */
int inject_zone_put(struct inject *inject, size_t offset, const void *bytes, size_t size);
/* Does the far end of the first thread's stack bear the mark of a recorder? */
bool inject_zone_is_marked(const struct inject *inject);
/* Clears what others could come upon. */
void inject_zone_clear(struct inject *inject);

#endif
