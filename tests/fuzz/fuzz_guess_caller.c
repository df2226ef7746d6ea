/*
 * The stack of a hostile process, on which callers are looked for, and the code of the files that
 * it maps. The input is a header, the rules of the code (one for each 64 bytes of text), the text,
 * and the stack. With an odd first byte the module is the input itself instead of an ELF file that
 * was made around the text. Whatever comes, only the stack is read, the work has a bound, and what
 * is found lies on the stack, leads to the root, and fits.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/portable/frames.h"
#include "sampler/walk/guess_caller.h"
#include "sampler/walk/libunwind_modules.h"
#include "tests/unit/cfi_maker.h"

#define STACK 0x7ffc00000000ull
#define CODE 0x400000ull    /* where the module is mapped; */
#define OTHER 0x500000ull   /* and once more; */
#define RUNTIME 0x600000ull /* and code without a file */
#define TEXT_MAX 0x1000u
#define NR_RULES 8
#define FRAMES_MAX 64
/* 32 walks of FRAMES_MAX frames, each with 20 reads at most, and 2048 words that are judged */
#define WORK_MAX 100000u

struct header {
	uint8_t form, nr_frames, max, sp_words;
	uint16_t pc, fp, file_offset;
	uint8_t stack_part; /* of 256: how much of what follows the header is stack */
	uint8_t pad;
	struct walk_rule rules[NR_RULES];
};

static struct {
	struct header h;
	uint8_t *module;
	size_t module_size;
	const uint8_t *stack;
	size_t stack_size;
	uint64_t work;
	struct libunwind_modules *modules;
} process;

static void work(void)
{
	if (++process.work > WORK_MAX)
		abort();
}

static bool find_mapping(void *context, uint64_t address, struct snapshot_mapping *ret)
{
	(void)context;
	work();
	*ret = (struct snapshot_mapping){
		.start = address & ~0xfffffull,
		.file_offset = 0x1000 + process.h.file_offset,
		.module = address < RUNTIME ? address >> 20 : 0,
	};
	ret->end = ret->start + TEXT_MAX;
	return address >= CODE && address < RUNTIME + TEXT_MAX && address < ret->end;
}

static bool open_module(void *context, uint64_t module, struct snapshot_file *ret)
{
	(void)context;
	if (module != CODE >> 20 && module != OTHER >> 20)
		abort();
	*ret = (struct snapshot_file){ .memory = process.module, .size = process.module_size };
	return true;
}

static bool read_stack(void *context, uint64_t address, uint64_t *ret)
{
	uint64_t offset = address - STACK;

	(void)context;
	work();
	if (offset >= process.stack_size || process.stack_size - offset < 8)
		return false;
	memcpy(ret, process.stack + offset, 8);
	return true;
}

static bool find_rule(void *context, uint64_t address, struct walk_rule *ret)
{
	(void)context;
	work();
	*ret = process.h.rules[address >> 6 & (NR_RULES - 1)];
	return true;
}

/* An ELF file around the text, without functions of its own. */
static void make_module(const uint8_t *text, size_t size)
{
	struct cfi_maker maker;

	maker_init(&maker);
	memcpy(maker_text(&maker, 0), text, size < TEXT_MAX ? size : TEXT_MAX);
	process.module_size = maker_finish(&maker);
	process.module = maker.image;
}

static void take_input(const uint8_t *data, size_t size)
{
	memcpy(&process.h, data, sizeof(process.h));
	data += sizeof(process.h);
	size -= sizeof(process.h);
	process.stack_size = size * process.h.stack_part / 256;
	process.stack = data + size - process.stack_size;
	size -= process.stack_size;
	if (process.h.form & 1) {
		process.module = malloc(size + 1);
		process.module_size = size;
		memcpy(process.module, data, size);
	} else {
		make_module(data, size);
	}
	process.work = 0;
}

/* The first of them is a word of the stack, and the last is where stacks begin. */
static void check(const uint64_t *frames, const uint64_t *sps, size_t before, size_t nr)
{
	struct walk_rule last;
	uint64_t word, pc;

	if (!read_stack(NULL, sps[before] - 8, &word) || frames[before] != (word & ~FRAME_EXACT))
		abort();
	/* the rule of a return address is that of the call before it */
	pc = frames[nr - 1] & FRAME_EXACT ? frames[nr - 1] & ~FRAME_EXACT : frames[nr - 1] - 1;
	if (!find_rule(NULL, pc, &last) || last.cfa != WALK_CFA_END)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct snapshot_ops files = { .find_mapping = find_mapping,
						   .open_module = open_module };
	static const struct user_walk_ops ops = { read_stack, find_rule };
	uint64_t frames[FRAMES_MAX] = { 0 }, sps[FRAMES_MAX] = { 0 };
	struct walk_regs broken = { 0 };
	unsigned int nr_steps;
	size_t nr, before, max;

	if (size < sizeof(struct header))
		return 0;
	take_input(data, size);
	process.modules = libunwind_modules_new(&files, NULL);
	broken.pc = CODE + process.h.pc % TEXT_MAX;
	broken.sp = STACK + process.h.sp_words;
	broken.fp = STACK + process.h.fp;
	nr = before = 1 + process.h.nr_frames % 8;
	max = before + process.h.max % (FRAMES_MAX - before + 1);
	for (size_t i = max; i < FRAMES_MAX; i++)
		frames[i] = sps[i] = 0x5a5a5a5a;
	if (guess_caller(process.modules, &ops, NULL, &broken, frames, sps, max, &nr, &nr_steps)) {
		if (nr <= before || nr > max)
			abort();
		check(frames, sps, before, nr);
	} else if (nr != before) {
		abort();
	}
	for (size_t i = max; i < FRAMES_MAX; i++)
		if (frames[i] != 0x5a5a5a5a || sps[i] != 0x5a5a5a5a)
			abort();
	libunwind_modules_free(process.modules);
	free(process.module);
	return 0;
}
