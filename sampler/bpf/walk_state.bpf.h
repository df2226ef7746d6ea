/*
 * The state of a walk: the registers and the process's tables, the window of the stack that was
 * read last, the Python side, and the stack record as it goes into the ring. All of it lies in
 * memory, because the functions of a walk share 512 bytes of stack.
 */
#ifndef SPROF_WALK_STATE_BPF_H
#define SPROF_WALK_STATE_BPF_H

#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

#define PY_READS_FRAMES /* in python.bpf.h */
#define PY_MEETS_CODE	/* there, too */
#define WALK_READS_GREGS
#include "core/portable/budget.h"
#include "core/portable/pyruns.h"
#include "core/portable/walk.h"
#include "sampler/bpf/events.h"

#define WINDOW_SIZE 512u /* bytes of the target's stack fetched at once */

#define FRAMES_WINDOW 2048u /* bytes of a thread's data stack fetched at once */
#define FRAME_WORDS 10u	    /* of a frame in it: CPython 3.11 and later */
#define PATH_STEPS 64u	    /* power of two */
#define FETCHED_AT_ONCE 8u
#define STAYS_CACHED_NS 2000000u
#define DEEP 128u /* the outermost frames are kept of stacks with more */

/* A frame by its return address, and the sp of the frame that is returned to. */
struct root_frame {
	__u64 pc, sp;
};

/* The state of the current sample. One per CPU: the perf event cannot nest on a CPU. */
struct walk_state {
	struct walk_regs regs;
	struct walk_budget budget;
	/* the process's map table */
	__u32 maps, nr_maps;
	/* the mapping that contains the last pc */
	__u64 map_start, map_end, map_bias;
	__u32 map_table, table; /* numbers: of the table it was found in, of the process's table */
	struct module_entry module;
	__u64 rule; /* struct walk_rule of the current step */
	/*
	 * the last walk on this CPU: when, in which map table, and which sets of known rules it
	 * read
	 */
	__u64 path_ns;
	__u32 path_table, nr_path;
	__u16 path[PATH_STEPS];
	/* stack window */
	__u64 window_base;
	__u64 window[WINDOW_SIZE / 8];
	__u64 word; /* what read_far() has read */
	__u32 end;  /* enum walk_end */
	__u32 nr_user;
	/* of the sample of a running thread that is being taken */
	__u64 weight;
	__u32 number;	/* sample_event.event */
	__u32 running;	/* sample_event.running; counted anew at each tick, or always 0 */
	__u64 limit_ns; /* how long this walk may take */
	/* root_end.bpf.h: the outermost frames, a ring, and where an earlier walk stopped */
	__u32 nr_outer;
	__u32 climbs; /* frames are not kept */
	struct root_frame outer[MAX_JOINED_FRAMES];
	__u64 stop_pc, stop_sp, stop_fp, leaf_sp, first_sp, first_end;
	__u64 joined[MAX_JOINED_FRAMES];
	__u64 hash;
	/*
	 * Counters of loops: the verifier does not track values in memory, so it checks one
	 * iteration and not every combination of them.
	 */
	__u32 low, high;
	__u64 copied;
	/* the Python side; python.bpf.h */
	struct py_runs py;
	__u64 token;	   /* while it is the same, so are the code objects at their addresses */
	__u64 salt;	   /* of the process */
	__u64 numbered;	   /* known_code.numbered of the current code object */
	__u64 frame_at;	   /* address of the current frame */
	__u64 data_stack;  /* address of the last frame on a thread's data stack */
	__u64 frames_base; /* the address that frames_window was read from */
	__u64 frames_size; /* bytes that were read */
	__u64 frames_window[FRAMES_WINDOW / 8 + FRAME_WORDS];
	__u32 python;		    /* index in the pythons map; 0 = none */
	__u32 next_way;		    /* the entry to replace in a full set of known codes */
	__u64 copy_from, copy_size; /* of the line table being copied */
	__u64 nr_codes;		    /* code objects sent from this CPU so far */
	__u64 code_bytes;	    /* of the code objects that this sample sent */
	/* the stack record as it goes into the ring: the frames follow it */
	struct stack_event event;
	__u64 frames[8192]; /* MAX_KERNEL_FRAMES + MAX_USER_FRAMES, rounded to a mask */
};
#define FRAMES_MASK 8191u

#endif
