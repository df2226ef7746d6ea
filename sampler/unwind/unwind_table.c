/*
 * Collects the ranges of text that have rules: FDEs; and in the gaps between them signal
 * trampolines, _init and _fini, the entry point and functions with derived rules. Then writes their
 * rows in the order of addresses.
 */
#include "sampler/unwind/unwind_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/alloc.h"
#include "sampler/unwind/cfi_sections.h"
#include "sampler/unwind/code/derived_rules.h"
#include "sampler/unwind/row_writer.h"
#include "sampler/unwind/rule_set.h"
#include "sampler/unwind/text_gaps.h"
#include "sampler/unwind/text_ranges.h"
#include "sampler/unwind/x86_64/code_references.h"
#include "sampler/unwind/x86_64/known_code.h"

#define MAX_ROWS (16u << 20)
#define ENTRY_CODE_SIZE 64     /* assumed for the code at the entry point without FDE (ld.so: 61) */
#define MAX_FUNCTION_READ 4096 /* bytes of a function that are searched for a ret */
#define MAX_SEARCHED (64u << 20)	  /* bytes of text without FDEs to search */
#define MAX_SEARCHED_TOGETHER (16u << 20) /* bytes of text */

/* Values of range.cie for ranges without FDE. */
enum {
	CIE_CODE = UINT32_MAX - 5,	  /* a derived rule; range.fde is its index in code[] */
	CIE_FIRST_FIXED = UINT32_MAX - 4, /* + enum known_code */
	CIE_END = CIE_FIRST_FIXED + KNOWN_ROOT, /* UINT32_MAX */
};

struct builder {
	const struct unwind_image *image;
	struct rule_set *rules;
	struct cfi_sections cfi;
	struct text_ranges ranges;
	size_t nr_with_fde; /* of the ranges, which come first */
	struct text_gaps gaps;
	struct walk_rule *code;
	size_t nr_code, code_capacity;
	struct row_writer writer;
	struct unwind_table *table;
};

/* Adds a range without FDE. */
static void add_range(struct builder *builder, uint64_t vaddr, uint64_t length, uint32_t cie)
{
	const struct text_range range = {
		.start = (uint32_t)(vaddr - builder->ranges.low),
		.length = (uint32_t)length,
		.cie = cie,
	};

	text_ranges_add(&builder->ranges, &range);
}

static void on_known_code(void *context, uint64_t vaddr, uint64_t length, enum known_code kind)
{
	add_range(context, vaddr, length, CIE_FIRST_FIXED + kind);
}

/*
 * Does a function with an FDE begin there? Asked of addresses outside the current gap. Ranges with
 * FDEs are sorted.
 */
static bool is_function(void *context, uint64_t vaddr)
{
	const struct builder *builder = context;
	struct text_ranges with_fde = builder->ranges;
	struct walk_rule rule = { .cfa = WALK_CFA_NONE };
	const struct text_range *range;
	struct cfi_program program;
	struct cfi_row row;
	uint64_t start;

	with_fde.nr = builder->nr_with_fde;
	range = text_ranges_find(&with_fde, vaddr);
	if (!range || !cfi_sections_begin(&builder->cfi, range, &program, &start))
		return false;
	while (cfi_next(&program, &row) && row.vaddr <= vaddr)
		rule = row.rule;
	if (rule.cfa == WALK_CFA_PLT)
		return (vaddr & 15) < (uint32_t)rule.cfa_off;
	return vaddr == start && rule.cfa == WALK_CFA_SP && rule.cfa_off == 8 &&
	       rule.fp == WALK_FP_SAME;
}

/* Does the function return whose FDE begins there? */
static enum code_fate fate(void *context, uint64_t vaddr)
{
	const struct builder *builder = context;
	const struct unwind_segment *segment = unwind_image_segment(builder->image, vaddr);
	struct text_ranges with_fde = builder->ranges;
	const struct text_range *range;
	uint8_t code[MAX_FUNCTION_READ];
	enum code_fate fate;
	uint64_t size;

