/*
 * Adds up the rows of FACT_THREAD_TIME. These times are exact, so a reader can hold the samples
 * against them.
 */
#include "cli/info/info_waits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "output/text/align.h"
#include "output/text/number.h"
#include "output/text/text.h"

#define MAX_ROWS 15 /* of threads in the text */

static const struct fact_thread_time *rows_of(const struct profile *p, size_t *ret_nr)
{
	return facts_rows(p, FACT_THREAD_TIME, ret_nr);
}

static struct fact_thread_time sum_of(const struct fact_thread_time *rows, size_t nr)
{
	struct fact_thread_time sum = { .thread = PROFILE_NONE };

	for (size_t i = 0; i < nr; i++) {
		sum.threads += rows[i].threads;
		sum.wall_ns += rows[i].wall_ns;
		sum.cpu_ns += rows[i].cpu_ns;
		sum.runnable_ns += rows[i].runnable_ns;
		sum.waiting_ns += rows[i].waiting_ns;
		sum.waits += rows[i].waits;
	}
	return sum;
}

static int by_wall(const void *a, const void *b)
{
	const struct fact_thread_time *x = *(const struct fact_thread_time *const *)a;
	const struct fact_thread_time *y = *(const struct fact_thread_time *const *)b;

	if (x->wall_ns != y->wall_ns)
		return x->wall_ns < y->wall_ns ? 1 : -1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

static void add_cell(struct buffer *b, uint64_t ns)
{
	size_t start = b->size;

	number_add_value(b, COLUMN_WALL, ns);
	align_right(b, start, 10);
}

static void add_row(struct buffer *b, const struct profile *p, const struct fact_thread_time *t)
{
	add_cell(b, t->wall_ns);
	add_cell(b, t->cpu_ns);
	add_cell(b, t->runnable_ns);
	add_cell(b, t->waiting_ns);
	buffer_printf(b, "%10" PRIu64, t->waits);
	if (t->thread < p->nr_threads) {
		const struct profile_thread *thread = &p->threads[t->thread];
		const char *name = profile_str(p, thread->comm);

		buffer_printf(b, "%9" PRIu32 "  ", thread->tid);
		text_add_clean(b, name, strlen(name));
	} else {
		buffer_printf(b, "%9s  %" PRIu64 " threads", "", t->threads);
	}
	buffer_add_char(b, '\n');
}

void info_waits_text(struct buffer *b, const struct profile *p)
{
	size_t nr;
	const struct fact_thread_time *rows = rows_of(p, &nr);
	const struct fact_thread_time sum = sum_of(rows, nr);
	const struct fact_thread_time **order;

	if (!nr)
		return;
	buffer_printf(b, "\nExact times of threads\n%10s%10s%10s%10s%10s%9s  %s\n", "wall", "cpu",
		      "runnable", "waiting", "switches", "tid", "name");
	order = xmalloc(nr * sizeof(const struct fact_thread_time *));
	for (size_t i = 0; i < nr; i++)
		order[i] = &rows[i];
	qsort(order, nr, sizeof(*order), by_wall);
	if (nr > 1)
		add_row(b, p, &sum);
	for (size_t i = 0; i < nr && i < MAX_ROWS; i++)
		add_row(b, p, order[i]);
	if (nr > MAX_ROWS)
		buffer_printf(b, "%10s  and %zu more: --json lists all\n", "...", nr - MAX_ROWS);
	free(order);
}

static void add_times(struct buffer *b, const struct fact_thread_time *t)
{
	buffer_printf(b,
		      "\"threads\": %" PRIu64 ", \"wall_ns\": %" PRIu64 ", \"cpu_ns\": %" PRIu64
		      ", \"runnable_ns\": %" PRIu64 ", \"waiting_ns\": %" PRIu64
		      ", \"switches\": %" PRIu64 "}",
		      t->threads, t->wall_ns, t->cpu_ns, t->runnable_ns, t->waiting_ns, t->waits);
}

void info_waits_json(struct buffer *b, const struct profile *p)
{
	size_t nr;
	const struct fact_thread_time *rows = rows_of(p, &nr);
	const struct fact_thread_time sum = sum_of(rows, nr);

	buffer_add_string(b, ",\n  \"times\": ");
	if (nr) {
		buffer_add_char(b, '{');
		add_times(b, &sum);
	} else {
		buffer_add_string(b, "null");
	}
	buffer_add_string(b, ",\n  \"thread_times\": [");
	for (size_t i = 0; i < nr; i++) {
		const struct profile_thread *t =
			rows[i].thread < p->nr_threads ? &p->threads[rows[i].thread] : NULL;

		buffer_printf(b, "%s\n    {\"pid\": %" PRIu64 ", \"tid\": %" PRIu32 ", \"name\": ",
			      i ? "," : "", rows[i].pid, t ? t->tid : 0);
		text_add_json(b, t ? profile_str(p, t->comm) : "");
		buffer_printf(b, ", \"start_ns\": %" PRIu64 ", ", rows[i].start_ns);
		add_times(b, &rows[i]);
	}
	buffer_add_string(b, nr ? "\n  ]" : "]");
}
