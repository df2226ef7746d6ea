/*
 * Makes spans of samples. A span is as long as the weight of its sample and ends when the sample
 * was taken; a function that two neighbours share is one span. Spans that would overlap or leave a
 * gap of less than half their length are moved together: sums are exact, and times are wrong by
 * half a period at most.
 */
#include "output/export/sample_spans.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "core/profile/facts.h"
#include "core/profile/hosts.h"
#include "core/profile/profile.h"
#include "output/export/thread_tracks.h"
#include "output/text/text.h"
#include "output/tree/naming.h"

/* Other tracks than the CPU time of a thread get ids that no thread has. */
#define FIRST_TRACK_ID 0x80000000u

struct span {
	uint32_t function;
	uint64_t start_ns;
	uint64_t number; /* of all spans, from 1 on */
};

struct writer {
	const struct profile *p;
	const struct sample_spans_opts *opts;
	struct buffer *b;
	struct tree_functions names;
	uint32_t pid, tid; /* of the current track */
	uint64_t end_ns;   /* end of its last span, since the recording began */
	struct span *open; /* functions that are open, outermost first */
	uint32_t *next;	   /* functions of the next sample */
	size_t nr_open, nr_next, open_capacity, next_capacity;
	uint64_t nr_spans;
	const char *separator;
};

/* Writes ns as microseconds, exactly, without zeros at the end. */
static void add_us(struct buffer *b, uint64_t ns)
{
	unsigned int rest = (unsigned int)(ns % 1000), digits = 3;

	buffer_add_u64(b, ns / 1000);
	if (!rest)
		return;
	for (; rest % 10 == 0; rest /= 10)
		digits--;
	buffer_printf(b, ".%0*u", (int)digits, rest);
}

/* The innermost open span around w->open[depth] that is of the same kind, or NULL. */
static const struct span *parent_of(const struct writer *w, size_t depth)
{
	uint8_t kind = w->names.list[w->open[depth].function].kind;

	while (depth--)
		if (w->names.list[w->open[depth].function].kind == kind)
			return &w->open[depth];
	return NULL;
}

/*
 * Writes the span w->open[depth], which ends now. One event for both ends takes half the space of
 * two.
 */
