/*
 * The nodes of a tree as the data of a picture holds them: steps, calls and selves, which
 * svg_data.h describes.
 */
#ifndef SPROF_SVG_DATA_NODES_H
#define SPROF_SVG_DATA_NODES_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"

struct svg_data_nodes;
struct tree;
struct wide_nodes;

enum { SVG_DATA_RECENT = 3 }; /* functions that a parent called last */

/*
 * The parts, all made in one walk over the nodes. CALLS is a part for each byte of a number, the
 * lowest first: high bytes are mostly small and low ones are not, so zlib finds better codes if
 * they are apart.
 */
enum { SVG_NODES_CALL_BYTES = 4 };
enum {
	SVG_NODES_STEPS,
	SVG_NODES_CALLS,
	SVG_NODES_SELF = SVG_NODES_CALLS + SVG_NODES_CALL_BYTES,
	SVG_NODES_PARTS
};

struct svg_data_nodes *svg_data_nodes_new(void);
void svg_data_nodes_free(struct svg_data_nodes *nodes);

/* For tree_sink, with the nodes as its argument. */
void svg_data_nodes_take(void *nodes, const struct tree *tree, const uint32_t *functions,
			 uint32_t depth, uint32_t nr, uint64_t self);

/* All nodes of a tree, or those of an outline if `wide` is not NULL; the caller frees them. */
struct svg_data_nodes *svg_data_nodes_of(const struct tree *tree, const struct wide_nodes *wide);

size_t svg_data_nodes_count(const struct svg_data_nodes *nodes);

/* Adds their numbers to `head`, and moves the parts into `parts`, which has room for all. */
void svg_data_nodes_move(struct svg_data_nodes *nodes, struct buffer *head, struct buffer *parts);

static inline void svg_data_add_number(struct buffer *b, uint64_t value)
{
	if (value < 0x80 && b->size < b->capacity)
		b->data[b->size++] = (char)value;
	else
		buffer_add_varint(b, value);
}

#endif
