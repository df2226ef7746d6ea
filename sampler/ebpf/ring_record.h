/* What a record of the ring says of itself: whether it is as long as it should be, its column. */
#ifndef SPROF_RING_RECORD_H
#define SPROF_RING_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile/profile.h"
#include "sampler/bpf/events.h"

static inline bool ring_record_has_frames(const struct stack_event *e, size_t size)
{
	return e->nr_kernel <= MAX_KERNEL_FRAMES && e->nr_user <= MAX_USER_FRAMES &&
	       e->nr_joined <= MAX_JOINED_FRAMES &&
	       size >= sizeof(*e) + (e->nr_kernel + (size_t)e->nr_user + e->nr_joined) * 8;
}

/* *size is that of the record, and becomes how much of it was filled. */
static inline bool ring_record_is_whole(const void *data, size_t *size)
{
	static const size_t sizes[] = {
		[EVENT_SAMPLE] = sizeof(struct sample_event),
		[EVENT_STACK] = sizeof(struct stack_event),
		[EVENT_SNAPSHOT] = sizeof(struct snapshot_event),
		[EVENT_FORK] = sizeof(struct fork_event),
		[EVENT_EXEC] = sizeof(struct exec_event),
		[EVENT_EXIT] = sizeof(struct exit_event),
		[EVENT_CODE] = sizeof(struct code_event),
		[EVENT_PYTHON] = sizeof(struct stack_event),
		[EVENT_WAIT] = sizeof(struct wait_event),
		[EVENT_THREAD] = sizeof(struct thread_event),
		[EVENT_CALL] = sizeof(struct sample_event),
	};
	const struct event_header *h = data;
	const struct snapshot_event *snapshot = data;

	if (*size < sizeof(*h) || h->type >= sizeof(sizes) / sizeof(sizes[0]) || !sizes[h->type] ||
	    *size < sizes[h->type])
		return false;
	if (h->type == EVENT_STACK || h->type == EVENT_PYTHON)
		return ring_record_has_frames(data, *size);
	if (h->type != EVENT_SNAPSHOT)
		return true;
	/* Room was reserved for a whole stack; only what was filled is kept. */
	if (snapshot->stack_size > *size - sizeof(*snapshot) ||
	    snapshot->nr_kernel > MAX_KERNEL_FRAMES)
		return false;
	*size = sizeof(*snapshot) + snapshot->stack_size;
	return true;
}

/* The column of a sample of a running thread. */
static inline enum profile_column ring_record_column(const struct sample_event *e)
{
	if (e->header.type == EVENT_CALL)
		return COLUMN_LONG_CALLS;
	if (e->event == GROWTH_EVENT)
		return COLUMN_GROWTH;
	if (!e->event || e->event > NR_EVENT_COLUMNS)
		return COLUMN_CPU;
	return (enum profile_column)(COLUMN_EVENT_1 + e->event - 1);
}

#endif
