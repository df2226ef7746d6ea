/*
 * What each thread of the target did lately: moments or stretches of time, each with a stack. Held
 * for blame.c, which searches backwards from a gap.
 */
#ifndef SPROF_GPU_RECENT_H
#define SPROF_GPU_RECENT_H

#include <stdint.h>

#include "core/base/number_map.h"

struct recent_event {
	uint64_t start_ns, end_ns;
	uint64_t before; /* number of the thread's event before, + 1; 0 = none */
	uint32_t tid;
	uint32_t stack; /* of the region or the sink: the owner's choice */
};

/* Holds the last RECENT_MAX events of all threads together. Zeroed, it is empty. */
struct recent {
	struct recent_event *ring;
	uint64_t nr;		/* ever added */
	struct number_map last; /* by thread: index in numbers[] */
	uint64_t *numbers;	/* number of a thread's last event, + 1 */
	size_t nr_numbers, numbers_capacity;
};

enum { RECENT_MAX = 1 << 16 };

/* Events of one thread must come in the order in which they ended. */
void recent_add(struct recent *r, uint32_t tid, uint64_t start_ns, uint64_t end_ns, uint32_t stack);
/* The last event of a thread, and the one before an event; NULL if it is no longer held. */
const struct recent_event *recent_last(struct recent *r, uint32_t tid);
const struct recent_event *recent_before(const struct recent *r, const struct recent_event *event);
void recent_fini(struct recent *r);

#endif
