/*
 * Chooses what the columns of live memory show, for recordings that know when sampled blocks
 * were freed: what was live at a moment, at the moment at which it was most, or what was not freed.
 */
#ifndef SPROF_LIVE_CHOICE_H
#define SPROF_LIVE_CHOICE_H

#include "core/profile/moment.h"
#include "core/profile/profile.h"

struct live_choice {
	enum profile_live_kind kind;
	/* LIVE_AT: the moment; LIVE_LEAKS: allocated since then; not set: a third of the time */
	struct moment from;
	struct moment to; /* LIVE_LEAKS: and before that; not set: two thirds */
};

/*
 * Replaces the samples of these columns. Their times are those of the allocations then. p->live
 * says what they are. LIVE_AT_END leaves out only what was allocated before the recording, and
 * gives these columns to a recording that was not finished. 0, or -ENODATA with what the profile
 * lacks; it is unchanged then.
 */
int live_apply(const struct live_choice *choice, struct profile *p, const char **ret_lacks);

#endif
