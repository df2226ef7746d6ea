/*
 * Writes three tables (ranks, causes, the latest collectives) with a sentence on the clocks above
 * them. Text and JSON are filled from the same grids.
 */
#include "output/ranks/ranks_write.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/order.h"
#include "core/profile/profile.h"
#include "output/ranks/late_cause.h"
#include "output/ranks/ranks.h"
#include "output/report/grid.h"
#include "output/text/number.h"
#include "output/text/text.h"

#define MIN_LATE_NS 100000u /* causes are looked for from here on */
#define MAX_CALL_FRAMES 6
#define CAUSE_FRAMES 2 /* in the table of collectives */

/* "0-3,8" */
static void add_members(struct buffer *b, const struct ranks *r, uint32_t communicator)
{
	const struct rank_communicator *c = &r->communicators[communicator];

	for (size_t i = 0; i < c->nr;) {
		uint32_t first = r->list[r->lanes[c->lanes[i]].rank].number, last = first;
		size_t k = i + 1;

		while (k < c->nr && r->list[r->lanes[c->lanes[k]].rank].number == last + 1) {
			last++;
			k++;
		}
		buffer_printf(b, i ? ",%" PRIu32 : "%" PRIu32, first);
		if (last > first)
			buffer_printf(b, last == first + 1 ? ",%" PRIu32 : "-%" PRIu32, last);
		i = k;
	}
}

/* Where no sample tells what took the time, the call tells before what it was. */
static void add_no_sample(struct buffer *b, const struct late_cause *cause)
{
	size_t nr = cause->nr_own_call;

	buffer_add_string(b, "[no CPU sample]");
	for (size_t i = nr > CAUSE_FRAMES ? nr - CAUSE_FRAMES : 0, first = i; i < nr; i++) {
		buffer_add_string(b, i == first ? " before " : " > ");
		text_add_line(b, cause->call[i]);
	}
}

static void add_cause_name(struct buffer *b, const struct late_cause *cause)
{
	size_t nr = cause->nr_steps;

	while (nr > 1 && cause->steps[nr - 1].in_system)
		nr--;
	for (size_t i = nr > CAUSE_FRAMES ? nr - CAUSE_FRAMES : 0; i < nr; i++) {
		text_add_line(b, cause->steps[i].name);
		buffer_add_string(b, i + 1 < nr ? " > " : "");
	}
	if (nr)
		return;
	if (cause->host_late_ns)
		add_no_sample(b, cause);
	else
		buffer_add_string(b, "[not known]");
}

static void fill_ranks(struct grid *g, const struct ranks *r)
{
	static const struct grid_column columns[] = {
		{ "rank", "Rank", false },	  { "host", "Host", true },
		{ "pid", "Process", false },	  { "gpu", "GPU", true },
		{ "operations", NULL, false },	  { "collectives", "Collectives", false },
		{ "last", "Came last", false },	  { "late_ns", "Late", false },
		{ "waited_ns", "Waited", false },
	};

	grid_init(g, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < r->nr; i++) {
		const struct rank *rank = &r->list[i];

		grid_count(g, rank->number);
		grid_text(g, rank->host);
		grid_count(g, rank->pid);
		grid_text(g, *rank->uuid ? rank->uuid : "-");
		grid_count(g, rank->nr_ops);
		grid_count(g, rank->nr_collectives);
		grid_count(g, rank->nr_last);
		grid_time(g, rank->late_ns);
		grid_time(g, rank->waited_ns);
	}
}

