/*
 * The machine code that an annotated function's time was spent in, and how both are written: lines and
 * instructions with their numbers beside them, for people, and as JSON.
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

/* One function of a file: the annotated one itself, or one that it was inlined into. */
struct annotation_code {
	uint32_t module;  /* of the profile */
	uint64_t address; /* of its first byte, as frames have it */
	uint64_t vaddr;	  /* the same, linked */
	struct disassembly code;
	struct annotation_sum sum;
	struct annotation_sum *sums; /* by instruction */
	/* By instruction, in opts.places: what it is from, and where it jumps to (PROFILE_NONE: nowhere). */
	uint32_t *frames, *targets;
	bool *shown; /* by instruction: is it the annotated function's? */
};

/* A function with its code; without any, *problem says why. */
struct annotated {
	const struct annotation *lines;
	struct annotation_code *codes; /* most expensive first */
	size_t nr_codes, nr_more;      /* shown, and not shown */
	char *problem;
};

struct annotation_opts {
	const struct profile *profile;
	const struct profile *places; /* its frames are the instructions, with their locations */
	const struct annotations *all;
	size_t columns; /* of the terminal; 0 = nothing is cut */
	bool unicode, color;
	uint64_t recorded_ns; /* Unix time: source files written since then are said to be */
};

/* Gives each address to the instruction it lies in. `addresses` are of this code's module, ascending. */
void annotation_code_add_up(struct annotation_code *c, const struct annotation_address *addresses,
			    size_t nr);
/* Whose instructions are shown: those that are from the function by name, all where that says nothing. */
void annotation_code_choose(struct annotation_code *c, const struct profile *places,
			    const char *name);
void annotation_code_fini(struct annotation_code *c);

/* One function, without what stands above a report. */
void annotation_write(struct buffer *b, const struct annotated *f, const struct summary *summary,
		      const struct annotation_opts *opts);

void annotation_write_json(struct buffer *b, const struct annotated *functions, size_t nr,
			   const struct summary *summary, const struct annotation_opts *opts);

#endif
