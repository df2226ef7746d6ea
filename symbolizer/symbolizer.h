/*
 * Gives names to the frames of a profile. Each unique (module, address) is looked up once, in
 * module order; each module runs through the chain of symbol sources until one knows the address.
 */
#ifndef SPROF_SYMBOLIZER_H
#define SPROF_SYMBOLIZER_H

#include "core/profile/profile.h"
#include "symbolizer/lookup/symbolizer_opts.h"

struct symbolizer_stats {
	uint64_t nr_frames;  /* looked at */
	uint64_t nr_unnamed; /* left without a location */
};

/*
 * Names every frame of the profile that has no location yet (native, kernel, vdso, JIT). Never
 * fails as a whole: a module that cannot be read leaves its frames unnamed and counted.
 */
void symbolizer_run(struct profile *p, const struct symbolizer_opts *opts,
		    struct symbolizer_stats *ret_stats);

#endif
