/*
 * A "look" reads the pages around a sample in runtime code and requests rows for the functions
 * found there. A "check" compares code with what its rules were derived from: one function before
 * each stack that used it, and whole regions at random times. Looks and checks have separate
 * allowances.
 */
#include "sampler/walk/runtime_unwind.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/search.h"
#include "core/untrusted/remote_read.h"
#include "sampler/target/process.h"
#include "sampler/sink/sample_sink.h"
#include "sampler/unwind/unwind_table.h"

#define CODE_PAGE 4096u
#define MAX_REGIONS 1024 /* of a process */
#define MAX_OVERLAP 16	 /* functions that contain one address */

/* Between two looks at one region; doubles each time that nothing is new. */
#define LOOK_NS (100ull * 1000 * 1000)
#define MAX_LOOK_SHIFT 9
#define FRUITLESS_LOOKS 8 /* in a process, before looks become rarer */
#define PROCESS_LOOK_NS (10ull * 1000 * 1000)
#define MAX_PROCESS_SHIFT 10

#define FEW_CHANGES_NS (1000ull * 1000 * 1000) /* changes further apart are not counted together */
#define MANY_CHANGES 3
#define CHANGES_WAIT_NS (10ull * 1000 * 1000 * 1000)
#define MAX_CHANGES_SHIFT 5

#define CHECK_NS (100ull * 1000 * 1000) /* doubles after each check without a change */
#define MAX_CHECK_SHIFT 5

/* A stack has left the rings within this time. */
#define LATE_NS (2000ull * 1000 * 1000)

/* Bytes that may be read at once, and per second. */
#define LOOK_BURST (8u << 20)
#define LOOK_RATE (1u << 20)
#define CHECK_BURST (16u << 20)
#define CHECK_RATE (16u << 20)
#define MAX_SAVED_NS (10ull * 1000 * 1000 * 1000)

/* Bytes that may still be read: `left` grows by `rate` per second, up to `burst`. */
struct allowance {
	uint64_t left, burst, rate, since_ns;
};

struct runtime_unwind {
	struct runtime_rows_set *rows;
	const struct walk_rule *rules;
	struct allowance looks, checks;
	uint64_t seed;	       /* of random_below() */
	uint64_t nr_functions; /* with derived rules so far */
	uint64_t bytes_looked, bytes_checked, nr_looks, nr_changes;
	uint8_t buffer[2 * RUNTIME_REGION_MAX]; /* a look: the sample's page is at the middle */
};

struct runtime_unwind *runtime_unwind_new(struct table_builder *builder, uint32_t first_index,
					  const struct walk_rule *rules,
					  const struct runtime_ops *ops, void *context)
{
	struct runtime_unwind *u = xcalloc(1, sizeof(*u));

	u->rows = runtime_rows_set_new(builder, first_index, ops, context);
	u->rules = rules;
	u->seed = monotonic_ns();
	u->looks = (struct allowance){ .left = LOOK_BURST, .burst = LOOK_BURST, .rate = LOOK_RATE };
	u->checks =
		(struct allowance){ .left = CHECK_BURST, .burst = CHECK_BURST, .rate = CHECK_RATE };
	return u;
}

void runtime_unwind_free(struct runtime_unwind *u)
{
	if (!u)
		return;
	if (u->nr_looks)
		log_debug("runtime code: %" PRIu64 " bytes read in %" PRIu64 " looks, %" PRIu64
			  " bytes compared, rules derived for %" PRIu64 " functions, %" PRIu64
			  " changes",
			  u->bytes_looked, u->nr_looks, u->bytes_checked, u->nr_functions,
			  u->nr_changes);
	runtime_rows_set_free(u->rows);
	free(u);
}

uint64_t runtime_unwind_bytes_read(const struct runtime_unwind *u)
{
	return u->bytes_looked + u->bytes_checked;
}

static uint64_t random_below(struct runtime_unwind *u, uint64_t end)
{
	u->seed = u->seed * 6364136223846793005u + 1442695040888963407u; /* Knuth, MMIX */
	return (u->seed >> 32) % end;
}

int runtime_unwind_timeout_ms(struct runtime_unwind *u, int timeout_ms)
{
	if (timeout_ms < 2 || !runtime_rows_are_used(u->rows))
		return timeout_ms;
	return timeout_ms - (int)random_below(u, (uint64_t)timeout_ms / 2);
}

static void spend(struct allowance *a, uint64_t bytes)
{
	a->left -= bytes < a->left ? bytes : a->left;
}

