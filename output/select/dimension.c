/*
 * Replaces each function of a stack by a frame named after the module, file, ... that it belongs
 * to. Neighbours that become equal are merged, as a module that calls itself is entered once. Other
 * dimensions replace a whole stack by one frame: what its thread belongs to (owners.h), what it
 * waited for (reasons.h), how many threads ran (parallelism.h).
 */
#include "output/select/dimension.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/profile/profile.h"
#include "output/tree/naming.h"
#include "output/tree/ranking.h"
#include "output/select/owners.h"
#include "output/select/parallelism.h"
#include "output/select/reasons.h"
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

/* Returns PROFILE_NONE, which keeps the function, if its line is unknown. */
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

static void by_thread(struct profile *p)
{
	owners_replace(p, OWNER_THREAD, true);
}

static void by_process(struct profile *p)
{
	owners_replace(p, OWNER_PROCESS, true);
}

static void by_host(struct profile *p)
{
	owners_replace(p, OWNER_HOST, true);
}

static void by_rank(struct profile *p)
{
	owners_replace(p, OWNER_RANK, true);
}

static void by_cgroup(struct profile *p)
{
	owners_replace(p, OWNER_CGROUP, true);
}

static void by_container(struct profile *p)
{
	owners_replace(p, OWNER_CONTAINER, true);
}

static void by_user(struct profile *p)
{
	owners_replace(p, OWNER_USER, true);
}

static void compare_threads(struct profile *p)
{
	owners_replace(p, OWNER_THREAD, false);
}

static void compare_processes(struct profile *p)
{
	owners_replace(p, OWNER_PROCESS, false);
}

static void below_thread(struct profile *p)
{
	owners_add_root(p, OWNER_THREAD);
}

static void below_process(struct profile *p)
{
	owners_add_root(p, OWNER_PROCESS);
}

static void below_host(struct profile *p)
{
	owners_add_root(p, OWNER_HOST);
}

static void below_rank(struct profile *p)
{
	owners_add_root(p, OWNER_RANK);
}

static void below_cgroup(struct profile *p)
{
	owners_add_root(p, OWNER_CGROUP);
}

static void below_container(struct profile *p)
{
	owners_add_root(p, OWNER_CONTAINER);
}

static void below_user(struct profile *p)
{
	owners_add_root(p, OWNER_USER);
}

const struct dimension dimension_table[] = {
	{ "function", "Function", "functions", by_function, by_function, by_function },
	{ "line", "Line", "lines", by_line, by_line, by_line },
	{ "module", "Module", "modules", by_module, by_module, by_module },
	{ "file", "File", "files", by_file, by_file, by_file },
	{ "thread", "Thread", "threads", by_thread, compare_threads, below_thread },
	{ "process", "Process", "processes", by_process, compare_processes, below_process },
	{ "host", "Host", "hosts", by_host, by_host, below_host },
	{ "rank", "Rank", "ranks", by_rank, by_rank, below_rank },
	{ "cgroup", "Cgroup", "cgroups", by_cgroup, by_cgroup, below_cgroup },
	{ "container", "Container", "containers", by_container, by_container, below_container },
	{ "user", "User", "users", by_user, by_user, below_user },
	{ "parallelism", "Parallelism", "values", parallelism_replace, parallelism_replace,
	  parallelism_add_root },
	{ "reason", "Reason", "reasons", reasons_replace, reasons_replace, reasons_add_root },
	{ "kind", "Kind", "kinds", by_kind, by_kind, by_kind },
	{ "lock", "Lock", "locks", locks_replace, locks_replace, locks_add_root },
	{ 0 },
};

const struct dimension *dimension_find(const char *name)
{
	for (const struct dimension *d = dimension_table; d->name; d++)
		if (!strcmp(d->name, name))
			return d;
	return NULL;
}
