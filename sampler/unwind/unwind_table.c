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
#include "sampler/unwind/cfi.h"
#include "sampler/unwind/derived_rules.h"
#include "sampler/unwind/row_writer.h"
#include "sampler/unwind/rule_set.h"
#include "sampler/unwind/text_gaps.h"
#include "sampler/unwind/text_ranges.h"
#include "sampler/unwind/x86_64/known_code.h"

#define MAX_ROWS (16u << 20)
#define MAX_JOINED_GAP 15  /* so many bytes between ranges are padding, not code */
#define ENTRY_CODE_SIZE 64 /* assumed for the code at the entry point without FDE (ld.so: 61) */
#define MAX_SEARCHED (64u << 20) /* bytes of text without FDEs to search */

/* Values of range.cie for ranges without FDE. */
enum {
	CIE_CODE = UINT32_MAX - 5,	  /* a derived rule; range.fde is its index in code[] */
	CIE_FIRST_FIXED = UINT32_MAX - 4, /* + enum known_code */
	CIE_END = CIE_FIRST_FIXED + KNOWN_ROOT, /* UINT32_MAX */
};

struct builder {
	const struct unwind_image *image;
	struct rule_set *rules;
	struct eh_reader reader;
	struct cfi_state *initials; /* one for each CIE */
	struct text_ranges ranges;
	size_t nr_with_fde; /* of the ranges, which come first */
	struct walk_rule *code;
	size_t nr_code, code_capacity;
	struct row_writer writer;
	struct unwind_table *table;
};

static int collect_fdes(struct builder *builder)
{
	struct eh_reader *reader = &builder->reader;
	struct eh_frame frame = { 0 }; /* without .eh_frame there may still be ranges */
	int err = unwind_image_load_eh_frame(builder->image, &frame);

	if (err && err != -ENODATA)
		return err;
	eh_reader_init(reader, &frame);
	err = text_ranges_collect(&builder->ranges, builder->image, reader);
	if (err)
		return err;
	builder->initials = xcalloc(reader->nr_cies, sizeof(*builder->initials));
	for (size_t i = 0; i < reader->nr_cies; i++)
		cfi_init_cie(&reader->frame, &reader->cies[i], &builder->initials[i]);
	return 0;
}

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
	const struct eh_reader *reader = &builder->reader;
	struct text_ranges with_fde = builder->ranges;
	struct walk_rule rule = { .cfa = WALK_CFA_NONE };
	const struct text_range *range;
	struct cfi_program program;
	struct cfi_row row;
	struct eh_fde fde;

	with_fde.nr = builder->nr_with_fde;
	range = text_ranges_find(&with_fde, vaddr);
	if (!range || !eh_reader_fde_at(reader, range->fde, &fde))
		return false;
	cfi_begin(&program, &reader->frame, &reader->cies[range->cie],
		  &builder->initials[range->cie], &fde);
	while (cfi_next(&program, &row) && row.vaddr <= vaddr)
		rule = row.rule;
	if (rule.cfa == WALK_CFA_PLT)
		return (vaddr & 15) < (uint32_t)rule.cfa_off;
	return vaddr == fde.start && rule.cfa == WALK_CFA_SP && rule.cfa_off == 8 &&
	       rule.fp == WALK_FP_SAME;
}