	with_fde.nr = builder->nr_with_fde;
	range = text_ranges_find(&with_fde, vaddr);
	if (!range || with_fde.low + range->start != vaddr || !segment || !segment->executable)
		return FATE_UNKNOWN;
	size = range->length < sizeof(code) ? range->length : sizeof(code);
	if (unwind_image_read_at(builder->image, vaddr, code, size))
		return FATE_UNKNOWN;
	fate = code_fate(code, size);
	return fate == FATE_NEVER && size < range->length ? FATE_UNKNOWN : fate;
}

static bool read_constants(void *context, uint64_t vaddr, void *buffer, size_t size)
{
	const struct builder *builder = context;

	return !unwind_image_read_at(builder->image, vaddr, buffer, size);
}

static bool is_own_slot(void *context, uint64_t vaddr)
{
	return vaddr_list_has(&((const struct builder *)context)->gaps.slots, vaddr);
}

static uint64_t next_reference(void *context, uint64_t vaddr)
{
	const struct vaddr_list *list = &((const struct builder *)context)->gaps.references;
	size_t next = vaddr_list_first(list, vaddr + 1);

	return next < list->nr ? list->vaddrs[next] : UINT64_MAX;
}

static void add_starts(struct derived_rules *rules, const struct vaddr_list *list, uint64_t vaddr,
		       size_t size, void (*add)(struct derived_rules *, size_t))
{
	for (size_t i = vaddr_list_first(list, vaddr);
	     i < list->nr && list->vaddrs[i] - vaddr < size; i++)
		add(rules, list->vaddrs[i] - vaddr);
}

/* Excludes what has rules already: the ranges from `first` on, as far as they lie in the text. */
static void exclude_ranges(struct derived_rules *rules, const struct text_ranges *ranges,
			   size_t first, uint64_t vaddr, size_t size)
{
	for (size_t i = first; i < ranges->nr; i++) {
		uint64_t start = ranges->low + ranges->ranges[i].start;
		uint64_t end = start + ranges->ranges[i].length;

		if (end > vaddr && start < vaddr + size)
			derived_rules_exclude(rules, start < vaddr ? 0 : start - vaddr,
					      end - vaddr);
	}
}

/* Adds functions of a text with derived rules. Ranges from first_range on may lie in it. */
static void add_code_rules(struct builder *builder, uint64_t vaddr, const uint8_t *bytes,
			   size_t size, size_t first_range)
{
	const struct derived_text text = {
		.bytes = bytes,
		.size = size,
		.vaddr = vaddr,
		.is_function = is_function,
		.fate = fate,
		.read = read_constants,
		.next_reference = next_reference,
		.is_own_slot = is_own_slot,
		.context = builder,
	};
	struct derived_rules *rules = derived_rules_new(&text);
	const struct derived_rule *found;
	size_t nr;

	add_starts(rules, &builder->gaps.functions, vaddr, size, derived_rules_add_entry);
	add_starts(rules, &builder->gaps.hints, vaddr, size, derived_rules_add_hint);
	exclude_ranges(rules, &builder->ranges, first_range, vaddr, size);
	derived_rules_find(rules);
	found = derived_rules_get(rules, &nr);
	for (size_t i = 0; i < nr; i++) {
		const struct text_range range = {
			.start = (uint32_t)(vaddr - builder->ranges.low + found[i].start),
			.length = found[i].end - found[i].start,
			.cie = CIE_CODE,
			.fde = (uint32_t)builder->nr_code,
		};

		builder->code = xgrow(builder->code, &builder->code_capacity, builder->nr_code + 1,
				      sizeof(*builder->code));
		builder->code[builder->nr_code++] = found[i].rule;
		text_ranges_add(&builder->ranges, &range);
	}
	builder->table->nr_derived_functions += derived_rules_nr_functions(rules);
	derived_rules_free(rules);
}

/* Reads code; the caller frees it. NULL: there is none at that address. */
static uint8_t *read_text(const struct unwind_image *image, uint64_t vaddr, size_t *size)
{
	const struct unwind_segment *segment = unwind_image_segment(image, vaddr);
	uint8_t *text;

	if (!segment || !segment->executable)
		return NULL;
	if (*size > segment->size - (vaddr - segment->vaddr))
		*size = segment->size - (vaddr - segment->vaddr);
	text = xmalloc(*size);
	if (unwind_image_read(image, segment->offset + (vaddr - segment->vaddr), text, *size))
		*size = 0;
	return text;
}

