/*
 * Each function of a stack is replaced by a frame named after the module, file, ... that it belongs
 * to. Neighbours that become equal are merged, as a module that calls itself is entered once. By
 * thread or process, a stack becomes that one frame.
 */
#include "output/select/dimension.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/profile.h"
#include "output/tree/naming.h"
#include "output/tree/ranking.h"
#include "output/select/restack.h"

struct grouping {
	struct profile *p;
	const struct tree_functions *names;
	uint32_t *frames; /* by function: the frame that replaces it + 1, 0 = not known yet */
	uint32_t (*frame_of)(struct grouping *g, const struct stack_part *part);
};

static uint32_t named(struct grouping *g, const char *name, uint8_t kind)
{
	return profile_named_frame(g->p, name, strlen(name), kind);
}

/* Unnamed functions are merged with the named ones of their module. */
static uint8_t kind_of(const struct tree_function *f)
{
	return f->kind == FUNCTION_UNKNOWN ? FUNCTION_NATIVE : f->kind;
}

static uint32_t module_frame(struct grouping *g, const struct stack_part *part)
{
	const struct tree_function *f = &g->names->list[part->function];

	return named(g, *f->module ? f->module : "[no module]",
		     *f->module ? kind_of(f) : FUNCTION_UNKNOWN);
}

static uint32_t file_frame(struct grouping *g, const struct stack_part *part)
{
	const struct tree_function *f = &g->names->list[part->function];

	return named(g, *f->file ? f->file : "[no source file]",
		     *f->file ? kind_of(f) : FUNCTION_UNKNOWN);
}

static uint32_t kind_frame(struct grouping *g, const struct stack_part *part)
{
	uint8_t kind = g->names->list[part->function].kind;

	return named(g, ranking_kind_name(kind), kind);
}

/* PROFILE_NONE, to keep the function, if its line is unknown. */
static uint32_t line_frame(struct grouping *g, const struct stack_part *part)
{
	const struct profile *p = g->p;
	const struct profile_frame *f = &p->frames[part->frame];
	const struct profile_location *l;
	const char *file;
	char *name;
	uint32_t frame;

	if (!f->nr_locations)
		return PROFILE_NONE;
	l = &p->locations[f->first_location + part->location];
	file = profile_str(p, p->functions[l->function].file);
	if (!*file || !l->line)
		return PROFILE_NONE;
	name = xasprintf("%s:%u", file, l->line);
	frame = named(g, name, p->functions[l->function].kind);
	free(name);
	return frame;
}

static bool group_stack(void *context, struct stack_part *parts, size_t *nr)
{
	struct grouping *g = context;
	size_t kept = 0;

	for (size_t i = 0; i < *nr; i++) {
		bool by_line = g->frame_of == line_frame;
		uint32_t *known = &g->frames[parts[i].function];
		uint32_t frame = *known && !by_line ? *known - 1 : g->frame_of(g, &parts[i]);

		if (!by_line)
			*known = frame + 1;
		if (frame == PROFILE_NONE) {
			parts[kept++] = parts[i];
			continue;
		}
		if (kept && parts[kept - 1].frame == frame)
			continue;
		parts[kept].frame = frame;
		parts[kept++].location = PART_WHOLE;
	}
	*nr = kept;
	return true;
}

static void group(struct profile *p,
		  uint32_t (*frame_of)(struct grouping *g, const struct stack_part *part))
{
	struct tree_functions names;
	struct grouping g = { .p = p, .names = &names, .frame_of = frame_of };

	naming_init(&names, p);
	g.frames = xcalloc(names.nr, sizeof(*g.frames));
	restack(p, &names, group_stack, &g);
	free(g.frames);
	tree_functions_fini(&names);
}

static void by_function(struct profile *p)
{
	(void)p;
}

static void by_line(struct profile *p)
{
	group(p, line_frame);
}

static void by_module(struct profile *p)
{
	group(p, module_frame);
}

static void by_file(struct profile *p)
{
	group(p, file_frame);
}

static void by_kind(struct profile *p)
{
	group(p, kind_frame);
}