static bool may_spend(struct allowance *a, uint64_t bytes, uint64_t now)
{
	uint64_t passed = a->since_ns ? now - a->since_ns : 0;

	if (passed > MAX_SAVED_NS)
		passed = MAX_SAVED_NS;
	a->left += passed * a->rate / (1000ull * 1000 * 1000);
	a->since_ns = now;
	if (a->left > a->burst)
		a->left = a->burst;
	return a->left >= bytes;
}

/* unit_ns, doubled nr times. */
static uint64_t backoff(uint64_t unit_ns, uint32_t nr, uint32_t max_shift)
{
	return unit_ns << (nr < max_shift ? nr : max_shift);
}

void runtime_unwind_take(struct runtime_unwind *u, struct built_table *built)
{
	u->nr_functions += runtime_rows_take(u->rows, built);
}

void runtime_unwind_tidy(struct runtime_unwind *u, uint64_t now)
{
	runtime_rows_tidy(u->rows, now);
}

bool runtime_region_has_rows(const struct runtime_region *region, uint32_t *ret_number)
{
	if (!region->rows || !region->rows->table)
		return false;
	*ret_number = region->rows->number;
	return true;
}

static bool rule_at(const struct runtime_unwind *u, const struct runtime_rows *rows,
		    uint64_t offset, struct walk_rule *ret)
{
	uint32_t number = WALK_RULE_NONE;

	if (rows && rows->table)
		number = unwind_table_find(rows->table, offset);
	if (number == WALK_RULE_NONE)
		return false;
	*ret = u->rules[number];
	return true;
}

bool runtime_unwind_rule(const struct runtime_unwind *u, const struct process *p, uint64_t address,
			 uint64_t time_ns, struct walk_rule *ret)
{
	const struct runtime_region *r = runtime_regions_find(&p->runtime, address);

	return r && time_ns >= r->read_ns && rule_at(u, r->rows, address - r->start, ret);
}

/* Is the rule that of a frame pointer, which walks use without rules too? */
static bool is_frame_pointer(const struct walk_rule *rule)
{
	return rule->cfa == WALK_CFA_FP && rule->cfa_off == 16 && rule->fp == WALK_FP_CFA &&
	       rule->fp_off == -16;
}

static ssize_t read_memory(const struct process *p, uint64_t address, uint8_t *to, size_t size)
{
	return remote_read(p->pid, address, to, size);
}

/*
 * Is the code of a function still what its rules were derived from? True where it cannot be read.
 */
static bool is_unchanged(struct runtime_unwind *u, const struct process *p,
			 struct runtime_region *r, uint32_t function, uint64_t time_ns)
{
	const struct unwind_function *f = &r->rows->table->functions[function];
	size_t size = f->end - f->start;
	uint64_t now;
	ssize_t n;

	if (r->checked == function && r->checked_ns >= time_ns)
		return true;
	now = monotonic_ns();
	if (!may_spend(&u->checks, size, now))
		return true;
	spend(&u->checks, size);
	n = read_memory(p, r->start + f->start, u->buffer, size);
	if (n == -ESRCH || n == -EPERM || n == -ETIMEDOUT)
		return true;
	u->bytes_checked += size;
	if (n != (ssize_t)size || unwind_function_hash(u->buffer, size) != f->hash)
		return false;
	r->checked = function;
	r->checked_ns = now;
	return true;
}

/* The same for all functions that contain the address. */
static bool holds(struct runtime_unwind *u, const struct process *p, struct runtime_region *r,
		  uint64_t address, uint64_t time_ns)
{
	const struct unwind_table *t = r->rows->table;
	uint64_t offset = address - r->start;
	size_t nr = SEARCH(i, t->nr_functions, t->functions[i].start <= offset);

	for (size_t i = nr; i-- > 0 && nr - i <= MAX_OVERLAP;)
		if (t->functions[i].end > offset && !is_unchanged(u, p, r, i, time_ns))
			return false;
	return true;
}

/* Did the walker step from this address by rules of code that was gone? */
static bool is_past(const struct runtime_unwind *u, const struct process *p, uint64_t address,
		    uint32_t epoch)
{
	for (size_t i = 0; i < p->runtime.nr_past; i++) {
		const struct runtime_past *past = &p->runtime.past[i];
		struct walk_rule rule;

		if (address >= past->start && address < past->end && epoch <= past->epoch &&
		    rule_at(u, past->rows, address - past->start, &rule) &&
		    !is_frame_pointer(&rule))
			return true;
	}
	return false;
}

