/* The region has frames leaf first, the sink wants them root first. */
#include "gpu/stack_builder.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/profile/source.h"
#include "core/profile/markers.h"
#include "gpu/names.h"
#include "gpu/region/shared_region.h"

void stack_builder_start(struct stack_builder *b)
{
	b->nr = 0;
}

void stack_builder_push(struct stack_builder *b, uint32_t frame)
{
	b->frames = xgrow(b->frames, &b->capacity, b->nr + 1, sizeof(*b->frames));
	b->frames[b->nr++] = frame;
}

void stack_builder_launch(struct stack_builder *b, uint32_t stack)
{
	uint64_t addresses[GPU_MAX_STACK];
	uint8_t end;
	int marker;
	uint32_t nr;

	if (!shared_region_stack(b->names->region, stack, addresses, &nr, &end)) {
		stack_builder_push(b, names_marker_frame(b->names, MARKER_NO_LAUNCH));
		return;
	}
	if (addresses[nr - 1] == GPU_FRAME_CAPTURE) /* nothing called it */
		stack_builder_push(b, names_marker_frame(b->names, MARKER_NO_LAUNCH));
	marker = walk_marker(end);
	if (marker >= 0)
		stack_builder_push(b, names_marker_frame(b->names, (enum marker)marker));
	while (nr--) {
		uint32_t frame = names_code_frame(b->names, addresses[nr]);

		if (frame != GPU_NO_FRAME)
			stack_builder_push(b, frame);
	}
}

void stack_builder_ranges(struct stack_builder *b, uint32_t range)
{
	uint32_t path[GPU_MAX_RANGE_DEPTH], nr = 0;
	struct gpu_range_node node;

	while (nr < GPU_MAX_RANGE_DEPTH && shared_region_range(b->names->region, range, &node)) {
		path[nr++] = names_range(b->names, node.name);
		range = node.parent;
	}
	while (nr--)
		stack_builder_push(b, names_range_frame(b->names, path[nr]));
}

uint32_t stack_builder_finish(struct stack_builder *b)
{
	return b->names->sink->stack(b->names->sink, b->frames, b->nr);
}

void stack_builder_fini(struct stack_builder *b)
{
	free(b->frames);
}
