/*
 * Looks at the pages around a sample that lies in no file, has rows built of the functions there, and compares them again
 * before a stack is believed and at random times in between: code that is made at run time is made anew at will.
 */
#include "sampler/walk/runtime_unwind.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include <xxhash.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "sampler/target/process.h"
#include "sampler/sink/sample_sink.h"
#include "sampler/unwind/unwind_table.h"

#define CODE_PAGE 4096u
/* oneDNN makes kernels of 256 KiB at most; larger regions are the code caches of whole languages. */
#define MAX_REGION (512u << 10)
#define MAX_REGIONS 1024 /* of a process */
#define MAX_OVERLAP 16	 /* functions that reach over the start of another */

/* Between two looks at one region, twice as long each time that nothing is new. */
#define LOOK_NS (100ull * 1000 * 1000)
#define MAX_LOOK_SHIFT 9
#define FRUITLESS_LOOKS 8 /* in a process, until it is looked at less often */
#define PROCESS_LOOK_NS (10ull * 1000 * 1000)
#define MAX_PROCESS_SHIFT 10

#define FEW_CHANGES_NS (1000ull * 1000 * 1000) /* between two: they are no habit */
#define MANY_CHANGES 3
#define CHANGES_WAIT_NS (10ull * 1000 * 1000 * 1000)
#define MAX_CHANGES_SHIFT 5

#define CHECK_NS (100ull * 1000 * 1000) /* twice as long after each that found all as it was */
#define MAX_CHECK_SHIFT 5

/* Within this time a stack has come from the rings. */
#define LATE_NS (2000ull * 1000 * 1000)

/* Bytes that may be read at once, and in a second. */
#define LOOK_BURST (8u << 20)
#define LOOK_RATE (1u << 20)
#define CHECK_BURST (16u << 20)
#define CHECK_RATE (16u << 20)
#define MAX_SAVED_NS (10ull * 1000 * 1000 * 1000)

/* What may be spent: `left` grows by `rate` in a second, up to `burst`. */
struct allowance {
	uint64_t left, burst, rate, since_ns;
};

struct runtime_unwind {
	struct runtime_rows_set *rows;
	const struct walk_rule *rules;
	struct allowance looks, checks;
	uint64_t seed;	       /* of random_below() */
	uint64_t nr_functions; /* understood so far */
	uint64_t bytes_looked, bytes_checked, nr_looks, nr_changes;
	uint8_t buffer[2 * MAX_REGION]; /* the page of the sample is the one behind the middle */
};

struct runtime_unwind *runtime_unwind_new(struct table_builder *builder, uint32_t first_index,
					  const struct walk_rule *rules,
					  const struct runtime_ops *ops, void *context)
{
	struct runtime_unwind *j = xcalloc(1, sizeof(*j));

	j->rows = runtime_rows_set_new(builder, first_index, ops, context);
	j->rules = rules;
	j->seed = monotonic_ns();
	j->looks = (struct allowance){ .left = LOOK_BURST, .burst = LOOK_BURST, .rate = LOOK_RATE };
	j->checks =
		(struct allowance){ .left = CHECK_BURST, .burst = CHECK_BURST, .rate = CHECK_RATE };
	return j;
}

void runtime_unwind_free(struct runtime_unwind *j)
{
	if (!j)
		return;
	if (j->nr_looks)
		log_debug("code made at run time: %" PRIu64 " bytes read in %" PRIu64
			  " looks and %" PRIu64 " to compare, %" PRIu64
			  " functions understood, %" PRIu64 " changes",
			  j->bytes_looked, j->nr_looks, j->bytes_checked, j->nr_functions,
			  j->nr_changes);
	runtime_rows_set_free(j->rows);
	free(j);
}

uint64_t runtime_unwind_bytes_read(const struct runtime_unwind *j)
{
	return j->bytes_looked + j->bytes_checked;
}

static uint64_t random_below(struct runtime_unwind *j, uint64_t end)
{
	j->seed = j->seed * 6364136223846793005u + 1442695040888963407u; /* Knuth, MMIX */
	return (j->seed >> 32) % end;
}

