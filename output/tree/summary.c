/*
 * Collects the counts that limit the trust in a profile and writes them in one line. They come from
 * the recording's counters, or, for imported stacks, from the markers in the tree.
 */
#include "output/tree/summary.h"

#include <math.h>
#include <string.h>

#include "core/base/buffer.h"
#include "core/base/number_map.h"
#include "core/profile/column.h"
#include "core/profile/facts.h"
#include "core/profile/process_end.h"
#include "output/text/number.h"
#include "output/tree/margins.h"
#include "output/tree/tree.h"

/* Most trees have no function of the kind, which spares a walk over the nodes. */
static bool has_kind(const struct tree *tree, uint8_t kind)
{
	for (size_t i = 0; i < tree->functions.nr; i++)
		if (tree->functions.list[i].kind == kind)
			return true;
	return false;
}

static void add_incomplete(struct summary *s, const struct tree_function *f, uint64_t events)
{
	int marker = f->kind == FUNCTION_MARKER ? marker_from_name(f->name, strlen(f->name)) : -1;

	if (marker >= 0 && marker != MARKER_NO_KERNEL_STACK)
		s->incomplete_by[marker] += events;
}

/*
 * Counts the stacks with each marker, as imported stacks have markers but no counters. As recorders
 * do, it leaves out a kernel stack that is hidden, as the root is there, and what is missing of a
 * waker's stack on top of a wait, as the sample is of the thread that waited.
 */
static void count_markers(struct summary *s, const struct tree *tree)
{
	const struct tree_outline *outline = tree->outline;
	uint32_t end = 0;

	for (size_t i = 0; outline && outline->marked && i < tree->functions.nr; i++)
		add_incomplete(s, &tree->functions.list[i], outline->marked[i]);
	if (outline)
		return;
	if (!has_kind(tree, FUNCTION_MARKER))
		return;
	for (uint32_t i = 0; i < tree->nr_nodes; i++) {
		const struct tree_function *f = tree_function_of(tree, i);

		if ((f->kind != FUNCTION_MARKER && f->kind != FUNCTION_WAIT) || i < end)
			continue;
		if (marker_from_name(f->name, strlen(f->name)) == MARKER_REPEATED)
			continue; /* nothing is missing */
		end = tree->nodes[i].end;
		add_incomplete(s, f, tree_events_of(tree, &tree->nodes[i]).total);
	}
}

static bool is_unnamed(const struct tree_function *f)
{
	return f->kind == FUNCTION_UNKNOWN || f->kind == FUNCTION_MARKER;
}

static void count_unnamed(struct summary *s, const struct tree *tree)
{
	for (size_t i = 0; tree->outline && i < tree->functions.nr; i++)
		if (is_unnamed(&tree->functions.list[i]))
			s->unnamed += tree->outline->sums[i].self_samples;
	if (tree->outline)
		return;
	if (!has_kind(tree, FUNCTION_UNKNOWN) && !has_kind(tree, FUNCTION_MARKER))
		return;
	for (uint32_t i = 0; i < tree->nr_nodes; i++)
		if (is_unnamed(tree_function_of(tree, i)))
			s->unnamed += tree_events_of(tree, &tree->nodes[i]).self;
}

/* Where another column counts the events of this one, they are its weights. */
static void count_filtered(struct summary *s, const struct profile *p)
{
	s->filtered = p->filtered.weight[s->column];
	s->filtered_samples = s->info->counted_by == NR_COLUMNS
				      ? p->filtered.nr_samples[s->column]
				      : p->filtered.weight[s->info->counted_by];
}

static uint64_t since_start(const struct profile *p, uint64_t time_ns)
{
	return time_ns > p->meta.start_ns ? time_ns - p->meta.start_ns : 0;
}

static void add_up_held(struct summary *s, const struct profile *p)
{
	const struct fact_memory_held *held;
	size_t nr;

	held = facts_rows(p, FACT_MEMORY_HELD, &nr);
	for (size_t i = 0; i < nr; i++) {
		s->held_before += held[i].before_bytes;
		s->held_after += held[i].after_bytes;
	}
}

/* Adds up what allocators of tensors held by their own account: of CPUs or GPUs, as the column. */
static void add_up_reported(struct summary *s, const struct profile *p)
{
	const struct fact_tensor_memory *rows;
	bool cpu = memory_kind_of(s->column) == MEMORY_CPU_TENSORS;
	size_t nr;

	rows = facts_rows(p, FACT_TENSOR_MEMORY, &nr);
	for (size_t i = 0; i < nr; i++) {
		if (((rows[i].device & 0xff) == 0) != cpu)
			continue;
		s->held_before += rows[i].before_bytes;
		s->held_after += rows[i].allocated_bytes;
	}
}