/* The entry point has no caller. An FDE of its code would say so itself. */
static void add_entry_point(struct builder *builder, uint64_t start, uint64_t end)
{
	uint64_t entry = builder->image->headers.entry, left = end - entry;

	if (entry < start || entry >= end)
		return;
	add_range(builder, entry, left < ENTRY_CODE_SIZE ? left : ENTRY_CODE_SIZE, CIE_END);
}

/* Searches a gap for code of known shape. Without `together`, derives rules for the rest. */
static void search_gap(struct builder *builder, uint64_t vaddr, size_t size, bool together)
{
	uint8_t *text = read_text(builder->image, vaddr, &size);

	if (!text)
		return;
	known_code_find(vaddr, text, size, on_known_code, builder);
	if (!together)
		add_code_rules(builder, vaddr, text, size, builder->nr_with_fde);
	free(text);
}

/* Derives rules for all code without rules of a segment. */
static void search_segment(struct builder *builder, const struct unwind_segment *segment)
{
	uint64_t start = segment->vaddr, end = start + segment->size;
	uint8_t *text;
	size_t size;

	if (start < builder->ranges.low)
		start = builder->ranges.low;
	if (end > builder->ranges.high)
		end = builder->ranges.high;
	if (!segment->executable || start >= end)
		return;
	size = end - start;
	text = read_text(builder->image, start, &size);
	if (text)
		add_code_rules(builder, start, text, size, 0);
	free(text);
}

/*
 * Searches the text between the FDEs. Ranges are sorted before and after. The gaps of a file that
 * is not large are searched together, because functions of one call those of another.
 */
static void add_ranges_without_fde(struct builder *builder)
{
	struct text_gaps *gaps = &builder->gaps;
	uint64_t left = MAX_SEARCHED;
	bool together;

	builder->nr_with_fde = builder->ranges.nr;
	text_gaps_find(gaps, builder->image, &builder->ranges, CFI_MAX_PADDING);
	together = gaps->nr > 1 && gaps->size >= TEXT_GAPS_MIN_SEARCHED &&
		   builder->ranges.high - builder->ranges.low <= MAX_SEARCHED_TOGETHER;
	for (size_t i = 0; i < gaps->nr; i++) {
		const struct text_gap *gap = &gaps->gaps[i];
		uint64_t size = gap->end - gap->start;

		add_entry_point(builder, gap->start, gap->end);
		size = size < left ? size : left;
		search_gap(builder, gap->start, size, together);
		left -= size;
	}
	for (size_t i = 0; together && i < builder->image->nr_segments; i++)
		search_segment(builder, &builder->image->segments[i]);
	text_gaps_fini(gaps);
	text_ranges_sort(&builder->ranges);
}

static void add_row(struct builder *builder, uint64_t vaddr, struct walk_rule rule)
{
	uint32_t number, nr_rows = builder->table->nr_rows;

	if (!rule_set_intern(builder->rules, rule, &number))
		builder->table->nr_rules_dropped++;
	row_writer_add(&builder->writer, vaddr, number);
	if (rule.cfa == WALK_CFA_UNSUPPORTED)
		builder->table->nr_unsupported += builder->table->nr_rows - nr_rows;
}

static void add_fde_rows(struct builder *builder, const struct text_range *range, uint64_t end)
{
	struct cfi_program program;
	struct cfi_row row;
	uint64_t start;

	if (!cfi_sections_begin(&builder->cfi, range, &program, &start))
		return;
	while (cfi_next(&program, &row) && row.vaddr < end)
		add_row(builder, row.vaddr, row.rule);
	if (program.broken)
		builder->table->nr_broken_fdes++;
}

/*
 * Adds the rows of one range, up to the start of the next. Walks look up return addresses one byte
 * early, and a handler returns to the first byte of its trampoline, so the rule of a trampoline
 * begins one byte before the range unless that byte is another range's.
 */
