/*
 * The state of one visit, shared by inject.c, mailbox.c and zone.c: one process, at most one
 * stopped thread of it, and the zone, which is the only memory that the thread needs before
 * anything is mapped.
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
 *	8152	return addresses that unmap a page that was just mapped, and lead to
 *	8176	return addresses that lead to
 *	8192	the frame to go back through
 */
#define ZONE_SIZE 16384u
#define ZONE_SCRATCH 1536u
#define ZONE_STACK_TOP 8128u
#define ZONE_UNMAP (ZONE_CHAIN - 24u)
#define ZONE_CHAIN (ZONE_FRAME - 16u)
#define ZONE_FRAME 8192u

_Static_assert(sizeof(struct inject_mailbox) <= ZONE_SCRATCH, "zone");
_Static_assert(ZONE_SCRATCH + INJECT_SCRATCH_SIZE <= 2048, "zone");
_Static_assert(ZONE_UNMAP >= ZONE_STACK_TOP, "zone");
_Static_assert(ZONE_FRAME + INJECT_FRAME_SIZE <= ZONE_SIZE, "zone");

struct inject {
	struct inject_process process;
	struct inject_thread thread;
	struct inject_frame_sizes sizes;
	uint64_t stub; /* address, 0 = none */
	uint64_t zone; /* of this stop */
	/* it lies at the far end of the first thread's stack, and is cleared afterwards */
	bool zone_is_shared;
	uint32_t submitted;
	bool runs; /* the stopped thread runs our code */
	uint64_t stop_ns;
};

/* Finds a place for the zone of the stopped thread. -ENOTSUP: there is none. */
int inject_zone_place(struct inject *inject);
/* Fills it: an empty mailbox, and the frame to go back through. */
int inject_zone_write(struct inject *inject);
/* Where the stack pointer must point for a `ret` to lead into the frame. */
uint64_t inject_zone_way_back(const struct inject *inject);
/*
 * The same for a thread that is about to return from mmap(2): what it has mapped is unmapped first,
 * where the process has the code for that.
 */
uint64_t inject_zone_way_back_unmapping(const struct inject *inject);
/* Writes bytes into the zone. 0 or -EFAULT. */
int inject_zone_put(struct inject *inject, size_t offset, const void *bytes, size_t size);
/* Is there the mark of a recorder at the far end of the first thread's stack? */
bool inject_zone_is_marked(const struct inject *inject);
/* Clears a zone that lies where the program could still find it. */
void inject_zone_clear(struct inject *inject);

#endif
