/*
 * Writes trace events for Perfetto and chrome://tracing, a track per thread. The format has no
 * samples, only beginnings and ends. So a sample becomes a span that is as long as its weight and
 * ends when the sample was taken, and a function that two neighbours share is one span. Spans that
 * would overlap or leave a gap of less than half their length are moved together: sums are exact,
 * and times are wrong by half a period at most. chrome_gpu.c adds GPU work and NVTX ranges.
 */
#include "output/export/exporter.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/profile/column.h"
#include "core/profile/facts.h"
#include "output/export/chrome_gpu.h"
#include "output/tree/naming.h"
#include "output/tree/ranking.h"
#include "output/text/text.h"
#include "output/export/thread_tracks.h"

/* Other tracks than the CPU time of a thread get ids that no thread has. */
#define FIRST_TRACK_ID 0x80000000u

struct span {
	uint32_t function;
	uint64_t start_ns;
};

struct writer {
	const struct profile *p;
	struct buffer *b;
	struct tree_functions names;
	uint32_t pid, tid; /* of the current track */
	uint64_t end_ns;   /* end of its last span, since the recording began */
	struct span *open; /* functions that are open, outermost first */
	uint32_t *next;	   /* functions of the next sample */
	size_t nr_open, nr_next, open_capacity, next_capacity;
	const char *separator;
};

/* "kernel" is what readers of traces take for work of a GPU. */
static const char *category(uint8_t kind)
{
	return kind == FUNCTION_KERNEL ? "linux-kernel" : ranking_kind_name(kind);
}

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

/* Writes a span that ends now. One event for both ends takes half the space of two. */
static void add_event(struct writer *w, const struct span *span)
{
	const struct tree_function *f = &w->names.list[span->function];
	uint64_t start = span->start_ns, length = w->end_ns - start;

	buffer_add_string(w->b, w->separator);
	buffer_printf(w->b, "{\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":", w->pid, w->tid);
	add_us(w->b, start);
	buffer_add_string(w->b, ",\"dur\":");
	add_us(w->b, length);
	buffer_printf(w->b, ",\"cat\":\"%s\",\"name\":", category(f->kind));
	text_add_json(w->b, f->name);
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
		add_event(w, &w->open[--w->nr_open]);
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
		w->open[w->nr_open] = (struct span){ w->next[w->nr_open], w->end_ns };
	w->end_ns += s->weight;
}

static void add_track_names(struct writer *w, const struct track *t)
{
	struct buffer name = { 0 };

	if (t->thread != PROFILE_NONE)
		buffer_add_string(&name, profile_str(w->p, w->p->threads[t->thread].comm));
	else
		buffer_add_string(&name, "all");
	add_name(w, "process_name",
		 t->process ? profile_str(w->p, t->process) : buffer_cstring(&name));
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
	uint32_t pid = thread ? thread->pid : 0, tid = thread ? thread->tid : 0;

	if (t->column != COLUMN_CPU || (number && pid == w->pid && tid == w->tid))
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

static int write_chrome(struct buffer *b, const struct profile *p)
{
	struct writer w = { .p = p, .b = b, .separator = "" };
	struct timeline timeline;
	int err = timeline_init(&timeline, p);

	if (err)
		return err;
	naming_init(&w.names, p);
	buffer_add_string(
		b, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"creator\":\"sprof " SPROF_VERSION
		   "\",\"command\":");
	text_add_json(b, profile_str(p, p->meta.command));
	buffer_printf(b, ",\"start_ns\":%" PRIu64 ",\"gpu_activities_left_out\":%" PRIu64,
		      p->meta.start_ns, chrome_gpu_left_out(p));
	buffer_add_string(b, "},\n\"traceEvents\":[\n");
	for (size_t i = 0; i < timeline.nr_tracks; i++)
		if (!is_shown_better(p, &timeline.tracks[i]))
			add_track(&w, &timeline, i);
	chrome_gpu_add(b, p, w.separator);
	buffer_add_string(b, "\n]}\n");
	free(w.open);
	free(w.next);
	tree_functions_fini(&w.names);
	timeline_fini(&timeline);
	return 0;
}

const struct exporter export_chrome = {
	.name = "chrome",
	.suffix = ".trace.json",
	.help = "Perfetto, chrome://tracing: samples as spans of time, GPU work as it ran",
	.write = write_chrome,
};
