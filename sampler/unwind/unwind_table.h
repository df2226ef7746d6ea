/*
 * Compiles the call frame information of an ELF file (.eh_frame), and rules derived from machine
 * code where there is none, into the compact rows of core/portable/walk.h. Files are untrusted:
 * every length and offset is checked, and a broken FDE is skipped and counted.
 *
 * Sources: DWARF 5 section 6.4; LSB 5.0 "Exception Frames" (.eh_frame, .eh_frame_hdr); the x86-64
 * psABI for register numbers.
 */
#ifndef SPROF_UNWIND_TABLE_H
#define SPROF_UNWIND_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "core/portable/walk.h"

struct debug_files;

/* All rules of all tables, interned (rule_set.h). */
struct rule_set;

struct rule_set *rule_set_new(void);
void rule_set_free(struct rule_set *set);
/*
 * The rules so far; the first WALK_FIRST_RULE are the fixed ones. Valid until the next build: only
 * for callers that build in one thread.
 */
const struct walk_rule *rule_set_rules(const struct rule_set *set, uint32_t *ret_nr);

/* A function with derived rules, which are valid while its code has this hash. */
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
	struct unwind_function *functions; /* of runtime code, by start; NULL for files */
	uint32_t nr_functions;
	void *mapping; /* where all of it lies (table_file.h); NULL: each part is on the heap */
	uint64_t mapping_size;
	/* statistics */
	uint32_t nr_fdes, nr_broken_fdes;
	uint32_t nr_rows;	       /* rows before page splitting */
	uint32_t nr_unsupported;       /* rows whose rule needs a DWARF evaluator */
	uint32_t nr_derived_functions; /* functions with derived rules */
	uint32_t nr_rules_dropped;     /* rows without a rule because the rule set was full */
};

/*
 * Builds the table of an ELF file, read with pread(); *ret_table is the caller's. `files` opens its
 * separate debug file (debug_frame.h), which may have rules too; NULL: none is looked for.
 * -ENOEXEC: not an ELF file of this machine; -ENODATA: there are no rules for it (it is walked by frame pointers);
 * or the error of reading it.
 */
int unwind_table_build(int fd, struct debug_files *files, struct rule_set *rules,
		       struct unwind_table **ret_table);
/* The same for an image in memory (the vdso; test and fuzz input), without a debug file. */
int unwind_table_build_memory(const void *image, size_t size, struct rule_set *rules,
			      struct unwind_table **ret_table);
/*
 * The table of runtime code, with vaddr 0 at its first byte and derived rules (derived_rules.h).
 * Functions are taken to begin at its first byte and at each page after padding. size < 1 GiB.
 * -ENODATA: no rules were derived.
 */
int unwind_table_build_code(const uint8_t *code, size_t size, struct rule_set *rules,
			    struct unwind_table **ret_table);
uint64_t unwind_function_hash(const uint8_t *code, size_t size);
void unwind_table_free(struct unwind_table *table);

/* The number of the rule at an ELF virtual address; WALK_RULE_NONE outside the table. */
uint32_t unwind_table_find(const struct unwind_table *table, uint64_t vaddr);

#endif