/* A process has a row per device, each with the number of the whole process: it counts once. */
static uint64_t lost_of_tensors(const struct profile *p)
{
	const struct fact_tensor_memory *rows;
	struct number_map pids = { 0 };
	uint64_t lost = 0;
	size_t nr;

	rows = facts_rows(p, FACT_TENSOR_MEMORY, &nr);
	for (size_t i = 0; i < nr; i++) {
		bool is_first;

		number_map_at(&pids, rows[i].pid, &is_first);
		lost += is_first ? rows[i].lost : 0;
	}
	number_map_fini(&pids);
	return lost;
}

/* Samples of memory that found no room. They are not counted by column. */
static uint64_t lost_of_memory(const struct profile *p, bool *ret_more)
{
	const struct fact_memory_sampled *rows;
	uint64_t lost = 0;
	size_t nr;

	rows = facts_rows(p, FACT_MEMORY_SAMPLED, &nr);
	for (size_t i = 0; i < nr; i++) {
		lost += rows[i].lost;
		*ret_more |= rows[i].lost_more != 0;
	}
	return lost;
}

static size_t count_rows(const struct profile *p, enum fact_kind kind)
{
	size_t nr;

	facts_rows(p, kind, &nr);
	return nr;
}

static void describe_memory(struct summary *s, const struct profile *p, const struct tree *tree)
{
	s->margin = tree->margins ? tree->margins->whole : 0;
	if (column_is_memory(s->column))
		s->lost = column_is_tensors(s->column) ? lost_of_tensors(p)
						       : lost_of_memory(p, &s->lost_more);
	if (column_is_memory(s->column) && !column_is_tensors(s->column))
		s->nr_unhooked = count_rows(p, FACT_MEMORY_UNHOOKED);
	s->start_ns = p->meta.start_ns;
	if (!column_is_live(s->column))
		return;
	s->live = p->live.kind;
	s->live_ns = since_start(p, p->live.kind == LIVE_AT_PEAK
					    ? p->live.peak_ns[memory_kind_of(s->column)]
					    : p->live.to_ns);
	s->live_from_ns = since_start(p, p->live.from_ns);
	if (column_is_tensors(s->column))
		add_up_reported(s, p);
	else
		add_up_held(s, p);
	s->ends = facts_rows(p, FACT_PROCESS_END, &s->nr_ends);
}

/*
 * The number of samples of equal weights that would have the same error; where the error is
 * unknown, the number of samples.
 */
static double equal_samples(const struct summary *s)
{
	double error = (double)s->margin / 1.96;

	return s->margin && s->total ? (double)s->total / error * ((double)s->total / error)
				     : (double)s->samples;
}

void summary_init(struct summary *s, const struct profile *p, const struct tree *tree,
		  const char *note)
{
	const struct profile_meta *m = &p->meta;
	bool counted = false;

	*s = (struct summary){
		.total = tree_total(tree, tree->nodes),
		.samples = tree_events_of(tree, tree->nodes).total,
		.limits = p->stats.nr_limits,
		.duration_ns = m->end_ns > m->start_ns ? m->end_ns - m->start_ns : 0,
		.freq_hz = column_is_memory(tree->column) ? 0 : m->freq_hz,
		.column = tree->column,
		.info = tree->info,
		.unfinished = m->unfinished,
		.note = note,
		.command = profile_str(p, m->command),
		.source = profile_str(p, m->source),
		.event = profile_str(p, m->event),
	};
	/* The counters of a recording are about its samples, not about exact columns. */
	if ((!s->info->exact || column_is_event(s->column)) && !column_is_memory(s->column)) {
		s->lost = p->stats.nr_lost;
		s->throttled = p->stats.nr_throttled;
		for (int i = 0; i < NR_MARKERS; i++) {
			s->incomplete_by[i] = p->stats.nr_incomplete[i];
			counted |= s->incomplete_by[i] != 0;
		}
	}
	if (!counted)
		count_markers(s, tree);
	for (int i = 0; i < NR_MARKERS; i++)
		s->incomplete += s->incomplete_by[i];
	count_unnamed(s, tree);
	describe_memory(s, p, tree);
	count_filtered(s, p);
	s->idle = p->idle.weight[s->column];
	s->idle_samples = p->idle.nr_samples[s->column];
	s->idle_threads = p->nr_idle_threads;
}

void summary_keep_trust(struct summary *s, const struct summary *before)
{
	s->incomplete = before->incomplete;
	memcpy(s->incomplete_by, before->incomplete_by, sizeof(s->incomplete_by));
	s->unnamed = before->unnamed;
}

