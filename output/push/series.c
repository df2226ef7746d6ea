/*
 * Cuts a profile into sets. Samples are sorted by process, and a few processes at a time are copied
 * into a profile of their own: a request that is lost or refused then costs little, and no receiver
 * finds it too large.
 */
#include "output/push/series.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/number_map.h"
#include "core/base/path.h"
#include "core/profile/copy.h"
#include "core/profile/facts.h"
#include "core/profile/hosts.h"
#include "core/profile/source.h"
#include "core/profile/profile.h"

#define SERIES_MAX 256	      /* in one set */
#define SET_SAMPLES 200000    /* no further process is added to a set that has so many */
#define NO_PROCESS UINT64_MAX /* of samples without a thread */

/* Samples sorted by process, and where their sets go. */
struct cutter {
	const struct profile *p;
	struct profile_sample *samples;
	const uint64_t *processes; /* of each sample */
	struct number_map names;   /* find_names() */
	const struct push_labels *own;
	int (*emit)(void *context, const struct push_set *set);
	void *context;
};

/* As the report calls it: all unnamed frames of a file are one function, "[libx.so]". */
static char *unnamed(const struct profile *p, uint32_t frame)
{
	const struct profile_module *m = &p->modules[p->frames[frame].module];
	const char *base = path_base_name(profile_str(p, m->path));
	char marker[64];

	if (m->kind == MODULE_MARKER)
		return xstrdup(profile_frame_fallback_name(p, frame, marker, sizeof(marker)));
	if (!*base)
		return xstrdup("[unknown]");
	return *base == '[' ? xstrdup(base) : xasprintf("[%s]", base);
}

void push_name_unnamed(struct profile *p)
{
	for (uint32_t i = 0; i < p->nr_frames; i++) {
		struct profile_function f = { .module = p->frames[i].module };
		struct profile_location l;
		char *name;

		if (p->frames[i].nr_locations)
			continue;
		name = unnamed(p, i);
		f.kind = p->modules[f.module].kind == MODULE_MARKER ? FUNCTION_MARKER
								    : FUNCTION_UNKNOWN;
		f.name = f.system_name = profile_cstring(p, name);
		free(name);
		l = (struct profile_location){ .function = profile_function(p, &f) };
		profile_set_locations(p, i, &l, 1);
	}
}

static void set_number(struct push_labels *labels, const char *key, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
	push_labels_set(labels, key, text);
}

static bool is_main(const struct profile_thread *t)
{
	return t->tid == t->pid;
}

/* By process, the thread that it is called after: the main one, or else the first with a name. */
static struct number_map find_names(const struct profile *p)
{
	struct number_map names = { 0 };

	for (size_t i = 0; i < p->nr_threads; i++) {
		const struct profile_thread *t = &p->threads[i], *before;
		bool is_new;
		uint32_t *at = number_map_at(&names, hosts_process(t), &is_new);

		before = &p->threads[*at];
		if (is_new || (!is_main(before) && (is_main(t) || !*profile_str(p, before->comm))))
			*at = (uint32_t)i;
	}
	return names;
}

static const char *text(const struct profile *p, uint64_t id)
{
	return profile_str(p, (uint32_t)id);
}

static void label_process(struct push_labels *labels, const struct cutter *c, uint64_t process)
{
	const struct profile *p = c->p;
	const struct fact_process *known = facts_find(p, FACT_PROCESS, &process);
	const struct fact_rank *rank = facts_find(p, FACT_RANK, &process);
	const uint32_t *thread = number_map_find(&c->names, process);
	const char *comm = thread ? profile_str(p, p->threads[*thread].comm) : "";

	push_labels_set(labels, "service.name", comm);
	push_labels_set(labels, "process.executable.name", comm);
	set_number(labels, "process.pid", (uint32_t)process);
	if (p->has_hosts)
		push_labels_set(labels, "host.name", hosts_name(p, process));
	if (known) {
		push_labels_set(labels, "container.id", text(p, known->container));
		push_labels_take_cgroup(labels, text(p, known->cgroup));
	}
	if (rank)
		set_number(labels, "sprof.rank", rank->rank);
	if (rank && rank->host)
		push_labels_set(labels, "host.name", text(p, rank->host));
}

/*
 * What the process says of itself replaces what is guessed, the service and the host, but not what
 * is known: its number, its cgroup.
 */
static void label_resource(struct push_labels *labels, const struct profile *p, uint64_t process)
{
	static const char *const guessed[] = { "service.name", "host.name" };
	const struct fact_resource *r = facts_find(p, FACT_RESOURCE, &process);
	struct push_labels said = { 0 };

	if (!r)
		return;
	push_labels_take_otel(&said, text(p, r->attributes));
	push_labels_set(&said, "service.name", text(p, r->service));
	for (size_t i = 0; i < said.nr; i++) {
		bool is_guess = false;

		for (size_t k = 0; k < sizeof(guessed) / sizeof(*guessed); k++)
			is_guess |= !strcmp(said.list[i].key, guessed[k]);
		if (is_guess || !push_labels_find(labels, said.list[i].key))
			push_labels_set(labels, said.list[i].key, said.list[i].value);
	}
	push_labels_fini(&said);
}