int runtime_unwind_timeout_ms(struct runtime_unwind *j, int timeout_ms)
{
	if (timeout_ms < 2 || !runtime_rows_are_used(j->rows))
		return timeout_ms;
	return timeout_ms - (int)random_below(j, (uint64_t)timeout_ms / 2);
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

/* How long to wait, twice as long each time. */
static uint64_t backoff(uint64_t unit_ns, uint32_t nr, uint32_t max_shift)
{
	return unit_ns << (nr < max_shift ? nr : max_shift);
}

/* ---- rules */

void runtime_unwind_take(struct runtime_unwind *j, uint32_t index, struct unwind_table *rows)
{
	j->nr_functions += runtime_rows_take(j->rows, index, rows);
}

void runtime_unwind_tidy(struct runtime_unwind *j, uint64_t now)
{
	runtime_rows_tidy(j->rows, now);
}

bool runtime_region_has_rows(const struct runtime_region *region, uint32_t *ret_number)
{
	if (!region->rows || !region->rows->table)
		return false;
	*ret_number = region->rows->number;
	return true;
}

static bool rule_at(const struct runtime_unwind *j, const struct runtime_rows *rows,
		    uint64_t offset, struct walk_rule *ret)
{
	uint32_t number = WALK_RULE_NONE;

	if (rows && rows->table)
		number = unwind_table_find(rows->table, offset);
	if (number == WALK_RULE_NONE)
		return false;
	*ret = j->rules[number];
	return true;
}

bool runtime_unwind_rule(const struct runtime_unwind *j, const struct process *p, uint64_t address,
			 uint64_t time_ns, struct walk_rule *ret)
{
	const struct runtime_region *r = runtime_regions_find(&p->jit, address);

	return r && time_ns >= r->read_ns && rule_at(j, r->rows, address - r->start, ret);
}

/* Does the rule go where the frame pointer would lead anyway? */
static bool is_frame_pointer(const struct walk_rule *rule)
{
	return rule->cfa == WALK_CFA_FP && rule->cfa_off == 16 && rule->fp == WALK_FP_CFA &&
	       rule->fp_off == -16;
}

/* ---- has it changed? */

static ssize_t read_memory(const struct process *p, uint64_t address, uint8_t *to, size_t size)
{
	struct iovec local = { to, size }, remote = { (void *)address, size };
	ssize_t n = process_vm_readv(p->pid, &local, 1, &remote, 1, 0);

	return n < 0 ? -errno : n;
}

/* Is the code of one function what its rules follow from? Yes where nobody can tell any more. */
static bool is_unchanged(struct runtime_unwind *j, const struct process *p,
			 struct runtime_region *r, uint32_t function, uint64_t time_ns)
{
	const struct unwind_function *f = &r->rows->table->functions[function];
	size_t size = f->end - f->start;
	uint64_t now;
	ssize_t n;

	if (r->checked == function && r->checked_ns >= time_ns)
		return true;
	now = monotonic_ns();
	if (!may_spend(&j->checks, size, now))
		return true;
	spend(&j->checks, size);
	n = read_memory(p, r->start + f->start, j->buffer, size);
	if (n == -ESRCH || n == -EPERM)
		return true;
	j->bytes_checked += size;
	if (n != (ssize_t)size || unwind_function_hash(j->buffer, size) != f->hash)
		return false;
	r->checked = function;
	r->checked_ns = now;
	return true;
}

/* The same of all functions that reach over the address. */
static bool holds(struct runtime_unwind *j, const struct process *p, struct runtime_region *r,
		  uint64_t address, uint64_t time_ns)
{
	const struct unwind_table *t = r->rows->table;
	uint64_t offset = address - r->start;
	uint32_t lo = 0, hi = t->nr_functions;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->functions[mid].start <= offset)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (uint32_t i = lo; i-- > 0 && lo - i <= MAX_OVERLAP;)
		if (t->functions[i].end > offset && !is_unchanged(j, p, r, i, time_ns))
			return false;
	return true;
}

/* Was the walker wrong to go on from there, by rules of code that was gone? */
static bool is_past(const struct runtime_unwind *j, const struct process *p, uint64_t address,
		    uint32_t epoch)
{
	for (size_t i = 0; i < p->jit.nr_past; i++) {
		const struct runtime_past *past = &p->jit.past[i];
		struct walk_rule rule;

		if (address >= past->start && address < past->end && epoch <= past->epoch &&
		    rule_at(j, past->rows, address - past->start, &rule) &&
		    !is_frame_pointer(&rule))
			return true;
	}
	return false;
}