static void add_reasons(struct buffer *b, const struct summary *s)
{
	static const char incomplete[] = "[incomplete: ";
	const char *separator = " (";

	for (int i = 0; i < NR_MARKERS; i++) {
		const char *name = marker_name(i);
		size_t skip = !strncmp(name, incomplete, sizeof(incomplete) - 1)
				      ? sizeof(incomplete) - 1
				      : 1;

		if (!s->incomplete_by[i])
			continue;
		buffer_add_string(b, separator);
		buffer_add(b, name + skip, strlen(name) - skip - 1); /* without its brackets */
		buffer_add_char(b, ' ');
		buffer_add_u64(b, s->incomplete_by[i]);
		separator = ", ";
	}
	if (s->incomplete)
		buffer_add_char(b, ')');
}

void summary_add_trust(struct buffer *b, const struct summary *s)
{
	if (s->samples || !s->total)
		buffer_add_u64(b, s->samples);
	else
		buffer_add_string(b, "an unknown number of"); /* the file has sums alone */
	buffer_printf(b, " %s, %s%llu lost, ", column_events_name(s->info, s->samples),
		      s->lost_more ? "at least " : "", (unsigned long long)s->lost);
	number_add_percent(b, s->incomplete, s->samples);
	buffer_add_string(b, " incomplete");
	add_reasons(b, s);
	buffer_add_string(b, ", ");
	number_add_percent(b, s->unnamed, s->samples);
	buffer_add_string(b, " unnamed");
	if (s->throttled)
		buffer_printf(b, ", throttled %llu times", (unsigned long long)s->throttled);
	if (s->limits)
		buffer_printf(b, ", %llu limits hit", (unsigned long long)s->limits);
	if (s->filtered_samples) {
		buffer_printf(b, ", %llu filtered out (", (unsigned long long)s->filtered_samples);
		number_add_percent(b, s->filtered, s->filtered + s->total);
		buffer_add_char(b, ')');
	}
	if (s->idle_samples) {
		buffer_add_string(b, ", idle: ");
		summary_add_value(b, s, s->idle);
		if (s->idle_threads)
			buffer_printf(b, " of %llu thread%s", (unsigned long long)s->idle_threads,
				      s->idle_threads == 1 ? "" : "s");
		buffer_add_string(b, " folded, --idle shows them");
	}
	if (s->info->sums && !s->info->exact) {
		/* the samples weigh differently: see add_error() */
	} else if (s->info->sums) {
		buffer_add_string(b, ", sums of another profiler");
	} else if (s->info->exact && !s->lost && !s->throttled) {
		buffer_add_string(b, ", every one counted");
	} else if (s->info->exact) {
		/* Some are missing, and nothing says which. */
	} else if (s->samples) {
		/* 1%: about the smallest share of the samples that people still act on. */
		double margin = 1.96 * sqrt(0.01 * 0.99 / equal_samples(s));

		buffer_add_string(b, ", margin at 1%: ");
		number_add_percent(b, (uint64_t)llround(margin * 1e6), 1000000);
	}
}

/* " at 12.3 s", " when it was most, at 12.3 s", ... */
static void add_moment(struct buffer *b, const struct summary *s)
{
	switch (s->live) {
	case LIVE_AT: buffer_add_string(b, " at "); break;
	case LIVE_AT_PEAK: buffer_add_string(b, " when it was most, at "); break;
	case LIVE_LEAKS:
		buffer_add_string(b, " that was allocated from ");
		number_add_time(b, s->live_from_ns);
		buffer_add_string(b, " to ");
		number_add_time(b, s->live_ns);
		buffer_add_string(b, " and not freed");
		return;
	default: return;
	}
	number_add_time(b, s->live_ns);
}

/* Says how the process ended, as what was live at the end was live then. */
static void add_end(struct buffer *b, const struct summary *s)
{
	char text[PROCESS_END_TEXT];

	if (s->live != LIVE_AT_END || !s->nr_ends)
		return;
	buffer_printf(b, "; process %llu %s after ", (unsigned long long)s->ends->pid,
		      process_end_text(s->ends, text));
	number_add_time(b, s->ends->time_ns > s->start_ns ? s->ends->time_ns - s->start_ns : 0);
	if (s->nr_ends > 1)
		buffer_printf(b, ", and %zu more ended", s->nr_ends - 1);
}

/* What the kernel or an allocator counted: samples stand for a part, and for untouched memory. */
static void add_held(struct buffer *b, const struct summary *s)
{
	if (s->live != LIVE_AT_END || !s->held_after || s->filtered_samples)
		return;
	buffer_add_string(b, column_is_tensors(s->column) ? "; the allocators held "
							  : "; in RAM and swap were ");
	number_add_bytes(b, s->held_after);
	buffer_add_string(b, " then, and ");
	number_add_bytes(b, s->held_before);
	buffer_add_string(b, " when it was hooked");
}