static void fill_collectives(struct grid *g, const struct ranks *r, struct late_causes *causes,
			     size_t nr)
{
	static const struct grid_column columns[] = {
		{ "at_ns", "At", false },	  { "name", "Collective", true },
		{ "number", "No.", false },	  { "ranks", "Ranks", true },
		{ "last", "Last", false },	  { "late_ns", "Late by", false },
		{ "waited_ns", "Waited", false }, { "cause", "Because of", true },
	};
	int64_t begin = INT64_MAX;
	struct buffer b = { 0 };

	for (size_t i = 0; i < r->nr; i++) {
		/* unsigned, as a file may hold any numbers */
		int64_t start = (int64_t)(r->list[i].p->meta.start_ns +
					  (uint64_t)r->clocks[r->list[i].clock].shift_ns);

		begin = start < begin ? start : begin;
	}
	grid_init(g, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < nr; i++) {
		const struct rank_collective *c = &r->collectives[i];
		struct late_cause cause;

		grid_time(g, c->start_ns > begin ? (uint64_t)c->start_ns - (uint64_t)begin : 0);
		grid_text(g, r->names[c->name]);
		grid_count(g, c->number);
		b.size = 0;
		add_members(&b, r, c->communicator);
		grid_text(g, buffer_cstring(&b));
		grid_count(g, r->list[c->last].number);
		grid_time(g, c->late_ns);
		grid_time(g, c->waited_ns);
		late_cause_find(causes, &i, 1, &cause);
		b.size = 0;
		if (c->late_ns >= MIN_LATE_NS)
			add_cause_name(&b, &cause);
		grid_text(g, b.size ? buffer_cstring(&b) : "-");
		late_cause_fini(&cause);
	}
	buffer_fini(&b);
}

struct rank_late {
	uint32_t rank;
	uint64_t late_ns;
	size_t *collectives, nr; /* in which it came last, the worst first */
};

static int compare_late(const void *a, const void *b)
{
	const struct rank_late *x = a, *y = b;

	return ORDER(y->late_ns, x->late_ns) ?: ORDER(x->rank, y->rank);
}

static struct rank_late *late_ranks(const struct ranks *r, size_t *ret_nr)
{
	struct rank_late *late = xcalloc(r->nr + 1, sizeof(*late));
	size_t nr = 0;

	for (uint32_t i = 0; i < r->nr; i++) {
		late[i].rank = i;
		late[i].collectives = xcalloc(r->list[i].nr_last + 1, sizeof(size_t));
	}
	for (size_t i = 0; i < r->nr_collectives && r->collectives[i].late_ns >= MIN_LATE_NS; i++) {
		struct rank_late *l = &late[r->collectives[i].last];

		l->collectives[l->nr++] = i;
		l->late_ns += r->collectives[i].late_ns;
	}
	qsort(late, r->nr, sizeof(*late), compare_late);
	while (nr < r->nr && late[nr].nr)
		nr++;
	*ret_nr = nr;
	return late;
}

static void free_late(struct rank_late *late, size_t nr_ranks)
{
	for (size_t i = 0; i < nr_ranks; i++)
		free(late[i].collectives);
	free(late);
}

static void add_call(struct buffer *b, const struct late_cause *cause)
{
	size_t from = cause->nr_call > MAX_CALL_FRAMES ? cause->nr_call - MAX_CALL_FRAMES : 0;

	for (size_t i = from; i < cause->nr_call; i++) {
		buffer_add_string(b, i == from ? "" : " > ");
		text_add_line(b, cause->call[i]);
	}
}

static void add_cause(struct buffer *b, const struct ranks *r, const struct rank_late *late,
		      const struct late_cause *cause)
{
	buffer_printf(b, "Rank %" PRIu32 " came last %zu times, ", r->list[late->rank].number,
		      late->nr);
	number_add_time(b, cause->late_ns);
	buffer_add_string(b, " late");
	if (cause->host_late_ns < cause->late_ns) {
		buffer_add_string(b, ", of which ");
		number_add_time(b, cause->late_ns - cause->host_late_ns);
		buffer_add_string(b, " because its GPU still worked");
	}
	if (cause->nr_steps) {
		buffer_add_string(b, ". Before that it spent more time than the other ranks in\n");
		for (size_t i = 0; i < cause->nr_steps; i++) {
			buffer_add_string(b, "   ");
			number_add_time(b, cause->steps[i].ns);
			buffer_add_string(b, "  ");
			text_add_line(b, cause->steps[i].name);
			buffer_add_char(b, '\n');
		}
	} else if (cause->host_late_ns) {
		buffer_add_string(b, ", and has no more CPU samples than the other ranks before "
				     "that: it waited (--clock wall samples that too), or a "
				     "higher rate is needed (-F)\n");
	} else {
		buffer_add_string(b, "; what its GPU did before that is not known\n");
	}
	if (cause->nr_call) {
		buffer_add_string(b, "   The latest call came from ");
		add_call(b, cause);
		buffer_add_char(b, '\n');
	}
	buffer_add_char(b, '\n');
}

