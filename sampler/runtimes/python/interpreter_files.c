/*
 * Indexed by the mapped file's number. Numbers are reused, so an entry says which file it
 * describes.
 */
#include "sampler/runtimes/python/interpreter_files.h"

#include <stdint.h>
#include <stdlib.h>

#include "core/base/alloc.h"
#include "core/base/log.h"
#include "sampler/target/process.h"
#include "sampler/runtimes/python/interpreter.h"

struct python_file {
	uint64_t number; /* of the file it describes; 0: none */
	enum python_elf kind;
	struct py_layout layout; /* at link-time addresses */
};

struct python_files {
	struct python_file *by_index; /* of the code */
	size_t nr, capacity;
};

struct python_files *python_files_new(void)
{
	return xcalloc(1, sizeof(struct python_files));
}

void python_files_free(struct python_files *files)
{
	if (!files)
		return;
	free(files->by_index);
	free(files);
}

static const struct python_file *file_of(struct python_files *files, const struct mapped_file *code)
{
	struct python_file *file;
	char why[256] = "";

	files->by_index =
		xgrow_to(files->by_index, &files->capacity, &files->nr, code->index, sizeof(*file));
	file = &files->by_index[code->index];
	if (file->number == code->number)
		return file;
	*file = (struct python_file){ .number = code->number };
	file->kind = python_elf_read(code->fd, &file->layout, why, sizeof(why));
	if (file->kind == PYTHON_ELF_UNSUPPORTED)
		log_warning("no Python frames of what runs '%s': %s; its native frames are there",
			    code->path, why);
	else if (file->kind == PYTHON_ELF_FOUND && !file->layout.gil_holder)
		log_info("samples of what runs '%s' do not say who holds the GIL: %s", code->path,
			 file->layout.free_threaded ? "it is a free-threaded build"
						    : "where its CPython keeps that is unknown");
	return file;
}

bool python_files_find(struct python_files *files, const struct process *p,
		       struct py_layout *ret_layout)
{
	for (size_t i = 0; i < p->nr_maps; i++) {
		const struct mapping *m = &p->maps[i];
		const struct python_file *file;
		uint64_t bias;

		if (!python_elf_bias(m, &bias))
			continue;
		file = file_of(files, m->code);
		if (file->kind != PYTHON_ELF_FOUND)
			continue;
		*ret_layout = file->layout;
		python_elf_move(ret_layout, bias);
		return true;
	}
	return false;
}
