/*
 * The gaps of an ELF file's text: what no FDE covers, and where functions begin in them. Symbols
 * tell that, and in files without .symtab the addresses that code calls or names, and addresses
 * in data. Addresses are virtual ones.
 */
#ifndef SPROF_TEXT_GAPS_H
#define SPROF_TEXT_GAPS_H

#include <stdbool.h>

#include "sampler/unwind/text_ranges.h"

/* Smaller gaps hold no functions of C: only symbols say where functions begin. */
#define TEXT_GAPS_MIN_SEARCHED 4096u

struct text_gap {
	uint64_t start, end; /* virtual addresses */
};

/* Addresses, ascending, possibly repeated. */
struct vaddr_list {
	uint64_t *vaddrs;
	size_t nr, capacity;
};

struct text_gaps {
	struct text_gap *gaps; /* ascending */
	size_t nr, gaps_capacity;
	uint64_t size;		      /* of all of them */
	struct vaddr_list functions;  /* that begin in the gaps */
	struct vaddr_list hints;      /* functions that may begin there */
	struct vaddr_list references; /* what code refers to elsewhere */
	struct vaddr_list tables;     /* of jumps */
	struct vaddr_list slots;      /* words that the loader fills with functions of this file */
};

/* Finds the gaps of more than max_padding bytes between sorted ranges. */
void text_gaps_find(struct text_gaps *gaps, const struct unwind_image *image,
		    const struct text_ranges *ranges, uint64_t max_padding);
bool vaddr_list_has(const struct vaddr_list *list, uint64_t vaddr);
/* The index of the first address in the list at or above vaddr. */
size_t vaddr_list_first(const struct vaddr_list *list, uint64_t vaddr);
void text_gaps_fini(struct text_gaps *gaps);

#endif