/* It is somebody else's code now. Where that happens all the time, there are no rules for a while. */
static void outdate(struct runtime_unwind *j, struct process *p, struct runtime_region *r,
		    uint64_t now)
{
	runtime_regions_outdate(
		&p->jit, r, (struct runtime_past){ .epoch = p->epoch, .until_ns = now + LATE_NS });
	if (now > r->changed_ns + FEW_CHANGES_NS)
		r->nr_changes = 0;
	r->changed_ns = now;
	if (++r->nr_changes >= MANY_CHANGES)
		r->next_look_ns = r->changed_ns =
			now +
			backoff(CHANGES_WAIT_NS, r->nr_changes - MANY_CHANGES, MAX_CHANGES_SHIFT);
	j->nr_changes++;
	/* What was a wrong stack under one key may be a right one later. */
	process_new_epoch(p);
	p->dirty = true;
}

/* A stack has a frame there. false: what led on from it were not the rules of the code that ran. */
static bool saw(struct runtime_unwind *j, struct process *p, uint64_t address, uint64_t time_ns,
		uint32_t epoch)
{
	struct runtime_region *r = runtime_regions_find(&p->jit, address);
	const uint64_t page = address & ~(CODE_PAGE - 1ull);
	struct walk_rule rule;

	if (is_past(j, p, address, epoch))
		return false;
	if (!r && p->jit.nr >= MAX_REGIONS)
		return true;
	if (!r)
		r = runtime_regions_put(&p->jit, &(struct runtime_region){
							 .start = page,
							 .end = page + CODE_PAGE,
							 .settled = true,
						 });
	if (!rule_at(j, r->rows, address - r->start, &rule)) {
		if (r->settled)
			r->wanted = address;
		return true;
	}
	if (time_ns < r->read_ns || holds(j, p, r, address, time_ns))
		return true;
	outdate(j, p, r, time_ns);
	r->wanted = address;
	return is_frame_pointer(&rule);
}

void runtime_unwind_check(struct runtime_unwind *j, struct process *p, uint64_t time_ns,
			  uint32_t epoch, struct walked *w)
{
	size_t nr = w->gap ? w->gap : w->nr_user;

	for (size_t i = 0; p->jit.high && i < nr; i++) {
		uint64_t frame = w->user[i], pc = frame & ~FRAME_EXACT;
		const struct mapping *m;

		pc -= !(frame & FRAME_EXACT);
		if (pc < p->jit.low || pc >= p->jit.high)
			continue;
		m = process_find(p, pc);
		if (!m || m->code->kind != MODULE_JIT || m->stack || saw(j, p, pc, time_ns, epoch))
			continue;
		w->nr_user = i + 1;
		w->gap = 0;
		w->marker = MARKER_NO_RULE;
	}
}

/* ---- what is there? */

static uint64_t hash_of(const uint8_t *bytes, size_t size)
{
	return XXH3_64bits(bytes, size) | 1;
}

static bool is_zero(const uint8_t *page)
{
	return !page[0] && !memcmp(page, page + 1, CODE_PAGE - 1);
}

static bool read_page(struct runtime_unwind *j, const struct process *p, uint64_t address,
		      uint8_t *to)
{
	if (read_memory(p, address, to, CODE_PAGE) != CODE_PAGE)
		return false;
	j->bytes_looked += CODE_PAGE;
	spend(&j->looks, CODE_PAGE);
	return !is_zero(to);
}

/*
 * Reads the pages around an address, up to pages of zeros or the ends of the mapping. Returns their
 * number; 0: there is nothing. They lie at *ret_bytes. MAX_REGION in size: there are more.
 */
static size_t read_around(struct runtime_unwind *j, const struct process *p,
			  const struct mapping *m, uint64_t address, uint64_t *ret_start,
			  const uint8_t **ret_bytes)
{
	uint64_t start = address & ~(CODE_PAGE - 1ull), end = start;
	uint8_t *low = j->buffer + MAX_REGION, *high = low;

	while (end < m->end && high < low + MAX_REGION && read_page(j, p, end, high)) {
		end += CODE_PAGE;
		high += CODE_PAGE;
	}
	while (end > start && start > m->start && high < low + MAX_REGION &&
	       read_page(j, p, start - CODE_PAGE, low - CODE_PAGE)) {
		start -= CODE_PAGE;
		low -= CODE_PAGE;
	}
	*ret_start = start;
	*ret_bytes = low;
	return (size_t)(high - low);
}

