/*
 * Writes a row for each lock, waiting thread and holder. Rows of one lock stand together, and the
 * locks are in the order of their sums. Where a lock has several rows, one with its sum comes
 * first.
 */
#include "output/insight/locks_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/order.h"
#include "core/profile/facts.h"
#include "core/profile/hosts.h"
#include "core/profile/profile.h"
#include "output/insight/lock_frames.h"
#include "output/report/grid.h"
#include "output/report/grid_report.h"

/* Half the width of a 95 % confidence interval, in standard errors. */
#define MARGIN 1.96

struct lock_line {
	const struct fact_lock_wait *row;
	uint64_t lock_ns; /* of all rows of the lock */
	size_t nr;	  /* rows of the lock */
};

static int by_lock(const void *a, const void *b)
{
	const struct fact_lock_wait *x = ((const struct lock_line *)a)->row;
	const struct fact_lock_wait *y = ((const struct lock_line *)b)->row;

	return ORDER(x->pid, y->pid) ?: ORDER(x->address, y->address)
	       ?: ORDER(y->waiting_ns, x->waiting_ns) ?: ORDER(x, y);
}

static int by_time(const void *a, const void *b)
{
	const struct lock_line *x = a, *y = b;

	return ORDER(y->lock_ns, x->lock_ns) ?: by_lock(a, b);
}

static bool same_lock(const struct lock_line *a, const struct lock_line *b)
{
	return a->row->pid == b->row->pid && a->row->address == b->row->address;
}

/* Returns the rows, those of one lock together; the caller frees them. */
static struct lock_line *lines_of(const struct profile *p, size_t *ret_nr)
{
	const struct fact_lock_wait *rows = facts_rows(p, FACT_LOCK_WAIT, ret_nr);
	struct lock_line *lines = xcalloc(*ret_nr + 1, sizeof(*lines));
	size_t nr = *ret_nr, end;

	for (size_t i = 0; i < nr; i++)
		lines[i].row = &rows[i];
	qsort(lines, nr, sizeof(*lines), by_lock);
	for (size_t i = 0; i < nr; i = end) {
		uint64_t sum = 0;

		for (end = i; end < nr && same_lock(&lines[i], &lines[end]); end++)
			sum += lines[end].row->waiting_ns;
		for (size_t j = i; j < end; j++) {
			lines[j].lock_ns = sum;
			lines[j].nr = end - i;
		}
	}
	qsort(lines, nr, sizeof(*lines), by_time);
	return lines;
}

static void add_thread(struct grid *g, const struct profile *p, uint64_t thread, const char *none)
{
	struct buffer name = { 0 };

	if (thread >= p->nr_threads) {
		grid_text(g, none);
		return;
	}
	buffer_printf(&name, "%s (%" PRIu32 ")", profile_str(p, p->threads[thread].comm),
		      p->threads[thread].tid);
	buffer_add_char(&name, '\0');
	grid_text(g, name.data);
	buffer_fini(&name);
}

/*
 * The lock in words: its variable, else the Python code around it, else where it lies. Memory
 * without a file has a name in brackets.
 */
static void add_name(struct grid *g, const char *place, const char *wanted, const char *released,
		     const char *address)
{
	struct buffer text = { 0 };

	if (*place && *place != '[')
		buffer_add_string(&text, place);
	else if (*released)
		buffer_printf(&text, "released in %s", released);
	else if (*wanted)
		buffer_printf(&text, "wanted in %s", wanted);
	else
		buffer_add_string(&text, *place ? place : address);
	buffer_add_char(&text, '\0');
	grid_text(g, text.data);
	buffer_fini(&text);
}

