/*
 * A walk_space has two halves; a publication writes the half that no walk reads and then raises the
 * generation. A walk that a second publication overtakes notices by the generation and discards its
 * stack.
 */
#include "sampler/timer/targets/publish.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/profile/profile.h"
#include "sampler/sink/limits.h"
#include "sampler/target/mapped_file.h"
#include "sampler/target/proc_maps.h"
#include "sampler/timer/targets/timer_process.h"
#include "sampler/unwind/unwind_table.h"
#include "sampler/walk/runtime_unwind.h"
#include "sampler/walk/table_builder.h"
#include "sampler/walk/walk_arena.h"

int timer_publish_init(struct timer_publish *t, struct profile_stats *stats, struct limits *limits,
		       const struct sandbox *sandbox, struct table_cache *cache)
{
	int err;

	*t = (struct timer_publish){ .files = file_table_new(), .stats = stats, .limits = limits };
	file_table_confine(t->files, sandbox);
	file_table_raise_limit();
	err = walk_arena_new(&t->arena);
	if (err)
		log_error(-err, "make room for unwind rows");
	if (err == -EFBIG)
		log_hint("the limit on the size of files counts for memory that is shared with "
			 "programs, too: ulimit -f unlimited");
	if (err)
		return err;
	t->builder = table_builder_new(walk_arena_rules(t->arena), sandbox, cache);
	t->runtime = runtime_unwind_new(t->builder, WALK_MAX_MODULES, walk_arena_rules(t->arena),
					NULL, NULL);
	return 0;
}

void timer_publish_stop(struct timer_publish *t)
{
	table_builder_free(t->builder);
	t->builder = NULL;
}

void timer_publish_fini(struct timer_publish *t)
{
	timer_publish_stop(t); /* it writes rules into the arena */
	for (size_t i = 0; i < t->nr_claims; i++)
		free(t->claims[i].numbers);
	free(t->claims);
	runtime_unwind_free(t->runtime);
	walk_arena_free(t->arena);
	file_table_free(t->files);
}

/* The rules that the table of a file names; the caller fills it. */
static struct rule_claim *claim_of(struct timer_publish *t, uint32_t index)
{
	t->claims =
		xgrow_to(t->claims, &t->claims_capacity, &t->nr_claims, index, sizeof(*t->claims));
	return &t->claims[index];
}

void timer_publish_poll(struct timer_publish *t)
{
	struct built_table built;

	while (table_builder_take(t->builder, &built)) {
		const struct unwind_table *table = built.table;
		struct mapped_file *file;

		if (built.index >= WALK_MAX_MODULES) {
			runtime_unwind_take(t->runtime, &built);
			continue;
		}
		file = file_table_get(t->files, built.index);
		file->building = false;
		*claim_of(t, built.index) = built.claim;
		file->parser_failed |= built.parser_failed;
		if (table) {
			t->stats->nr_rows += table->nr_rows;
			file->nr_derived_functions = table->nr_derived_functions;
		}
		if (walk_arena_add_table(t->arena, built.index, table))
			limit_hit(t->limits, LIMIT_ROWS,
				  "more than %d unwind rows: further files are walked by frame "
				  "pointers",
				  WALK_ARENA_WORDS);
		unwind_table_free(built.table);
	}
	runtime_unwind_tidy(t->runtime, monotonic_ns());
}

/* Has walks end in the runtime code at an address. false: they do already. */
static bool end_walks_at(struct timer_publish *t, const struct process *p, uint64_t address)
{
	const struct mapping *m = process_find(p, address);
	struct walk_rule rule;

	if (!m || m->code->kind != MODULE_JIT ||
	    !walk_arena_find_rule(t->arena, m->code->index, 0, &rule))
		return false;
	walk_arena_reset_module(t->arena, m->code->index);
	t->has_copies = true;
	return true;
}

void timer_publish_look(struct timer_publish *t, struct timer_process *p, uint64_t now)
{
	const struct runtime_regions *regions = &p->maps.runtime;
	bool changed = false;
	uint32_t number;

	runtime_unwind_look(t->runtime, &p->maps, now);
	if (!p->maps.dirty)
		return;
	p->maps.dirty = false;
	for (size_t i = 0; i < regions->nr; i++)
		if (runtime_region_has_rows(&regions->list[i], &number))
			changed |= end_walks_at(t, &p->maps, regions->list[i].start);
	if (changed) /* walks forget the rules that they know */
		timer_publish_maps(t, p);
}

static void on_new_file(void *context, struct mapped_file *file)
{
	struct timer_publish *t = context;

	file->building = walk_arena_add_file(t->arena, t->builder, file);
}

static void on_release(void *context, struct mapped_file *file)
{
	struct timer_publish *t = context;

	walk_arena_hide_module(t->arena, file->index);
	if (t->on_release)
		t->on_release(t->context, file);
}

void timer_publish_release(struct timer_publish *t, const struct timer_process *processes,
			   uint64_t now_ns)
{
	uint32_t index;

	while (file_table_reclaim(t->files, now_ns, &index)) {
		walk_arena_remove_module(t->arena, index);
		table_builder_release(t->builder, claim_of(t, index));
		*claim_of(t, index) = (struct rule_claim){ 0 };
	}
	if (!file_release_begin(&t->release, t->files, now_ns))
		return;
	for (const struct timer_process *p = processes; p; p = p->next)
		file_release_mark(&t->release, &p->maps);
	file_release_end(&t->release, t->files, now_ns, on_release, t);
}

int timer_publish_read_maps(struct timer_publish *t, struct process *now)
{
	return process_read_maps(now, t->files, on_new_file, t);
}

void timer_publish_maps(struct timer_publish *t, struct timer_process *p)
{
	struct walk_space *space = p->region.space;

	space->python[(p->region.generation + 1) & 1] = p->python.layout;
	if (walk_space_publish(space, &p->maps, p->maps_epoch, &p->region.generation))
		limit_hit(t->limits, LIMIT_MAPPINGS,
			  "process %d has more than %d executable mappings: what lies in the rest "
			  "stays [unknown]",
			  (int)p->maps.pid, WALK_MAX_MAPS);
}
