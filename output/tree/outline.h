/*
 * Builds the outline of a tree (struct tree_outline) from its sorted lines. Most nodes of a tree
 * with many stacks are chains: frames that one stack alone has. They are handed to the sink and not
 * kept, so the memory in use stays in the cache. Frames become nodes only when a line departs from
 * them: the lowest frame that closes and those below it, and above it the children of wide frames.
 */
#ifndef SPROF_OUTLINE_H
#define SPROF_OUTLINE_H

#include <stdint.h>

struct outliner;
struct stack_item;
struct stack_words;
struct tree;
struct tree_opts;
struct tree_outline;

/*
 * `total` is that of the root. The tree has its functions and, from the first line on, room for its
 * sums.
 */
struct outliner *outliner_new(struct tree *tree, uint64_t total, const struct tree_opts *opts);

/* Closes the frames that the line does not share with the one before, and opens its own. */
void outliner_begin_line(struct outliner *o, const struct stack_words *words,
			 const struct stack_item *item);
/* Call it once the weight of the line is in the tree's sums. */
void outliner_end_line(struct outliner *o);

/* Completes the tree, and frees the outliner. */
void outliner_end(struct outliner *o);

void outline_free(struct tree_outline *outline);

#endif