static void add_head(struct buffer *b, const struct ranks *r)
{
	buffer_printf(b, "%zu rank%s, %zu collective%s of %zu communicator%s", r->nr,
		      r->nr == 1 ? "" : "s", r->nr_collectives, r->nr_collectives == 1 ? "" : "s",
		      r->nr_communicators, r->nr_communicators == 1 ? "" : "s");
	if (r->nr_incomplete)
		buffer_printf(b, "; %zu more are not known of every rank", r->nr_incomplete);
	if (r->nr_left_out)
		buffer_printf(b, "; %zu operations left out", r->nr_left_out);
	buffer_add_string(b, r->nr_collectives
				     ? ". The first of each, which waits for the ranks to "
				       "start, is left out.\n"
				     : "\n");
	for (size_t i = 0; i < r->nr; i++)
		if (r->list[i].nr_ranks > r->nr) {
			buffer_printf(b,
				      "The job has %" PRIu64 " ranks: of the others there is no "
				      "collective operation here, and any of them may have been "
				      "late.\n",
				      r->list[i].nr_ranks);
			break;
		}
	for (size_t i = 0; i < r->nr; i++)
		if (!r->list[i].is_numbered) {
			buffer_add_string(b, "The launcher told no ranks to some processes: they "
					     "are numbered by their process numbers.\n");
			break;
		}
	if (r->nr_clocks == 1)
		buffer_add_string(b, "One host, one clock: the times are exact.\n");
	for (size_t i = 1; i < r->nr_clocks; i++) {
		const struct rank_clock *c = &r->clocks[i];

		buffer_add_string(b, "The clock of ");
		text_add_line(b, c->host);
		if (c->nr_ends) {
			buffer_printf(b, " is set by the ends of %zu collectives, give or take ",
				      c->nr_ends);
			number_add_time(b, (uint64_t)c->spread_ns);
			buffer_add_string(b, ".\n");
		} else {
			buffer_add_string(b,
					  " is set by the time of day: its ranks may seem early or "
					  "late by some milliseconds.\n");
		}
	}
}

static void write_causes(struct buffer *b, const struct ranks *r, struct late_causes *causes)
{
	size_t nr;
	struct rank_late *late = late_ranks(r, &nr);

	for (size_t i = 0; i < nr && i < 3; i++) {
		struct late_cause cause;

		late_cause_find(causes, late[i].collectives, late[i].nr, &cause);
		add_cause(b, r, &late[i], &cause);
		late_cause_fini(&cause);
	}
	free_late(late, r->nr);
}

static void write_grid(struct buffer *b, struct grid *g, const struct ranks_write_opts *opts,
		       const char *const *spare, uint32_t max_rows)
{
	g->spare = spare;
	g->max_width = opts->columns;
	g->unicode = opts->unicode;
	grid_write_text(b, g, max_rows);
	grid_fini(g);
}

static size_t shown(const struct ranks *r, const struct ranks_write_opts *opts)
{
	return opts->max_rows && opts->max_rows < r->nr_collectives ? opts->max_rows
								    : r->nr_collectives;
}

