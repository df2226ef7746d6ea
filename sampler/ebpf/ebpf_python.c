/*
 * A process names a place in the pythons map: the layout of its interpreter at its own addresses,
 * which a forked child shares with its parent.
 */
#include "sampler/ebpf/ebpf_python.h"

#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "core/base/alloc.h"
#include "core/portable/pylayout.h"
#include "sampler/ebpf/ebpf.h"
#include "sampler/runtimes/python/interpreter_files.h"

struct ebpf_pythons {
	int map_fd;
	struct python_files *files;
	struct py_layout *layouts; /* as in the map; [0] is not used */
	size_t nr_layouts;
};

struct ebpf_pythons *ebpf_pythons_new(int map_fd)
{
	struct ebpf_pythons *pythons = xcalloc(1, sizeof(*pythons));

	pythons->map_fd = map_fd;
	pythons->files = python_files_new();
	pythons->layouts = xcalloc(MAX_PYTHONS, sizeof(*pythons->layouts));
	pythons->nr_layouts = 1;
	return pythons;
}

void ebpf_pythons_free(struct ebpf_pythons *pythons)
{
	if (!pythons)
		return;
	python_files_free(pythons->files);
	free(pythons->layouts);
	free(pythons);
}

static bool is_used(const struct source *s, uint32_t index)
{
	for (const struct process *p = s->processes; p; p = p->hh.next)
		if (ebpf_own(p)->python == index)
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
	struct py_layout layout;

	ebpf_own(p)->python = 0;
	if (s->pythons && python_files_find(s->pythons->files, p, &layout))
		ebpf_own(p)->python = place_of(s, &layout);
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
