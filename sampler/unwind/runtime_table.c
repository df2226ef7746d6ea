/*
 * Unwind tables of runtime code, which has no file and no FDEs: all rules are derived. Work and
 * rules are limited, because the program may change the code at any time and may be hostile.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core/base/alloc.h"
#include "sampler/unwind/code/derived_rules.h"
#include "sampler/unwind/row_writer.h"
#include "sampler/unwind/rule_set.h"
#include "sampler/unwind/unwind_table.h"

#define CODE_PAGE 4096u
#define PADDING 64u /* zeros before a page whose start is a function */
/* Files use the set too, so runtime code can fill only half of it. */
#define MAX_RULES_USED (WALK_MAX_RULES / 2)

uint64_t unwind_function_hash(const uint8_t *code, size_t size)
{
	return XXH3_64bits(code, size);
}

static bool is_padding(const uint8_t *code, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (code[i])
			return false;
	return true;
}

/*
 * Code generators give each function whole pages of its own, and neighbours merge into one mapping.
 * A function may be followed by its constants; no function is searched for after those.
 */
static void add_entries(struct derived_rules *rules, const uint8_t *code, size_t size)
{
	derived_rules_add_entry(rules, 0);
	for (size_t at = CODE_PAGE; at < size; at += CODE_PAGE)
		if (code[at] && is_padding(code + at - PADDING, PADDING))
			derived_rules_add_entry(rules, at);
}

static int compare_rules(const void *a, const void *b)
{
	const struct derived_rule *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int compare_functions(const void *a, const void *b)
{
	const struct unwind_function *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void add_row(struct row_writer *writer, struct rule_set *rules, uint32_t at,
		    struct walk_rule rule)
{
	uint32_t number;

	if (rule_set_nr(rules) > MAX_RULES_USED || !rule_set_intern(rules, rule, &number)) {
		number = WALK_RULE_OVER_LIMIT;
		writer->table->nr_rules_dropped++;
	}
	row_writer_add(writer, at, number);
}

static void add_rows(struct unwind_table *table, const struct derived_rules *found, size_t size,
		     struct rule_set *rules)
{
	const struct walk_rule none = { .cfa = WALK_CFA_NONE };
	struct row_writer writer;
	size_t nr;
	const struct derived_rule *in_order = derived_rules_get(found, &nr);
	struct derived_rule *sorted = xcalloc(nr, sizeof(*sorted));

	memcpy(sorted, in_order, nr * sizeof(*sorted));
	qsort(sorted, nr, sizeof(*sorted), compare_rules);
	row_writer_begin(&writer, table, 0, size);
	for (size_t i = 0; i < nr; i++) {
		add_row(&writer, rules, sorted[i].start, sorted[i].rule);
		if (i + 1 == nr || sorted[i + 1].start > sorted[i].end)
			add_row(&writer, rules, sorted[i].end, none);
	}
	row_writer_end(&writer);
	free(sorted);
}

static void add_functions(struct unwind_table *table, const struct derived_rules *found,
			  const uint8_t *code)
{
	const struct derived_function *functions = derived_rules_functions(found);

	table->nr_functions = table->nr_derived_functions = derived_rules_nr_functions(found);
	table->functions = xcalloc(table->nr_functions, sizeof(*table->functions));
	for (uint32_t i = 0; i < table->nr_functions; i++) {
		const struct derived_function *f = &functions[i];

		table->functions[i] = (struct unwind_function){
			.start = f->start,
			.end = f->end,
			.hash = unwind_function_hash(code + f->start, f->end - f->start),
		};
	}
	qsort(table->functions, table->nr_functions, sizeof(*table->functions), compare_functions);
}

int unwind_table_build_code(const uint8_t *code, size_t size, struct rule_set *rules,
			    struct unwind_table **ret_table)
{
	const struct derived_text text = { .bytes = code, .size = size };
	struct derived_rules *found = derived_rules_new(&text);
	struct unwind_table *table = NULL;

	derived_rules_set_runtime(found);
	add_entries(found, code, size);
	derived_rules_find(found);
	if (derived_rules_nr_functions(found)) {
		table = xcalloc(1, sizeof(*table));
		add_rows(table, found, size, rules);
		add_functions(table, found, code);
	}
	derived_rules_free(found);
	if (!table)
		return -ENODATA;
	*ret_table = table;
	return 0;
}
