/* What the offline unwinder asks about a process and its code, from the tables that sources keep. */
#ifndef SPROF_SNAPSHOT_LOOKUP_H
#define SPROF_SNAPSHOT_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/target/mapped_file.h"
#include "sampler/walk/snapshot_unwind.h"
#include "sampler/target/process.h"

/* snapshot_ops.find_mapping; `process` NULL knows nothing. Modules are named by code index + 1. */
bool snapshot_find_mapping(const struct process *process, uint64_t address,
			   struct snapshot_mapping *ret);
/* snapshot_ops.open_module. */
bool snapshot_open_module(const struct file_table *codes, uint64_t module,
			  struct snapshot_file *ret);

#endif
