/* What the kernel calls an event that a user has named. */
#ifndef SPROF_FIND_EVENT_H
#define SPROF_FIND_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile/event_name.h"

struct found_event {
	char name[EVENT_NAME_MAX + 1]; /* in full: with its PMU, where that was left out */
	uint32_t type;		       /* the fields of perf_event_attr */
	uint64_t config, config1, config2;
	bool exclude_user, exclude_kernel;
	bool tracepoint;
};

/*
 * Finds the event. 0, or -errno with the reason in why[], as a clause, and in hint[] what may help,
 * "" where there is nothing. Whether this host can count it is another question.
 */
int event_find(const char *name, struct found_event *ret, char *why, size_t why_size, char *hint,
	       size_t hint_size);

#endif
