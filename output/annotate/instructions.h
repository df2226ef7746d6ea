/*
 * The machine code in which an annotated function's time was spent, and how the annotation is
 * written: lines and instructions with their numbers, as text and as JSON.
 */
#ifndef SPROF_INSTRUCTIONS_H
#define SPROF_INSTRUCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "output/annotate/annotation.h"
#include "output/annotate/disassembly.h"

struct buffer;
struct summary;

/* The code of one function of a file: the annotated function, or one into which it was inlined. */
struct annotation_code {
	uint32_t module;  /* of the profile */
	uint64_t address; /* address of its first byte, as in frames */
	uint64_t vaddr;	  /* the same as a linked address */
	struct disassembly code;
	struct annotation_sum sum;
	struct annotation_sum *sums; /* by instruction */
	/*
	 * By instruction, as frames of opts.places: the lines it came from, and the target of its
	 * jump (PROFILE_NONE: no target known).
	 */
	uint32_t *frames, *targets;
	bool *shown; /* by instruction: does it belong to the annotated function? */
};

/* A function with its code. If there is none, *problem says why. */
struct annotated {
	const struct annotation *lines;
	struct annotation_code *codes; /* most expensive first */
	size_t nr_codes, nr_more;      /* pieces of code in `codes`, and left out */
	char *problem;
};

struct annotation_opts {
	const struct profile *profile;
	const struct profile *places; /* one frame per instruction, with its locations */
	const struct annotations *all;
	size_t columns; /* of the terminal; 0 = nothing is cut */
	bool unicode, color;
	/* Unix time: a note is printed for source files that were written later */
	uint64_t recorded_ns;
};

/*
 * Adds each address to the instruction that contains it. `addresses` are of this code's module,
 * ascending.
 */
void annotation_code_add_up(struct annotation_code *c, const struct annotation_address *addresses,
			    size_t nr);
/*
 * Chooses the instructions to show: those that belong to the function `name`, or all if that would
 * leave out some with samples, or if `name` is NULL.
 */
void annotation_code_choose(struct annotation_code *c, const struct profile *places,
			    const char *name);
void annotation_code_fini(struct annotation_code *c);

/* Writes one function, without the head of the report. */
void annotation_write(struct buffer *b, const struct annotated *f, const struct summary *summary,
		      const struct annotation_opts *opts);

void annotation_write_json(struct buffer *b, const struct annotated *functions, size_t nr,
			   const struct summary *summary, const struct annotation_opts *opts);

#endif
