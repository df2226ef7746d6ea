/*
 * The number of a module is the index of its mapped file + 1; runtime code has none, so it is 0.
 * The bytes of the vdso are read from this process, which has the same one.
 */
#include "sampler/walk/snapshot_lookup.h"

#include "sampler/sink/sample_sink.h"
#include "sampler/walk/table_builder.h"

void snapshot_result_put(const struct snapshot_result *result, struct walked *w)
{
	w->nr_user = result->nr;
	w->gap = result->gap;
	w->nr_joined = result->nr_guessed;
	w->marker = result->nr_guessed ? MARKER_GUESSED : result->marker;
}

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
		.module = m->code->kind == MODULE_JIT || m->code->over_limit
				  ? 0
				  : m->code->index + 1ull,
		.over_limit = m->code->over_limit,
	};
	return true;
}

bool snapshot_open_module(const struct file_table *files, uint64_t module,
			  struct snapshot_file *ret)
{
	const struct mapped_file *file = file_table_get(files, (uint32_t)(module - 1));

	*ret = (struct snapshot_file){
		.fd = file->fd,
		.segments = file->segments,
		.nr_segments = file->nr_segments,
	};
	if (file->kind == MODULE_VDSO)
		ret->memory = file_table_vdso_image(&ret->size);
	return ret->memory || file->fd >= 0;
}

void snapshot_missed_table(const struct file_table *files, struct table_builder *builder,
			   uint64_t module)
{
	struct mapped_file *file = file_table_get(files, (uint32_t)(module - 1));

	if (!file->missed_table)
		table_builder_hurry(builder, file->index);
	file->missed_table = true;
}

bool snapshot_table_is_coming(const struct file_table *files, uint64_t module)
{
	return file_table_get(files, (uint32_t)(module - 1))->building;
}