/* The region has other code now. Where that happens often, it gets no rules for a while. */
static void outdate(struct runtime_unwind *u, struct process *p, struct runtime_region *r,
		    uint64_t now)
{
	runtime_regions_outdate(
		&p->runtime, r,
		(struct runtime_past){ .epoch = p->epoch, .until_ns = now + LATE_NS });
	if (now > r->changed_ns + FEW_CHANGES_NS)
		r->nr_changes = 0;
	r->changed_ns = now;
	if (++r->nr_changes >= MANY_CHANGES)
		r->next_look_ns = r->changed_ns =
			now +
			backoff(CHANGES_WAIT_NS, r->nr_changes - MANY_CHANGES, MAX_CHANGES_SHIFT);
	u->nr_changes++;
	/* Under the new epoch an equal stack has a new key, so it is checked again. */
	process_new_epoch(p);
	p->dirty = true;
}

/* Notes a frame of a stack. false: the frame was unwound by stale rules. */
static bool saw(struct runtime_unwind *u, struct process *p, uint64_t address, uint64_t time_ns,
		uint32_t epoch)
{
	struct runtime_region *r = runtime_regions_find(&p->runtime, address);
	const uint64_t page = address & ~(CODE_PAGE - 1ull);
	struct walk_rule rule;

	if (is_past(u, p, address, epoch))
		return false;
	if (!r && p->runtime.nr >= MAX_REGIONS)
		return true;
	if (!r)
		r = runtime_regions_put(&p->runtime, &(struct runtime_region){
							     .start = page,
							     .end = page + CODE_PAGE,
							     .settled = true,
						     });
	if (!rule_at(u, r->rows, address - r->start, &rule)) {
		if (r->settled)
			r->wanted = address;
		return true;
	}
	if (time_ns < r->read_ns || holds(u, p, r, address, time_ns))
		return true;
	outdate(u, p, r, time_ns);
	r->wanted = address;
	return is_frame_pointer(&rule);
}

void runtime_unwind_check(struct runtime_unwind *u, struct process *p, uint64_t time_ns,
			  uint32_t epoch, struct walked *w)
{
	size_t nr = w->gap ? w->gap : w->nr_user;

	for (size_t i = 0; p->runtime.high && i < nr; i++) {
		uint64_t frame = w->user[i], pc = frame & ~FRAME_EXACT;
		const struct mapping *m;

		pc -= !(frame & FRAME_EXACT);
		if (pc < p->runtime.low || pc >= p->runtime.high)
			continue;
		m = process_find(p, pc);
		if (!m || m->code->kind != MODULE_JIT || m->stack || saw(u, p, pc, time_ns, epoch))
			continue;
		w->nr_user = i + 1;
		w->gap = w->nr_joined = 0;
		w->marker = MARKER_NO_RULE;
	}
}

static uint64_t hash_of(const uint8_t *bytes, size_t size)
{
	return XXH3_64bits(bytes, size) | 1;
}

static bool is_zero(const uint8_t *page)
{
	return !page[0] && !memcmp(page, page + 1, CODE_PAGE - 1);
}

static bool read_page(struct runtime_unwind *u, const struct process *p, uint64_t address,
		      uint8_t *to)
{
	if (read_memory(p, address, to, CODE_PAGE) != CODE_PAGE)
		return false;
	u->bytes_looked += CODE_PAGE;
	spend(&u->looks, CODE_PAGE);
	return !is_zero(to);
}

/*
 * Reads the pages around an address, up to pages of zeros or the ends of the mapping. They lie at
 * *ret_bytes. Returns their size in bytes; RUNTIME_REGION_MAX and more: the region is larger.
 */
static size_t read_around(struct runtime_unwind *u, const struct process *p,
			  const struct mapping *m, uint64_t address, uint64_t *ret_start,
			  const uint8_t **ret_bytes)
{
	uint64_t start = address & ~(CODE_PAGE - 1ull), end = start;
	uint8_t *low = u->buffer + RUNTIME_REGION_MAX, *high = low;

	while (end < m->end && high < low + RUNTIME_REGION_MAX && read_page(u, p, end, high)) {
		end += CODE_PAGE;
		high += CODE_PAGE;
	}
	while (end > start && start > m->start && high < low + RUNTIME_REGION_MAX &&
	       read_page(u, p, start - CODE_PAGE, low - CODE_PAGE)) {
		start -= CODE_PAGE;
		low -= CODE_PAGE;
	}
	*ret_start = start;
	*ret_bytes = low;
	return (size_t)(high - low);
}

