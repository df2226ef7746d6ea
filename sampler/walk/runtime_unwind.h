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

struct jit_code;
struct jit_region;
struct process;
struct walked;

/* `rules` are what the builder fills. All are the caller's. jit_rows_set_new() says what the rest is. */
struct jit_code *jit_code_new(struct table_builder *builder, uint32_t first_index,
			      const struct walk_rule *rules, const struct jit_ops *ops,
			      void *context);
/* Once no process has regions any more. NULL is fine. */
void jit_code_free(struct jit_code *jit);

/*
 * To be called for each walked stack, before the sink has it: notes where code has no rules yet, and
 * cuts the stack behind the first frame whose rules are out of date. `time_ns`: of the sample; `epoch`: of
 * the process, by whose tables it was walked.
 */
void jit_code_check(struct jit_code *jit, struct process *process, uint64_t time_ns, uint32_t epoch,
		    struct walked *walked);
/*
 * In each round, before what is dirty is published: looks at code that samples landed in, where that
 * is due. What changes makes the process dirty.
 */
void jit_code_look(struct jit_code *jit, struct process *process, uint64_t now_ns);
/* A table of the builder's is there. `rows`, NULL if there is none, is jit's from now on. */
void jit_code_take(struct jit_code *jit, uint32_t index, struct unwind_table *rows);
/* Now and then: forgets what is not used any more. */
void jit_code_tidy(struct jit_code *jit, uint64_t now_ns);

/* How long to wait for the next round: not as long each time, where code is compared in each. */
int jit_code_timeout_ms(struct jit_code *jit, int timeout_ms);
/* How much of the targets' memory was read, for either purpose. */
uint64_t jit_code_bytes_read(const struct jit_code *jit);
/* The rule in force at an address when a sample was taken; false: none that follows from code. */
bool jit_code_rule(const struct jit_code *jit, const struct process *process, uint64_t address,
		   uint64_t time_ns, struct walk_rule *ret);
/* Are there rows that the walker has? *ret_number is theirs. */
bool jit_region_has_rows(const struct jit_region *region, uint32_t *ret_number);

#endif
