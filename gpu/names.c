/*
 * Strings come from the region, thread names from /proc, frames and demangled names from the
 * caller.
 */
#include "gpu/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/proc_status.h"
#include "core/portable/pycode.h"
#include "core/profile/facts.h"
#include "core/profile/source.h"

#define MAX_API_DEPTH 12 /* frames of CUDA on top of the program's */

void names_init(struct names *n, const struct shared_region *region,
		const struct gpu_collect_opts *opts, struct sink *sink)
{
	*n = (struct names){
		.region = region,
		.opts = opts,
		.sink = sink,
		.gpu_module = PROFILE_NONE,
		.range_module = PROFILE_NONE,
		.marker_module = PROFILE_NONE,
	};
}

void names_release(struct names *n)
{
	struct number_map *maps[] = { &n->strings, &n->kernels, &n->frames,
				      &n->threads, &n->noted,	&n->api_index };

	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++) {
		number_map_fini(maps[i]);
		*maps[i] = (struct number_map){ 0 };
	}
	buffer_fini(&n->text);
	n->text = (struct buffer){ 0 };
	n->region = NULL;
}

void names_fini(struct names *n)
{
	names_release(n);
	free(n->api_frames);
}

uint32_t names_string(struct names *n, uint32_t string)
{
	bool is_new;
	uint32_t *id = number_map_at(&n->strings, string, &is_new);

	if (is_new) {
		shared_region_string(n->region, string, &n->text);
		*id = n->sink->string(n->sink, n->text.data, n->text.size);
	}
	return *id;
}

uint32_t names_range(struct names *n, uint32_t string)
{
	return string ? names_string(n, string) : sink_cstring(n->sink, "[range without a name]");
}

uint32_t names_kernel(struct names *n, uint32_t string)
{
	bool is_new;
	uint32_t *id = number_map_at(&n->kernels, string, &is_new);
	char *readable = NULL;

	if (!is_new)
		return *id;
	shared_region_string(n->region, string, &n->text);
	if (n->opts->demangle && n->text.size)
		readable = n->opts->demangle(buffer_cstring(&n->text));
	if (readable)
		*id = sink_cstring(n->sink, readable);
	else if (n->text.size)
		*id = n->sink->string(n->sink, n->text.data, n->text.size);
	else
		*id = sink_cstring(n->sink, "[kernel without a name]");
	free(readable);
	return *id;
}

uint32_t names_thread(struct names *n, uint32_t tid)
{
	bool is_new;
	uint32_t *id = number_map_at(&n->threads, tid, &is_new);
	pid_t pid = n->opts->pid;
	char comm[32];

	if (!is_new)
		return *id;
	if (!proc_name(pid, (pid_t)tid, comm, sizeof(comm)) &&
	    !proc_name(pid, pid, comm, sizeof(comm)))
		snprintf(comm, sizeof(comm), "process %d", (int)pid);
	*id = n->sink->thread(n->sink, (uint32_t)pid, tid ? tid : (uint32_t)pid,
			      sink_cstring(n->sink, comm));
	return *id;
}

static uint32_t special_module(struct names *n, uint32_t *module, enum module_kind kind,
			       enum function_kind function)
{
	const struct profile_module m = { .kind = (uint8_t)kind, .function_kind = function };

	if (*module == PROFILE_NONE)
		*module = n->sink->module(n->sink, &m);
	return *module;
}

uint32_t names_marker_frame(struct names *n, enum marker marker)
{
	return n->sink->frame(n->sink, special_module(n, &n->marker_module, MODULE_MARKER, 0),
			      marker);
}

static uint32_t python_frame(struct names *n, uint64_t word)
{
	uint64_t code = word >> CODE_POSITION_BITS & CODE_ID_MASK;

	if (!n->opts->python_frame || code >> 32 ||
	    !shared_region_string(n->region, (uint32_t)code, &n->text))
		return GPU_UNKNOWN_FRAME;
	return n->opts->python_frame(n->opts->context, n->sink, word, n->text.data, n->text.size);
}

#define CAPTURE "[captured in a graph by]"

uint32_t names_code_frame(struct names *n, uint64_t frame)
{
	bool is_new, is_python = frame & FRAME_PYTHON;
	uint32_t *id = number_map_at(&n->frames, frame, &is_new);

	if (is_new && frame == GPU_FRAME_CAPTURE)
		*id = names_range_frame(n, sink_cstring(n->sink, CAPTURE));
	if (frame == GPU_FRAME_CAPTURE)
		return *id;
	/* An unmapped address is tried again: the mappings may have been read since. */
	if ((is_new || *id == GPU_UNKNOWN_FRAME) && is_python)
		*id = python_frame(n, frame);
	else if (is_new || *id == GPU_UNKNOWN_FRAME)
		*id = n->opts->frame ? n->opts->frame(n->opts->context, n->sink, frame - 1)
				     : GPU_UNKNOWN_FRAME;
	if (*id != GPU_UNKNOWN_FRAME)
		return *id;
	return names_marker_frame(n, is_python ? MARKER_PYTHON : MARKER_UNKNOWN);
}

