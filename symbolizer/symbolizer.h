/*
 * Names the frames of a profile. Each unique (module, address) is looked up once, module by module,
 * in the chain of symbol sources until one of them knows the address.
 */
#ifndef SPROF_SYMBOLIZER_H
#define SPROF_SYMBOLIZER_H

#include "core/profile/profile.h"
#include "symbolizer/lookup/symbolizer_opts.h"

struct symbolizer_stats {
	uint64_t nr_frames;  /* that had no location */
	uint64_t nr_unnamed; /* of those, how many still have none */
	/* files of which less was read: children of the sandbox may have too little memory */
	uint64_t nr_limited;
};

/*
 * Names every frame of the profile that has no location yet (native, kernel, vdso, runtime code).
 * Never fails as a whole: where a module cannot be read, its frames stay unnamed and are counted.
 */
void symbolizer_run(struct profile *p, const struct symbolizer_opts *opts,
		    struct symbolizer_stats *ret_stats);

#endif
