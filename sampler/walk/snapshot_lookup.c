/* Processes and code in the offline unwinder's words. */
#include "sampler/walk/snapshot_lookup.h"

bool snapshot_find_mapping(const struct process *process, uint64_t address,
			   struct snapshot_mapping *ret)
{
	const struct mapping *m = process ? process_find(process, address) : NULL;

	if (!m)
		return false;
	*ret = (struct snapshot_mapping){
		.start = m->start,
		.end = m->end,
		.file_offset = m->pgoff,
		.module = m->code->kind == MODULE_JIT ? 0 : m->code->index + 1ull,
	};
	return true;
}

bool snapshot_open_module(const struct file_table *codes, uint64_t module,
			  struct snapshot_file *ret)
{
	const struct mapped_file *code = file_table_get(codes, (uint32_t)(module - 1));

	*ret = (struct snapshot_file){ .fd = code->fd };
	if (code->kind == MODULE_VDSO)
		ret->memory = file_table_vdso_image(&ret->size);
	return ret->memory || code->fd >= 0;
}