static void found_nothing(struct process *p, struct runtime_region *r, uint64_t now)
{
	struct runtime_regions *all = &p->runtime;

	r->next_look_ns = now + backoff(LOOK_NS, ++r->nr_fruitless, MAX_LOOK_SHIFT);
	if (++all->nr_fruitless > FRUITLESS_LOOKS)
		all->next_look_ns =
			now + backoff(PROCESS_LOOK_NS, all->nr_fruitless - FRUITLESS_LOOKS,
				      MAX_PROCESS_SHIFT);
}

static void look_at(struct runtime_unwind *u, struct process *p, struct runtime_region *r,
		    uint64_t now)
{
	const struct mapping *m = process_find(p, r->wanted);
	struct runtime_region fresh = {
		.start = r->start,
		.settled = true,
		.read_ns = now,
		.nr_fruitless = r->nr_fruitless,
		.nr_changes = r->nr_changes,
		.changed_ns = r->changed_ns,
	};
	const uint8_t *bytes;
	size_t size;

	size = m ? read_around(u, p, m, r->wanted, &fresh.start, &bytes) : 0;
	u->nr_looks++;
	r->wanted = 0;
	fresh.end = fresh.start + size;
	fresh.hash = size ? hash_of(bytes, size) : 0;
	if (!size || (fresh.start == r->start && fresh.end == r->end && fresh.hash == r->hash)) {
		found_nothing(p, r, now);
		return;
	}
	if (size < RUNTIME_REGION_MAX)
		fresh.rows = runtime_rows_request(u->rows, bytes, size, p->user);
	fresh.settled = !fresh.rows;
	fresh.next_look_ns = now + LOOK_NS;
	r = runtime_regions_put(&p->runtime, &fresh);
	p->dirty = true;
	if (r->settled)
		found_nothing(p, r, now);
}

/* The builder has answered the request for rows. */
static void settle(struct runtime_unwind *u, struct process *p, struct runtime_region *r,
		   uint64_t now)
{
	const struct mapping *m = process_find(p, r->start);

	r->settled = true;
	if (!r->rows->table) {
		runtime_region_drop_rows(r);
		found_nothing(p, r, now);
		return;
	}
	r->nr_fruitless = 0;
	r->next_check_ns = now + random_below(u, CHECK_NS);
	p->runtime.nr_fruitless = 0;
	p->runtime.next_look_ns = 0;
	p->dirty = true;
	if (m)
		m->code->nr_derived_functions = (uint32_t)u->nr_functions;
}

/*
 * Code that changes back and forth in step with our rounds looks unchanged in each, and stacks with
 * a known key are not checked. So all functions are compared now and then, at random times.
 */
static void check_again(struct runtime_unwind *u, struct process *p, struct runtime_region *r,
			uint64_t now)
{
	const struct unwind_table *t = r->rows->table;
	size_t size = r->end - r->start;
	uint64_t wait = backoff(CHECK_NS, r->nr_checks++, MAX_CHECK_SHIFT);
	ssize_t n;

	r->next_check_ns = now + wait / 2 + random_below(u, wait);
	if (!may_spend(&u->checks, size, now))
		return;
	spend(&u->checks, size);
	n = read_memory(p, r->start, u->buffer, size);
	if (n == -ESRCH || n == -EPERM || n == -ETIMEDOUT)
		return;
	u->bytes_checked += size;
	if (n == (ssize_t)size && hash_of(u->buffer, size) == r->hash)
		return;
	for (uint32_t i = 0; i < t->nr_functions; i++) {
		const struct unwind_function *f = &t->functions[i];

		if (n == (ssize_t)size &&
		    unwind_function_hash(u->buffer + f->start, f->end - f->start) == f->hash)
			continue;
		r->wanted = r->start + f->start;
		outdate(u, p, r, now);
		return;
	}
}

void runtime_unwind_look(struct runtime_unwind *u, struct process *p, uint64_t now)
{
	if (p->runtime.nr_past)
		runtime_regions_forget_past(&p->runtime, now);
	for (size_t i = 0; i < p->runtime.nr; i++) {
		struct runtime_region *r = &p->runtime.list[i];

		if (r->rows && !r->settled && r->rows->done)
			settle(u, p, r, now);
		if (r->rows && r->rows->table && now >= r->next_check_ns && !p->ended_ns)
			check_again(u, p, r, now);
		if (r->wanted && now >= r->next_look_ns && now >= p->runtime.next_look_ns &&
		    !p->ended_ns && may_spend(&u->looks, RUNTIME_REGION_MAX, now))
			look_at(u, p, r, now);
	}
}
