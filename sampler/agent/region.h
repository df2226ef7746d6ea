/*
 * The memory that the recorder and the code inside a target share. One file (a memfd, or shared
 * anonymous memory) that both map; in the target it lies like this:
 *
 *	code	REGION_CODE_SIZE		read, execute	the payload, or unused
 *	region	sizeof(struct agent_region)	read, write
 *	space	sizeof(struct walk_space)	read only	core/portable/walk_tables.h
 *
 * and a second mapping, read only, of the arena that all targets of a recording share; its address
 * in the target is agent_region.arena. The recorder makes both, fills the fields marked R and then
 * has agent_enter() run; the target writes those marked T. The recorder trusts nothing in here: it
 * keeps its own copies of R, and checks every index of T.
 *
 * The payload has no data of its own: its region follows its code.
 */
#ifndef SPROF_AGENT_REGION_H
#define SPROF_AGENT_REGION_H

#include <linux/types.h>

#include "core/portable/budget.h"
#include "core/portable/frames.h"
#include "core/portable/pycode.h"
#include "core/portable/ring.h"
#include "core/portable/walk_tables.h"

#define REGION_MAGIC 0x31474552464f5253ull /* "SROFREG1" */
#define REGION_VERSION 8u

#define REGION_CODE_SIZE 32768u
#define REGION_MAX_THREADS 65536u
#define REGION_NR_PROBES 16u
#define REGION_NR_RINGS 8u
#define REGION_RING_WORDS 65536u /* 512 KiB each */
#define REGION_NR_SCRATCH 64u	 /* handlers that run at once; one bit each in agent_region.busy */
#define REGION_NR_KNOWN 2048u	 /* power of two; half of a usual first cache */
#define REGION_NR_PATHS 64u	 /* power of two */
#define REGION_PATH_STEPS 127u
#define REGION_STACK_SIZE 16384u /* for agent_enter() when it must not use the thread's own stack */

#define REGION_SNAPSHOT_MAX 32768u /* bytes of stack */
/* Python frames beside a snapshot, and the boundary of each of their runs. */
#define REGION_PYTHON_WORDS 512u
#define REGION_PYTHON_PAGES 64u	   /* power of two */
#define REGION_PYTHON_STABLE 1024u /* power of two */
#define REGION_PYTHON_FRESH 16u
#define REGION_PYTHON_BLOCK 128u

enum agent_command {
	AGENT_INSTALL = 1, /* the handler of region->signal, or of a free signal if that is 0 */
	AGENT_ARM = 2,	   /* a timer for each slot that is SLOT_WANTED */
	AGENT_DETACH = 4,  /* deletes all timers, flushes their signals, restores the handler */
	AGENT_DISARM = 8,  /* deletes all timers, nothing else */
};

enum agent_clock {
	AGENT_CLOCK_CPU = 0,  /* each thread's CPU time */
	AGENT_CLOCK_WALL = 1, /* CLOCK_MONOTONIC */
};

enum agent_state {
	AGENT_OFF = 0,	    /* not installed, or detached */
	AGENT_ON = 1,	    /* samples are taken as long as the recorder's heartbeat moves */
	AGENT_ORPHANED = 2, /* the recorder stopped: timers disarm as they fire */
};

enum slot_state {
	SLOT_FREE = 0,
	SLOT_WANTED = 1,   /* needs a timer */
	SLOT_CLAIMED = 2,  /* the target is at work on it */
	SLOT_ARMED = 3,	   /* has one */
	SLOT_UNWANTED = 4, /* its thread is gone: the timer is to be deleted, the slot freed */
	SLOT_FAILED = 5,   /* the kernel gave no timer: `error` says why */
};

/*
 * The slot of a thread. The owner word is (thread << 32 | state) and changes by compare and swap,
 * so a thread has one slot even if both sides ask for it: the recorder for threads that it sees in
 * /proc, the target for threads that it starts. A thread's slot is one of the REGION_NR_PROBES from
 * its number modulo the table on. After a change to SLOT_WANTED or SLOT_UNWANTED the slot's bit in
 * `pending` is set and then `mailbox`: the next handler that runs serves it.
 */
