/* A program of one file that cfi_maker.h makes, mapped at MADE_CODE, for walks of copied stacks. */
#ifndef SPROF_TESTS_MADE_PROGRAM_H
#define SPROF_TESTS_MADE_PROGRAM_H

#include "tests/unit/cfi_maker.h"

#include "sampler/walk/snapshot_unwind.h"

#define MADE_CODE (0x555555550000ull + MAKER_TEXT)

struct made_program {
	struct cfi_maker maker;
	size_t size; /* of the image, by maker_finish() */
};

static inline bool made_find_mapping(void *context, uint64_t address, struct snapshot_mapping *ret)
{
	(void)context;
	*ret = (struct snapshot_mapping){
		.start = MADE_CODE,
		.end = MADE_CODE + MAKER_TEXT_SIZE,
		.file_offset = 0x1000,
		.module = 1,
	};
	return address >= ret->start && address < ret->end;
}

/* The context begins with the struct made_program. */
static inline bool made_open_module(void *context, uint64_t module, struct snapshot_file *ret)
{
	const struct made_program *p = context;

	(void)module;
	*ret = (struct snapshot_file){ .memory = p->maker.image, .size = p->size };
	return true;
}

#endif
