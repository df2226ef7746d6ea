/*
 * Unwind rules for runtime code without frame pointers (oneDNN's kernels). The code is read from
 * the process when samples land in it, its rules are derived (derived_rules.h), and they are used
 * while the code stays the same. Programs change such code without notice, so the code of each
 * function is compared before a stack that was walked by its rules goes to the sink; a stack that
 * was walked by stale rules ends in a marker.
 *
 * Reading is bounded for each region and each second, and becomes rarer where it finds nothing:
 * most programs that make code keep frame pointers and make a lot of it (node, java).
 */
#ifndef SPROF_RUNTIME_UNWIND_H
#define SPROF_RUNTIME_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/portable/walk.h"
#include "sampler/walk/runtime_rows.h"

/* oneDNN's kernels have 256 KiB at most; larger regions are code caches of language runtimes. */
#define RUNTIME_REGION_MAX (512u << 10)

struct runtime_unwind;
struct runtime_region;
struct process;
struct walked;

/*
 * `rules`: what the builder fills. All arguments stay the caller's; runtime_rows_set_new() explains
 * the rest.
 */
struct runtime_unwind *runtime_unwind_new(struct table_builder *builder, uint32_t first_index,
					  const struct walk_rule *rules,
					  const struct runtime_ops *ops, void *context);
/* To be called when no process has regions. NULL is fine. */
void runtime_unwind_free(struct runtime_unwind *unwind);

/*
 * To be called for each walked stack before it goes to the sink: notes code without rules, and cuts
 * the stack after the first frame whose rules are stale. `time_ns` is the sample's; `epoch` is the
 * process epoch whose tables the walk used.
 */
void runtime_unwind_check(struct runtime_unwind *unwind, struct process *process, uint64_t time_ns,
			  uint32_t epoch, struct walked *walked);
/*
 * To be called in each round, before changed mappings are published: reads code that samples landed
 * in, where that is due. A change sets process->dirty.
 */
void runtime_unwind_look(struct runtime_unwind *unwind, struct process *process, uint64_t now_ns);
/* Takes a table from the builder; `rows`, NULL if there is none, is ours from now on. */
void runtime_unwind_take(struct runtime_unwind *unwind, struct built_table *built);
/* To be called now and then: frees rows without users. */
void runtime_unwind_tidy(struct runtime_unwind *unwind, uint64_t now_ns);

/* How long to wait for the next round: randomly shorter while there is code to compare. */
int runtime_unwind_timeout_ms(struct runtime_unwind *unwind, int timeout_ms);
/* How much of the targets' memory was read. */
uint64_t runtime_unwind_bytes_read(const struct runtime_unwind *unwind);
/* The derived rule at an address when a sample was taken; false: there is none. */
bool runtime_unwind_rule(const struct runtime_unwind *unwind, const struct process *process,
			 uint64_t address, uint64_t time_ns, struct walk_rule *ret);
/* Has the region rows that the walker can use? *ret_number is their number. */
bool runtime_region_has_rows(const struct runtime_region *region, uint32_t *ret_number);

#endif
