/*
 * The work of a window is summed first, and counts with its weight when the next window's work
 * comes: the sampling error needs the squares of whole windows, and a weight is known when its
 * window is over.
 */
#include "gpu/agent/base/estimate.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define SLOTS (2 * AGENT_ESTIMATES)
#define MAX_PROBES 32u
#define WEIGHTS 4096u /* windows whose weights are remembered */

static uint32_t *slots; /* entry number, 0 = free */
static uint32_t nr_used = 1;
static uint64_t weights[WEIGHTS]; /* atomic: bits of a double, by number; 0: not over yet */

int estimate_init(void)
{
	slots = agent_map(SLOTS * sizeof(*slots));
	nr_used = 1;
	return slots ? 0 : -ENOMEM;
}

void estimate_forget(void)
{
	madvise(slots, SLOTS * sizeof(*slots), MADV_DONTNEED);
	memset(weights, 0, sizeof(weights));
	nr_used = 1;
}

static struct gpu_estimate *entries(void)
{
	return agent_area(&agent.region->estimates);
}

static bool same(const struct gpu_estimate *a, const struct gpu_fold *b)
{
	return a->kind == b->kind && a->subkind == b->subkind && a->device == b->device &&
	       a->name == b->name;
}

/* Entry 0 takes what finds no room: it is of no kind, and its time is known to be missing. */
static struct gpu_estimate *find(const struct gpu_fold *key)
{
	uint64_t h = ((uint64_t)key->name << 32 | (uint64_t)key->device << 16 |
		      (uint64_t)key->kind << 8 | key->subkind) *
		     0x9e3779b97f4a7c15ull;

	for (uint32_t i = 0; i < MAX_PROBES; i++) {
		uint32_t *slot = &slots[((h >> 40) + i) & (SLOTS - 1)];
		struct gpu_estimate *e;

		if (*slot && same(&entries()[*slot], key))
			return &entries()[*slot];
		if (*slot)
			continue;
		if (nr_used == AGENT_ESTIMATES)
			break;
		e = &entries()[nr_used];
		*slot = nr_used++;
		e->subkind = key->subkind;
		e->device = key->device;
		e->name = key->name;
		__atomic_store_n(&e->kind, key->kind, __ATOMIC_RELEASE);
		return e;
	}
	return &entries()[0];
}

/* Counts the window that the entry has summed. False while it is open. */
static bool settle(struct gpu_estimate *e)
{
	uint64_t bits = __atomic_load_n(&weights[e->window % WEIGHTS], __ATOMIC_ACQUIRE);
	double weight, count, ns;

	memcpy(&weight, &bits, sizeof(weight));
	count = weight * (double)e->window_count;
	ns = weight * (double)e->window_ns;
	if (!e->window_count || !(weight > 0))
		return !e->window_count;
	e->estimated_count += count;
	e->estimated_ns += ns;
	e->count_squares += count * count;
	e->ns_squares += ns * ns;
	e->window_count = e->window_ns = 0;
	return true;
}

void estimate_add(const struct gpu_fold *key, uint64_t ns, uint32_t window)
{
	struct gpu_estimate *e = find(key);

	if (e->window != window && settle(e))
		e->window = window;
	e->count++;
	e->total_ns += ns;
	e->window_count++;
	e->window_ns += ns;
}

void estimate_close_window(uint32_t window, double weight)
{
	uint64_t bits;

	/* the next window's number is open again */
	__atomic_store_n(&weights[(window + 1) % WEIGHTS], 0, __ATOMIC_RELAXED);
	memcpy(&bits, &weight, sizeof(bits));
	__atomic_store_n(&weights[window % WEIGHTS], bits, __ATOMIC_RELEASE);
}

void estimate_settle(void)
{
	for (uint32_t i = 0; i < nr_used; i++)
		settle(&entries()[i]);
}
