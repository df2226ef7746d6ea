/*
 * A pidfd becomes readable when the last thread of its process has ended.
 */
#include "sampler/selection/targets.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/proc_status.h"

struct targets {
	struct pollfd *fds; /* of the running ones */
	size_t nr, capacity;
	bool any;
};

struct targets *targets_new(void)
{
	return xcalloc(1, sizeof(struct targets));
}

void targets_free(struct targets *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->nr; i++)
		close(t->fds[i].fd);
	free(t->fds);
	free(t);
}

int targets_add(struct targets *t, pid_t id, pid_t *ret_process)
{
	struct proc_status status;
	int fd, err;

	err = proc_status_read(id, &status);
	if (err)
		return err;
	fd = (int)syscall(SYS_pidfd_open, status.process, 0);
	if (fd < 0)
		return -errno;
	t->fds = xgrow(t->fds, &t->capacity, t->nr + 1, sizeof(*t->fds));
	t->fds[t->nr++] = (struct pollfd){ .fd = fd, .events = POLLIN };
	t->any = true;
	*ret_process = status.process;
	return 0;
}

bool targets_live(struct targets *t)
{
	size_t kept = 0;

	if (!t->nr || poll(t->fds, t->nr, 0) <= 0)
		return t->nr || !t->any;
	for (size_t i = 0; i < t->nr; i++) {
		if (t->fds[i].revents)
			close(t->fds[i].fd);
		else
			t->fds[kept++] = t->fds[i];
	}
	t->nr = kept;
	return kept > 0;
}