struct agent_slot {
	__u64 owner;
	__s32 timer;		     /* T: the kernel's timer id, or -1 */
	__s32 error;		     /* T: errno of SLOT_FAILED */
	__u64 stack_low, stack_high; /* T: stack known to be readable */
	__u32 nr_samples;	     /* T */
	__u32 pooled; /* T: when the thread ends, pool_ns gets what weighed_ns was off */
	union {
		__u64 weighed_ns; /* T: CPU time that its samples stand for */
		/*
		 * T: before the first sample, if armed_ns is set: the thread's clock when it was
		 * armed
		 */
		__u64 armed_cpu_ns;
	};
	__u64 delay_ns; /* R: its timer must not expire sooner than this after it was made */
	/* T: the timer waits for a first tick since this time, CLOCK_MONOTONIC; or 0 */
	__u64 armed_ns;
};
_Static_assert(sizeof(struct agent_slot) == 64, "a cache line");

/* T: more of a thread that is sampled by the clock (AGENT_CLOCK_WALL). */
struct agent_clock_slot {
	__u64 expiry_ns; /* when its timer expires */
	__u64 last_ns;	 /* when its last sample was taken, or its timer made */
	__u64 done_ns;	 /* when the handler of that sample was done; or 0 */
	__u64 place;	 /* of that sample: its pc plus its sp */
	__u64 told_ns;	 /* as last_ns, by the weights of its samples */
	__u64 cpu_ns;	 /* its CPU time at its last sample */
	__s64 over_ns;	 /* the CPU time that its samples stand for, less what it has used */
};

/* The kernel's struct sigaction on x86-64. */
struct agent_sigaction {
	__u64 handler, flags, restorer, mask;
};

/*
 * A frame of a walk: the pc by which its rule was found << 16 | low bits of sp / 8; and the rule.
 */
struct agent_step {
	__u64 at;
	struct walk_rule rule;
};

/*
 * The last stack of a thread, or of another one that shares the path, as steps from the leaf's side
 * to the root's. The steps end where the array ends, so a change at the leaf moves nothing. A walk
 * along a path reads a few cache lines in order, where known[] takes one line per frame.
 */
struct agent_path {
	__u32 busy; /* a handler is at work on it */
	__u32 generation;
	__u32 first, pad; /* steps[first] and on are filled */
	struct agent_step steps[REGION_PATH_STEPS];
};
_Static_assert(sizeof(struct agent_path) == 2048, "whole cache lines");

/* Memory of a handler beside its stack, which may be a small alternate one of the target's. */
struct agent_scratch {
	__u64 frames[MAX_LEAF_FRAMES + MAX_ROOT_FRAMES];
	struct agent_step fresh[REGION_PATH_STEPS + 1];
};

struct agent_taken;

/* The Python part of a walk (python.c), by core/portable/pyruns.h. */
struct agent_python {
	struct py_runs runs; /* first: py_read() gets a pointer to it and finds the rest */
	const struct py_layout *layout;
	struct code_slot *codes; /* CODE_SLOTS code objects that were sent, */
	__u64 *nr_codes;	 /* and how many numbers were given out */
	/* of the timer source's agent, whose records need them; else NULL */
	struct agent_region *region;
	const struct agent_taken *taken;
	struct walk_budget *budget;	  /* the walk's */
	__u64 *frames;			  /* the stack that is being made, */
	__u32 nr;			  /* and how many frames it has */
	__s32 tid;			  /* of a thread that allocates: its records need it */
	__u64 pages[REGION_PYTHON_PAGES]; /* readable, by their number; 0 = none */
	/* Low halves of the numbers of pages in which sound frames or code have been met. */
	__u32 stable[REGION_PYTHON_STABLE];
	/* Likewise of pages that the kernel has copied from, until it is known what they hold. */
	__u32 fresh[REGION_PYTHON_FRESH];
	__u32 nr_fresh;
	__u32 copy_refused;		  /* the kernel may not copy */
	__u64 block[REGION_PYTHON_BLOCK]; /* of a line table that is being sent */
	struct code_record code;	  /* being sent */
	__u32 nr_words, pad;
	__u64 words[REGION_PYTHON_WORDS]; /* the runs beside a snapshot */
};

union agent_python_scratch {
	struct agent_python python;
	__u8 size[16384];
};
_Static_assert(sizeof(union agent_python_scratch) == 16384, "whole pages");

