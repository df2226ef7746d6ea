/*
 * An account: the limit's share of the time of launching threads comes in, what was measured goes
 * out. A level ends when the account is overdrawn by more than a second's share. With windows, one
 * opens when the account can pay for it, so what the first seconds cost is paid back; a window and
 * the pause before it are one cycle, and the window's work stands for the work of the cycle.
 *
 * Pauses have a random length, so that windows do not keep step with the program.
 */
#include "gpu/agent/governor.h"

#include <string.h>

#include "gpu/agent/base/cost.h"
#include "gpu/agent/base/estimate.h"
#include "gpu/agent/base/state.h"
#include "gpu/agent/cupti/subscription.h"

#define MILLION 1000000u
#define CREDIT_NS 1000000000ull	   /* overdrawn by the limit's share of that, a level ends */
#define MAX_SAVED_NS 10000000000ll /* no more than the limit's share of that is saved up */
/* a pause that would be longer makes estimates worthless */
#define MAX_PAUSE_NS 10000000000ull
#define ENTER_NS 10 /* of a callback, before its ticks are read */

/* Used by the agent's thread, with its lock. */
static struct {
	uint32_t limit_ppm, level;
	uint64_t tick_ns;	    /* the last tick */
	uint64_t calls, cost_ticks; /* then, of all threads */
	uint64_t buffer_ticks;	    /* then */
	int64_t account;	    /* ns times MILLION */
	uint64_t cost_ns, time_ns;  /* since the last change of level */
	uint64_t nr_launching;	    /* threads, at the last look while calls were seen */
	bool is_open;		    /* a window */
	uint64_t changed_ns;	    /* when the window or the pause began */
	uint64_t pause_ns;	    /* the pause before the window */
	uint64_t in_calls_ns;	    /* what callbacks took since the window opened */
	int64_t window_price;	    /* what the next window will cost, in the unit of the account */
	int64_t window_account;	    /* when it opened */
	uint64_t nr_windows;
	uint64_t random;
	uint64_t seen[64]; /* calls of the first threads, at the last tick */
} g;

void governor_begin(uint32_t limit_ppm)
{
	/* beside launches that read it */
	__atomic_store_n(&governor.only_counts, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&governor.window, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&governor.has_paused, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&governor.is_paused, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&governor.buffer_ticks, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&governor.works, limit_ppm != 0, __ATOMIC_RELAXED);
	memset(&g, 0, sizeof(g));
	g.limit_ppm = limit_ppm < MILLION ? limit_ppm : MILLION;
	g.random = clock_ticks() | 1;
}

/* The number of threads that made a call since the last tick; sums up what callbacks cost. */
static uint32_t look_at_threads(uint64_t *ret_calls, uint64_t *ret_ticks)
{
	const struct thread *t;
	uint32_t nr = 0;

	*ret_calls = *ret_ticks = 0;
	for (uint32_t i = 0; (t = thread_at(i)); i++) {
		uint64_t calls = __atomic_load_n(&t->counts[THREAD_CALLS], __ATOMIC_RELAXED);
		uint64_t *seen = i < 64 ? &g.seen[i] : NULL;

		nr += seen && calls != *seen;
		if (seen)
			*seen = calls;
		*ret_calls += calls;
		*ret_ticks += __atomic_load_n(&t->counts[THREAD_COST_TICKS], __ATOMIC_RELAXED);
	}
	return nr;
}

static void spend(uint64_t ns)
{
	g.account -= (int64_t)ns * MILLION;
	g.cost_ns += ns;
	agent_count(GPU_COUNT_COST_NS, ns);
}

static void keep_account(uint64_t now)
{
	uint64_t calls, ticks, passed = now - g.tick_ns;
	uint64_t buffers = __atomic_load_n(&governor.buffer_ticks, __ATOMIC_RELAXED);
	uint32_t nr = look_at_threads(&calls, &ticks);
	int64_t most;

	if (nr || g.is_open || g.level < GPU_LEVEL_WINDOWS)
		g.nr_launching = nr;
	if (!g.tick_ns) { /* the threads' counts began with the last recorder */
		passed = 0;
	} else {
		uint64_t in_calls = clock_ticks_duration_ns((ticks - g.cost_ticks) * 16) +
				    (calls - g.calls) * ENTER_NS;

		spend(in_calls + clock_ticks_duration_ns(buffers - g.buffer_ticks));
		g.in_calls_ns += in_calls;
	}
	passed *= g.nr_launching ? g.nr_launching : 1;
	g.account += (int64_t)passed * g.limit_ppm;
	most = MAX_SAVED_NS * (g.nr_launching ? (int64_t)g.nr_launching : 1) * g.limit_ppm;
	g.account = g.account < most ? g.account : most;
	g.time_ns += passed;
	agent_count(GPU_COUNT_LAUNCHING_NS, passed);
	g.tick_ns = now;
	g.calls = calls;
	g.cost_ticks = ticks;
	g.buffer_ticks = buffers;
}

static bool is_overdrawn(void)
{
	return g.account < -(int64_t)(CREDIT_NS * g.limit_ppm);
}

