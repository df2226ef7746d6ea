/* The array of a chain grows by doubling and is reused from one address to the next. */
#include "symbolizer/lookup/symbol_chain.h"

#include "core/base/alloc.h"

struct symbol_frame *symbol_chain_add(struct symbol_chain *chain)
{
	struct symbol_frame *frame;

	chain->frames =
		xgrow(chain->frames, &chain->capacity, chain->nr + 1, sizeof(*chain->frames));
	frame = &chain->frames[chain->nr++];
	*frame = (struct symbol_frame){ 0 };
	return frame;
}