static void add_range_rows(struct builder *builder, const struct text_range *range,
			   uint64_t previous_end, uint64_t end)
{
	static const struct walk_rule rules[] = {
		{ .cfa = WALK_CFA_SP, .cfa_off = 8 },
		{ .cfa = WALK_CFA_SP, .cfa_off = 16 },
		{ .cfa = WALK_CFA_SIGNAL },
		{ .cfa = WALK_CFA_OTHER_STACK, .fp = WALK_FP_CFA, .fp_off = -16 },
		{ .cfa = WALK_CFA_END },
	};
	uint64_t start = builder->ranges.low + range->start;

	if (range->cie == CIE_CODE) {
		add_row(builder, start, builder->code[range->fde]);
	} else if (range->cie >= CIE_FIRST_FIXED) {
		add_row(builder, start, rules[range->cie - CIE_FIRST_FIXED]);
	} else {
		if (cfi_sections_is_signal(&builder->cfi, range) && start > previous_end)
			add_row(builder, start - 1, (struct walk_rule){ .cfa = WALK_CFA_SIGNAL });
		add_fde_rows(builder, range, end);
	}
}

static int add_rows(struct builder *builder)
{
	uint64_t previous_end = builder->ranges.low;
	const struct text_range *first = &builder->ranges.ranges[0];
	const struct text_range *last = &builder->ranges.ranges[builder->ranges.nr - 1];

	/* The byte before the first range may belong to it: add_range_rows(). */
	row_writer_begin(&builder->writer, builder->table,
			 builder->ranges.low + first->start - (first->start > 0),
			 builder->ranges.low + last->start + last->length);
	for (size_t i = 0; i < builder->ranges.nr; i++) {
		const struct text_range *range = &builder->ranges.ranges[i];
		uint64_t end = builder->ranges.low + range->start + range->length;
		uint64_t next = builder->ranges.high + CFI_MAX_PADDING + 1;

		if (i + 1 < builder->ranges.nr)
			next = builder->ranges.low + range[1].start;
		if (end > next)
			end = next;
		add_range_rows(builder, range, previous_end, end);
		if (next - end > (range->cie >= CIE_CODE ? 0 : CFI_MAX_PADDING))
			add_row(builder, end, (struct walk_rule){ .cfa = WALK_CFA_NONE });
		if (builder->table->nr_rows > MAX_ROWS)
			return -EFBIG;
		previous_end = end;
	}
	row_writer_end(&builder->writer);
	return 0;
}

static int build(const struct unwind_image *image, struct debug_files *files,
		 struct rule_set *rules, struct unwind_table **ret_table)
{
	struct builder builder = {
		.image = image,
		.rules = rules,
		.table = xcalloc(1, sizeof(struct unwind_table)),
	};
	const struct eh_reader *eh = &builder.cfi.eh.reader, *debug = &builder.cfi.debug.reader;
	int err = cfi_sections_collect(&builder.cfi, image, files, &builder.ranges);

	if (!err) {
		add_ranges_without_fde(&builder);
		err = builder.ranges.nr ? add_rows(&builder) : -ENODATA;
	}
	builder.table->nr_fdes = (uint32_t)(eh->nr_fdes + debug->nr_fdes);
	builder.table->nr_broken_fdes += (uint32_t)(eh->nr_broken + debug->nr_broken);
	cfi_sections_fini(&builder.cfi);
	free(builder.code);
	text_ranges_fini(&builder.ranges);
	if (err) {
		unwind_table_free(builder.table);
		return err;
	}
	*ret_table = builder.table;
	return 0;
}

int unwind_table_build(int fd, struct debug_files *files, struct rule_set *rules,
		       struct unwind_table **ret_table)
{
	struct unwind_image image;
	int err = unwind_image_open(&image, fd);

	if (err)
		return err;
	err = build(&image, files, rules, ret_table);
	unwind_image_close(&image);
	return err;
}

int unwind_table_build_memory(const void *image, size_t size, struct rule_set *rules,
			      struct unwind_table **ret_table)
{
	struct unwind_image elf;
	int err = unwind_image_open_memory(&elf, image, size);

	if (err)
		return err;
	err = build(&elf, NULL, rules, ret_table);
	unwind_image_close(&elf);
	return err;
}

void unwind_table_free(struct unwind_table *table)
{
	if (!table)
		return;
	if (table->mapping) {
		munmap(table->mapping, table->mapping_size);
	} else {
		free(table->pages);
		free(table->words);
		free(table->functions);
	}
	free(table);
}
