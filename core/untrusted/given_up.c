/*
 * A process that was given up is left alone for a minute. A later process that has its number is
 * not.
 */
#include "core/untrusted/given_up.h"

#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"

#define GIVEN_UP_NS (60000 * NS_PER_MS)
#define MAX_GIVEN_UP 4096u
#define MAX_PROCESSES 256u /* descriptors; of further ones the number alone is known */
#define MAX_SAID 5u

/* The descriptor tells it from a later process with its number. */
struct given_up {
	pid_t pid;
	int process; /* of pidfd_open(2), or -1 */
	uint64_t until_ns;
};

/* Global, like the readers. */
static struct {
	struct given_up *processes; /* a ring */
	size_t capacity;
	uint32_t nr, last, nr_descriptors;
	uint64_t count;
} list;

static void close_process(struct given_up *g)
{
	if (g->process < 0)
		return;
	close(g->process);
	g->process = -1;
	list.nr_descriptors--;
}

void given_up_end(void)
{
	if (list.count > MAX_SAID)
		log_warning("%" PRIu64 " more processes were given up because reads of their "
			    "memory did not return",
			    list.count - MAX_SAID);
	for (uint32_t i = 0; i < list.nr; i++)
		close_process(&list.processes[i]);
	free(list.processes);
	list.processes = NULL;
	list.capacity = list.nr = list.last = 0;
}

void given_up_forget(void)
{
	memset(&list, 0, sizeof(list));
}

/* /proc/PID/stat tells when a process was started, but an exec that never ends keeps it back. */
static int open_process(pid_t pid)
{
	int fd = list.nr_descriptors < MAX_PROCESSES ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

	list.nr_descriptors += fd >= 0;
	return fd;
}

static bool has_ended(const struct given_up *g)
{
	struct pollfd process = { .fd = g->process, .events = POLLIN };

	return g->process >= 0 && poll(&process, 1, 0) > 0;
}

static void drop(struct given_up *g)
{
	close_process(g);
	g->until_ns = 0;
}

bool given_up_has(pid_t pid)
{
	uint64_t now = list.nr ? monotonic_ns() : 0;
	bool found = false;

	for (uint32_t i = 0; i < list.nr; i++) {
		struct given_up *g = &list.processes[i];

		if (g->until_ns > now && g->pid == pid && !has_ended(g))
			found = true;
		else if (g->until_ns <= now || g->pid == pid)
			drop(g);
	}
	return found;
}

void given_up_add(pid_t pid, uint64_t waited_ns)
{
	if (list.nr < MAX_GIVEN_UP) {
		list.processes =
			xgrow(list.processes, &list.capacity, list.nr + 1, sizeof(*list.processes));
		list.last = list.nr++;
	} else {
		list.last = (list.last + 1) % MAX_GIVEN_UP;
		close_process(&list.processes[list.last]);
	}
	list.processes[list.last] =
		(struct given_up){ pid, open_process(pid), monotonic_ns() + GIVEN_UP_NS };
	if (++list.count <= MAX_SAID)
		log_warning("a read of the memory of process %d did not return within %" PRIu64
			    " ms: it is left alone",
			    (int)pid, waited_ns / NS_PER_MS);
}

uint64_t given_up_count(void)
{
	return list.count;
}
