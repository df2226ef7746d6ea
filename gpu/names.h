/*
 * Translates the region's ids and addresses into ids of the sink: strings, kernels, frames, ranges,
 * threads. Each is looked up once.
 */
#ifndef SPROF_GPU_NAMES_H
#define SPROF_GPU_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/number_map.h"
#include "core/profile/profile.h"
#include "gpu/collect_opts.h"
#include "gpu/region/shared_region.h"

/* A frame near the leaf of calls of one function of CUDA's API. */
struct api_frame {
	uint32_t frame, name; /* of the sink; name PROFILE_NONE: of several functions */
};

struct names {
	const struct shared_region *region;
	const struct gpu_collect_opts *opts;
	struct sink *sink;
	struct number_map strings, kernels, frames, threads;
	uint32_t next_stack; /* the first stack of the region that was not looked up yet */
	struct number_map noted, api_index; /* stacks and calls; frames, to api_frames[] */
	struct api_frame *api_frames;
	size_t nr_api_frames, api_frames_capacity;
	struct buffer text;
	uint32_t gpu_module, range_module,
		marker_module; /* of the sink; PROFILE_NONE: not made yet */
};

void names_init(struct names *n, const struct shared_region *region,
		const struct gpu_collect_opts *opts, struct sink *sink);
/* Frees all that names_apply_calls() does not need. */
void names_release(struct names *n);
void names_fini(struct names *n);

/* The sink's id of a string of the region; that of "" for a bad id. */
uint32_t names_string(struct names *n, uint32_t string);
/* The same for a range's name; "[range without a name]" for string 0. */
uint32_t names_range(struct names *n, uint32_t string);
/* The same for a kernel's name, demangled; else "[kernel without a name]". */
uint32_t names_kernel(struct names *n, uint32_t string);
/* The sink's thread. tid 0, and threads that have ended, get the name of the process. */
uint32_t names_thread(struct names *n, uint32_t tid);

/*
 * Looks up the addresses of all new stacks. Done early, as what was mapped there is unknown after
 * the target has ended.
 */
void names_look_up_stacks(struct names *n);

/* Notes that a call of this name (a string) has this stack; both of the region. */
void names_note_call(struct names *n, uint32_t stack, uint32_t name);
/*
 * Gives frames in libcuda and libcudart without a name that of the API's function whose calls they
 * are in. `vocabulary` has the sink's ids.
 */
void names_apply_calls(const struct names *n, struct profile *vocabulary);

/* The following return frames of the sink. */

/* `frame` is as in the region: a return address, or FRAME_PYTHON. */
uint32_t names_code_frame(struct names *n, uint64_t frame);
uint32_t names_marker_frame(struct names *n, enum marker marker);
/* `text`: a string of the sink. */
uint32_t names_gpu_frame(struct names *n, uint32_t text);
uint32_t names_range_frame(struct names *n, uint32_t text);

/* The sink's string for work without a name of its own: "[copy host to device]". */
uint32_t names_work(struct names *n, uint8_t kind, uint8_t subkind);

#endif