static void add_memory_origin(struct buffer *b, const struct summary *s)
{
	buffer_add_string(b, s->info->title);
	add_moment(b, s);
	if (s->duration_ns) {
		buffer_add_string(b, s->live == LIVE_AT_END ? " in " : ", of ");
		number_add_time(b, s->duration_ns);
	}
	buffer_add_string(b, ": ");
	summary_add_value(b, s, s->total);
	if (s->margin) {
		buffer_add_string(b, " \xc2\xb1 ");
		summary_add_value(b, s, s->margin);
	}
	add_held(b, s);
	add_end(b, s);
	if (s->nr_unhooked)
		buffer_printf(b, "; %llu %s not hooked: sprof info names %s",
			      (unsigned long long)s->nr_unhooked,
			      s->nr_unhooked == 1 ? "allocator function was"
						  : "allocator functions were",
			      s->nr_unhooked == 1 ? "it" : "them");
}

void summary_add_origin(struct buffer *b, const struct summary *s)
{
	if (column_is_memory(s->column)) {
		add_memory_origin(b, s);
		return;
	}
	const char *separator = "";

	if (s->info->exact && !column_is_event(s->column)) {
		buffer_add_string(b, s->info->title);
		if (s->duration_ns) {
			buffer_add_string(b, " in ");
			number_add_time(b, s->duration_ns);
		}
		return;
	}
	if (s->duration_ns) {
		number_add_time(b, s->duration_ns);
		separator = " ";
	}
	if (s->freq_hz && !s->info->exact) {
		buffer_printf(b, "%sat %u Hz", separator, s->freq_hz);
		separator = ", ";
	} else if (s->duration_ns) {
		separator = ", ";
	}
	if (*s->event) {
		buffer_printf(b, "%s%s", separator, s->event);
		separator = " by ";
	}
	if (*s->source)
		buffer_printf(b, "%s%s", separator, s->source);
}

/* Words for the error that sampling leaves in a share of 10%, at a confidence of 95%. */
static void add_error(struct buffer *b, const struct summary *s)
{
	double margin = 1.96 * sqrt(0.1 * 0.9 / equal_samples(s));
	uint64_t least = margin < 0.1 ? (uint64_t)llround((0.1 - margin) * 1e6) : 0;

	buffer_add_string(b, " \xc2\xb7 10% on a box means ");
	number_add_percent(b, least, 1000000);
	buffer_add_string(b, " to ");
	number_add_percent(b, (uint64_t)llround((0.1 + margin) * 1e6), 1000000);
}

void summary_add_whole(struct buffer *b, const struct summary *s)
{
	bool samples = s->info->counted_by == s->column && !s->info->exact;
	const char *what = samples ? column_events_name(s->info, s->samples) : s->info->title;

	summary_add_value(b, s, s->total);
	buffer_printf(b, s->info->unit == UNIT_COUNT ? " %s" : " of %s", what);
	if (column_is_memory(s->column))
		add_moment(b, s);
	if (s->duration_ns) {
		buffer_add_string(b, " in ");
		number_add_time(b, s->duration_ns);
	}
	if (s->info->exact || !s->samples)
		return;
	if (s->freq_hz)
		buffer_printf(b, ", %u samples a second", s->freq_hz);
	add_error(b, s);
	if ((*s->event || *s->source) && !column_is_memory(s->column))
		buffer_printf(b, " \xc2\xb7 %s%s%s", s->event,
			      *s->event && *s->source ? " by " : "", s->source);
}

void summary_add_events(struct buffer *b, const struct summary *s, uint64_t events, bool unicode)
{
	buffer_add_u64(b, events);
	if (!s->info->exact)
		buffer_printf(b, " %s %llu", unicode ? "\xc2\xb1" : "+-",
			      (unsigned long long)number_margin(events, s->samples));
	buffer_printf(b, " %s", s->info->events);
}

void summary_add_margin(struct buffer *b, const struct summary *s, uint64_t events, bool unicode)
{
	if (!s->info->exact)
		buffer_printf(b, "%s%llu", unicode ? "\xc2\xb1" : "+-",
			      (unsigned long long)number_margin(events, s->samples));
}

void summary_add_count(struct buffer *b, const struct summary *s, uint64_t events, bool unicode)
{
	buffer_add_u64(b, events);
	summary_add_margin(b, s, events, unicode);
}

void summary_add_sums(struct buffer *b, const struct summary *s, uint64_t self, uint64_t total,
		      uint64_t total_events, bool unicode)
{
	buffer_add_string(b, "self ");
	number_add_percent(b, self, s->total);
	buffer_add_string(b, ", ");
	summary_add_value(b, s, self);
	buffer_add_string(b, "; total ");
	number_add_percent(b, total, s->total);
	buffer_add_string(b, ", ");
	summary_add_value(b, s, total);
	buffer_add_string(b, "; ");
	summary_add_events(b, s, total_events, unicode);
}

void summary_add_value(struct buffer *b, const struct summary *s, uint64_t value)
{
	number_add_value(b, s->column, value);
}
