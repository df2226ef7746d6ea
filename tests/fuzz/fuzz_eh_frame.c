/*
 * Builds unwind tables. The first byte chooses: the rest is an .eh_frame in a valid ELF file (bit 0
 * clear), or the whole file, in whose search table functions are looked up too. With bit 1,
 * libunwind then unwinds a stack of the same bytes in the valid file, so that it reads the same
 * CFI. With bit 2 the rest is a .debug_frame, or, with bit 3 too, its second half is.
 */
#include <stdlib.h>

#include "tests/unit/cfi_maker.h"
#include "tests/unit/table_form.h"

#include "sampler/unwind/image.h"
#include "sampler/walk/snapshot_unwind.h"

#define STACK 0x7ffc00000000ull
#define BIAS 0x555555550000ull

struct fuzzed {
	struct cfi_maker maker;
	size_t size;
};

static bool find_mapping(void *context, uint64_t address, struct snapshot_mapping *ret)
{
	(void)context;
	*ret = (struct snapshot_mapping){
		.start = BIAS + MAKER_TEXT,
		.end = BIAS + MAKER_TEXT + MAKER_TEXT_SIZE,
		.file_offset = 0x1000,
		.module = 1,
	};
	return address >= ret->start && address < ret->end;
}

static bool open_module(void *context, uint64_t module, struct snapshot_file *ret)
{
	struct fuzzed *fuzzed = context;

	(void)module;
	*ret = (struct snapshot_file){ .memory = fuzzed->maker.image, .size = fuzzed->size };
	return true;
}

static void unwind(struct fuzzed *fuzzed, const uint8_t *data, size_t size)
{
	static const struct snapshot_ops ops = { .find_mapping = find_mapping,
						 .open_module = open_module };
	struct snapshot_unwinder *u = snapshot_unwinder_new(&ops, fuzzed);
	struct snapshot_sample sample = {
		.regs = { .sp = STACK, .fp = STACK + 64, .exact = 1, .leaf_regs = 1 },
		.stack = data,
		.stack_start = STACK,
		.stack_size = size,
	};
	uint64_t frames[16];

	for (int i = 0; i < WALK_NR_REGS; i++)
		sample.regs.gpr[i] = STACK + 8u * (unsigned int)i;
	for (uint64_t offset = 0; offset < MAKER_TEXT_SIZE; offset += 0x40) {
		sample.regs.pc = BIAS + MAKER_TEXT + offset;
		if (snapshot_unwind(u, &sample, frames, 16).nr > 16)
			abort();
	}
	snapshot_unwinder_free(u);
}

static void build(const void *image, size_t size)
{
	struct rule_set *rules = rule_set_new();
	struct unwind_table *table;
	uint32_t nr_rules;

	if (unwind_table_build_memory(image, size, rules, &table) == 0) {
		rule_set_rules(rules, &nr_rules);
		if (!table_is_sound(table, rules))
			abort();
		for (uint64_t vaddr = table->base; vaddr < table->base + 0x5000; vaddr += 7)
			if (unwind_table_find(table, vaddr) >= nr_rules)
				abort();
		unwind_table_free(table);
	}
	rule_set_free(rules);
}

static void look_up(const void *file, size_t size)
{
	struct unwind_image image;
	struct fde_header header;
	uint64_t start, end, fde;

	if (unwind_image_open_memory(&image, file, size))
		return;
	if (!fde_header_open(&header, &image))
		for (uint64_t vaddr = 0; vaddr < 0x10000; vaddr += 0x101)
			if (fde_header_find(&header, &image, vaddr, &start, &end, &fde) &&
			    (vaddr < start || vaddr >= end))
				abort();
	unwind_image_close(&image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzzed fuzzed;
	size_t half;

	if (!size || size > MAKER_MAX_SIZE / 2)
		return 0;
	if (data[0] & 1) {
		build(data + 1, size - 1);
		look_up(data + 1, size - 1);
		return 0;
	}
	maker_init(&fuzzed.maker);
	half = !(data[0] & 4) ? size - 1 : data[0] & 8 ? (size - 1) / 2 : 0;
	maker_put(&fuzzed.maker, data + 1, half);
	if (data[0] & 4)
		maker_begin_debug_frame(&fuzzed.maker);
	maker_put(&fuzzed.maker, data + 1 + half, size - 1 - half);
	fuzzed.size = maker_finish(&fuzzed.maker);
	build(fuzzed.maker.image, fuzzed.size);
	if (data[0] & 2)
		unwind(&fuzzed, data + 1, size - 1);
	free(fuzzed.maker.image);
	return 0;
}