static void add_lock(struct grid *g, const struct profile *p, const struct lock_frames *frames,
		     const struct fact_lock_wait *r)
{
	const char *place = profile_str(p, (uint32_t)r->place),
		   *wanted = lock_frames_wanted_in(frames, r->pid, r->address),
		   *released = lock_frames_released_in(frames, r->pid, r->address);
	char address[32];

	snprintf(address, sizeof(address), r->address ? "0x%" PRIx64 : "further locks", r->address);
	grid_count(g, (uint32_t)r->pid);
	grid_text(g, hosts_suffix(p, r->pid));
	grid_text(g, address);
	grid_text(g, place);
	grid_text(g, wanted);
	grid_text(g, released);
	add_name(g, place, wanted, released, address);
}

static void add_figures(struct grid *g, const struct fact_lock_wait *r)
{
	grid_time(g, r->waiting_ns);
	grid_time(g, (uint64_t)(MARGIN * 1000 * sqrt((double)r->variance_us2)));
	grid_count(g, r->waits);
	grid_count(g, r->samples);
	grid_time(g, r->longest_ns);
}

/* Adds a row with the sum of the rows of a lock. */
static void add_sum(struct grid *g, const struct profile *p, const struct lock_frames *frames,
		    const struct lock_line *lines)
{
	struct fact_lock_wait sum = *lines[0].row;
	char threads[32];

	for (size_t i = 1; i < lines[0].nr; i++) {
		const struct fact_lock_wait *r = lines[i].row;

		sum.waiting_ns += r->waiting_ns;
		sum.variance_us2 += r->variance_us2;
		sum.waits += r->waits;
		sum.samples += r->samples;
		if (r->longest_ns > sum.longest_ns)
			sum.longest_ns = r->longest_ns;
	}
	snprintf(threads, sizeof(threads), "all %zu below", lines[0].nr);
	add_figures(g, &sum);
	add_lock(g, p, frames, &sum);
	grid_text(g, threads);
	grid_text(g, "");
	grid_text(g, "");
}

static void add_row(struct grid *g, const struct profile *p, const struct lock_frames *frames,
		    const struct fact_lock_wait *r)
{
	static const char *const known_by[] = { "", "the lock", "its waking" };

	add_figures(g, r);
	add_lock(g, p, frames, r);
	add_thread(g, p, r->thread, "further threads");
	add_thread(g, p, r->holder, "not known");
	grid_text(g,
		  r->known_by < sizeof(known_by) / sizeof(*known_by) ? known_by[r->known_by] : "");
}

bool locks_report_write(struct buffer *b, const struct profile *p,
			const struct grid_report_opts *opts)
{
	static const char *const spare[] = { "samples", "known_by", "longest_ns", NULL };
	const struct grid_column columns[] = {
		{ "waiting_ns", "Waiting", false },
		{ "margin_ns", "+-", false },
		{ "waits", "Waits", false },
		{ "samples", "Samples", false },
		{ "longest_ns", "Longest", false },
		{ "pid", "Pid", false },
		{ p->has_hosts ? "host" : NULL, p->has_hosts ? "Host" : NULL, true },
		{ "address", NULL, true },
		{ "place", NULL, true },
		{ "wanted_in", NULL, true },
		{ "released_in", NULL, true },
		{ NULL, "Lock", true },
		{ "thread", "Waiting thread", true },
		{ "holder", "Held by", true },
		{ "known_by", "Known by", true },
	};
	struct lock_frames *frames;
	struct lock_line *lines;
	struct grid g;
	size_t nr;

	frames = lock_frames_new(p);
	lines = lines_of(p, &nr);
	grid_report_init(&g, columns, sizeof(columns) / sizeof(*columns), opts);
	for (size_t i = 0; i < nr; i++) {
		if (lines[i].nr > 1 && (!i || !same_lock(&lines[i - 1], &lines[i])) && !opts->json)
			add_sum(&g, p, frames, &lines[i]);
		add_row(&g, p, frames, lines[i].row);
	}
	g.spare = spare;
	if (nr)
		grid_report_write_counted(b, &g, "locks", opts);
	grid_fini(&g);
	lock_frames_free(frames);
	free(lines);
	return nr;
}