void names_look_up_stacks(struct names *n)
{
	uint64_t used = shared_region_stacks_used(n->region), frames[GPU_MAX_STACK];
	uint8_t end;
	uint32_t nr;

	if (!n->next_stack)
		n->next_stack = shared_region_next_stack(n->region, 0);
	/* Stops at a stack that is not written yet: it is next time's first. */
	while (n->next_stack < used / 8 &&
	       shared_region_stack(n->region, n->next_stack, frames, &nr, &end)) {
		for (uint32_t i = 0; i < nr; i++) {
			if (!frames[i])
				return;
			names_code_frame(n, frames[i]);
		}
		n->next_stack = shared_region_next_stack(n->region, n->next_stack);
	}
}

static void note_frame(struct names *n, uint32_t frame, uint32_t name)
{
	bool is_new;
	uint32_t *index = number_map_at(&n->api_index, frame, &is_new);

	if (is_new) {
		*index = (uint32_t)n->nr_api_frames++;
		n->api_frames = xgrow(n->api_frames, &n->api_frames_capacity, n->nr_api_frames,
				      sizeof(*n->api_frames));
		n->api_frames[*index] = (struct api_frame){ frame, name };
	} else if (n->api_frames[*index].name != name) {
		n->api_frames[*index].name = PROFILE_NONE;
	}
}

void names_note_call(struct names *n, uint32_t stack, uint32_t name)
{
	uint64_t frames[GPU_MAX_STACK];
	uint8_t end;
	uint32_t nr;
	bool is_new;

	if (!stack || !name)
		return;
	number_map_at(&n->noted, (uint64_t)stack << 32 | name, &is_new);
	if (!is_new || !shared_region_stack(n->region, stack, frames, &nr, &end))
		return;
	for (uint32_t i = 0; i < nr && i < MAX_API_DEPTH && !(frames[i] & FRAME_PYTHON); i++) {
		uint32_t frame = names_code_frame(n, frames[i]);

		if (frame != GPU_NO_FRAME && frame != GPU_UNKNOWN_FRAME)
			note_frame(n, frame, names_string(n, name));
	}
}

static bool is_of_cuda(const struct profile *p, uint32_t module)
{
	const char *path = profile_str(p, p->modules[module].path), *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	return !strncmp(name, "libcuda.so", strlen("libcuda.so")) ||
	       !strncmp(name, "libcudart.so", strlen("libcudart.so")) ||
	       !strncmp(name, "libcudart-", strlen("libcudart-"));
}

/* True if the symbolizer has found nothing, or nothing but an address. */
static bool is_unnamed(const struct profile *p, const struct profile_frame *f)
{
	return !f->nr_locations ||
	       p->functions[p->locations[f->first_location].function].kind == FUNCTION_UNKNOWN;
}

void names_apply_calls(const struct names *n, struct profile *vocabulary)
{
	for (size_t i = 0; i < n->nr_api_frames; i++) {
		const struct api_frame *a = &n->api_frames[i];
		struct profile_location location = { 0 };
		const struct profile_frame *f;

		if (a->frame >= vocabulary->nr_frames || a->name >= vocabulary->nr_strings)
			continue;
		f = &vocabulary->frames[a->frame];
		if (!is_of_cuda(vocabulary, f->module) || !is_unnamed(vocabulary, f))
			continue;
		location.function = profile_function(vocabulary, &(struct profile_function){
									 .name = a->name,
									 .system_name = a->name,
									 .module = f->module,
									 .kind = FUNCTION_NATIVE,
								 });
		profile_set_locations(vocabulary, a->frame, &location, 1);
	}
}

uint32_t names_gpu_frame(struct names *n, uint32_t text)
{
	return n->sink->frame(n->sink,
			      special_module(n, &n->gpu_module, MODULE_NAMED, FUNCTION_GPU), text);
}

uint32_t names_range_frame(struct names *n, uint32_t text)
{
	return n->sink->frame(
		n->sink, special_module(n, &n->range_module, MODULE_NAMED, FUNCTION_RANGE), text);
}

static const char *work_name(uint8_t kind, uint8_t subkind)
{
	/* CUpti_ActivityMemcpyKind */
	static const char *const copies[] = {
		"[copy]",
		"[copy host to device]",
		"[copy device to host]",
		"[copy host to array]",
		"[copy array to host]",
		"[copy array to array]",
		"[copy array to device]",
		"[copy device to array]",
		"[copy device to device]",
		"[copy host to host]",
		"[copy peer to peer]",
	};
	/* CUpti_ActivitySynchronizationType */
	static const char *const syncs[] = {
		"[synchronize]",	"[synchronize event]",	 "[stream waits for event]",
		"[synchronize stream]", "[synchronize context]",
	};

	switch (kind) {
	case GPU_WORK_MEMCPY:
		return copies[subkind < sizeof(copies) / sizeof(*copies) ? subkind : 0];
	case GPU_WORK_MEMSET: return "[fill]";
	case GPU_WORK_GRAPH: return "[graph]";
	case GPU_WORK_SYNC: return syncs[subkind < sizeof(syncs) / sizeof(*syncs) ? subkind : 0];
	case GPU_WORK_ALLOC: return "[allocation]";
	case GPU_WORK_FREE: return "[free]";
	case GPU_WORK_OVERHEAD: return "[overhead of CUPTI]";
	default: return "[kernel without a name]";
	}
}

uint32_t names_work(struct names *n, uint8_t kind, uint8_t subkind)
{
	return sink_cstring(n->sink, work_name(kind, subkind));
}
