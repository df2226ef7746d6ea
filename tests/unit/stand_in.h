/*
 * Processes that stand in for children of the sandbox. A test that includes this is linked with
 * -Wl,--wrap=sandbox_start.
 */
#ifndef SPROF_TESTS_STAND_IN_H
#define SPROF_TESTS_STAND_IN_H

#include <unistd.h>

#include "core/sandbox/message.h"
#include "core/sandbox/sandbox.h"
#include "tests/unit/unit.h"

int __real_sandbox_start(const struct sandbox *sandbox, sandbox_job *job,
			 const struct sandbox_limits *limits);
int __wrap_sandbox_start(const struct sandbox *sandbox, sandbox_job *job,
			 const struct sandbox_limits *limits);

static struct {
	sandbox_job *job; /* runs in place of the child's; NULL: that one does, in the sandbox */
	sandbox_job *own; /* in the stand-in: the child's */
	unsigned int nr_started;
} stand_in;

int __wrap_sandbox_start(const struct sandbox *s, sandbox_job *job,
			 const struct sandbox_limits *limits)
{
	int sockets[2];

	stand_in.nr_started++;
	if (!stand_in.job)
		return __real_sandbox_start(s, job, limits);
	assert_int_equal(message_pair(sockets), 0);
	if (!fork()) {
		close(sockets[0]);
		stand_in.own = job;
		stand_in.job(sockets[1]);
		_exit(0);
	}
	close(sockets[1]);
	return sockets[0];
}

/* For one that stands in for a child that walks: takes what that is handed first, and an order. */
static inline void skip_order(int socket)
{
	uint64_t bytes[256];

	for (int i = 0; i < 2; i++)
		if (message_receive(socket, bytes, sizeof(bytes), NULL, 0) <= 0)
			_exit(1);
}

#endif
