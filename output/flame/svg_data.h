/*
 * The whole tree as text inside the SVG, from which the script draws the frames that the static
 * picture leaves out. Only flame_data.js of the same version reads this format.
 *
 * It is the base64 of a raw deflate stream of varints (LEB128) and bytes:
 *
 *	flags			1 = values are times in ns, 2 = samples have their own section,
 *				4 = values are bytes, 8 = every event was counted, 16 = a diff,
 *				32 = an absolute diff, 64 = there is a timeline, 128 = a diff
 *				whose samples are the `equal` of diff.h, 256 = the nodes are an
 *				outline
 *	name of the events: length, bytes
 *	step before, after	if flag 128 is set: of diff.h
 *	nr_modules; each: length, bytes
 *	nr_files; each: length, bytes
 *	nr_functions; each: bytes shared with the name before, length of the rest, the rest,
 *		start and length of the short name in UTF-16 units, class letter and digit, kind,
 *		module, file, line. The letter is 'v' in place of 'w' for what a wait was for:
 *		the digit is that of the reason where the function is first
 *	nr_nodes, size of the steps in bytes, nr_calls; then field by field, with the nodes in
 *	depth-first order:
 *	steps: for each node but the root, which has function 0,
 *		((levels up from the node before, plus one) * 2 + inlined) * 4 + place
 *		of the function among the last three that the parent's function called, anywhere
 *		before in the tree, the latest being 0; 3 = it is not among them, but next among
 *		the calls
 *	calls: difference from the function of the sibling before, or from 0. Not as varints: first
 *		the lowest byte of each, then the next, as many bytes as nr_functions needs
 *	self
 *	samples		if flag 2 is set; else they equal self
 *	self before	if flag 16 is set
 *	samples before	if flags 2 and 16 are set
 *
 * and, if flag 64 is set, the timeline as output/flame/timeline_data.h describes it.
 *
 * A large tree takes a browser seconds to read, so its data is in two elements. The first one comes
 * before the script and has the outline of the tree (svg_data_wide.h), from which the picture is
 * drawn at once: flag 256 is set, a node without its children has its totals as selves, and behind
 * the values of the nodes there are
 *
 *	the width below which a node has no children here: a total, or in a diff as in layout.h
 *	nr_left_out: for each node, how many nodes below it are not in the outline
 *	deepest: for each node for which that is not 0, the depth of the deepest of them
 *	removed: if flag 16 is set, for each such node its width among the removed paths
 *	for now, now in samples (if flag 2 is set), before (if flag 16 is set), and before in
 *		samples (if both are): self, total: field by field for each function, over all
 *		nodes of the tree; recursive calls count once in the total
 *	number of nodes of each function
 *	the timeline, without the nodes of its samples
 *
 * The second element comes after the script and has all nodes: nr_nodes to samples before as above,
 * and the nodes of the samples.
 */
#ifndef SPROF_SVG_DATA_H
#define SPROF_SVG_DATA_H

#include <stdbool.h>

struct buffer;
struct diff;
struct profile;
struct svg_data;
struct svg_data_nodes;
struct tree;

/*
 * The data of a tree, which must outlive it. `diff` is NULL, or the diff that the tree is of. `p`
 * is NULL, or the profile of the tree, whose times are written if there are any and the tree has
 * sample_nodes. `nodes` are those that an outline has handed over, and NULL for other trees.
 */
struct svg_data *svg_data_new(const struct tree *tree, const struct diff *diff,
			      const struct profile *p, struct svg_data_nodes *nodes);
void svg_data_free(struct svg_data *data);

/* Should the data be in two elements? */
bool svg_data_is_large(const struct svg_data *data);

/* Appends all data in one element. This or svg_data_add_rest() can be called once. */
void svg_data_add(struct buffer *b, struct svg_data *data);

/* Appends the first of two elements, and the second one. */
void svg_data_add_outline(struct buffer *b, const struct svg_data *data);
void svg_data_add_rest(struct buffer *b, struct svg_data *data);

#endif
