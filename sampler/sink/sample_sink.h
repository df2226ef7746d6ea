/*
 * The last step of every source: turns stacks of addresses, as the walkers give them, into modules,
 * frames, threads and samples of the sink. Ids are the sink's; a stack is root first there and leaf
 * first here.
 */
#ifndef SPROF_SAMPLE_SINK_H
#define SPROF_SAMPLE_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/portable/frames.h"
#include "core/profile/source.h"
#include "sampler/target/mapped_file.h"
#include "sampler/sink/stack_ids.h"

struct process;
struct process_facts;
struct python_codes;
struct thread_name;

/* So many threads are known for a while after they have ended: samples of them may still come. */
#define SINK_MAX_ENDED 1024

struct sample_sink {
	struct sink *sink;	     /* set during drain and stop */
	struct profile_stats *stats; /* the source's; samples and markers are counted there */
	struct thread_name *threads;
	uint32_t kernel_module, marker_module, wait_module; /* sink ids, or PROFILE_NONE */
	struct python_codes *python_codes; /* the source's; NULL: no Python frames */
	/* of a recording, made by sample_sink_keep_processes(); NULL: the sink is not told */
	struct process_facts *processes;
	uint32_t ended[SINK_MAX_ENDED]; /* threads, a ring; 0: none yet */
	size_t next_ended;
};

/* A walked stack. Frames are leaf first; the gap is where frames were cut out. */
struct walked {
	const uint64_t *kernel;
	const uint64_t *user; /* each FRAME_EXACT, a return address, or FRAME_PYTHON */
	size_t nr_kernel, nr_user;
	size_t gap;	 /* frames are missing after user[gap - 1]; 0: none are */
	size_t rotation; /* where the ring that user[gap] and on is begins */
	/*
	 * the root end, behind user[nr_user - 1]: between it and the others frames are missing or
	 * may be, and the marker is there
	 */
	size_t nr_joined;
	int marker; /* enum marker at the root, or -1 */
	bool in_kernel;
	bool python_broken; /* some Python frames could not be read */
	const char *wait;   /* what the thread waited for: the leaf; NULL: it ran */
};

void sample_sink_init(struct sample_sink *out, struct profile_stats *stats);
void sample_sink_fini(struct sample_sink *out);
/*
 * From now on the sink is told what each sampled process belongs to. The processes must be those of
 * this machine.
 */
void sample_sink_keep_processes(struct sample_sink *out);
/* A process was forked. */
void sample_sink_forked(struct sample_sink *out, pid_t parent, pid_t child);
/*
 * A thread has ended, and its process if it was the first one: what is kept of both is forgotten a
 * while later. Samples that come after that cost a look into /proc.
 */
void sample_sink_ended(struct sample_sink *out, pid_t tid);
/* The sink's ids are void: those that are kept here are forgotten. */
void sample_sink_forget(struct sample_sink *out);
/* Before the sink is told no more: brings it up to date. */
void sample_sink_end(struct sample_sink *out);

/* The sink's id of a mapped file. Tells the sink, once, how many rules were derived for it. */
uint32_t sample_sink_module(struct sample_sink *out, struct mapped_file *file);
/*
 * Interns a stack. nr_kernel is at most MAX_KERNEL_FRAMES, nr_user at most MAX_USER_FRAMES. `p` may
 * be NULL: then all user addresses are unknown.
 */
struct known_stack sample_sink_stack(struct sample_sink *out, const struct process *p,
				     const struct walked *walked);
/* The most frames of a stack in the sink. */
#define SINK_MAX_FRAMES (MAX_KERNEL_FRAMES + MAX_USER_FRAMES + MAX_JOINED_FRAMES + 6)
/*
 * As sample_sink_stack(), but fills frames[SINK_MAX_FRAMES], root first, and returns their number;
 * for stacks that are joined before they are interned. *ret_incomplete as in struct known_stack.
 */
size_t sample_sink_frames(struct sample_sink *out, const struct process *p,
			  const struct walked *walked, uint32_t *frames, uint8_t *ret_incomplete);
/* A frame that says what a thread waits for. */
uint32_t sample_sink_wait_frame(struct sample_sink *out, const char *name);
/* The sink's id of a thread under its present name: COMM_SIZE bytes, filled with NUL. */
uint32_t sample_sink_thread(struct sample_sink *out, uint32_t pid, uint32_t tid, const char *comm);
/* The same of a thread whose name was seen before; PROFILE_NONE: it was not. */
uint32_t sample_sink_known_thread(const struct sample_sink *out, uint32_t pid, uint32_t tid);
/* Counts a sample with that stack and hands it to the sink. */
void sample_sink_sample(struct sample_sink *out, const struct profile_sample *sample,
			struct known_stack stack);

/*
 * Adds the sample to COLUMN_LATENCY, too: its weight divided by how many threads ran, which becomes
 * a label. It is not counted as a sample again.
 */
void sample_sink_latency(struct sample_sink *out, const struct profile_sample *sample,
			 uint32_t running);

#endif
