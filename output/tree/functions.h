/*
 * Maps the frames of a profile to codes: numbers of functions, in the order of their names. A frame
 * stands for one function, or for several if the compiler inlined. Functions with equal name,
 * module and kind are one. As codes sort like names, sorting stacks by code gives the order in
 * which they are drawn, whatever the order of the input.
 */
#ifndef SPROF_FUNCTIONS_H
#define SPROF_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;

/* Set in a code if the function was inlined into the one before it. */
#define CODE_INLINED 0x80000000u
#define FRAME_FUNCTION(code) ((code) & ~CODE_INLINED)

/* A function of the tree. The strings belong to the profile or to the table. */
struct tree_function {
	const char *name;   /* clean (text.h), never empty */
	const char *module; /* base name, any bytes, "" = none */
	const char *file;   /* source file, any bytes, "" = unknown */
	uint32_t line;	    /* of the file where the function starts, 0 = unknown */
	uint8_t kind;	    /* enum function_kind */
};

struct tree_functions {
	struct tree_function *list; /* [0] is the root, "all"; then ascending */
	size_t nr;
	/* Frame f is codes[first[f]] .. codes[first[f + 1] - 1], outermost function first. */
	uint32_t *codes;
	size_t *first;
	uint32_t *comms; /* by string id: the code of the thread node of that name */
	char **owned;	 /* names that the table allocated */
	size_t nr_owned, owned_capacity;
	bool with_inlined; /* some code has CODE_INLINED */
};

/*
 * Names the frames with frame_used[frame] and the thread names with comm_used[string id]; the codes
 * of others are not valid. `without_modules` merges functions of equal name and kind.
 */
void tree_functions_init(struct tree_functions *t, const struct profile *p, const bool *frame_used,
			 const bool *comm_used, bool without_modules);
void tree_functions_fini(struct tree_functions *t);

#endif