static void set_level(uint32_t level)
{
	struct gpu_region *r = agent.region;
	uint32_t nr = r->nr_levels;
	uint64_t ppm = g.time_ns ? g.cost_ns * MILLION / g.time_ns : 0;

	if (nr < GPU_MAX_LEVELS)
		r->levels[nr] = (struct gpu_level_change){
			.time_ns = g.tick_ns,
			.level = level,
			.cost_ppm = ppm < UINT32_MAX ? (uint32_t)ppm : UINT32_MAX,
		};
	__atomic_store_n(&r->nr_levels, nr + 1, __ATOMIC_RELEASE);
	g.level = level;
	g.cost_ns = g.time_ns = 0;
}

static void count_only(void)
{
	set_level(GPU_LEVEL_LAUNCHES);
	__atomic_store_n(&governor.only_counts, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&governor.is_paused, 0, __ATOMIC_RELAXED);
	subscription_count_launches();
	/* what the windows before cost is not paid for by counts */
	g.account = 0;
}

static uint64_t random_below(uint64_t n)
{
	g.random ^= g.random << 13;
	g.random ^= g.random >> 7;
	g.random ^= g.random << 17;
	return n ? g.random % n : 0;
}

static void pause_collecting(void)
{
	uint64_t begun = clock_now_ns();

	__atomic_store_n(&governor.has_paused, 1, __ATOMIC_RELAXED);
	subscription_pause();
	__atomic_store_n(&governor.is_paused, 1, __ATOMIC_RELAXED);
	g.is_open = false;
	g.changed_ns = clock_now_ns();
	spend(g.changed_ns - begun);
}

static void open_window(void)
{
	uint64_t begun = clock_now_ns();

	g.window_account = g.account;
	g.pause_ns = begun - g.changed_ns;
	g.changed_ns = begun;
	g.is_open = true;
	g.in_calls_ns = 0;
	__atomic_store_n(&governor.window, (uint32_t)++g.nr_windows, __ATOMIC_RELAXED);
	__atomic_store_n(&governor.is_paused, 0, __ATOMIC_RELAXED);
	subscription_resume();
	spend(clock_now_ns() - begun);
}

static void close_window(bool last)
{
	uint64_t open_ns = g.tick_ns > g.changed_ns ? g.tick_ns - g.changed_ns : 1;
	uint64_t cycle_ns = g.pause_ns + open_ns, taken_ns, own_ns;
	int64_t price;

	/* the program did in the window what it does in less time when it is left alone */
	taken_ns = g.in_calls_ns / (g.nr_launching ? g.nr_launching : 1);
	own_ns = taken_ns < open_ns / 2 ? open_ns - taken_ns : open_ns / 2 + 1;
	estimate_close_window((uint32_t)g.nr_windows,
			      (double)(g.pause_ns + own_ns) / (double)own_ns);
	agent_count(GPU_COUNT_WINDOWS, 1);
	agent_count(GPU_COUNT_WINDOW_NS, open_ns);
	agent_count(GPU_COUNT_COVERED_NS, cycle_ns);
	if (!last)
		pause_collecting();
	price = g.window_account - g.account;
	price = price > 0 ? price : 0;
	g.window_price = g.nr_windows == 1 ? price : (g.window_price * 3 + price) / 4;
}

/* The account must hold the price of a window, and up to half of it more. */
static void wait_for_window(uint64_t now)
{
	int64_t most = MAX_SAVED_NS * g.limit_ppm / 2;
	int64_t price = g.window_price < most ? g.window_price : most;

	if (g.account >= price && g.account >= price + (int64_t)random_below((uint64_t)price / 2))
		open_window();
	else if (now - g.changed_ns > MAX_PAUSE_NS)
		count_only();
}

static bool graphs_cost_most(void)
{
	return agent_counted(GPU_COUNT_GRAPH_NODES) > agent_counted(GPU_COUNT_KERNELS) / 2;
}

static void lower(void)
{
	if (g.level == GPU_LEVEL_ALL && graphs_cost_most() && subscription_take_graphs_whole()) {
		set_level(GPU_LEVEL_GRAPHS);
		g.account = 0;
	} else {
		set_level(GPU_LEVEL_WINDOWS);
		pause_collecting();
	}
}

void governor_tick(void)
{
	uint64_t now = clock_now_ns();

	if (!governor.works || !subscription_is_on())
		return;
	keep_account(now);
	switch (g.level) {
	case GPU_LEVEL_ALL:
	case GPU_LEVEL_GRAPHS:
		if (is_overdrawn())
			lower();
		break;
	case GPU_LEVEL_WINDOWS:
		if (g.is_open)
			close_window(false);
		else
			wait_for_window(now);
		break;
	case GPU_LEVEL_LAUNCHES:
		if (is_overdrawn()) {
			set_level(GPU_LEVEL_NOTHING);
			subscription_count_nothing();
		}
		break;
	}
}

void governor_end(void)
{
	uint64_t now = clock_now_ns();

	if (!governor.works)
		return;
	keep_account(now);
	if (g.level == GPU_LEVEL_WINDOWS && g.is_open)
		close_window(true);
	else if (g.level >= GPU_LEVEL_WINDOWS)
		agent_count(GPU_COUNT_UNCOVERED_NS, now - g.changed_ns);
}