struct agent_region {
	__u64 magic;		/* R */
	__u32 version;		/* R */
	__u32 size;		/* R: bytes of code, region and space together */
	__u32 cookie;		/* R: the upper half of si_value in every signal that is ours */
	__s32 signal;		/* R, T: 0 = choose a free real-time one; then the one chosen */
	__u64 period_ns;	/* R */
	__u64 tick_ns;		/* R: timers expire no more often than this; 0 = no such limit */
	__u32 clock;		/* R: enum agent_clock */
	__u32 known_generation; /* T: the generation of the space that known[] is valid for */
	__u64 arena; /* R, T: address in the target of struct walk_arena; 0 = no rows: snapshots */
	/* R: addresses in the target of the vdso's functions; 0 = system call, */
	__u64 clock_gettime;
	__u64 getcpu;	    /* and CPU 0 */
	__u64 heartbeat_ns; /* R: CLOCK_MONOTONIC, raised several times a second */
	/* R: after so long without a heartbeat the recorder counts as dead; 0 = never */
	__u64 heartbeat_limit_ns;
	__u32 mailbox;	       /* R, T: 1 = slots wait to be served */
	__u32 snapshot_credit; /* R, T: snapshots that may still be sent; refilled by R */

	/* T: how far the target is; by these a command that is repeated does nothing. */
	__u32 installed; /* the handler is ours, old_action is valid */
	__u32 state;	 /* enum agent_state */
	__u32 done;	 /* agent_enter() calls that have returned */
	__s32 result;	 /* of the last: 0 or -errno */
	__u64 busy;	 /* a bit for each handler that runs */
	struct agent_sigaction old_action;
	__u32 maps_wanted; /* raised when a pc lay in no mapping: the recorder reads them again */
	__u32 maps_epoch;  /* raised before the target changes its mappings (dlopen, dlclose) */

	/* T: counters */
	__u64 nr_signals;  /* of ours */
	__u64 nr_foreign;  /* signals of others on our number, handed on */
	__u64 nr_busy;	   /* samples dropped because every scratch was in use */
	__u64 nr_no_slot;  /* threads for which there was no slot */
	__u64 nr_no_timer; /* threads to which the kernel gave no timer */
	__u64 pool_ns;	   /* CPU time of threads that have ended, which no sample stands for yet */
	__u64 nr_torn;	   /* walks during which the tables were rewritten twice */
	__u64 nr_codes;	   /* Python code objects that were given numbers */
	__u32 process_wanted; /* R: a timer for threads that have none */
	__s32 process_timer;  /* T: its id + 1; 0 = none, -1 = it is being made */
	__u64 pad[227];

	struct ring rings[REGION_NR_RINGS]; /* slot modulo REGION_NR_RINGS */
	__u64 pad1[64];
	__u8 stack[REGION_STACK_SIZE];
	struct agent_scratch scratch[REGION_NR_SCRATCH];
	union agent_python_scratch pythons[REGION_NR_SCRATCH];
	struct code_slot codes[CODE_SLOTS]; /* T, R: Python code objects that were sent */
	__u64 known
		/* T: rules found lately: the pc with its generation << 16 | rule; 0 = none */
		[REGION_NR_KNOWN];
	struct agent_path paths[REGION_NR_PATHS]; /* T: by slot */
	__u64 words[REGION_NR_RINGS][REGION_RING_WORDS];
	__u64 used[REGION_MAX_THREADS / 64];	/* R, T: slots that are not free, or were not */
	__u64 pending[REGION_MAX_THREADS / 64]; /* R, T: slots that wait to be served */
	struct agent_slot slots[REGION_MAX_THREADS];
	struct agent_clock_slot clock_slots[REGION_MAX_THREADS];
};
_Static_assert(sizeof(struct agent_region) % 4096 == 0, "mapped by itself");

#define REGION_SPACE_OFFSET (REGION_CODE_SIZE + sizeof(struct agent_region))
#define REGION_FILE_SIZE (REGION_SPACE_OFFSET + sizeof(struct walk_space))

/* ---- records in the rings; after the ring's header word */

enum agent_record {
	AGENT_SAMPLE = 1,
	AGENT_SNAPSHOT = 2,
	AGENT_REST = 3, /* no stack: CPU time of a thread that ends, since its last sample */
	AGENT_CODE = 4, /* a struct code_record and its line table, padded to whole words */
};

/* What the thread did when its timer expired; AGENT_CLOCK_WALL only. */
enum agent_doing {
	AGENT_RAN = 0,
	AGENT_WAITED = 1, /* in a system call, which the signal has interrupted */
	/* In a system call that took signals only at its end, such as a read from a disk. */
	AGENT_WAITED_UNINTERRUPTED = 2,
	AGENT_WAS_RUNNABLE = 3, /* it took the signal later, when it had a CPU again */
};

/*
 * A sample: the words of this struct, then nr_frames frames, leaf first: each has
 * FRAME_EXACT, is a return address, or has FRAME_PYTHON. nr_total > nr_frames: the frames
 * from MAX_LEAF_FRAMES on are a rotated ring.
 */
