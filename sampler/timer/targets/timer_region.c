/*
 * Makes the memfd and reads its rings. The positions in the rings that count are our own copies; a
 * record is copied before it is checked, because the target could change it in between.
 */
#include "sampler/timer/targets/timer_region.h"

#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/untrusted/shared_memory.h"

#define HEARTBEAT_LIMIT_NS (1000ull * 1000 * 1000)
#define STUCK_NS (1000ull * 1000 * 1000)
#define FIRST_CREDIT 64u /* snapshots until the first tables come */
#define SAMPLE_WORDS (sizeof(struct agent_sample) / 8)
#define SNAPSHOT_WORDS (sizeof(struct agent_snapshot) / 8)

#define AHEAD_WORDS 8192u /* some 200 samples of 40 frames */
#define PAGE_WORDS 512u

/*
 * Gives memory to the words that will be written next: a target that touches a page first waits
 * several microseconds while the kernel finds and clears one.
 */
static void fill_ahead(struct timer_region *r, uint32_t ring)
{
	uint64_t until = r->tails[ring] + AHEAD_WORDS;

	for (; r->filled[ring] < until && r->filled[ring] < REGION_RING_WORDS;
	     r->filled[ring] += PAGE_WORDS)
		__atomic_fetch_or(&r->shared->words[ring][r->filled[ring]], 0, __ATOMIC_RELAXED);
}

int timer_region_new(const struct timer_region_config *config, struct timer_region *ret)
{
	struct timer_region r = { .fd = -1 };
	struct agent_region *shared;
	void *at;
	char *map;
	int err;

	if (getrandom(&r.cookie, sizeof(r.cookie), 0) != sizeof(r.cookie))
		r.cookie = (uint32_t)monotonic_ns();
	r.cookie |= 1; /* never 0 */
	err = shared_memory_new("sprof", REGION_FILE_SIZE, SHARED_MEMORY_WRITE, &r.fd, &at);
	if (err)
		return err;
	map = at;
	shared = (struct agent_region *)(map + REGION_CODE_SIZE);
	r.shared = shared;
	r.space = (struct walk_space *)(map + REGION_SPACE_OFFSET);
	r.space->magic = WALK_SPACE_MAGIC;
	shared->version = REGION_VERSION;
	shared->size = REGION_FILE_SIZE;
	shared->cookie = r.cookie;
	shared->signal = config->signal;
	shared->period_ns = config->period_ns;
	shared->tick_ns = config->clock == AGENT_CLOCK_CPU ? config->tick_ns : 0;
	shared->clock = config->clock;
	shared->heartbeat_ns = monotonic_ns();
	shared->heartbeat_limit_ns = HEARTBEAT_LIMIT_NS;
	shared->snapshot_credit = FIRST_CREDIT;
	for (uint32_t i = 0; i < REGION_NR_RINGS; i++)
		fill_ahead(&r, i);
	__atomic_store_n(&shared->magic, REGION_MAGIC, __ATOMIC_RELEASE);
	*ret = r;
	return 0;
}

void timer_region_free(struct timer_region *r)
{
	if (r->shared)
		shared_memory_unmap((char *)r->shared - REGION_CODE_SIZE, REGION_FILE_SIZE);
	if (r->shared && r->fd >= 0)
		close(r->fd);
	r->shared = NULL;
	r->fd = -1;
}

bool timer_region_is_lost(const struct timer_region *r)
{
	return shared_memory_is_lost(r->shared);
}

void timer_region_beat(struct timer_region *r)
{
	__atomic_store_n(&r->shared->heartbeat_ns, monotonic_ns(), __ATOMIC_RELAXED);
}

static void post(struct timer_region *r, uint32_t slot)
{
	__atomic_fetch_or(&r->shared->pending[slot / 64], 1ull << slot % 64, __ATOMIC_RELEASE);
	__atomic_store_n(&r->shared->mailbox, 1, __ATOMIC_RELEASE);
}

bool timer_region_want(struct timer_region *r, pid_t tid)
{
	int slot = agent_slot_claim(r->shared, tid);

	if (slot >= 0)
		post(r, (uint32_t)slot);
	return slot != -2;
}

static void sweep_slot(struct timer_region *r, uint32_t slot,
		       bool (*lives)(void *context, pid_t tid), void *context)
{
	__u64 *owner = &r->shared->slots[slot].owner;
	__u64 was = __atomic_load_n(owner, __ATOMIC_ACQUIRE), next = 0;
	pid_t tid = (pid_t)(was >> 32);
	uint32_t state = (uint32_t)was;

	if (!was) {
		/*
		 * The bit is cleared first: a thread that claims the slot now sets it again, or we
		 * do.
		 */
		__atomic_fetch_and(&r->shared->used[slot / 64], ~(1ull << slot % 64),
				   __ATOMIC_ACQ_REL);
		if (__atomic_load_n(owner, __ATOMIC_ACQUIRE))
			__atomic_fetch_or(&r->shared->used[slot / 64], 1ull << slot % 64,
					  __ATOMIC_RELAXED);
		return;
	}
	if ((state != SLOT_ARMED && state != SLOT_FAILED && state != SLOT_WANTED) ||
	    lives(context, tid))
		return;
	if (state == SLOT_ARMED) /* the others have no timer */
		next = agent_owner(tid, SLOT_UNWANTED);
	if (__atomic_compare_exchange_n(owner, &was, next, false, __ATOMIC_ACQ_REL,
					__ATOMIC_RELAXED) &&
	    next)
		post(r, slot);
}

