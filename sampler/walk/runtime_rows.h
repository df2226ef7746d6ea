/*
 * Unwind rows of code that was made at run time, by number: asked of the builder, lent to the walker
 * while somebody uses them, and their number given to others a while after.
 */
#ifndef SPROF_RUNTIME_ROWS_H
#define SPROF_RUNTIME_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/portable/frames.h"

#define RUNTIME_MAX_ROWS WALK_MAX_RUNTIME_TABLES /* at one time, of all processes */

struct runtime_rows;
struct table_builder;
struct unwind_table;

struct runtime_ops {
	/* Rows for the walker, by number, below RUNTIME_MAX_ROWS. false: there is no room for them. */
	bool (*publish)(void *context, uint32_t number, const struct unwind_table *rows);
	/* No map table has named them for a second. */
	void (*forget)(void *context, uint32_t number, const struct unwind_table *rows);
};

struct runtime_rows_set;

/* Tables come with `first_index` + number. `ops` may be NULL: the walker reads them where they are. */
struct runtime_rows_set *runtime_rows_set_new(struct table_builder *builder, uint32_t first_index,
					      const struct runtime_ops *ops, void *context);
void runtime_rows_set_free(struct runtime_rows_set *set); /* once nobody uses any */

/* Rows that will come from the builder, with one user. NULL: there are too many. */
struct runtime_rows *runtime_rows_request(struct runtime_rows_set *set, const uint8_t *code,
					  size_t size);
/* The builder has done its part; `table` is the set's from now on. Returns how many functions are new. */
uint32_t runtime_rows_take(struct runtime_rows_set *set, uint32_t index,
			   struct unwind_table *table);
/* Now and then: forgets what is not used any more. */
void runtime_rows_tidy(struct runtime_rows_set *set, uint64_t now_ns);

/* Does anybody use any, or has until a moment ago? */
bool runtime_rows_are_used(const struct runtime_rows_set *set);

#endif
