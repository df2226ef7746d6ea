/*
 * The call frame information of stubs: an FDE for each, which says at every instruction where the
 * return address is. Walkers read it from the target (core/portable/described_code.h).
 */
#ifndef SPROF_STUB_FRAME_H
#define SPROF_STUB_FRAME_H

#include <stdint.h>

#include "sampler/agent/alloc/alloc_region.h"

struct hook_plan;
struct hook_stub;

/* Addresses in the target. */
struct stub_frame_places {
	uint64_t frame; /* of the FDE */
	uint64_t cie;	/* of the payload: the CFA is rsp + 8, addresses are relative, of 4 bytes */
	uint64_t stub;
};

/*
 * Writes ALLOC_FRAME_SIZE bytes. Without a stub (NULL), and for one whose frame cannot be
 * described, they are an FDE that covers nothing.
 */
void stub_frame_write(const struct hook_plan *plan, const struct hook_stub *stub,
		      const struct stub_frame_places *places, uint8_t *ret);

#endif