static void add_event(struct writer *w, size_t depth)
{
	const struct span *span = &w->open[depth];
	const struct span *parent = w->opts->add_args ? parent_of(w, depth) : NULL;
	const struct tree_function *f = &w->names.list[span->function];
	uint64_t start = span->start_ns, length = w->end_ns - start;

	buffer_add_string(w->b, w->separator);
	buffer_printf(w->b, "{\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":", w->pid, w->tid);
	add_us(w->b, w->opts->offset_ns + start);
	buffer_add_string(w->b, ",\"dur\":");
	add_us(w->b, length);
	buffer_printf(w->b, ",\"cat\":\"%s\",\"name\":", w->opts->category(f->kind));
	text_add_json(w->b, f->name);
	if (w->opts->add_args)
		w->opts->add_args(w->b, f->kind, span->number, parent ? parent->number : 0);
	buffer_add_char(w->b, '}');
	w->separator = ",\n";
}

static void add_name(struct writer *w, const char *what, const char *name)
{
	buffer_printf(w->b,
		      "%s{\"ph\":\"M\",\"pid\":%u,\"tid\":%u,\"name\":\"%s\",\"args\":{\"name\":",
		      w->separator, w->pid, w->tid, what);
	text_add_json(w->b, name);
	buffer_add_string(w->b, "}}");
	w->separator = ",\n";
}

/* Ends all open functions but the outermost `keep`, innermost first. */
static void close_to(struct writer *w, size_t keep)
{
	while (w->nr_open > keep)
		add_event(w, --w->nr_open);
}

static void take_stack(struct writer *w, uint32_t stack)
{
	struct naming_walk at = { .p = w->p, .names = &w->names, .stack = &w->p->stacks[stack] };

	w->nr_next = 0;
	while (naming_next(&at)) {
		w->next = xgrow(w->next, &w->next_capacity, w->nr_next + 1, sizeof(*w->next));
		w->next[w->nr_next++] = FRAME_FUNCTION(at.code);
	}
}

static void add_span(struct writer *w, const struct profile_sample *s)
{
	uint64_t at = s->time_ns > w->p->meta.start_ns ? s->time_ns - w->p->meta.start_ns : 0;
	uint64_t start = at > s->weight ? at - s->weight : 0;
	size_t same = 0;

	take_stack(w, s->stack);
	if (start > w->end_ns + s->weight / 2) {
		close_to(w, 0);
		w->end_ns = start;
	}
	while (same < w->nr_open && same < w->nr_next && w->open[same].function == w->next[same])
		same++;
	close_to(w, same);
	w->open = xgrow(w->open, &w->open_capacity, w->nr_next + 1, sizeof(*w->open));
	for (; w->nr_open < w->nr_next; w->nr_open++)
		w->open[w->nr_open] =
			(struct span){ w->next[w->nr_open], w->end_ns, ++w->nr_spans };
	w->end_ns += s->weight;
}

static void add_track_names(struct writer *w, const struct track *t)
{
	struct buffer name = { 0 }, process = { 0 };

	if (t->thread != PROFILE_NONE)
		buffer_add_string(&name, profile_str(w->p, w->p->threads[t->thread].comm));
	else
		buffer_add_string(&name, "all");
	buffer_printf(&process, "%s%s%s",
		      t->process ? profile_str(w->p, t->process) : buffer_cstring(&name),
		      hosts_joint(t->host), t->host);
	add_name(w, "process_name", buffer_cstring(&process));
	buffer_fini(&process);
	if (t->column != COLUMN_CPU)
		buffer_printf(&name, " (%s)", column_info_of(w->p, t->column)->name);
	add_name(w, "thread_name", buffer_cstring(&name));
	buffer_fini(&name);
}

static void add_track(struct writer *w, const struct timeline *timeline, size_t number)
{
	const struct track *t = &timeline->tracks[number];
	const struct profile_thread *thread =
		t->thread == PROFILE_NONE ? NULL : &w->p->threads[t->thread];
	uint32_t pid = t->pid, tid = thread ? thread->tid : 0;

	if (w->opts->own_tracks || t->column != COLUMN_CPU ||
	    (number && pid == w->pid && tid == w->tid))
		tid = FIRST_TRACK_ID + (uint32_t)number;
	w->pid = pid;
	w->tid = tid;
	w->end_ns = 0;
	add_track_names(w, t);
	for (size_t i = 0; i < t->nr; i++)
		add_span(w, &w->p->samples[timeline->samples[t->first + i]]);
	close_to(w, 0);
}

/* Samples of GPU columns have the time of their collection; the activities have the true times. */
static bool is_shown_better(const struct profile *p, const struct track *t)
{
	size_t nr;

	facts_rows(p, FACT_GPU_ACTIVITY, &nr);
	return nr && t->column >= COLUMN_GPU && t->column <= COLUMN_GPU_ALLOCATIONS;
}

static bool is_wanted(const struct writer *w, const struct track *t)
{
	if (is_shown_better(w->p, t))
		return false;
	return w->opts->pid == PROFILE_NONE ||
	       (t->thread != PROFILE_NONE && w->p->threads[t->thread].pid == w->opts->pid);
}

int sample_spans_add(struct buffer *b, const struct profile *p,
		     const struct sample_spans_opts *opts, const char **separator)
{
	struct writer w = { .p = p, .opts = opts, .b = b, .separator = *separator };
	struct timeline timeline;
	int err = timeline_init(&timeline, p);

	if (err)
		return err;
	naming_init(&w.names, p);
	for (size_t i = 0; i < timeline.nr_tracks; i++)
		if (is_wanted(&w, &timeline.tracks[i]))
			add_track(&w, &timeline, i);
	*separator = w.separator;
	free(w.open);
	free(w.next);
	tree_functions_fini(&w.names);
	timeline_fini(&timeline);
	return 0;
}