void ranks_write(struct buffer *b, const struct ranks *r, const struct ranks_write_opts *opts)
{
	static const char *const spare_ranks[] = { "gpu", "host", "pid", NULL };
	static const char *const spare_collectives[] = { "waited_ns", "number", "at_ns", NULL };
	struct late_causes *causes = late_causes_new(r);
	struct grid g;

	add_head(b, r);
	buffer_add_char(b, '\n');
	fill_ranks(&g, r);
	write_grid(b, &g, opts, spare_ranks, 0);
	buffer_add_char(b, '\n');
	write_causes(b, r, causes);
	if (r->nr_collectives) {
		buffer_add_string(b, "The latest arrivals:\n\n");
		fill_collectives(&g, r, causes, shown(r, opts));
		write_grid(b, &g, opts, spare_collectives, 0);
	}
	late_causes_free(causes);
}

static void add_json_names(struct buffer *b, const char *const *names, size_t nr)
{
	buffer_add_char(b, '[');
	for (size_t i = 0; i < nr; i++) {
		buffer_add_string(b, i ? "," : "");
		text_add_json(b, names[i]);
	}
	buffer_add_char(b, ']');
}

static void add_json_cause(struct buffer *b, const struct ranks *r, const struct rank_late *late,
			   const struct late_cause *cause)
{
	buffer_printf(b,
		      "{\"rank\":%" PRIu32 ",\"collectives\":%zu,\"late_ns\":%" PRIu64
		      ",\"host_late_ns\":%" PRIu64 ",\"found_ns\":%" PRIu64 ",\"path\":[",
		      r->list[late->rank].number, late->nr, cause->late_ns, cause->host_late_ns,
		      cause->found_ns);
	for (size_t i = 0; i < cause->nr_steps; i++) {
		text_add_json_field(b, i ? ",{\"name\":" : "{\"name\":", cause->steps[i].name);
		buffer_printf(b, ",\"excess_ns\":%" PRIu64 "}", cause->steps[i].ns);
	}
	buffer_add_string(b, "],\"latest_call\":");
	add_json_names(b, cause->call, cause->nr_call);
	buffer_add_char(b, '}');
}

static void add_json_clocks(struct buffer *b, const struct ranks *r)
{
	buffer_add_string(b, ",\"clocks\":[");
	for (size_t i = 0; i < r->nr_clocks; i++) {
		const struct rank_clock *c = &r->clocks[i];

		text_add_json_field(b, i ? ",\n{\"host\":" : "\n{\"host\":", c->host);
		buffer_printf(b,
			      ",\"shift_ns\":%" PRId64 ",\"ends\":%zu,\"spread_ns\":%" PRId64 "}",
			      c->shift_ns, c->nr_ends, c->spread_ns);
	}
	buffer_add_string(b, "]");
}

void ranks_write_json(struct buffer *b, const struct ranks *r, const struct ranks_write_opts *opts)
{
	struct late_causes *causes = late_causes_new(r);
	struct rank_late *late;
	struct grid g;
	size_t nr;

	buffer_printf(b,
		      "{\"version\":1,\"communicators\":%zu,\"collectives\":%zu,"
		      "\"incomplete\":%zu,\"left_out\":%zu,\"exact\":%s",
		      r->nr_communicators, r->nr_collectives, r->nr_incomplete, r->nr_left_out,
		      r->nr_clocks > 1 ? "false" : "true");
	add_json_clocks(b, r);
	buffer_add_string(b, ",\"ranks\":");
	fill_ranks(&g, r);
	grid_write_json(b, &g, 0);
	grid_fini(&g);
	buffer_add_string(b, ",\"causes\":[");
	late = late_ranks(r, &nr);
	for (size_t i = 0; i < nr; i++) {
		struct late_cause cause;

		buffer_add_string(b, i ? ",\n" : "\n");
		late_cause_find(causes, late[i].collectives, late[i].nr, &cause);
		add_json_cause(b, r, &late[i], &cause);
		late_cause_fini(&cause);
	}
	free_late(late, r->nr);
	buffer_add_string(b, "],\"latest\":");
	fill_collectives(&g, r, causes, shown(r, opts));
	grid_write_json(b, &g, 0);
	grid_fini(&g);
	buffer_add_string(b, "}\n");
	late_causes_free(causes);
}