/* Adds functions of a gap with derived rules. Ranges from first_range on are already in the gap. */
static void add_code_rules(struct builder *builder, const struct text_gaps *gaps, uint64_t vaddr,
			   const uint8_t *bytes, size_t size, size_t first_range)
{
	const struct derived_text text = { bytes, size, vaddr, is_function, builder };
	struct derived_rules *rules = derived_rules_new(&text);
	const struct derived_rule *found;
	size_t nr;

	for (size_t i = text_gaps_first_function(gaps, vaddr);
	     i < gaps->nr_functions && gaps->functions[i] - vaddr < size; i++)
		derived_rules_add_entry(rules, gaps->functions[i] - vaddr);
	for (size_t i = first_range; i < builder->ranges.nr; i++) {
		size_t start = builder->ranges.low + builder->ranges.ranges[i].start - vaddr;

		derived_rules_exclude(rules, start, start + builder->ranges.ranges[i].length);
	}
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

/* Searches a gap for code of known shape, then derives rules for the rest. */
static void search_text(struct builder *builder, const struct text_gaps *gaps, uint64_t vaddr,
			size_t size, size_t first_range)
{
	const struct unwind_segment *segment = unwind_image_segment(builder->image, vaddr);
	uint8_t *text;

	if (!segment || !segment->executable)
		return;
	if (size > segment->size - (vaddr - segment->vaddr))
		size = segment->size - (vaddr - segment->vaddr);
	text = xmalloc(size);
	if (unwind_image_read(builder->image, segment->offset + (vaddr - segment->vaddr), text,
			      size))
		size = 0;
	known_code_find(vaddr, text, size, on_known_code, builder);
	add_code_rules(builder, gaps, vaddr, text, size, first_range);
	free(text);
}

/* The entry point has no caller. An FDE of its code would say so itself. */
static void add_entry_point(struct builder *builder, uint64_t start, uint64_t end)
{
	uint64_t entry = builder->image->headers.entry, left = end - entry;

	if (entry < start || entry >= end)
		return;
	add_range(builder, entry, left < ENTRY_CODE_SIZE ? left : ENTRY_CODE_SIZE, CIE_END);
}

/* Searches the text between the FDEs. Ranges are sorted before and after. */
static void add_ranges_without_fde(struct builder *builder)
{
	uint64_t left = MAX_SEARCHED;
	struct text_gaps gaps;

	builder->nr_with_fde = builder->ranges.nr;
	text_gaps_find(&gaps, builder->image, &builder->ranges, MAX_JOINED_GAP);
	for (size_t i = 0; i < gaps.nr; i++) {
		const struct text_gap *gap = &gaps.gaps[i];
		uint64_t size = gap->end - gap->start;
		size_t first_range = builder->ranges.nr;

		add_entry_point(builder, gap->start, gap->end);
		size = size < left ? size : left;
		search_text(builder, &gaps, gap->start, size, first_range);
		left -= size;
	}
	text_gaps_fini(&gaps);
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
	const struct eh_reader *reader = &builder->reader;
	struct eh_fde fde;
	struct cfi_program program;
	struct cfi_row row;

	if (!eh_reader_fde_at(reader, range->fde, &fde))
		return;
	cfi_begin(&program, &reader->frame, &reader->cies[range->cie],
		  &builder->initials[range->cie], &fde);
	while (cfi_next(&program, &row) && row.vaddr < end)
		add_row(builder, row.vaddr, row.rule);
	if (program.broken)
		builder->reader.nr_broken++;
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
		if (builder->reader.cies[range->cie].signal && start > previous_end)
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
		uint64_t next = builder->ranges.high + MAX_JOINED_GAP + 1;

		if (i + 1 < builder->ranges.nr)
			next = builder->ranges.low + range[1].start;
		if (end > next)
			end = next;
		add_range_rows(builder, range, previous_end, end);
		if (next - end > (range->cie == CIE_CODE ? 0 : MAX_JOINED_GAP))
			add_row(builder, end, (struct walk_rule){ .cfa = WALK_CFA_NONE });
		if (builder->table->nr_rows > MAX_ROWS)
			return -EFBIG;
		previous_end = end;
	}
	row_writer_end(&builder->writer);
	return 0;
}

static int build(const struct unwind_image *image, struct rule_set *rules,
		 struct unwind_table **ret_table)
{
	struct builder builder = {
		.image = image,
		.rules = rules,
		.table = xcalloc(1, sizeof(struct unwind_table)),
	};
	int err = collect_fdes(&builder);

	if (!err) {
		add_ranges_without_fde(&builder);
		err = builder.ranges.nr ? add_rows(&builder) : -ENODATA;
	}
	builder.table->nr_fdes = (uint32_t)builder.reader.nr_fdes;
	builder.table->nr_broken_fdes = (uint32_t)builder.reader.nr_broken;
	eh_reader_fini(&builder.reader);
	free((void *)builder.reader.frame.data);
	free(builder.initials);
	free(builder.code);
	text_ranges_fini(&builder.ranges);
	if (err) {
		unwind_table_free(builder.table);
		return err;
	}
	*ret_table = builder.table;
	return 0;
}

int unwind_table_build(int fd, struct rule_set *rules, struct unwind_table **ret_table)
{
	struct unwind_image image;
	int err = unwind_image_open(&image, fd);

	if (err)
		return err;
	err = build(&image, rules, ret_table);
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
	err = build(&elf, rules, ret_table);
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
