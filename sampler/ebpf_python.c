/*
 * Each mapped file is looked into once, when a process that maps it is published. A process then
 * names a place in the pythons map: the file's layout at the process's addresses, which a forked
 * child shares with its parent.
 */
#include "sampler/ebpf_python.h"

#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "core/alloc.h"
#include "core/log.h"
#include "sampler/ebpf.h"
#include "sampler/python_elf.h"

/* What is known of a file, by the index of its code. */
struct python_file {
	bool known;
	enum python_elf kind;
	struct py_layout layout; /* at link-time addresses */
};

struct ebpf_pythons {
	int map_fd;
	struct python_file *files;
	size_t nr_files, files_capacity;
	struct py_layout *layouts; /* as in the map; [0] is not used */
	size_t nr_layouts;
};

struct ebpf_pythons *ebpf_pythons_new(int map_fd)
{
	struct ebpf_pythons *pythons = xcalloc(1, sizeof(*pythons));

	pythons->map_fd = map_fd;
	pythons->layouts = xcalloc(MAX_PYTHONS, sizeof(*pythons->layouts));
	pythons->nr_layouts = 1;
	return pythons;
}

void ebpf_pythons_free(struct ebpf_pythons *pythons)
{
	if (!pythons)
		return;
	free(pythons->files);
	free(pythons->layouts);
	free(pythons);
}

static const struct python_file *file_of(struct ebpf_pythons *pythons, const struct code *code)
{
	struct python_file *file;
	char why[256] = "";

	if (code->index >= pythons->nr_files) {
		size_t nr = code->index + 1;

		pythons->files = xgrow(pythons->files, &pythons->files_capacity, nr, sizeof(*file));
		memset(pythons->files + pythons->nr_files, 0,
		       (nr - pythons->nr_files) * sizeof(*file));
		pythons->nr_files = nr;
	}
	file = &pythons->files[code->index];
	if (file->known)
		return file;
	file->known = true;
	file->kind = python_elf_read(code->fd, &file->layout, why, sizeof(why));
	if (file->kind == PYTHON_ELF_UNSUPPORTED)
		log_warning("no Python frames of what runs '%s': %s; its native frames are there",
			    code->path, why);
	return file;
}

static bool is_used(const struct source *s, uint32_t index)
{
	for (const struct process *p = s->processes; p; p = p->hh.next)
		if (p->python == index)
			return true;
	return false;
}

/* A place in the map that no process names; 0: there is none. */
static uint32_t free_place(struct source *s)
{
	struct ebpf_pythons *pythons = s->pythons;

	if (pythons->nr_layouts < MAX_PYTHONS)
		return (uint32_t)pythons->nr_layouts++;
	for (uint32_t i = 1; i < MAX_PYTHONS; i++)
		if (!is_used(s, i))
			return i;
	return 0;
}

/* Where this layout is in the map, put there if it was not. */
static uint32_t place_of(struct source *s, const struct py_layout *layout)
{
	struct ebpf_pythons *pythons = s->pythons;
	uint32_t place;

	for (size_t i = 1; i < pythons->nr_layouts; i++)
		if (!memcmp(&pythons->layouts[i], layout, sizeof(*layout)))
			return (uint32_t)i;
	place = free_place(s);
	if (!place || bpf_map_update_elem(pythons->map_fd, &place, layout, BPF_ANY)) {
		ebpf_limit(s, LIMIT_PYTHONS,
			   "more than %d Python processes: further ones have native frames only",
			   MAX_PYTHONS - 1);
		return 0;
	}
	pythons->layouts[place] = *layout;
	return place;
}

void ebpf_pythons_update(struct source *s, struct process *p)
{
	p->python = 0;
	for (size_t i = 0; s->pythons && i < p->nr_maps && !p->python; i++) {
		const struct mapping *m = &p->maps[i];
		const struct python_file *file;
		struct py_layout layout;
		uint64_t vaddr, bias;

		if (m->code->kind != MODULE_ELF || !m->code->nr_segments ||
		    !code_vaddr(m->code, m->pgoff, &vaddr))
			continue;
		file = file_of(s->pythons, m->code);
		if (file->kind != PYTHON_ELF_FOUND)
			continue;
		bias = m->start - vaddr;
		layout = file->layout;
		layout.runtime += bias;
		layout.code_type += bias;
		if (layout.eval_start) {
			layout.eval_start += bias;
			layout.eval_end += bias;
		}
		p->python = place_of(s, &layout);
	}
}

void ebpf_pythons_eval_text(const struct ebpf_pythons *pythons, uint32_t python,
			    uint64_t *ret_start, uint64_t *ret_size)
{
	*ret_start = *ret_size = 0;
	if (!pythons || python >= pythons->nr_layouts)
		return;
	*ret_start = pythons->layouts[python].eval_start;
	*ret_size = pythons->layouts[python].eval_end - *ret_start;
}
