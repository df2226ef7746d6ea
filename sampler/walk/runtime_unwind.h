/*
 * Unwind rules for code that a process makes at run time and that keeps no frame pointer (oneDNN's
 * kernels): read from its memory when samples land there, derived from the machine code
 * (derived_rules.h), and believed while the code is the same. Programs change such code whenever they
 * like and tell nobody. So the code of each function is compared before a stack that was walked by
 * its rules goes to the sink; a stack whose rules were of other code ends in a marker.
 *
 * How much is read is bounded for each region and in each second, and less where it leads to nothing:
 * most makers of code keep frame pointers and have a lot of it (node, java).
 */
#ifndef SPROF_RUNTIME_UNWIND_H
#define SPROF_RUNTIME_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/portable/walk.h"
#include "sampler/walk/runtime_rows.h"

struct runtime_unwind;
struct runtime_region;
struct process;
struct walked;

/* `rules` are what the builder fills. All are the caller's. runtime_rows_set_new() says what the rest is. */
struct runtime_unwind *runtime_unwind_new(struct table_builder *builder, uint32_t first_index,
					  const struct walk_rule *rules,
					  const struct runtime_ops *ops, void *context);
/* Once no process has regions any more. NULL is fine. */
void runtime_unwind_free(struct runtime_unwind *jit);

/*
 * To be called for each walked stack, before the sink has it: notes where code has no rules yet, and
 * cuts the stack behind the first frame whose rules are out of date. `time_ns`: of the sample; `epoch`: of
 * the process, by whose tables it was walked.
 */
void runtime_unwind_check(struct runtime_unwind *jit, struct process *process, uint64_t time_ns,
			  uint32_t epoch, struct walked *walked);
/*
 * In each round, before what is dirty is published: looks at code that samples landed in, where that
 * is due. What changes makes the process dirty.
 */
void runtime_unwind_look(struct runtime_unwind *jit, struct process *process, uint64_t now_ns);
/* A table of the builder's is there. `rows`, NULL if there is none, is jit's from now on. */
void runtime_unwind_take(struct runtime_unwind *jit, uint32_t index, struct unwind_table *rows);
/* Now and then: forgets what is not used any more. */
void runtime_unwind_tidy(struct runtime_unwind *jit, uint64_t now_ns);

/* How long to wait for the next round: not as long each time, where code is compared in each. */
int runtime_unwind_timeout_ms(struct runtime_unwind *jit, int timeout_ms);
/* How much of the targets' memory was read, for either purpose. */
uint64_t runtime_unwind_bytes_read(const struct runtime_unwind *jit);
/* The rule in force at an address when a sample was taken; false: none that follows from code. */
bool runtime_unwind_rule(const struct runtime_unwind *jit, const struct process *process,
			 uint64_t address, uint64_t time_ns, struct walk_rule *ret);
/* Are there rows that the walker has? *ret_number is theirs. */
bool runtime_region_has_rows(const struct runtime_region *region, uint32_t *ret_number);

#endif
