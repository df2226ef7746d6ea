/* The map table of each process, as the kernel side reads it: written anew when it changes, never in place. */
#include "sampler/ebpf.h"

#include <stdlib.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "core/alloc.h"
#include "core/clock.h"
#include "sampler/bpf/sprof.skel.h"
#include "sampler/ebpf_python.h"

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
	const struct process_entry entry = {
		.maps = p->region ? p->region->index : 0,
		.nr_maps = p->region ? p->region->nr : 0,
		.exec_id = p->exec_id,
		.epoch = p->epoch,
		.python = p->python,
	};
	uint32_t key = (uint32_t)p->pid;

	if (bpf_map_update_elem(bpf_map__fd(s->skel->maps.processes), &key, &entry, BPF_ANY))
		ebpf_limit(s, LIMIT_PROCESSES, TOO_MANY_PROCESSES);
}

void ebpf_allow_snapshots(struct source *s, struct process *p, uint64_t now)
{
	if (p->nr_snapshots < MAX_FIRST_SNAPSHOTS || now - p->allowed_ns < ALLOWANCE_NS)
		return;
	p->nr_snapshots = 0;
	p->allowed_ns = now;
	ebpf_write_entry(s, p);
}

/* The first `nr` mappings; where that is not all, the files before what has none. */
static void fill_maps(const struct process *p, struct map_entry *entries, size_t nr)
{
	size_t nr_files = 0, nr_jit, filled = 0;

	for (size_t i = 0; i < p->nr_maps; i++)
		nr_files += p->maps[i].code->kind != MODULE_JIT;
	nr_jit = nr - (nr_files < nr ? nr_files : nr);
	for (size_t i = 0; i < p->nr_maps && filled < nr; i++) {
		const struct mapping *m = &p->maps[i];

		if (m->code->kind == MODULE_JIT) {
			if (!nr_jit)
				continue;
			nr_jit--;
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
	size_t nr = p->nr_maps < MAX_MAPS ? p->nr_maps : MAX_MAPS;
	struct map_entry *entries;
	struct map_region *region;
	uint32_t index;

	p->dirty = false;
	if (p->nr_maps > MAX_MAPS)
		ebpf_limit(s, LIMIT_MAPS,
			   "process %d has more than %d executable mappings: what lies in the rest "
			   "stays [unknown]",
			   (int)p->pid, MAX_MAPS);
	entries = arena_add_maps(s->arena, nr, &index);
	if (!entries) {
		ebpf_limit(s, LIMIT_MEMORY, "no more memory for maps: new code stays [unknown]");
		return;
	}
	fill_maps(p, entries, nr);
	ebpf_pythons_update(s, p);
	region = xcalloc(1, sizeof(*region));
	*region = (struct map_region){ .index = index, .nr = (uint32_t)nr, .nr_users = 1 };
	ebpf_retire(s, p->region);
	p->region = region;
	ebpf_write_entry(s, p);
}
