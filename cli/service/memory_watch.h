/*
 * Watches whether a recorder keeps --max-memory. Each table keeps its share
 * (core/rights/memory_shares.h); this file watches the sum: the memory of this process that no file
 * backs, and what the kernel holds for its source. Children have shares of their own.
 */
#ifndef SPROF_MEMORY_WATCH_H
#define SPROF_MEMORY_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct memory_shares;
struct sink;
struct source;
struct source_ops;

struct memory_watch {
	const struct memory_shares *shares; /* NULL: there is no limit */
	const struct source_ops *ops;
	const struct source *source;
	uint64_t next_ns;
	uint64_t bytes; /* what it was at the last look */
	uint64_t nr_over;
	bool is_over; /* the limit was exceeded since stacks were last forgotten */
	uint64_t forgot_ns;
};

/* Warns if the source cannot keep the limit. */
void memory_watch_begin(const struct memory_watch *w);
/* To be called in every round. Records in the sink that the limit was exceeded. */
void memory_watch_round(struct memory_watch *w, struct sink *sink, uint64_t now_ns);
/*
 * Should the recorder forget the stacks that it knows, because they are many (`is_large`) or the
 * limit is exceeded? At most every ten seconds, as forgotten stacks have to be learned again.
 */
bool memory_watch_forget(struct memory_watch *w, bool is_large, uint64_t now_ns);

#endif
