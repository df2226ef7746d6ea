/*
 * Recognises the code by which compilers jump through a table of addresses (switch), so that the
 * blocks behind it can be followed:
 *
 *	jmp *table(,%index,8)				absolute addresses of 8 bytes
 *
 *	lea table(%rip), %base				distances of 4 bytes from the table
 *	movslq (%base,%index,4), %to
 *	add %base, %to
 *	jmp *%to
 *
 * and, before either, "cmp $last, %index; ja" or the like, which tells how many entries there are.
 */
#ifndef SPROF_JUMP_TABLE_H
#define SPROF_JUMP_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STRAIGHT_LINE_MAX 64u

/* Instructions that run one after the other: offsets in the text, the latest last. */
struct straight_line {
	uint32_t at[STRAIGHT_LINE_MAX]; /* a ring */
	uint32_t nr;
};

struct jump_table {
	uint64_t vaddr;
	bool relative;	     /* 4-byte distances from vaddr, not 8-byte addresses */
	uint32_t nr_entries; /* 0: unknown */
};

void straight_line_add(struct straight_line *line, uint32_t at);

/* What does the indirect jump at the end of the line use? false: no known form of table. */
bool jump_table_find(const uint8_t *text, size_t size, uint64_t text_vaddr,
		     const struct straight_line *line, struct jump_table *ret);
/* The word from which "jmp *slot(%rip)" at `vaddr` takes its target. false: it is no such jump. */
bool jump_slot_find(const uint8_t *code, size_t size, uint64_t vaddr, uint64_t *ret_slot);

#endif
