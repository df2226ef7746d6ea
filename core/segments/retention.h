/*
 * Which segments are kept: those that ended less than `keep_ns` ago, as long as all of them fit
 * into `max_bytes`. Ages are measured on CLOCK_BOOTTIME, so that a step of the time of day deletes
 * nothing; only the age of a segment that an earlier recorder left is taken from its name, once.
 */
#ifndef SPROF_RETENTION_H
#define SPROF_RETENTION_H

#include <stddef.h>
#include <stdint.h>

struct retained {
	char *name;
	int64_t ended_ns; /* CLOCK_BOOTTIME; below 0: before this boot */
	uint64_t size_bytes;
};

struct retention {
	uint64_t keep_ns, max_bytes; /* 0: without a limit */
	struct retained *segments;   /* oldest first */
	size_t nr, capacity;
};

void retention_fini(struct retention *r);
/* Adds a segment that has ended now; copies the name. */
void retention_add(struct retention *r, const char *name, uint64_t size_bytes, int64_t now_ns);
/*
 * Adds a segment of an earlier recorder, which began at `began_realtime_ns`; the time of day is
 * `realtime_ns`. If it seems to come from the future, it counts as new.
 */
void retention_add_older(struct retention *r, const char *name, uint64_t size_bytes, int64_t now_ns,
			 uint64_t began_realtime_ns, uint64_t realtime_ns);
/* Sets the size of a segment, if it is one of these. */
void retention_set_size(struct retention *r, const char *name, uint64_t size_bytes);
/*
 * Returns how many of the oldest segments must be deleted. other_bytes: the size of what else is in
 * the folder, the open segment and names.
 */
size_t retention_excess(const struct retention *r, int64_t now_ns, uint64_t other_bytes);
/* Forgets a segment; 0 is the oldest. */
void retention_drop(struct retention *r, size_t at);

#endif
