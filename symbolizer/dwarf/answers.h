/*
 * Looks up a set of addresses in DWARF: for each, the chain of functions with lines. Addresses are
 * sorted by unit, so that each unit is read once and then freed; large amounts are read in
 * parallel.
 */
#ifndef SPROF_ANSWERS_H
#define SPROF_ANSWERS_H

#include "symbolizer/dwarf/dwarf_file.h"
#include "symbolizer/lookup/symbol_chain.h"

struct dwarf_answers;

/* Why answers are missing. */
struct dwarf_losses {
	bool damaged;		   /* reading stopped because too much was wrong */
	uint64_t nr_split_missing; /* units whose .dwo file was not found */
};

/*
 * Copies `addresses`, which are sorted and unique. The file must outlive the result, which is never
 * NULL.
 */
struct dwarf_answers *dwarf_answers_new(struct dwarf_file *file, const uint64_t *addresses,
					size_t nr, struct dwarf_losses *ret_losses);
void dwarf_answers_free(struct dwarf_answers *answers);

/* Appends the frames at one of the addresses. Returns false where nothing is known of it. */
bool dwarf_answers_get(const struct dwarf_answers *answers, uint64_t address,
		       struct symbol_chain *chain);

#endif
