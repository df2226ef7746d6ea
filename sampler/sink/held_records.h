/*
 * Records that are better handled later, such as copied stacks whose unwind tables are being built:
 * they stay until whoever has put them here says that they are ready.
 */
#ifndef SPROF_HELD_RECORDS_H
#define SPROF_HELD_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No record is worth waiting for longer: what it belongs to may have gone long ago. */
#define HELD_RECORDS_NS (10ull * 1000 * 1000 * 1000)

struct held_records;

struct held_record {
	uint64_t time_ns; /* the record's */
	uint64_t awaited; /* a number of what it waits for */
	uint32_t user;	  /* whose process it is of */
	void *data;	  /* `size` bytes, 8-aligned */
	size_t size;
};

/* At most `max_bytes` of records stay, of which each user has a share (user_shares.h). */
struct held_records *held_records_new(size_t max_bytes);
void held_records_free(struct held_records *held); /* NULL is fine */

bool held_records_is_empty(const struct held_records *held);
bool held_records_has_room(const struct held_records *held, uint32_t user, size_t size);
/* Keeps the record with a copy of its data. There is room. */
void held_records_keep(struct held_records *held, const struct held_record *record);

/* Has a record of that time waited for HELD_RECORDS_NS? */
bool held_records_is_old(uint64_t time_ns);

struct held_records_ops {
	bool (*is_ready)(void *context, const struct held_record *record);
	/* Takes a record, which goes after that. May keep records, which stay for the next call. */
	void (*take)(void *context, const struct held_record *record);
};

/* Hands over the records that are ready, in the order in which they were kept. */
void held_records_take(struct held_records *held, const struct held_records_ops *ops,
		       void *context);

#endif