static void label(struct push_labels *labels, const struct cutter *c, uint64_t process)
{
	const struct push_labels *own = c->own;
	const struct profile *p = c->p;

	push_labels_set(labels, "service.name", "unknown_service"); /* as OpenTelemetry has it */
	push_labels_set(labels, "host.name", text(p, p->meta.hostname));
	/* The user's first, so that no process fills the room for them. */
	for (size_t i = 0; own && i < own->nr; i++)
		push_labels_set(labels, own->list[i].key, own->list[i].value);
	if (process != NO_PROCESS) {
		label_process(labels, c, process);
		label_resource(labels, p, process);
	}
	for (size_t i = 0; own && i < own->nr; i++)
		push_labels_set(labels, own->list[i].key, own->list[i].value);
}

static uint64_t process_of(const struct profile *p, const struct profile_sample *s)
{
	return s->thread == PROFILE_NONE ? NO_PROCESS : hosts_process(&p->threads[s->thread]);
}

struct key {
	uint64_t process;
	uint32_t index;
};

static int compare_keys(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* Copies the samples sorted by process; those of one process stay in order. */
static struct profile_sample *sort(const struct profile *p, uint64_t **ret_processes)
{
	struct profile_sample *sorted = xcalloc(p->nr_samples + 1, sizeof(*sorted));
	struct key *keys = xcalloc(p->nr_samples + 1, sizeof(*keys));
	uint64_t *processes = xcalloc(p->nr_samples + 1, sizeof(*processes));

	for (uint32_t i = 0; i < p->nr_samples; i++)
		keys[i] = (struct key){ process_of(p, &p->samples[i]), i };
	qsort(keys, p->nr_samples, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < p->nr_samples; i++) {
		sorted[i] = p->samples[keys[i].index];
		processes[i] = keys[i].process;
	}
	free(keys);
	*ret_processes = processes;
	return sorted;
}

/* The end of the set that begins at sample `first`: after a whole process. */
static size_t end_of_set(const struct cutter *c, size_t nr, size_t first)
{
	size_t at = first;

	for (size_t n = 0; at < nr && n < SERIES_MAX && at - first < SET_SAMPLES; n++) {
		uint64_t process = c->processes[at];

		while (at < nr && c->processes[at] == process)
			at++;
	}
	return at;
}

static int emit_set(const struct cutter *c, size_t first, const size_t *ends, size_t nr_series)
{
	struct push_series *series = xcalloc(nr_series, sizeof(*series));
	struct push_set set = { profile_new(), series, nr_series };
	struct sink *sink = profile_sink_new(set.p);
	const struct profile *p = c->p;
	struct profile part = *p;
	size_t begin = 0;
	int err;

	part.samples = c->samples + first;
	part.nr_samples = ends[nr_series - 1];
	profile_copy(&part, &(struct profile_copy_opts){ .sink = sink, .vocabulary = set.p });
	profile_sink_free(sink);
	set.p->meta = (struct profile_meta){
		.hostname = profile_cstring(set.p, text(p, p->meta.hostname)),
		.kernel = profile_cstring(set.p, text(p, p->meta.kernel)),
		.command = profile_cstring(set.p, text(p, p->meta.command)),
		.source = profile_cstring(set.p, text(p, p->meta.source)),
		.event = profile_cstring(set.p, text(p, p->meta.event)),
		.freq_hz = p->meta.freq_hz,
		.start_realtime_ns = p->meta.start_realtime_ns,
		.start_ns = p->meta.start_ns,
		.end_ns = p->meta.end_ns,
		.first_column = p->meta.first_column,
	};
	push_name_unnamed(set.p);
	for (size_t i = 0; i < nr_series; begin = ends[i++]) {
		label(&series[i].labels, c, c->processes[first + begin]);
		series[i].samples = set.p->samples + begin;
		series[i].nr_samples = ends[i] - begin;
	}
	err = c->emit(c->context, &set);
	for (size_t i = 0; i < nr_series; i++)
		push_labels_fini(&series[i].labels);
	profile_free(set.p);
	free(series);
	return err;
}

/* Emits samples as one set, or as two sets of half the samples if a request would be too large. */
static int emit_range(const struct cutter *c, size_t first, size_t end)
{
	size_t ends[SERIES_MAX], nr_series = 0, middle = first + (end - first) / 2;
	int err;

	for (size_t i = first; i < end; i++)
		if (i + 1 == end || c->processes[i + 1] != c->processes[i])
			ends[nr_series++] = i + 1 - first;
	err = emit_set(c, first, ends, nr_series);
	if (err != -EMSGSIZE || middle == first)
		return err;
	err = emit_range(c, first, middle);
	return err ? err : emit_range(c, middle, end);
}

int push_series_each(const struct profile *p, const struct push_labels *own,
		     int (*emit)(void *context, const struct push_set *set), void *context)
{
	uint64_t *processes;
	struct profile_sample *sorted = sort(p, &processes);
	struct cutter c = { p, sorted, processes, find_names(p), own, emit, context };
	int err = 0;

	for (size_t first = 0, end; first < p->nr_samples && !err; first = end) {
		end = end_of_set(&c, p->nr_samples, first);
		err = emit_range(&c, first, end);
	}
	number_map_fini(&c.names);
	free(sorted);
	free(processes);
	return err;
}
