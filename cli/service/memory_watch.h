/*
 * Looks whether a recorder keeps --max-memory. Tables have shares of it that they do not exceed
 * (core/rights/memory_shares.h); what is looked at here is the sum, which is the memory of this
 * process that no file backs and what the kernel holds for its source. Children have shares of
 * their own.
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
	uint64_t bytes; /* as of the last look */
	uint64_t nr_over;
	bool is_over; /* since the last turn that was for its sake */
	uint64_t forgot_ns;
};

/* Says what of the limit the source cannot keep. */
void memory_watch_begin(const struct memory_watch *w);
/* To be called in every round. Being over the limit is told and counted as one that was hit. */
void memory_watch_round(struct memory_watch *w, struct sink *sink, uint64_t now_ns);
/*
 * Is it time to forget what is known of stacks, because it `is_large` or all is too much? Not again
 * within ten seconds: what is forgotten has to be learned anew.
 */
bool memory_watch_forget(struct memory_watch *w, bool is_large, uint64_t now_ns);

#endif
