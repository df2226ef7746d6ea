/*
 * Answers the snapshot unwinder's questions about a process and its mapped files from the tables
 * that every source keeps: the hooks of struct snapshot_ops that are the same in all of them.
 */
#ifndef SPROF_SNAPSHOT_LOOKUP_H
#define SPROF_SNAPSHOT_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/target/mapped_file.h"
#include "sampler/walk/snapshot_unwind.h"
#include "sampler/target/process.h"

struct table_builder;
struct walked;

/* The stack that was found, without what belongs to the kernel. Its frames stay where they are. */
void snapshot_result_put(const struct snapshot_result *result, struct walked *w);

/* snapshot_ops.find_mapping; without a process nothing is known. */
bool snapshot_find_mapping(const struct process *process, uint64_t address,
			   struct snapshot_mapping *ret);
/* snapshot_ops.open_module. */
bool snapshot_open_module(const struct file_table *files, uint64_t module,
			  struct snapshot_file *ret);
/* For snapshot_ops.find_rule: the module's table is not there yet, so it is built before others. */
void snapshot_missed_table(const struct file_table *files, struct table_builder *builder,
			   uint64_t module);

/* snapshot_ops.table_is_coming. */
bool snapshot_table_is_coming(const struct file_table *files, uint64_t module);

#endif
