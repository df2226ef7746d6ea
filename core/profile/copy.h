/*
 * Copies a profile into a sink: into another profile, or into a recording. Facts (core/profile/facts.h) are not
 * copied: what they sum up by process would be mixed up where two hosts have processes of one number.
 */
#ifndef SPROF_COPY_H
#define SPROF_COPY_H

#include <stdint.h>

struct profile;
struct sink;

struct profile_copy_opts {
	struct sink *sink;
	struct profile *vocabulary; /* where names go, under the sink's ids: profile or recording */
	int64_t time_shift_ns;	    /* is added to all times that are known */
	/*
	 * Which of several profiles this is, from 0 on. The same address of two kernels, or of two files
	 * without a build-id, is not the same code.
	 */
	uint32_t number;
	const char *origin; /* a root frame of that name on every stack; NULL: none */
};

void profile_copy(const struct profile *from, const struct profile_copy_opts *opts);

#endif