static void found_nothing(struct process *p, struct runtime_region *r, uint64_t now)
{
	struct runtime_regions *all = &p->jit;

	r->next_look_ns = now + backoff(LOOK_NS, ++r->nr_fruitless, MAX_LOOK_SHIFT);
	if (++all->nr_fruitless > FRUITLESS_LOOKS)
		all->next_look_ns =
			now + backoff(PROCESS_LOOK_NS, all->nr_fruitless - FRUITLESS_LOOKS,
				      MAX_PROCESS_SHIFT);
}

static void look_at(struct runtime_unwind *j, struct process *p, struct runtime_region *r,
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

	size = m ? read_around(j, p, m, r->wanted, &fresh.start, &bytes) : 0;
	j->nr_looks++;
	r->wanted = 0;
	fresh.end = fresh.start + size;
	fresh.hash = size ? hash_of(bytes, size) : 0;
	if (!size || (fresh.start == r->start && fresh.end == r->end && fresh.hash == r->hash)) {
		found_nothing(p, r, now);
		return;
	}
	if (size < MAX_REGION)
		fresh.rows = runtime_rows_request(j->rows, bytes, size);
	fresh.settled = !fresh.rows;
	fresh.next_look_ns = now + LOOK_NS;
	r = runtime_regions_put(&p->jit, &fresh);
	p->dirty = true;
	if (r->settled)
		found_nothing(p, r, now);
}

/* Something has become of the rows that were asked for. */
static void settle(struct runtime_unwind *j, struct process *p, struct runtime_region *r,
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
	r->next_check_ns = now + random_below(j, CHECK_NS);
	p->jit.nr_fruitless = 0;
	p->jit.next_look_ns = 0;
	p->dirty = true;
	if (m)
		m->code->nr_code_functions = (uint32_t)j->nr_functions;
}

/*
 * What goes to and fro in step with our rounds looks unchanged in each, and known stacks are not looked at again: so
 * all functions are compared now and then, at random times.
 */
static void check_again(struct runtime_unwind *j, struct process *p, struct runtime_region *r,
			uint64_t now)
{
	const struct unwind_table *t = r->rows->table;
	size_t size = r->end - r->start;
	uint64_t wait = backoff(CHECK_NS, r->nr_checks++, MAX_CHECK_SHIFT);
	ssize_t n;

	r->next_check_ns = now + wait / 2 + random_below(j, wait);
	if (!may_spend(&j->checks, size, now))
		return;
	spend(&j->checks, size);
	n = read_memory(p, r->start, j->buffer, size);
	if (n == -ESRCH || n == -EPERM)
		return;
	j->bytes_checked += size;
	if (n == (ssize_t)size && hash_of(j->buffer, size) == r->hash)
		return;
	for (uint32_t i = 0; i < t->nr_functions; i++) {
		const struct unwind_function *f = &t->functions[i];

		if (n == (ssize_t)size &&
		    unwind_function_hash(j->buffer + f->start, f->end - f->start) == f->hash)
			continue;
		r->wanted = r->start + f->start;
		outdate(j, p, r, now);
		return;
	}
}

void runtime_unwind_look(struct runtime_unwind *j, struct process *p, uint64_t now)
{
	if (p->jit.nr_past)
		runtime_regions_forget_past(&p->jit, now);
	for (size_t i = 0; i < p->jit.nr; i++) {
		struct runtime_region *r = &p->jit.list[i];

		if (r->rows && !r->settled && r->rows->done)
			settle(j, p, r, now);
		if (r->rows && r->rows->table && now >= r->next_check_ns && !p->ended_ns)
			check_again(j, p, r, now);
		if (r->wanted && now >= r->next_look_ns && now >= p->jit.next_look_ns &&
		    !p->ended_ns && may_spend(&j->looks, MAX_REGION, now))
			look_at(j, p, r, now);
	}
}
