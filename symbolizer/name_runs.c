/*
 * Addresses are taken byte by byte, as only the bytes of whole instructions tell which of them can
 * be sampled; equal neighbours are one run.
 */
#include "symbolizer/name_runs.h"

#include <stdbool.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/elf_file.h"
#include "core/profile/profile.h"
#include "symbolizer/module_names.h"
#include "symbolizer/symbol_sources.h"

/* Of one file; each takes some microseconds. The more are asked for, the fewer are added. */
#define MAX_ADDED 8192u

struct widening {
	struct profile *p;
	const struct symbol_module *module;
	void *functions;     /* state of fde_source */
	uint64_t reach, end; /* all addresses below `end` are there */
	struct wanted_name *wants;
	size_t nr, capacity;
};

static void add(struct widening *w, uint32_t module, uint64_t address)
{
	w->wants = xgrow(w->wants, &w->capacity, w->nr + 1, sizeof(*w->wants));
	w->wants[w->nr++] = (struct wanted_name){
		.module = module,
		.frame = profile_frame(w->p, module, address),
		.address = address,
	};
	w->end = address + 1;
}

/* Adds an address and those around it. */
static void add_around(struct widening *w, const struct wanted_name *want)
{
	uint64_t vaddr, start, end, before, behind;

	if (want->address < w->end)
		return;
	before = behind = 0;
	if (elf_image_vaddr(w->module->image, want->address, &vaddr) &&
	    fde_source.extent(w->functions, vaddr, &start, &end)) {
		before = vaddr - start < w->reach ? vaddr - start : w->reach;
		behind = end - vaddr - 1 < w->reach ? end - vaddr - 1 : w->reach;
	}
	if (before > want->address - w->end)
		before = want->address - w->end;
	for (uint64_t i = 0; i <= before + behind; i++)
		add(w, want->module, want->address - before + i);
}

size_t name_runs_widen(struct profile *p, const struct symbol_module *module,
		       struct wanted_name **wants, size_t nr)
{
	struct widening w = { .p = p, .module = module };

	if (!nr || nr > MAX_ADDED / 2)
		return nr;
	w.functions = fde_source.open(module);
	if (!w.functions)
		return nr;
	w.reach = MAX_ADDED / 2 / nr < NAME_RUNS_REACH ? MAX_ADDED / 2 / nr : NAME_RUNS_REACH - 1;
	for (size_t i = 0; i < nr; i++)
		add_around(&w, &(*wants)[i]);
	fde_source.close(w.functions);
	free(*wants);
	*wants = w.wants;
	return w.nr;
}

static int compare(const void *a, const void *b)
{
	const struct profile_frame *x = a, *y = b;

	return (x->address > y->address) - (x->address < y->address);
}

static bool same_locations(const struct profile *p, const struct profile_frame *a,
			   const struct profile_frame *b)
{
	const struct profile_location *x = p->locations + a->first_location;
	const struct profile_location *y = p->locations + b->first_location;

	if (a->nr_locations != b->nr_locations)
		return false;
	for (uint32_t i = 0; i < a->nr_locations; i++)
		if (x[i].function != y[i].function || x[i].line != y[i].line)
			return false;
	return true;
}

struct profile_frame *name_runs_of(const struct profile *p, size_t *ret_nr)
{
	/* Each address begins a run at most, and may have the end of one behind it. */
	struct profile_frame *all = xcalloc(p->nr_frames + 1, sizeof(*all));
	struct profile_frame *runs = xcalloc(2 * p->nr_frames + 1, sizeof(*runs));
	size_t nr = 0;

	for (size_t i = 0; i < p->nr_frames; i++)
		all[i] = p->frames[i];
	qsort(all, p->nr_frames, sizeof(*all), compare);
	for (size_t i = 0; i < p->nr_frames; i++) {
		bool goes_on = nr && all[i].address == all[i - 1].address + 1;

		if (nr && !goes_on && runs[nr - 1].nr_locations)
			runs[nr++] = (struct profile_frame){ .address = all[i - 1].address + 1 };
		if (nr ? same_locations(p, &runs[nr - 1], &all[i]) : !all[i].nr_locations)
			continue;
		runs[nr++] = all[i];
	}
	if (nr && runs[nr - 1].nr_locations)
		runs[nr++] = (struct profile_frame){
			.address = all[p->nr_frames - 1].address + 1,
		};
	free(all);
	*ret_nr = nr;
	return runs;
}

uint32_t name_runs_module(struct profile *p, uint32_t module)
{
	struct profile_module m = p->modules[module];

	m.begins_runs = 1;
	return profile_module(p, &m);
}