struct named_threads {
	const struct profile *p;
	uint64_t *last_ns; /* by thread: when its last sample was taken */
};

/*
 * By process; in it the names of the main thread come first, the last one that it had before all.
 */
static int compare_threads(const void *a, const void *b, void *context)
{
	const struct named_threads *named = context;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct profile_thread *x = &named->p->threads[i], *y = &named->p->threads[j];

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if ((x->pid == x->tid) != (y->pid == y->tid))
		return x->pid == x->tid ? -1 : 1;
	if (named->last_ns[i] != named->last_ns[j])
		return named->last_ns[i] > named->last_ns[j] ? -1 : 1;
	return i > j ? -1 : i < j;
}

/*
 * By thread: the time of its last sample. The order of the table does not tell the last name of a
 * thread, because a thread that returns to an earlier name gets no new entry.
 */
static uint64_t *last_times(const struct profile *p)
{
	uint64_t *times = xcalloc(p->nr_threads + 1, sizeof(*times));

	for (size_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *s = &p->samples[i];

		if (s->thread != PROFILE_NONE && s->time_ns > times[s->thread])
			times[s->thread] = s->time_ns;
	}
	return times;
}

/* By thread: the name of its process, a string. The caller frees the array. */
static uint32_t *process_comms(struct profile *p)
{
	uint32_t *comms = xcalloc(p->nr_threads + 1, sizeof(*comms));
	uint32_t *order = xcalloc(p->nr_threads + 1, sizeof(*order)), first = 0;
	struct named_threads named = { p, last_times(p) };

	for (uint32_t i = 0; i < p->nr_threads; i++)
		order[i] = i;
	qsort_r(order, p->nr_threads, sizeof(*order), compare_threads, &named);
	for (uint32_t i = 0; i < p->nr_threads; i++) {
		if (p->threads[order[i]].pid != p->threads[order[first]].pid)
			first = i;
		comms[order[i]] = p->threads[order[first]].comm;
	}
	free(order);
	free(named.last_ns);
	return comms;
}

/* The stack of one frame "make (pid 12)". */
static uint32_t owner_stack(struct profile *p, const char *comm, const char *what, uint32_t number)
{
	char *name = xasprintf("%s (%s %u)", comm, what, number);
	uint32_t frame = profile_named_frame(p, name, strlen(name), FUNCTION_THREAD);

	free(name);
	return profile_stack(p, &frame, 1);
}

static void by_owner(struct profile *p, bool process)
{
	uint32_t *stacks = xcalloc(p->nr_threads + 1, sizeof(*stacks));
	uint32_t *comms = process_comms(p);
	uint32_t no_thread = profile_named_frame(p, "[no thread]", 11, FUNCTION_UNKNOWN);

	no_thread = profile_stack(p, &no_thread, 1);
	for (uint32_t i = 0; i < p->nr_threads; i++) {
		const struct profile_thread t = p->threads[i];

		stacks[i] = process ? owner_stack(p, profile_str(p, comms[i]), "pid", t.pid)
				    : owner_stack(p, profile_str(p, t.comm), "tid", t.tid);
	}
	for (size_t i = 0; i < p->nr_samples; i++) {
		struct profile_sample *s = &p->samples[i];

		s->stack = s->thread == PROFILE_NONE ? no_thread : stacks[s->thread];
		s->thread = PROFILE_NONE;
	}
	free(stacks);
	free(comms);
}

static void by_thread(struct profile *p)
{
	by_owner(p, false);
}

static void by_process(struct profile *p)
{
	by_owner(p, true);
}

const struct dimension dimension_table[] = {
	{ "function", "Function", "functions", by_function },
	{ "line", "Line", "lines", by_line },
	{ "module", "Module", "modules", by_module },
	{ "file", "File", "files", by_file },
	{ "thread", "Thread", "threads", by_thread },
	{ "process", "Process", "processes", by_process },
	{ "kind", "Kind", "kinds", by_kind },
	{ 0 },
};

const struct dimension *dimension_find(const char *name)
{
	for (const struct dimension *d = dimension_table; d->name; d++)
		if (!strcmp(d->name, name))
			return d;
	return NULL;
}
