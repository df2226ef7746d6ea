/*
 * The unwind rows of runtime code, by number. Rows are requested of the table builder, published to
 * the walker while they have users, and some time after the last user their number is used for
 * other rows.
 */
#ifndef SPROF_RUNTIME_ROWS_H
#define SPROF_RUNTIME_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/portable/frames.h"

#define RUNTIME_MAX_ROWS WALK_MAX_RUNTIME_TABLES /* at one time, of all processes */

struct built_table;
struct runtime_rows;
struct table_builder;
struct unwind_table;

struct runtime_ops {
	/* Gives rows to the walker; number < RUNTIME_MAX_ROWS. false: there is no room. */
	bool (*publish)(void *context, uint32_t number, const struct unwind_table *rows);
	/* No map table has named these rows for a while. */
	void (*forget)(void *context, uint32_t number, const struct unwind_table *rows);
};

struct runtime_rows_set;

/*
 * The builder knows rows by `first_index` + number. NULL ops: the walker reads struct runtime_rows.
 */
struct runtime_rows_set *runtime_rows_set_new(struct table_builder *builder, uint32_t first_index,
					      const struct runtime_ops *ops, void *context);
void runtime_rows_set_free(struct runtime_rows_set *set); /* no rows have users */

/*
 * Requests rows, which have one user. They are empty until runtime_rows_take(). NULL: too many.
 * Their rules are charged to the owner of the process.
 */
struct runtime_rows *runtime_rows_request(struct runtime_rows_set *set, const uint8_t *code,
					  size_t size, uint32_t user);
/* Takes the builder's result, which is the set's from now on. Returns its number of functions. */
uint32_t runtime_rows_take(struct runtime_rows_set *set, struct built_table *built);
/* To be called now and then: frees rows without users. */
void runtime_rows_tidy(struct runtime_rows_set *set, uint64_t now_ns);

/* Are there rows with users, or that had some until a moment ago? */
bool runtime_rows_are_used(const struct runtime_rows_set *set);

#endif
