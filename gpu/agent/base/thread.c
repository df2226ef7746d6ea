/*
 * Slots are one array. Only the pointer to the own slot is thread-local, in the static TLS block:
 * for a library that is loaded late the loader would allocate anything else with malloc at the
 * first access.
 */
#include "gpu/agent/base/thread.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "gpu/agent/base/clock.h"

#define MAX_THREADS 4096u
#define WALK_TRIES 50 /* 1 ms apart */

static struct thread *slots;
static uint32_t nr_slots; /* ever used; atomic */
static uint64_t forgotten[NR_THREAD_COUNTS];
static __thread struct thread *self __attribute__((tls_model("initial-exec")));

int thread_init(void)
{
	slots = agent_map((size_t)MAX_THREADS * sizeof(*slots));
	/* in a forked child: what was counted, and this thread's slot, were the parent's */
	nr_slots = 0;
	self = NULL;
	memset(forgotten, 0, sizeof(forgotten));
	return slots ? 0 : -ENOMEM;
}

static void open_lane(struct thread *t, uint32_t tid)
{
	struct gpu_lane *lanes = agent_area(&agent.region->lanes);

	for (uint32_t i = 1; i < AGENT_LANES - 1; i++) {
		uint32_t free_tid = 0;

		if (__atomic_compare_exchange_n(&lanes[i].tid, &free_tid, tid, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			lane_open(i, &t->lane);
			return;
		}
	}
	agent_count(GPU_COUNT_LANES_SHARED, 1);
	lane_open(AGENT_LANES - 1, &t->lane);
}

/*
 * Frees the slot of a thread that has ended. Two callers may find the same thread gone, and the
 * slot may have a new owner by then: whoever clears the tid frees the rest.
 */
static void release(struct thread *t, uint32_t tid)
{
	if (!__atomic_compare_exchange_n(&t->tid, &tid, 0, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return;
	if (t->lane.alone)
		__atomic_store_n(&t->lane.shared->tid, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&t->used, 0, __ATOMIC_RELEASE);
}

/* A tid that comes back is a new thread: the old one has ended. */
static void release_namesake(uint32_t tid)
{
	uint32_t nr = __atomic_load_n(&nr_slots, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < nr; i++)
		if (__atomic_load_n(&slots[i].tid, __ATOMIC_ACQUIRE) == tid)
			release(&slots[i], tid);
}

static struct thread *take_slot(void)
{
	for (uint32_t i = 0; i < MAX_THREADS; i++) {
		uint32_t no = 0, nr = __atomic_load_n(&nr_slots, __ATOMIC_RELAXED);

		if (!__atomic_compare_exchange_n(&slots[i].used, &no, 1, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		while (nr <= i && !__atomic_compare_exchange_n(&nr_slots, &nr, i + 1, false,
							       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			;
		return &slots[i];
	}
	return NULL;
}

static __attribute__((noinline)) struct thread *thread_new(void)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	struct thread *t;

	release_namesake(tid);
	t = take_slot();
	if (!t)
		return NULL;
	t->depth = 0;
	t->runtime_call = 0;
	t->captures = false;
	t->flops = (struct flops_now){ 0 };
	__atomic_store_n(&t->in_launch, 0, __ATOMIC_RELAXED);
	t->stack.nr = 0;
	t->stack.low = t->stack.high = 0;
	t->stack.nr_lookups = 0;
	open_lane(t, tid);
	/* only now, with its lane in place, may it be freed */
	__atomic_store_n(&t->tid, tid, __ATOMIC_RELEASE);
	agent_count(GPU_COUNT_THREADS, 1);
	self = t;
	return t;
}

struct thread *thread_self(void)
{
	return __builtin_expect(self != NULL, 1) ? self : thread_new();
}

void thread_reclaim(void)
{
	uint32_t nr = __atomic_load_n(&nr_slots, __ATOMIC_ACQUIRE);
	pid_t pid = getpid();

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t tid = __atomic_load_n(&slots[i].tid, __ATOMIC_ACQUIRE);

		if (tid && syscall(SYS_tgkill, pid, tid, 0) && errno == ESRCH)
			release(&slots[i], tid);
	}
}

static bool walk_ends(const struct thread *t)
{
	const struct timespec pause = { 0, 1000000 };
	uint32_t walk = __atomic_load_n(&t->walks, __ATOMIC_ACQUIRE);

	for (int i = 0; i < WALK_TRIES && walk & 1; i++) {
		if (__atomic_load_n(&t->walks, __ATOMIC_ACQUIRE) != walk)
			return true;
		nanosleep(&pause, NULL);
	}
	return !(walk & 1);
}

bool thread_walks_end(void)
{
	const struct thread *t;

	for (uint32_t i = 0; (t = thread_at(i)); i++)
		if (__atomic_load_n(&t->used, __ATOMIC_ACQUIRE) && !walk_ends(t))
			return false;
	return true;
}

static uint64_t count_all(enum thread_count which)
{
	uint32_t nr = __atomic_load_n(&nr_slots, __ATOMIC_ACQUIRE);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < nr; i++)
		sum += __atomic_load_n(&slots[i].counts[which], __ATOMIC_RELAXED);
	return sum;
}

uint64_t thread_nr_launches(void)
{
	return count_all(THREAD_LAUNCHES);
}

void thread_forget_counts(void)
{
	for (int c = 0; c < NR_THREAD_COUNTS; c++)
		forgotten[c] = count_all((enum thread_count)c);
}

void thread_publish_counts(void)
{
	static const uint8_t counters[] = {
		[THREAD_LAUNCHES] = GPU_COUNT_LAUNCHES,
		[THREAD_WALKED] = GPU_COUNT_STACK_WALKED,
		[THREAD_CACHED] = GPU_COUNT_STACK_CACHED,
		[THREAD_SHORT] = GPU_COUNT_STACK_SHORT,
		[THREAD_CALLBACK_TICKS] = GPU_COUNT_CALLBACK_NS,
		[THREAD_NVTX_CALLS] = GPU_COUNT_NVTX_CALLS,
	};

	for (size_t c = 0; c < sizeof(counters); c++) {
		uint64_t sum = count_all((enum thread_count)c) - forgotten[c];

		if (c == THREAD_CALLBACK_TICKS)
			sum = clock_ticks_duration_ns(sum * 1024);
		__atomic_store_n(&agent.region->counters[counters[c]], sum, __ATOMIC_RELAXED);
	}
}

struct thread *thread_at(uint32_t i)
{
	return i < __atomic_load_n(&nr_slots, __ATOMIC_ACQUIRE) ? &slots[i] : NULL;
}
