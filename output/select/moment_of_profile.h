/* The moments that a user names, as times of a profile's samples. */
#ifndef SPROF_MOMENT_OF_PROFILE_H
#define SPROF_MOMENT_OF_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/profile/moment.h"
#include "core/profile/profile.h"

/* False: a time of day, in a profile that does not say when it was recorded. */
static inline bool moment_is_in(const struct profile *p, const struct moment *m)
{
	return m->kind != MOMENT_OF_DAY || p->meta.start_realtime_ns;
}

/* The time of samples at a moment that is in the profile. */
static inline uint64_t moment_of_samples(const struct profile *p, const struct moment *m)
{
	uint64_t zero = p->meta.start_realtime_ns - p->meta.start_ns; /* of their clock */
	uint64_t time = moment_time(m, p->meta.start_ns, p->meta.end_ns);

	if (m->kind != MOMENT_OF_DAY)
		return time;
	return time > zero ? time - zero : 0;
}

#endif
