/*
 * The whole tree as text inside the SVG, from which its script draws what the picture itself leaves
 * out. The format belongs to the two files: this writer and output/flame/web/flame.js; it is never read by
 * another version.
 *
 * base64 of a raw deflate stream of varints (LEB128) and bytes:
 *
 *	flags			1 = values are time in ns, 2 = samples are a section of their own,
 *				4 = values are bytes, 8 = every event was counted, 16 = a diff,
 *				32 = an absolute one, 64 = there are times
 *	what an event is: length, bytes
 *	nr_modules; each: length, bytes
 *	nr_files; each: length, bytes
 *	nr_functions; each: bytes shared with the name before, length of the rest, the rest,
 *		start and length of the short name in UTF-16 units, class letter and digit, kind,
 *		module, file, line
 *	nr_nodes, then column by column, nodes in depth-first order:
 *	frame: (levels up from the node before, plus one) * 2 + inlined	(the root's is left out)
 *	function: distance from that of the sibling before, or from 0; not as varints: the lowest bytes of
 *		all nodes, then the next, as many as nr_functions takes
 *	self
 *	samples		where flag 2 is set; else the same as self
 *	self before	where flag 16 is set
 *	samples before	where flags 2 and 16 are set
 *
 * and where flag 64 is set what output/flame/timeline_data.h describes.
 */
#ifndef SPROF_SVG_DATA_H
#define SPROF_SVG_DATA_H

struct buffer;
struct diff;
struct profile;
struct tree;

/*
 * `diff` is NULL, or the one the tree is of; `p` is NULL, or the profile of the tree, whose times are
 * written if there are any and the tree has sample_nodes.
 */
void svg_data_add(struct buffer *b, const struct tree *tree, const struct diff *diff,
		  const struct profile *p);

#endif
