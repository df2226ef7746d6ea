/*
 * Writes rows, which come in the order of addresses, into the pages and runs of
 * core/portable/walk.h. A row takes no memory but its final word.
 */
#ifndef SPROF_ROW_WRITER_H
#define SPROF_ROW_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sampler/unwind/unwind_table.h"

struct row_writer {
	struct unwind_table *table;
	size_t words_capacity;
	uint32_t page;	    /* the one being filled; earlier ones are finished */
	bool has_run;	    /* a row starts inside it */
	uint32_t run;	    /* index of its run's first word */
	uint32_t page_rule; /* in force at its start */
	uint32_t rule;	    /* in force now */
};

/* Sizes table->pages for the text [start, end), end - start below 4 GiB; no rule is in force. */
void row_writer_begin(struct row_writer *writer, struct unwind_table *table, uint64_t start,
		      uint64_t end);
/*
 * Adds a row: from vaddr on, `rule` is in force. Addresses ascend and lie in the text or at its
 * end; the last row at an address counts.
 */
void row_writer_add(struct row_writer *writer, uint64_t vaddr, uint32_t rule);
/* Finishes the pages and frees unused memory. */
void row_writer_end(struct row_writer *writer);

#endif
