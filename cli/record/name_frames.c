/*
 * The symbolizer names addresses; the source and the GPU data open the files that they are in.
 * Opening files and asking the kernel needs borrowed rights.
 */
#include "cli/record/name_frames.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/gpu/record_gpu.h"
#include "core/base/alloc.h"
#include "core/profile/profile.h"
#include "core/profile/source.h"
#include "core/rights/privileges.h"
#include "sampler/alloc/allocations.h"
#include "sampler/ebpf/source_ebpf.h"
#include "symbolizer/symbolizer.h"

#define OWN_CODE "[allocation hook]"

static int open_module(void *context, uint32_t module)
{
	const struct name_frames *n = context;
	enum rights before = privileges_use(RIGHTS_BORROWED);
	int fd = n->ops->open_module ? n->ops->open_module(n->source, module) : -ENOENT;

	fd = fd < 0 ? record_gpu_open_module(n->gpu, module) : fd;
	fd = fd < 0 ? allocations_open_module(n->alloc, module) : fd;
	privileges_use(before);
	return fd;
}

static int open_root(void *context, uint32_t module, size_t *ret_prefix)
{
	const struct name_frames *n = context;
	int fd = n->ops->open_root ? n->ops->open_root(n->source, module, ret_prefix) : -ENOENT;

	fd = fd < 0 ? record_gpu_open_root(n->gpu, module, ret_prefix) : fd;
	return fd < 0 ? allocations_open_root(n->alloc, module, ret_prefix) : fd;
}

static int kernel_symbol(void *context, uint64_t address, char *name, size_t size)
{
	const struct name_frames *n = context;

	return source_ebpf_kernel_symbol(n->source, address, name, size);
}

/* Frames in instructions that a hook has moved, and those of where these were. */
struct moved_frames {
	struct {
		uint32_t frame, original;
	} * list;
	size_t nr, capacity;
};

/*
 * Names our hooks in targets, which sources take for runtime code. Instructions of the hooked
 * functions themselves, which lie among them, get a frame in their function.
 */
static void name_own_code(const struct allocations *alloc, struct profile *p,
			  struct moved_frames *moved)
{
	uint32_t name = profile_string(p, OWN_CODE, sizeof(OWN_CODE) - 1);
	size_t nr = p->nr_frames;

	for (uint32_t i = 0; i < nr; i++) {
		const struct profile_frame *f = &p->frames[i];
		const struct profile_module *m = &p->modules[f->module];
		uint64_t address;
		uint32_t module;
		const struct profile_function function = {
			.name = name,
			.system_name = name,
			.module = f->module,
			.kind = FUNCTION_JIT,
		};
		struct profile_location at = { 0 };

		if (m->kind != MODULE_JIT ||
		    !allocations_own_code(alloc, (pid_t)m->pid, f->address, &module, &address))
			continue;
		at.function = profile_function(p, &function);
		profile_set_locations(p, i, &at, 1);
		if (module == PROFILE_NONE)
			continue;
		moved->list =
			xgrow(moved->list, &moved->capacity, moved->nr + 1, sizeof(*moved->list));
		moved->list[moved->nr].frame = i;
		moved->list[moved->nr++].original = profile_frame(p, module, address);
	}
}

static void name_moved(struct profile *p, const struct moved_frames *moved)
{
	for (size_t i = 0; i < moved->nr; i++) {
		const struct profile_frame *f = &p->frames[moved->list[i].original];
		size_t nr = f->nr_locations;
		struct profile_location *locations = xcalloc(nr, sizeof(*locations));

		if (nr) {
			memcpy(locations, p->locations + f->first_location,
			       nr * sizeof(*locations));
			profile_set_locations(p, moved->list[i].frame, locations, nr);
		}
		free(locations);
	}
}

void record_name_frames(struct name_frames *n, struct profile *vocabulary)
{
	const struct symbolizer_opts opts = {
		.debuginfod = n->debuginfod,
		.sandbox = n->sandbox,
		.open_module = open_module,
		.open_root = open_root,
		.kernel_symbol = n->ops == &source_ebpf ? kernel_symbol : NULL,
		.context = n,
	};
	struct symbolizer_stats stats;
	struct moved_frames moved = { 0 };

	if (n->alloc)
		name_own_code(n->alloc, vocabulary, &moved);
	symbolizer_run(vocabulary, &opts, &stats);
	name_moved(vocabulary, &moved);
	free(moved.list);
	record_gpu_name_frames(n->gpu, vocabulary);
}
