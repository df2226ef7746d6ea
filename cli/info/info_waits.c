/*
 * Adds up the rows of FACT_THREAD_TIME, whose times are exact: they show how good the samples are.
 */
#include "cli/info/info_waits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/order.h"
#include "core/profile/column.h"
#include "core/profile/facts.h"
#include "core/profile/hosts.h"
#include "core/profile/profile.h"
#include "output/report/grid.h"
#include "output/report/grid_report.h"
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

/* Rows of threads that were watched outside of the wanted time, too. */
static size_t nr_beyond(const struct profile *p, const struct fact_thread_time *rows, size_t nr)
{
	size_t nr_rows = 0;

	for (size_t i = 0; i < nr; i++)
		nr_rows += facts_reaches_beyond(p, &rows[i]);
	return nr_rows;
}

static int by_wall(const void *a, const void *b)
{
	const struct fact_thread_time *x = *(const struct fact_thread_time *const *)a;
	const struct fact_thread_time *y = *(const struct fact_thread_time *const *)b;

	return ORDER(y->wall_ns, x->wall_ns) ?: ORDER(x->thread, y->thread);
}

static const char *host_of(const struct profile *p, const struct fact_thread_time *t)
{
	return t->pid ? hosts_name(p, t->pid) : "";
}

static void add_row(struct grid *g, const struct profile *p, const struct fact_thread_time *t)
{
	const uint64_t times[] = { t->wall_ns, t->cpu_ns, t->runnable_ns, t->waiting_ns };

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		grid_value(g, COLUMN_WALL, times[i]);
	grid_count(g, t->waits);
	if (t->thread < p->nr_threads) {
		grid_count(g, p->threads[t->thread].tid);
		grid_text(g, profile_str(p, p->threads[t->thread].comm));
	} else {
		grid_cell(g);
		buffer_printf(grid_cell(g), "%" PRIu64 " threads", t->threads);
	}
	if (p->has_hosts)
		grid_text(g, host_of(p, t));
}

void info_waits_text(struct buffer *b, const struct profile *p)
{
	static const struct grid_column columns[] = {
		{ NULL, "wall", false },     { NULL, "cpu", false },
		{ NULL, "runnable", false }, { NULL, "waiting", false },
		{ NULL, "switches", false }, { NULL, "tid", false },
		{ NULL, "name", true },	     { NULL, "host", true },
	};
	size_t nr;
	const struct fact_thread_time *rows = rows_of(p, &nr);
	const struct fact_thread_time sum = sum_of(rows, nr);
	const struct fact_thread_time **order;
	size_t beyond = nr_beyond(p, rows, nr);
	struct grid g;

	if (!nr)
		return;
	buffer_add_string(b, "\nExact times of threads\n");
	grid_init(&g, columns, sizeof(columns) / sizeof(*columns) - !p->has_hosts);
	order = xmalloc(nr * sizeof(const struct fact_thread_time *));
	for (size_t i = 0; i < nr; i++)
		order[i] = &rows[i];
	qsort(order, nr, sizeof(*order), by_wall);
	if (nr > 1)
		add_row(&g, p, &sum);
	for (size_t i = 0; i < nr && i < MAX_ROWS; i++)
		add_row(&g, p, order[i]);
	grid_write_text(b, &g, 0);
	if (nr > MAX_ROWS)
		buffer_printf(b, "...  and %zu more: --json lists all\n", nr - MAX_ROWS);
	if (p->sums.nr)
		grid_report_add_sums(b, &p->sums);
	if (beyond)
		buffer_printf(b,
			      "%zu of these threads were watched outside of the wanted time, too, "
			      "and all of that is counted\n",
			      beyond);
	grid_fini(&g);
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
	buffer_printf(b,
		      ",\n  \"times_segments\": %" PRIu32 ",\n  \"times_segments_partly\": %" PRIu32
		      ",\n  \"times_beyond\": %zu",
		      p->sums.nr, p->sums.nr_partly, nr_beyond(p, rows, nr));
	buffer_add_string(b, ",\n  \"thread_times\": [");
	for (size_t i = 0; i < nr; i++) {
		const struct profile_thread *t =
			rows[i].thread < p->nr_threads ? &p->threads[rows[i].thread] : NULL;

		buffer_printf(b, "%s\n    {\"pid\": %" PRIu64 ", \"tid\": %" PRIu32 ", \"name\": ",
			      i ? "," : "", rows[i].pid & UINT32_MAX, t ? t->tid : 0);
		text_add_json(b, t ? profile_str(p, t->comm) : "");
		text_add_json_field(b, ", \"host\": ", host_of(p, &rows[i]));
		buffer_printf(b, ", \"start_ns\": %" PRIu64 ", ", facts_thread_from(&rows[i]));
		add_times(b, &rows[i]);
	}
	buffer_add_string(b, nr ? "\n  ]" : "]");
}