struct agent_sample {
	__u16 type;	/* enum agent_record */
	__u8 end;	/* enum walk_end */
	__u8 in_kernel; /* it stood right behind a system call */
	__s32 tid;
	__u64 time_ns; /* CLOCK_MONOTONIC */
	__u64 weight_ns;
	__u32 nr_frames, nr_total;
	__u32 maps_epoch;
	__u16 cpu;
	__u8 python_broken; /* some Python frames could not be read */
	__u8 gil;	    /* enum py_gil */
	/* Of a thread that waited: its system call, or -1, and the first arguments. */
	__s32 call;
	__u8 doing;	  /* enum agent_doing */
	__u8 was_aborted; /* the signal has made the call return EINTR */
	__u8 pad[2];
	__u64 args[2];
	__u64 remaining_ns; /* that the aborted call had still to wait, at least; 0: not known */
};
_Static_assert(sizeof(struct agent_sample) == 72, "whole words");
_Static_assert(1 + sizeof(struct agent_sample) / 8 + MAX_USER_FRAMES <= RING_MAX_RECORD,
	       "a ring takes the deepest stack");

/*
 * A stack that the recorder unwinds: a sample; this; nr_frames words of Python frames, each run as
 * its boundary (core/portable/pyframes.h; 0: it has none) and its frames; the bytes of the stack
 * from stack_start on, whole words.
 */
struct agent_snapshot {
	__u64 pc;
	__u64 gpr[16]; /* DWARF order, as struct walk_regs */
	__u64 stack_start;
	__u64 stack_size; /* bytes */
};
_Static_assert(sizeof(struct agent_snapshot) == 152, "whole words");

/* The header of the injected payload. Offsets count from it. */
#define AGENT_PAYLOAD_MAGIC 0x31424f4c42525053ull /* "SPRBLOB1" */
struct agent_payload {
	__u64 magic;
	__u32 size;    /* bytes of it */
	__u32 version; /* REGION_VERSION */
	__u32 enter;   /* long agent_enter(struct agent_region *, __u32 commands): returns */
	__u32 start;   /* the same, called with any stack; never returns but waits in ppoll(2) */
};
_Static_assert(sizeof(struct agent_payload) == 24, "no holes");

/*
 * si_value of our signals: the cookie in the upper half, in the lower the slot; REGION_MAX_THREADS:
 * only look into the mailbox; REGION_PROCESS_SLOT: of the timer that all threads share.
 */
#define REGION_PROCESS_SLOT (REGION_MAX_THREADS + 1)

static inline __u64 agent_signal_value(__u32 cookie, __u32 slot)
{
	return (__u64)cookie << 32 | slot;
}

static inline __u64 agent_owner(__s32 tid, __u32 state)
{
	return (__u64)(__u32)tid << 32 | state;
}

/*
 * Claims a slot for a thread and makes its owner word SLOT_WANTED. Returns the slot; -1: the thread
 * has one already; -2: there is no room. The caller sets the slot's bits, or serves it.
 */
static inline int agent_slot_claim(struct agent_region *region, __s32 tid)
{
	__u32 first = (__u32)tid % REGION_MAX_THREADS;
	int found = -2;

	for (__u32 i = 0; i < REGION_NR_PROBES; i++) {
		__u32 at = (first + i) % REGION_MAX_THREADS;
		__u64 owner = __atomic_load_n(&region->slots[at].owner, __ATOMIC_ACQUIRE);

		if (owner >> 32 == (__u32)tid)
			return -1;
		if (!owner && found < 0)
			found = (int)at;
	}
	for (__u32 i = 0; found >= 0 && i < REGION_NR_PROBES; i++) {
		__u32 at = (first + i) % REGION_MAX_THREADS;
		__u64 free = 0;

		if (__atomic_compare_exchange_n(&region->slots[at].owner, &free,
						agent_owner(tid, SLOT_WANTED), 0, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE)) {
			__atomic_fetch_or(&region->used[at / 64], 1ull << at % 64,
					  __ATOMIC_RELAXED);
			return (int)at;
		}
		if (free >> 32 == (__u32)tid)
			return -1;
	}
	return -2;
}

/* The slot of a thread, or -1. */
static inline int agent_slot_find(const struct agent_region *region, __s32 tid)
{
	for (__u32 i = 0; i < REGION_NR_PROBES; i++) {
		__u32 at = ((__u32)tid + i) % REGION_MAX_THREADS;

		if (__atomic_load_n(&region->slots[at].owner, __ATOMIC_ACQUIRE) >> 32 == (__u32)tid)
			return (int)at;
	}
	return -1;
}

#endif
