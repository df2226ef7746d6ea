/*
 * A walker may still use a map table that names rows after their last user let them go. So rows
 * stay, and their number rests, for a grace period.
 */
#include "sampler/walk/runtime_rows.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "sampler/target/runtime_regions.h"
#include "sampler/unwind/unwind_table.h"
#include "sampler/walk/table_builder.h"

struct runtime_rows_set {
	struct table_builder *builder;
	uint32_t first_index;
	struct runtime_ops ops;
	void *context;
	struct runtime_rows *by_number[RUNTIME_MAX_ROWS];
	uint32_t nr, next_number;
};

struct runtime_rows_set *runtime_rows_set_new(struct table_builder *builder, uint32_t first_index,
					      const struct runtime_ops *ops, void *context)
{
	struct runtime_rows_set *set = xcalloc(1, sizeof(*set));

	set->builder = builder;
	set->first_index = first_index;
	if (ops)
		set->ops = *ops;
	set->context = context;
	return set;
}

static void free_rows(struct runtime_rows *rows)
{
	if (rows->claim)
		free(rows->claim->numbers);
	free(rows->claim);
	unwind_table_free(rows->table);
	free(rows);
}

void runtime_rows_set_free(struct runtime_rows_set *set)
{
	for (uint32_t i = 0; set && i < RUNTIME_MAX_ROWS; i++)
		if (set->by_number[i])
			free_rows(set->by_number[i]);
	free(set);
}

bool runtime_rows_are_used(const struct runtime_rows_set *set)
{
	return set->nr;
}

struct runtime_rows *runtime_rows_request(struct runtime_rows_set *set, const uint8_t *code,
					  size_t size, uint32_t user)
{
	struct runtime_rows *rows;
	uint8_t *copy;

	if (set->nr == RUNTIME_MAX_ROWS)
		return NULL;
	while (set->by_number[set->next_number])
		set->next_number = (set->next_number + 1) % RUNTIME_MAX_ROWS;
	rows = xcalloc(1, sizeof(*rows));
	*rows = (struct runtime_rows){ .number = set->next_number, .nr_users = 1 };
	set->by_number[rows->number] = rows;
	set->nr++;
	copy = xmalloc(size);
	memcpy(copy, code, size);
	table_builder_request_code(set->builder, set->first_index + rows->number, user, copy, size);
	return rows;
}

uint32_t runtime_rows_take(struct runtime_rows_set *set, struct built_table *built)
{
	struct runtime_rows *rows = set->by_number[built->index - set->first_index];
	struct unwind_table *table = built->table;

	rows->done = true;
	rows->claim = xmalloc(sizeof(*rows->claim));
	*rows->claim = built->claim;
	if (table && set->ops.publish && !set->ops.publish(set->context, rows->number, table)) {
		unwind_table_free(table);
		table = NULL;
	}
	rows->table = table;
	return table ? table->nr_functions : 0;
}

void runtime_rows_tidy(struct runtime_rows_set *set, uint64_t now)
{
	for (uint32_t i = 0; set->nr && i < RUNTIME_MAX_ROWS; i++) {
		struct runtime_rows *rows = set->by_number[i];

		if (!rows || rows->nr_users || !rows->done || now < rows->free_at_ns)
			continue;
		if (rows->table && set->ops.forget)
			set->ops.forget(set->context, i, rows->table);
		table_builder_release(set->builder, rows->claim);
		set->by_number[i] = NULL;
		set->nr--;
		free_rows(rows);
	}
}
