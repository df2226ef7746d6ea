/*
 * Goes on where no rule says how: looks for the caller's frame among the words above the stack
 * pointer. A word is taken for the return address if it follows a call, and if the rules lead from
 * there to the root of the stack. That is evidence and no proof: a return address of an earlier
 * call may lie in a part of the stack that was not written since, and callers between may be
 * missing. So the frames are kept apart from those that rules led to, and the stack counts as
 * incomplete.
 */
#ifndef SPROF_GUESS_CALLER_H
#define SPROF_GUESS_CALLER_H

#include <stddef.h>
#include <stdint.h>

#include "core/portable/walk.h"
#include "sampler/walk/user_walk.h"

struct libunwind_modules;

/*
 * `broken` is the frame whose caller is not known. Appends the frames from the caller to the root
 * to frames[*nr] and sps[*nr], at most until *nr is `max`. false: nothing was found, and nothing
 * appended. *ret_steps is the work it took, which has a limit: words of the stack and lookups.
 */
bool guess_caller(struct libunwind_modules *modules, const struct user_walk_ops *ops, void *context,
		  const struct walk_regs *broken, uint64_t *frames, uint64_t *sps, size_t max,
		  size_t *nr, unsigned int *ret_steps);

#endif
