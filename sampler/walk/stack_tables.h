/*
 * Chooses the order in which the unwind tables of a running process are built: first those of the
 * files that its stacks run through now. No thread is stopped for that. What looks like an address
 * of code on a stack is taken for one; a wrong guess costs nothing but its turn.
 */
#ifndef SPROF_STACK_TABLES_H
#define SPROF_STACK_TABLES_H

#include <stddef.h>

struct process;
struct table_builder;

#define STACK_TABLES_MAX 64 /* stacks that a source looks at, of all processes together */

/*
 * The tables have been asked for. Looks at `max` stacks of the process at most, and returns at how
 * many it has looked.
 */
size_t stack_tables_first(const struct process *process, struct table_builder *builder, size_t max);

#endif
