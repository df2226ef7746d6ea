/* What the offline unwinder asks about a process and its code, from the tables that sources keep. */
#ifndef SPROF_OFFLINE_LOOKUP_H
#define SPROF_OFFLINE_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/code.h"
#include "sampler/offline.h"
#include "sampler/process.h"

/* offline_ops.find_mapping; `process` NULL knows nothing. Modules are named by code index + 1. */
bool offline_find_mapping(const struct process *process, uint64_t address,
			  struct offline_mapping *ret);
/* offline_ops.open_module. */
bool offline_open_module(const struct code_table *codes, uint64_t module, struct offline_file *ret);

#endif
