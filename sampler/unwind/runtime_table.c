/*
 * Unwind tables of runtime code, which has no file: its rules are derived, unless it brings its own
 * call frame information (described_code.h). Work and rules are limited, because the program may
 * change the code at any time and may be hostile.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/base/order.h"
#include "core/portable/described_code.h"
#include "sampler/unwind/cfi.h"
#include "sampler/unwind/code/derived_rules.h"
#include "sampler/unwind/eh_frame.h"
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

/* ---- code that brings its own */

struct described {
	struct eh_reader reader;
	struct cfi_state initial; /* of the first CIE: FDEs of others are left out */
	struct eh_fde *fdes;
	size_t nr, capacity;
};

static int compare_fdes(const void *a, const void *b)
{
	const struct eh_fde *x = a, *y = b;

	return ORDER(x->start, y->start);
}

/* Where the call frame information begins in the code; 0: it has none. */
static uint32_t find_frames(const uint8_t *code, size_t size)
{
	struct described_code head;

	if (size < sizeof(head))
		return 0;
	memcpy(&head, code, sizeof(head));
	return head.magic == DESCRIBED_CODE_MAGIC && head.eh_frame < size ? head.eh_frame : 0;
}

static void read_fdes(struct described *d, const struct eh_frame *frame, size_t size)
{
	struct eh_fde fde;

	eh_reader_init(&d->reader, frame);
	while (eh_reader_next(&d->reader, &fde)) {
		if (fde.cie || !fde.length || fde.start >= size || fde.length > size - fde.start)
			continue;
		d->fdes = xgrow(d->fdes, &d->capacity, d->nr + 1, sizeof(*d->fdes));
		d->fdes[d->nr++] = fde;
	}
	if (d->nr)
		cfi_init_cie(frame, &d->reader.cies[0], &d->initial);
	if (d->nr)
		qsort(d->fdes, d->nr, sizeof(*d->fdes), compare_fdes);
}

/* Adds the rows of a function; those of an FDE that overlaps the one before are left out. */
static void describe(struct described *d, const struct eh_fde *fde, const uint8_t *code,
		     struct row_writer *writer, struct rule_set *rules)
{
	struct unwind_table *table = writer->table;
	uint32_t nr = table->nr_functions, end = nr ? table->functions[nr - 1].end : 0;
	struct cfi_program program;
	struct cfi_row row;

	if (fde->start < end)
		return;
	if (fde->start > end)
		add_row(writer, rules, end, (struct walk_rule){ .cfa = WALK_CFA_NONE });
	cfi_begin(&program, &d->reader.frame, &d->reader.cies[0], &d->initial, fde);
	while (cfi_next(&program, &row) && row.vaddr < fde->start + fde->length)
		add_row(writer, rules, (uint32_t)row.vaddr, row.rule);
	table->functions[table->nr_functions++] = (struct unwind_function){
		.start = (uint32_t)fde->start,
		.end = (uint32_t)(fde->start + fde->length),
		.hash = unwind_function_hash(code + fde->start, fde->length),
	};
}

static int build_described(const uint8_t *code, size_t size, uint32_t frames,
			   struct rule_set *rules, struct unwind_table **ret_table)
{
	const struct eh_frame frame = {
		.data = code + frames,
		.size = size - frames,
		.vaddr = frames,
	};
	struct unwind_table *table = NULL;
	struct described d = { .nr = 0 };
	struct row_writer writer;

	read_fdes(&d, &frame, size);
	if (d.nr) {
		table = xcalloc(1, sizeof(*table));
		table->functions = xcalloc(d.nr, sizeof(*table->functions));
		row_writer_begin(&writer, table, 0, size);
		for (size_t i = 0; i < d.nr; i++)
			describe(&d, &d.fdes[i], code, &writer, rules);
		add_row(&writer, rules, table->functions[table->nr_functions - 1].end,
			(struct walk_rule){ .cfa = WALK_CFA_NONE });
		row_writer_end(&writer);
	}
	eh_reader_fini(&d.reader);
	free(d.fdes);
	if (!table)
		return -ENODATA;
	*ret_table = table;
	return 0;
}

/* ---- code that does not */

static int compare_rules(const void *a, const void *b)
{
	const struct derived_rule *x = a, *y = b;

	return ORDER(x->start, y->start);
}

static int compare_functions(const void *a, const void *b)
{
	const struct unwind_function *x = a, *y = b;

	return ORDER(x->start, y->start);
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
	uint32_t frames = find_frames(code, size);
	struct unwind_table *table = NULL;
	struct derived_rules *found;

	if (frames)
		return build_described(code, size, frames, rules, ret_table);
	found = derived_rules_new(&text);
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
