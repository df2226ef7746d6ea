/*
 * What threads waited for when the signal of their timer came, by the system call that it
 * interrupted; and how many calls it made return EINTR.
 */
#ifndef SPROF_INTERRUPTED_H
#define SPROF_INTERRUPTED_H

#include <stdint.h>
#include <sys/types.h>

#include "core/profile/profile.h"
#include "sampler/agent/region.h"
#include "sampler/waiting/wait_object.h"

struct interrupted;

struct interruption {
	enum profile_column column;    /* of the sample, */
	const char *reason;	       /* and what the thread waited for; NULL: it ran */
	char object[WAIT_OBJECT_SIZE]; /* what of; "": not known */
};

struct interrupted *interrupted_new(void);
void interrupted_free(struct interrupted *interrupted);
/* The sample is the target's and may hold anything. */
void interrupted_explain(struct interrupted *interrupted, pid_t pid,
			 const struct agent_sample *sample, struct interruption *ret);
/* Says which calls returned EINTR, how often, and for how long they had still to wait. */
void interrupted_report(const struct interrupted *interrupted);

#endif
