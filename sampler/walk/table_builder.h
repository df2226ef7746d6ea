/*
 * Builds unwind tables in the background: two threads take files, first those that a walk has
 * missed, then in the order of the requests; another thread takes runtime code. An eventfd becomes
 * readable when a table is ready.
 */
#ifndef SPROF_TABLE_BUILDER_H
#define SPROF_TABLE_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/portable/walk.h"
#include "sampler/unwind/rule_pool.h"

struct mapped_file;
struct sandbox;
struct table_builder;
struct table_cache;
struct unwind_table;

/*
 * `rules` has room for WALK_NR_RULES and is where walkers read rules: the builder puts new ones
 * there before it hands out a table that names them. Files and code are parsed in children of
 * `sandbox`, NULL: in this process; their tables are kept in `cache`, NULL: nowhere. Both must
 * outlive the builder. Where the sandbox limits memory, one table is built at a time.
 */
struct table_builder *table_builder_new(struct walk_rule *rules, const struct sandbox *sandbox,
					struct table_cache *cache);
/* Gives up the tables that are being built and all other requests. NULL is fine. */
void table_builder_free(struct table_builder *builder);

/*
 * Asks for the table of an ELF file, whose descriptor must stay open. Its index comes back with the
 * result, and its user is charged for its rules. By its path and root the debug file is found.
 */
void table_builder_request(struct table_builder *builder, const struct mapped_file *file);
/*
 * The same for an ELF image in this process (the vdso), which must stay mapped. Root is charged.
 */
void table_builder_request_memory(struct table_builder *builder, uint32_t index, const void *image,
				  size_t size);

/*
 * The same for runtime code (unwind_table_build_code()). `code` is on the heap and the builder's
 * from now on. It does not wait for files, which may take a second each.
 */
void table_builder_request_code(struct table_builder *builder, uint32_t index, uint32_t user,
				uint8_t *code, size_t size);

/*
 * A walk has missed the table of this file: it is built before those that no walk has missed yet.
 * Does nothing if a thread has begun with it, or if it was not asked for.
 */
void table_builder_hurry(struct table_builder *builder, uint32_t index);

/*
 * Answers, without a table, the requests for files that are not wanted any more and that no thread
 * has begun with. is_wanted() is called under the builder's lock.
 */
void table_builder_drop(struct table_builder *builder,
			bool (*is_wanted)(void *context, uint32_t index), void *context);

int table_builder_event_fd(const struct table_builder *builder);

/* A finished request. */
struct built_table {
	uint32_t index;
	struct unwind_table *table; /* the taker's; NULL where nothing could be built */
	bool dropped;		    /* nothing was built: see table_builder_drop() */
	bool parser_failed;	    /* because the process that parses died or took too long */
	bool over_memory;	   /* because it takes more than children of the sandbox may have */
	struct rule_claim claim;   /* the taker's: the rules that the table names */
	enum rule_refusal refusal; /* why rows of it have no rule */
};

/* Takes a finished request; false when none is ready. */
bool table_builder_take(struct table_builder *builder, struct built_table *ret_built);
/* No walker reads rows of the table any more, so its rules may be forgotten. */
void table_builder_release(struct table_builder *builder, struct rule_claim *claim);
/*
 * Waits until a request may be finished. False where that cannot be, at until_ns of the monotonic
 * clock, and when a signal came.
 */
bool table_builder_wait(struct table_builder *builder, uint64_t until_ns);
/* Requests whose results have not been taken yet. */
size_t table_builder_nr_pending(struct table_builder *builder);

#endif
