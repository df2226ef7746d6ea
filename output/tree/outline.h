/*
 * Builds the outline of a tree (struct tree_outline) from its sorted lines. Most nodes of a tree
 * with many stacks are chains: frames that one stack alone has. An outline is built without them,
 * and so in memory that stays in the cache. What a line adds is handed over as one chain, and a
 * frame becomes a node only when something closes that its parent keeps: the lowest frame that
 * closes, and what is above a wide one.
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
