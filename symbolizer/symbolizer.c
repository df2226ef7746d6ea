/*
 * Takes the frames of a profile one module at a time, so that only one module's tables are in
 * memory. What a target wrote, its files and the maps of its runtime code, is read in a child
 * process if there is a sandbox (confined_names.h); the kernel's own tables are read here.
 */
#include "symbolizer/symbolizer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "symbolizer/confined_names.h"
#include "symbolizer/module_names.h"
#include "symbolizer/lookup/names_budget.h"
#include "symbolizer/symbol_module.h"

#define MATTERS_PART 100 /* a module with less than 1/100 of the addresses does not matter */

static struct wanted_name *collect(const struct profile *p, const struct symbolizer_opts *opts,
				   size_t *ret_nr)
{
	struct wanted_name *wants = xcalloc(p->nr_frames, sizeof(*wants));
	size_t nr = 0;

	for (size_t i = 0; i < p->nr_frames; i++) {
		const struct profile_frame *f = &p->frames[i];

		if (f->nr_locations || !profile_module_has_addresses(&p->modules[f->module]))
			continue;
		if (opts->skip_module && opts->skip_module(opts->context, f->module))
			continue;
		wants[nr++] = (struct wanted_name){ f->module, (uint32_t)i, f->address };
	}
	qsort(wants, nr, sizeof(*wants), wanted_name_compare);
	*ret_nr = nr;
	return wants;
}

/*
 * Kernel addresses and perf maps have a meaning only on this machine and only since it booted: an
 * unfinished recording may be symbolized later.
 */
static bool recorded_here(const struct profile *p)
{
	struct utsname host;

	if (!p->meta.start_realtime_ns || uname(&host))
		return true;
	return p->meta.start_realtime_ns >= realtime_ns() - (uint64_t)boottime_ns() &&
	       (!p->meta.hostname || !strcmp(profile_str(p, p->meta.hostname), host.nodename));
}

/* Names `nr` frames of one module. Returns how many got a name. */
static size_t name_module(struct profile *p, struct wanted_name *wants, size_t nr, bool matters,
			  const struct symbolizer_opts *opts, struct names_budget *budget)
{
	uint32_t id = wants[0].module;
	enum module_kind kind = p->modules[id].kind;
	struct symbol_module module;
	size_t named;

	if (opts->sandbox && (kind == MODULE_ELF || kind == MODULE_JIT))
		return confined_names_find(p, wants, nr, matters, opts, budget);
	if (symbol_module_init(&module, p, id, matters, opts))
		return 0;
	named = module_names_find(p, id, &module, wants, nr);
	symbol_module_fini(&module);
	return named;
}

void symbolizer_run(struct profile *p, const struct symbolizer_opts *opts,
		    struct symbolizer_stats *ret_stats)
{
	static const struct symbolizer_opts defaults;
	bool here = !(opts && opts->elsewhere) && recorded_here(p);
	struct wanted_name *wants;
	struct names_budget budget;
	size_t nr, end, named = 0;

	opts = opts ? opts : &defaults;
	names_budget_init(&budget, opts);
	wants = collect(p, opts, &nr);
	for (size_t at = 0; at < nr; at = end) {
		enum module_kind kind = p->modules[wants[at].module].kind;

		for (end = at + 1; end < nr && wants[end].module == wants[at].module;)
			end++;
		if (kind == MODULE_ELF || here)
			named += name_module(p, wants + at, end - at, end - at >= nr / MATTERS_PART,
					     opts, &budget);
	}
	free(wants);
	ret_stats->nr_frames = nr;
	ret_stats->nr_unnamed = nr - named;
	ret_stats->nr_limited = budget.nr_limited;
}
