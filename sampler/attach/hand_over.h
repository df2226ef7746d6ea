/* How the files of an attach come into the stopped target, and where they lie there. */
#ifndef SPROF_HAND_OVER_H
#define SPROF_HAND_OVER_H

#include <stdint.h>

struct attach_files;
struct inject;
struct inject_call;
struct inject_reason;

/* Addresses in the target; each part begins where the one before ends. */
struct attach_layout {
	uint64_t stub, code, region, space, arena, end;
};

void attach_layout(uint64_t stub, uint64_t arena_size, struct attach_layout *ret_layout);

/*
 * Maps the files into the stopped target, where the layout says, and then has it make the call
 * `then`. 0 and that call's result, or -errno and the reason. What was mapped is unmapped together
 * with the stub. If the recorder dies before `then` begins, all is unmapped by the thread itself;
 * after that nothing is.
 */
int attach_memory_map(struct inject *inject, const struct attach_files *files,
		      const struct attach_layout *layout, const struct inject_call *then,
		      int64_t *ret_result, struct inject_reason *reason);

#endif
