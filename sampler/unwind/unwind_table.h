/*
 * Compiles the call frame information of one ELF file (.eh_frame) into the compact rows that
 * core/portable/walk.h describes. Reads hostile files: every length and offset is checked, a broken FDE is
 * skipped and counted, never trusted.
 *
 * Sources: DWARF 5 section 6.4; LSB 5.0 "Exception Frames" (.eh_frame, .eh_frame_hdr); the x86-64
 * psABI for register numbers.
 */
#ifndef SPROF_UNWIND_TABLE_H
#define SPROF_UNWIND_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "core/portable/walk.h"

/* All rules of all tables, interned; numbers are stable for the life of the set. */
struct rule_set;

struct rule_set *rule_set_new(void);
void rule_set_free(struct rule_set *set);
/*
 * The rules so far, [0] WALK_CFA_NONE and [1] WALK_CFA_END included. Valid until the next build: for those
 * who build in one thread.
 */
const struct walk_rule *rule_set_rules(const struct rule_set *set, uint32_t *ret_nr);

/* A function that has the rules of its machine code, and a hash of that: they hold while it is the same. */
struct unwind_function {
	uint32_t start, end; /* offsets in the code */
	uint64_t hash;
};

struct unwind_table {
	uint64_t base;	   /* vaddr of page 0, a multiple of WALK_PAGE_SIZE */
	uint32_t nr_pages; /* pages[i] covers vaddr base + i * 1 KiB */
	uint32_t *pages;   /* page words; a run index is relative to words[] */
	uint32_t *words;   /* the runs */
	uint32_t nr_words;
	struct unwind_function *functions; /* of code without a file: all, by start */
	uint32_t nr_functions;
	/* how good it is */
	uint32_t nr_fdes, nr_broken_fdes;
	uint32_t nr_rows;	    /* rows before page splitting */
	uint32_t nr_unsupported;    /* rows whose rule needs a DWARF evaluator */
	uint32_t nr_code_functions; /* without FDE, whose rules are those of their machine code */
	uint32_t nr_rules_dropped;  /* rows that lost their rule because the rule set is full */
};

/*
 * Builds the table of the ELF file open at `fd` (not closed, position not moved). On success
 * *ret_table is owned by the caller. -ENOEXEC: not an ELF file of this machine; -ENODATA: it has no
 * usable .eh_frame (walk it by frame pointers); -EIO and friends: cannot read.
 */
int unwind_table_build(int fd, struct rule_set *rules, struct unwind_table **ret_table);
/* The same for an image in memory (the vdso; test and fuzz input). */
int unwind_table_build_memory(const void *image, size_t size, struct rule_set *rules,
			      struct unwind_table **ret_table);
/*
 * The table of code that lies in no file, vaddr 0 being its first byte: the rules that follow from
 * the code itself (derived_rules.h). It is taken for where a function begins, and so is each page
 * behind padding. size < 1 GiB. -ENODATA: nothing of it is understood.
 */
int unwind_table_build_code(const uint8_t *code, size_t size, struct rule_set *rules,
			    struct unwind_table **ret_table);
uint64_t unwind_function_hash(const uint8_t *code, size_t size);
void unwind_table_free(struct unwind_table *table);

/* The rule number in force at an ELF virtual address; WALK_RULE_NONE outside the table. */
uint32_t unwind_table_find(const struct unwind_table *table, uint64_t vaddr);

#endif
