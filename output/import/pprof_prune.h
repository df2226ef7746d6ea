/*
 * The frames that a pprof file asks not to be shown, by its fields drop_frames and keep_frames:
 * what lies below such a function, the function included, is cut off the stack.
 */
#ifndef SPROF_PPROF_PRUNE_H
#define SPROF_PPROF_PRUNE_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is left of a stack at one of its frames. */
enum pprof_cut {
	PPROF_CUT_NOTHING,
	PPROF_CUT_BELOW, /* the frames that it calls are cut off */
	PPROF_CUT_FRAME, /* so is the frame */
};

struct pprof_prune {
	bool drops, keeps; /* which expressions there are */
	regex_t drop, keep;
};

/*
 * `drop` and `keep` are expressions for the whole name of a function, "" for none. Warns, with the
 * name of the file, of one that cannot be compiled, and then drops nothing.
 */
void pprof_prune_init(struct pprof_prune *prune, const char *drop, const char *keep,
		      const char *file);
void pprof_prune_fini(struct pprof_prune *prune);

bool pprof_prune_drops(const struct pprof_prune *prune, const char *name);

/* Returns how many frames at the leaf end are cut off; cuts[] is leaf first. */
size_t pprof_prune_stack(const uint8_t *cuts, size_t nr);

#endif