void timer_region_sweep(struct timer_region *r, bool (*lives)(void *context, pid_t tid),
			void *context)
{
	for (uint32_t i = 0; i < REGION_MAX_THREADS / 64; i++) {
		uint64_t bits = __atomic_load_n(&r->shared->used[i], __ATOMIC_RELAXED);

		for (; bits; bits &= bits - 1)
			sweep_slot(r, i * 64 + (uint32_t)__builtin_ctzll(bits), lives, context);
	}
}

void timer_region_stop(struct timer_region *r)
{
	__atomic_store_n(&r->shared->state, AGENT_OFF, __ATOMIC_RELEASE);
}

static bool is_sound(const struct agent_sample *s, const uint64_t *words, size_t nr)
{
	struct agent_snapshot snapshot;

	switch (s->type) {
	case AGENT_SAMPLE:
		return s->nr_frames == nr && nr > 0 && nr <= MAX_LEAF_FRAMES + MAX_ROOT_FRAMES &&
		       s->nr_total >= nr &&
		       (s->nr_total == nr || nr == MAX_LEAF_FRAMES + MAX_ROOT_FRAMES);
	case AGENT_SNAPSHOT:
		if (s->nr_frames > REGION_PYTHON_WORDS || nr < SNAPSHOT_WORDS + s->nr_frames)
			return false;
		memcpy(&snapshot, words, sizeof(snapshot));
		return snapshot.stack_size == (nr - SNAPSHOT_WORDS - s->nr_frames) * 8;
	case AGENT_REST: return nr == 0;
	case AGENT_CODE: return nr >= sizeof(struct code_record) / 8;
	default: return false;
	}
}

/* Has a record been unfinished for so long that its writer will not come back? */
static bool is_stuck(struct timer_region *r, uint32_t ring, uint64_t now)
{
	if (!r->stuck_ns[ring])
		r->stuck_ns[ring] = now;
	return now - r->stuck_ns[ring] > STUCK_NS;
}

static void skip(struct timer_region *r, uint32_t ring, uint32_t nr)
{
	uint64_t head = __atomic_load_n(&r->shared->rings[ring].head, __ATOMIC_ACQUIRE);

	r->nr_broken++;
	r->stuck_ns[ring] = 0;
	r->tails[ring] = nr ? r->tails[ring] + nr : head;
	ring_release(&r->shared->rings[ring], r->tails[ring]);
}

static size_t read_ring(struct timer_region *r, uint32_t ring, uint64_t now,
			void (*fn)(void *context, const struct agent_sample *sample,
				   const uint64_t *words, size_t nr_words),
			void *context)
{
	const __u64 *words = r->shared->words[ring];
	struct ring *shared = &r->shared->rings[ring];
	uint64_t copy[RING_MAX_RECORD];
	struct agent_sample sample;
	size_t nr_records = 0;

	/*
	 * At most as much as a ring holds: a target that writes as fast as we read must not keep us
	 * here.
	 */
	for (uint64_t first = r->tails[ring]; r->tails[ring] - first < REGION_RING_WORDS;) {
		uint32_t nr;
		enum ring_state state =
			ring_peek(shared, words, REGION_RING_WORDS, r->tails[ring], &nr);

		if (state == RING_EMPTY)
			break;
		if (state == RING_BROKEN || (state == RING_STARTED && is_stuck(r, ring, now))) {
			skip(r, ring, state == RING_BROKEN ? 0 : nr);
			continue;
		}
		if (state == RING_STARTED)
			break;
		r->stuck_ns[ring] = 0;
		for (uint32_t i = 1; i < nr; i++)
			copy[i] = ring_get(words, REGION_RING_WORDS, r->tails[ring] + i);
		r->tails[ring] += nr;
		ring_release(shared, r->tails[ring]);
		nr--;
		if (nr < SAMPLE_WORDS) {
			r->nr_broken++;
			continue;
		}
		memcpy(&sample, copy + 1, sizeof(sample));
		if (is_sound(&sample, copy + 1 + SAMPLE_WORDS, nr - SAMPLE_WORDS)) {
			fn(context, &sample, copy + 1 + SAMPLE_WORDS, nr - SAMPLE_WORDS);
			nr_records++;
		} else {
			r->nr_broken++;
		}
	}
	return nr_records;
}

size_t timer_region_read(struct timer_region *r,
			 void (*fn)(void *context, const struct agent_sample *sample,
				    const uint64_t *words, size_t nr_words),
			 void *context)
{
	uint64_t now = monotonic_ns();
	size_t nr = 0;

	for (uint32_t i = 0; i < REGION_NR_RINGS; i++) {
		nr += read_ring(r, i, now, fn, context);
		fill_ahead(r, i);
	}
	return nr;
}

uint64_t timer_region_nr_dropped(const struct timer_region *r)
{
	uint64_t nr = __atomic_load_n(&r->shared->nr_busy, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < REGION_NR_RINGS; i++)
		if (__builtin_add_overflow(
			    nr, __atomic_load_n(&r->shared->rings[i].nr_dropped, __ATOMIC_RELAXED),
			    &nr))
			return UINT64_MAX;
	return nr;
}
