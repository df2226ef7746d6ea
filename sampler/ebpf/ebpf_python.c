/*
 * The pythons map holds a layout for each interpreter at each address: a forked child has its
 * parent's. When the map is full, a place that no process names is given to the next layout.
 */
#include "sampler/ebpf/ebpf_python.h"

#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "core/base/alloc.h"
#include "core/portable/pylayout.h"
#include "sampler/bpf/events.h"
#include "sampler/sink/limits.h"
#include "sampler/ebpf/ebpf_process.h"
#include "sampler/runtimes/python/interpreter_files.h"

struct ebpf_pythons {
	int map_fd;
	struct limits *limits;
	struct python_files *files;
	struct py_layout *layouts; /* as in the map; [0] is not used */
	size_t nr_layouts;
	uint16_t generation; /* that all of them have */
};

struct ebpf_pythons *ebpf_pythons_new(int map_fd, struct limits *limits)
{
	struct ebpf_pythons *pythons = xcalloc(1, sizeof(*pythons));

	pythons->map_fd = map_fd;
	pythons->limits = limits;
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

static bool is_used(const struct process *processes, uint32_t place)
{
	for (const struct process *p = processes; p; p = p->hh.next)
		if (ebpf_own(p)->python == place)
			return true;
	return false;
}

/* A place in the map that no process names, or 0. */
static uint32_t free_place(struct ebpf_pythons *pythons, const struct process *processes)
{
	if (pythons->nr_layouts < MAX_PYTHONS)
		return (uint32_t)pythons->nr_layouts++;
	for (uint32_t i = 1; i < MAX_PYTHONS; i++)
		if (!is_used(processes, i))
			return i;
	return 0;
}

/* The place of this layout in the map, where it is put if it was not there. */
static uint32_t place_of(struct ebpf_pythons *pythons, const struct py_layout *layout,
			 const struct process *processes)
{
	uint32_t place;

	for (size_t i = 1; i < pythons->nr_layouts; i++)
		if (!memcmp(&pythons->layouts[i], layout, sizeof(*layout)))
			return (uint32_t)i;
	place = free_place(pythons, processes);
	if (!place || bpf_map_update_elem(pythons->map_fd, &place, layout, BPF_ANY)) {
		limit_hit(pythons->limits, LIMIT_PYTHONS,
			  "more than %d Python processes: further ones have native frames only",
			  MAX_PYTHONS - 1);
		return 0;
	}
	pythons->layouts[place] = *layout;
	return place;
}

void ebpf_pythons_update(struct ebpf_pythons *pythons, struct process *p,
			 const struct process *processes)
{
	struct py_layout layout;

	ebpf_own(p)->python = 0;
	if (!pythons || !python_files_find(pythons->files, p, &layout))
		return;
	layout.generation = pythons->generation;
	ebpf_own(p)->python = place_of(pythons, &layout, processes);
}

void ebpf_pythons_send_again(struct ebpf_pythons *pythons)
{
	pythons->generation++;
	for (uint32_t i = 1; i < pythons->nr_layouts; i++) {
		pythons->layouts[i].generation = pythons->generation;
		bpf_map_update_elem(pythons->map_fd, &i, &pythons->layouts[i], BPF_ANY);
	}
}

const struct py_layout *ebpf_pythons_layout(const struct ebpf_pythons *pythons, uint32_t python)
{
	return pythons && python && python < pythons->nr_layouts ? &pythons->layouts[python] : NULL;
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
