/* Turns widths of the layout into lengths, which no other file does, and counts merged frames. */
#include "output/flame/svg_picture.h"

#include "core/base/buffer.h"
#include "output/text/number.h"
#include "output/tree/tree.h"

void svg_add_hundredths(struct buffer *b, uint64_t value)
{
	buffer_add_u64(b, value / 100);
	if (value % 100) {
		buffer_add_char(b, '.');
		buffer_add_char(b, (char)('0' + value / 10 % 10));
		if (value % 10)
			buffer_add_char(b, (char)('0' + value % 10));
	}
}

uint64_t svg_position(const struct svg_picture *w, uint64_t x)
{
	return number_scale(x, SVG_CHART * 100, w->layout.width);
}

uint32_t svg_run_frames(const struct svg_picture *w, const struct layout_box *box)
{
	uint32_t nr = box->run_end - box->node;

	for (uint32_t i = box->node; w->tree->outline && i < box->run_end; i++)
		nr += tree_cut_of(w->tree, i).nr;
	return nr;
}

uint32_t svg_fold_frames(const struct svg_picture *w, const struct layout_box *box)
{
	const struct tree_node *nodes = w->tree->nodes;

	return nodes[box->fold_last].depth - nodes[box->node].depth + 1;
}
