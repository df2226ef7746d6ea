/*
 * The last step of every source: stacks of addresses, as the walkers give them, become modules,
 * frames, threads and samples of the sink, in one shape whoever took them.
 */
#ifndef SPROF_SAMPLE_SINK_H
#define SPROF_SAMPLE_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile/source.h"
#include "sampler/target/mapped_file.h"
#include "sampler/sink/stack_ids.h"

struct process;
struct python_codes;
struct thread_name;

struct sample_sink {
	struct sink *sink;	     /* during drain and stop */
	struct profile_stats *stats; /* of the source: samples and markers are counted there */
	struct thread_name *threads;
	uint32_t kernel_module, marker_module; /* sink ids, or PROFILE_NONE */
	struct python_codes *python_codes;     /* of the source; NULL where it has none */
};

/* A walked stack, however it was walked. Frames are leaf first; the gap is where frames were cut. */
struct walked {
	const uint64_t *kernel;
	const uint64_t *user; /* each FRAME_EXACT, a return address, or FRAME_PYTHON */
	size_t nr_kernel, nr_user;
	size_t gap;	 /* cut after user[gap - 1]; 0: nowhere */
	size_t rotation; /* the user frames from the gap on are a ring that starts here */
	int marker;	 /* enum marker at the root, or -1 */
	bool in_kernel;
	bool python_broken; /* there are Python frames that could not be read */
};

void sample_sink_init(struct sample_sink *out, struct profile_stats *stats);
void sample_sink_fini(struct sample_sink *out);

/* The sink's id of the module behind some code. */
uint32_t sample_sink_module(struct sample_sink *out, struct mapped_file *code);
/*
 * nr_kernel is at most MAX_KERNEL_FRAMES, nr_user at most MAX_USER_FRAMES. `p` may be NULL: then no
 * address is known.
 */
struct known_stack sample_sink_stack(struct sample_sink *out, const struct process *p,
				     const struct walked *walked);
/* The sink's id of a thread by its present name: COMM_SIZE bytes, filled with NUL. */
uint32_t sample_sink_thread(struct sample_sink *out, uint32_t pid, uint32_t tid, const char *comm);
/* Counts a sample with that stack and hands it on. */
void sample_sink_sample(struct sample_sink *out, const struct profile_sample *sample,
			struct known_stack stack);

#endif
