/*
 * Collective operations between processes that share the file named by FAKE_JOB, which is empty but
 * 4 MiB long when they start. A collective ends 10 us after the last of its ranks has arrived. One
 * collective of a process is under way at a time: the next operation on any stream waits for it.
 */
#include "tests/gpu/fake_collective.h"

#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/gpu/fake_gpu.h"

#define MAX_COMMUNICATORS 64
#define MAX_COLLECTIVES 4096 /* of a communicator */
#define WORK_NS 10000

struct slot {
	uint64_t latest; /* atomic: start of the last rank so far */
	uint32_t arrived, pad;
};

struct job {
	struct slot slots[MAX_COMMUNICATORS][MAX_COLLECTIVES];
};

static struct job *job;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint32_t next[MAX_COMMUNICATORS];
static struct slot *under_way;
static uint32_t nr_awaited;

static void map_job(void)
{
	const char *path = getenv("FAKE_JOB");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	job = mmap(NULL, sizeof(*job), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (job == MAP_FAILED)
		abort();
	close(fd);
}

bool fake_collective_is(const char *kernel, void **params)
{
	pthread_once(&once, map_job);
	return job && params && !strncmp(kernel, "nccl", 4);
}

void fake_collective_arrive(const struct fake_collective *c, const struct fake_op *op)
{
	uint32_t number = next[c->communicator % MAX_COMMUNICATORS]++ % MAX_COLLECTIVES;
	struct slot *s = &job->slots[c->communicator % MAX_COMMUNICATORS][number];
	uint64_t latest = __atomic_load_n(&s->latest, __ATOMIC_RELAXED);

	while (op->start > latest &&
	       !__atomic_compare_exchange_n(&s->latest, &latest, op->start, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_RELAXED))
		;
	__atomic_fetch_add(&s->arrived, 1, __ATOMIC_RELEASE);
	under_way = s;
	nr_awaited = c->nr_ranks;
}

uint64_t fake_collective_end(void)
{
	const struct timespec pause = { 0, 50000 };

	while (__atomic_load_n(&under_way->arrived, __ATOMIC_ACQUIRE) < nr_awaited)
		nanosleep(&pause, NULL);
	return __atomic_load_n(&under_way->latest, __ATOMIC_ACQUIRE) + WORK_NS;
}
