/*
 * A sink in front of another one. It remembers the process of each thread by the thread's id in the
 * sink, which is dense, because samples carry only that id.
 */
#include "cli/gpu/sample_tee.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/profile/source.h"

struct thread {
	uint32_t pid, tid;
};

struct sample_tee {
	struct sink sink; /* must be first: hooks get its address */
	struct sink *to;
	sample_tee_fn *fn;
	sample_tee_wants *wants;
	void *context;
	struct thread *threads;
	size_t nr_threads, capacity;
};

static uint32_t on_string(struct sink *s, const char *text, size_t length)
{
	struct sample_tee *t = (struct sample_tee *)s;

	return t->to->string(t->to, text, length);
}

static uint32_t on_module(struct sink *s, const struct profile_module *module)
{
	struct sample_tee *t = (struct sample_tee *)s;

	return t->to->module(t->to, module);
}

static uint32_t on_thread(struct sink *s, uint32_t pid, uint32_t tid, uint32_t comm)
{
	struct sample_tee *t = (struct sample_tee *)s;
	uint32_t id = t->to->thread(t->to, pid, tid, comm);

	t->threads = xgrow(t->threads, &t->capacity, (size_t)id + 1, sizeof(*t->threads));
	while (t->nr_threads <= id)
		t->threads[t->nr_threads++] = (struct thread){ 0, 0 };
	t->threads[id] = (struct thread){ pid, tid };
	return id;
}

static uint32_t on_frame(struct sink *s, uint32_t module, uint64_t address)
{
	struct sample_tee *t = (struct sample_tee *)s;

	return t->to->frame(t->to, module, address);
}

static uint32_t on_stack(struct sink *s, const uint32_t *frames, size_t nr)
{
	struct sample_tee *t = (struct sample_tee *)s;

	return t->to->stack(t->to, frames, nr);
}

static void on_sample(struct sink *s, const struct profile_sample *sample)
{
	struct sample_tee *t = (struct sample_tee *)s;

	t->to->sample(t->to, sample);
	if (t->fn && sample->column == COLUMN_CPU && sample->thread < t->nr_threads)
		t->fn(t->context, t->threads[sample->thread].pid, t->threads[sample->thread].tid,
		      sample->time_ns, sample->stack);
}

static bool on_wants(struct sink *s, const struct profile_sample *sample)
{
	struct sample_tee *t = (struct sample_tee *)s;

	if (t->wants && sample->thread < t->nr_threads &&
	    !t->wants(t->context, t->threads[sample->thread].pid, sample->time_ns))
		return false;
	return !t->to->wants || t->to->wants(t->to, sample);
}

static void on_fact(struct sink *s, enum fact_kind kind, const void *row)
{
	struct sample_tee *t = (struct sample_tee *)s;

	t->to->fact(t->to, kind, row);
}

struct sample_tee *sample_tee_new(struct sink *to, sample_tee_fn *fn, sample_tee_wants *wants,
				  void *context)
{
	struct sample_tee *t = xcalloc(1, sizeof(*t));

	t->sink = (struct sink){
		.string = on_string,
		.module = on_module,
		.thread = on_thread,
		.frame = on_frame,
		.stack = on_stack,
		.sample = on_sample,
		.fact = on_fact,
		.wants = on_wants,
	};
	t->to = to;
	t->fn = fn;
	t->wants = wants;
	t->context = context;
	return t;
}

void sample_tee_free(struct sample_tee *t)
{
	if (!t)
		return;
	free(t->threads);
	free(t);
}

struct sink *sample_tee_sink(struct sample_tee *t)
{
	return &t->sink;
}
