/* The map table of each process, as the kernel side reads it: written anew when it changes, never in place. */
#include "sampler/ebpf/ebpf.h"

#include <stdlib.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "sampler/bpf/sprof.skel.h"
#include "sampler/ebpf/ebpf_python.h"

/* A walk is over in microseconds; a region that nothing points to is free after this. */
#define GRACE_NS (1000ull * 1000 * 1000)
#define TOO_MANY_PROCESSES "more processes than fit: further ones have no user frames"
#define ALLOWANCE_NS (1000ull * 1000 * 1000)

void ebpf_retire(struct source *s, struct map_region *region)
{
	if (!region || --region->nr_users)
		return;
	s->retired =
		xgrow(s->retired, &s->retired_capacity, s->nr_retired + 1, sizeof(*s->retired));
	s->retired[s->nr_retired++] = (struct retired_region){
		.free_at_ns = monotonic_ns() + GRACE_NS,
		.index = region->index,
		.nr = region->nr,
	};
	free(region);
}

void ebpf_free_retired(struct source *s, uint64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->nr_retired; i++) {
		if (s->retired[i].free_at_ns <= now)
			arena_remove_maps(s->arena, s->retired[i].index, s->retired[i].nr);
		else
			s->retired[kept++] = s->retired[i];
	}
	s->nr_retired = kept;
}

void ebpf_write_entry(struct source *s, struct process *p)
{
	const struct ebpf_process *own = ebpf_own(p);
	const struct process_entry entry = {
		.maps = own->region ? own->region->index : 0,
		.nr_maps = own->region ? own->region->nr : 0,
		.exec_id = own->exec_id,
		.epoch = p->epoch,
		.python = own->python,
		.table = own->region ? own->region->table : 0,
	};
	uint32_t key = (uint32_t)p->pid;

	if (bpf_map_update_elem(bpf_map__fd(s->skel->maps.processes), &key, &entry, BPF_ANY))
		ebpf_limit(s, LIMIT_PROCESSES, TOO_MANY_PROCESSES);
}

void ebpf_allow_snapshots(struct source *s, struct process *p, uint64_t now)
{
	struct ebpf_process *own = ebpf_own(p);

	if (own->nr_snapshots < MAX_FIRST_SNAPSHOTS || now - own->allowed_ns < ALLOWANCE_NS)
		return;
	own->nr_snapshots = 0;
	own->allowed_ns = now;
	ebpf_write_entry(s, p);
}

static size_t put_entry(struct map_entry *to, size_t nr, size_t max, struct map_entry entry)
{
	if (to && nr < max)
		to[nr] = entry;
	return nr + (nr < max);
}

/*
 * A mapping without a file, in pieces: those that have rows of their own, and what lies between. Returns how many
 * there are, `max` at most; `to` may be NULL.
 */
static size_t add_runtime_code(const struct process *p, const struct mapping *m,
			       struct map_entry *to, size_t max)
{
	struct map_entry entry = { m->start, m->end, mapping_bias(m), m->code->index, 0 };
	size_t nr = 0;

	for (size_t i = runtime_regions_lower_bound(&p->runtime, m->start); i < p->runtime.nr;
	     i++) {
		const struct runtime_region *r = &p->runtime.list[i];
		struct map_entry piece = { .bias = r->start };

		if (r->start >= m->end || m->stack)
			break;
		if (!runtime_region_has_rows(r, &piece.module))
			continue;
		piece.module += WALK_MAX_MODULES;
		piece.start = r->start > m->start ? r->start : m->start;
		piece.end = r->end < m->end ? r->end : m->end;
		entry.end = piece.start;
		if (entry.end > entry.start)
			nr = put_entry(to, nr, max, entry);
		nr = put_entry(to, nr, max, piece);
		entry.start = piece.end;
		entry.end = m->end;
	}
	return entry.end > entry.start ? put_entry(to, nr, max, entry) : nr;
}

static bool is_runtime_code(const struct mapping *m)
{
	return m->code->kind == MODULE_JIT;
}

static size_t count_entries(const struct process *p, size_t *ret_nr_files)
{
	size_t nr = 0, nr_files = 0;

	for (size_t i = 0; i < p->nr_maps; i++) {
		nr_files += !is_runtime_code(&p->maps[i]);
		nr += is_runtime_code(&p->maps[i])
			      ? add_runtime_code(p, &p->maps[i], NULL, SIZE_MAX)
			      : 1;
	}
	*ret_nr_files = nr_files;
	return nr;
}

/* The first `nr` entries; where that is not all, the files before what has none. */
static void fill_maps(const struct process *p, struct map_entry *entries, size_t nr,
		      size_t nr_files)
{
	size_t nr_jit = nr - (nr_files < nr ? nr_files : nr), filled = 0;

	for (size_t i = 0; i < p->nr_maps && filled < nr; i++) {
		const struct mapping *m = &p->maps[i];
		size_t nr_added;

		if (is_runtime_code(m)) {
			nr_added = add_runtime_code(p, m, &entries[filled], nr_jit);
			nr_jit -= nr_added;
			filled += nr_added;
			continue;
		}
		entries[filled++] = (struct map_entry){
			.start = m->start,
			.end = m->end,
			.bias = mapping_bias(m),
			.module = m->code->index,
		};
	}
}

void ebpf_publish_maps(struct source *s, struct process *p)
{
	size_t nr_files, nr_all = count_entries(p, &nr_files);
	size_t nr = nr_all < WALK_MAX_MAPS ? nr_all : WALK_MAX_MAPS;
	struct map_entry *entries;
	struct map_region *region;
	uint32_t index;

	p->dirty = false;
	if (nr_all > WALK_MAX_MAPS)
		ebpf_limit(s, LIMIT_MAPS,
			   "process %d has more than %d executable mappings: what lies in the rest "
			   "stays [unknown]",
			   (int)p->pid, WALK_MAX_MAPS);
	entries = arena_add_maps(s->arena, nr, &index);
	if (!entries) {
		ebpf_limit(s, LIMIT_MEMORY, "no more memory for maps: new code stays [unknown]");
		return;
	}
	if (!++s->nr_tables) /* 0 is no number */
		s->nr_tables++;
	fill_maps(p, entries, nr, nr_files);
	for (size_t i = 0; i < nr; i++)
		entries[i].table = s->nr_tables;
	ebpf_pythons_update(s, p);
	region = xcalloc(1, sizeof(*region));
	*region = (struct map_region){
		.index = index,
		.nr = (uint32_t)nr,
		.table = s->nr_tables,
		.nr_users = 1,
	};
	ebpf_retire(s, ebpf_own(p)->region);
	ebpf_own(p)->region = region;
	ebpf_write_entry(s, p);
}
