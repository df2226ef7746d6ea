/*
 * The number of a table is what the walker's caches of rules are keyed by, so no two tables ever
 * have the same one (they wrap after 2^32).
 */
#include "sampler/ebpf/publish_mappings.h"

#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "sampler/ebpf/arena.h"
#include "sampler/sink/limits.h"
#include "sampler/ebpf/ebpf_files.h"
#include "sampler/ebpf/ebpf_process.h"
#include "sampler/ebpf/kernel_side.h"
#include "sampler/walk/runtime_unwind.h"

/* A walk takes microseconds: after this long no walk reads a region that no entry names. */
#define GRACE_NS (1000ull * 1000 * 1000)
#define ALLOWANCE_NS (1000ull * 1000 * 1000)

/* A region of the arena that holds a published map table. */
struct map_region {
	uint32_t index, nr; /* nr: of entries */
	uint32_t user;	    /* is charged for it */
	uint32_t table;	    /* its number */
	uint32_t nr_users;  /* processes */
};

void ebpf_publisher_init(struct ebpf_publisher *b, struct kernel_side *kernel,
			 struct ebpf_files *files, struct limits *limits)
{
	*b = (struct ebpf_publisher){ .kernel = kernel, .files = files, .limits = limits };
}

void ebpf_publisher_fini(struct ebpf_publisher *b)
{
	free(b->retired);
}

void ebpf_retire_maps(struct ebpf_publisher *b, struct process *p)
{
	struct map_region *region = ebpf_own(p)->region;

	ebpf_own(p)->region = NULL;
	if (!region || --region->nr_users)
		return;
	b->retired =
		xgrow(b->retired, &b->retired_capacity, b->nr_retired + 1, sizeof(*b->retired));
	b->retired[b->nr_retired++] = (struct retired_region){
		.free_at_ns = monotonic_ns() + GRACE_NS,
		.index = region->index,
		.nr = region->nr,
		.user = region->user,
	};
	free(region);
}

void ebpf_share_maps(struct process *child, const struct process *parent)
{
	struct map_region *region = ebpf_own(parent)->region;

	ebpf_own(child)->region = region;
	if (region)
		region->nr_users++;
}

uint32_t ebpf_nr_published(const struct process *p)
{
	const struct map_region *region = ebpf_own(p)->region;

	return region ? region->nr : 0;
}

bool ebpf_has_no_room(const struct process *p)
{
	return !ebpf_own(p)->region && !p->dirty;
}

void ebpf_free_retired(struct ebpf_publisher *b, uint64_t now)
{
	size_t kept = 0;

	for (size_t i = 0; i < b->nr_retired; i++) {
		const struct retired_region *r = &b->retired[i];

		if (r->free_at_ns > now) {
			b->retired[kept++] = *r;
			continue;
		}
		arena_remove_maps(b->kernel->arena, r->index, r->nr);
		ebpf_files_give_words(b->files, r->user, (uint64_t)r->nr * MAP_ENTRY_WORDS);
	}
	b->nr_retired = kept;
}

void ebpf_publish_entry(struct ebpf_publisher *b, const struct process *p)
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

	if (kernel_side_set_process(b->kernel, p->pid, &entry))
		limit_hit(b->limits, LIMIT_PROCESSES,
			  "more processes than fit: further ones have no user frames");
}

void ebpf_allow_snapshots(struct ebpf_publisher *b, struct process *p, uint64_t now)
{
	struct ebpf_process *own = ebpf_own(p);

	if (own->nr_snapshots < MAX_FIRST_SNAPSHOTS || now - own->allowed_ns < ALLOWANCE_NS)
		return;
	own->nr_snapshots = 0;
	own->allowed_ns = now;
	ebpf_publish_entry(b, p); /* which sets the kernel side's count to 0 */
}

static size_t put_entry(struct map_entry *to, size_t nr, size_t max, struct map_entry entry)
{
	if (to && nr < max)
		to[nr] = entry;
	return nr + (nr < max);
}

/*
 * Cuts a mapping without a file into entries: one for each region of runtime code that has rows,
 * and one for each stretch between them. Returns how many there are, `max` at most; `to` may be
 * NULL.
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

/* Fills `nr` entries. Where that is not enough for all mappings, those of files take precedence. */
static void fill_maps(const struct process *p, struct map_entry *entries, size_t nr,
		      size_t nr_files)
{
	size_t nr_runtime = nr - (nr_files < nr ? nr_files : nr), filled = 0;

	for (size_t i = 0; i < p->nr_maps && filled < nr; i++) {
		const struct mapping *m = &p->maps[i];
		size_t nr_added;

		if (is_runtime_code(m)) {
			nr_added = add_runtime_code(p, m, &entries[filled], nr_runtime);
			nr_runtime -= nr_added;
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

static void unpublish(struct ebpf_publisher *b, struct process *p)
{
	ebpf_retire_maps(b, p);
	ebpf_publish_entry(b, p);
}

void ebpf_publish_maps(struct ebpf_publisher *b, struct process *p)
{
	size_t nr_files, nr_all = count_entries(p, &nr_files);
	size_t nr = nr_all < WALK_MAX_MAPS ? nr_all : WALK_MAX_MAPS;
	struct map_entry *entries;
	struct map_region *region;
	uint32_t index;

	p->dirty = false;
	if (nr_all > WALK_MAX_MAPS || p->has_too_many)
		limit_hit(b->limits, LIMIT_MAPPINGS,
			  "process %d has more than %d executable mappings: what lies in the "
			  "rest stays [unknown]",
			  (int)p->pid, WALK_MAX_MAPS);
	/* Where there is no room, what was published goes too: it may name files that are gone. */
	if (!ebpf_files_take_words(b->files, p->user, nr * MAP_ENTRY_WORDS)) {
		unpublish(b, p);
		return;
	}
	entries = arena_add_maps(b->kernel->arena, nr, &index);
	if (!entries) {
		limit_hit(b->limits, LIMIT_MEMORY,
			  "no more memory for maps: new code stays [unknown]");
		ebpf_files_give_words(b->files, p->user, nr * MAP_ENTRY_WORDS);
		unpublish(b, p);
		return;
	}
	if (!++b->nr_tables) /* 0 means that there is no table */
		b->nr_tables++;
	fill_maps(p, entries, nr, nr_files);
	for (size_t i = 0; i < nr; i++)
		entries[i].table = b->nr_tables;
	region = xcalloc(1, sizeof(*region));
	*region = (struct map_region){
		.index = index,
		.nr = (uint32_t)nr,
		.user = p->user,
		.table = b->nr_tables,
		.nr_users = 1,
	};
	ebpf_retire_maps(b, p);
	ebpf_own(p)->region = region;
	ebpf_publish_entry(b, p);
}
