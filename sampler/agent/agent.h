/*
 * The code that runs inside a target: what its files share. It is a guest in another program's
 * process, so it makes raw system calls only and has no libc, no thread-local storage, no
 * allocation, no locks and, in the payload, no data of its own. The same files make up the payload
 * (with payload_*.c) and libsprof.so (with preload*.c and join.c).
 */
#ifndef SPROF_AGENT_AGENT_H
#define SPROF_AGENT_AGENT_H

#include <linux/types.h>

#include "core/portable/walk.h"
#include "sampler/agent/region.h"
#include "sampler/agent/x86_64/context.h"

#define AGENT_HIDDEN __attribute__((visibility("hidden")))

/* Of asm-generic/siginfo.h, which cannot be included beside libc's headers. */
#define AGENT_SI_QUEUE (-1)
#define AGENT_SI_TIMER (-2)
#define AGENT_SIG_DFL 0ull
#define AGENT_SIG_IGN 1ull
#define AGENT_SA_SIGINFO 0x00000004u
#define AGENT_SA_RESTORER 0x04000000u
#define AGENT_SA_ONSTACK 0x08000000u
#define AGENT_SA_RESTART 0x10000000u

struct agent_siginfo {
	__s32 signo, error, code, pad;
	__s32 timer, overrun; /* si_tid and si_overrun; si_pid and si_uid of a queued signal */
	__u64 value;
};

struct agent_timespec {
	__s64 seconds, nanoseconds;
};

/* A walk that is being made. */
struct agent_walk {
	struct walk_regs regs;
	const struct walk_space *space;
	const struct walk_arena *arena;
	__u32 generation;	     /* the space's, when the walk began */
	__u32 end;		     /* enum walk_end */
	__u32 nr;		     /* frames so far */
	struct walk_budget budget;   /* of the sample */
	__u64 low, high;	     /* memory known to be readable */
	__u64 *frames;		     /* of the scratch */
	__u64 *known;		     /* agent_region.known */
	struct agent_path *path;     /* while no other handler has it, or NULL */
	struct agent_step *fresh;    /* of the scratch */
	struct agent_python *python; /* NULL: no Python runs in this process */
	__u8 python_broken;	     /* some of its frames could not be read, or not be named */
};

/*
 * The region of this process, or NULL. payload_home.c and preload_home.c each find it in their own
 * way.
 */
AGENT_HIDDEN struct agent_region *agent_home(void);
/*
 * The first byte of the payload, which payload.lds names. Not const: memory behind it is written,
 * and of a constant the compiler remembers what it has read.
 */
extern char agent_payload_start[] AGENT_HIDDEN;

/* The kernel's struct sigevent and struct itimerspec. */
struct agent_event {
	__u64 value;
	__s32 signal, notify, tid;
	__s32 pad[11];
};
_Static_assert(sizeof(struct agent_event) == 64, "as the kernel's");

struct agent_timer_times {
	struct agent_timespec interval, value;
};

struct agent_taken;

/*
 * enter.c: obeys the commands (a set of enum agent_command). Returns 0 or -errno, also in
 * region->result.
 */
AGENT_HIDDEN long agent_enter(struct agent_region *region, __u32 commands);
/* A real-time signal that the program does not use, or 0. */
AGENT_HIDDEN int agent_free_signal(void);

/* x86_64/restorer.c: sa_restorer of a signal handler. */
AGENT_HIDDEN void agent_restorer(void);

/* handler.c */
AGENT_HIDDEN void agent_handler(int signal, struct agent_siginfo *info, struct agent_ucontext *uc);

/* timers.c */

/* CLOCK_MONOTONIC */
AGENT_HIDDEN __u64 agent_now_ns(const struct agent_region *region);
/*
 * Makes and deletes the timers that the slots ask for, at most `budget` of them. Leaves the mailbox
 * set if there are more.
 */
AGENT_HIDDEN void agent_serve_slots(struct agent_region *region, __u32 budget);
/*
 * What the first sample of a thread stands for. Its timer has met a tick at `now` (CLOCK_MONOTONIC)
 * for the first time since it was armed; this sets it to go on from there. Called where
 * slot->armed_ns is set and there is no sample yet.
 *
 * A thread that runs for brief moments is met by its first tick after a tick of its own CPU time,
 * on average, and as much of its time is left over at its end. So the first tick stands for one
 * tick, whenever it comes, and for the periods that have passed: then the expected sum of the
 * weights is the CPU time of the thread, however little that is.
 */
AGENT_HIDDEN __u64 agent_first_weight(struct agent_region *region, __u32 slot, __s32 tid,
				      __u64 now);
/*
 * With AGENT_CLOCK_WALL: sets the timer of the thread that is sampled to its next moment. Returns
 * what the sample stands for, and fills in late_ns and since_ns; 0: the signal is one of a timer
 * that was set anew meanwhile.
 *
 * A sample stands for a period, or a little more or less where the last ones came seldom or often,
 * so that the weights of a thread add up to its time; and for all of the time that it waited for
 * its thread to have a CPU.
 */
AGENT_HIDDEN __u64 agent_next_moment(struct agent_region *region, struct agent_taken *taken);
/* Makes the timer of a slot that is SLOT_WANTED; deletes that of a slot that is SLOT_UNWANTED. */
AGENT_HIDDEN void agent_serve_slot(struct agent_region *region, __u32 slot);
/*
 * The timer of the process has met the calling thread. Returns its slot, which has a timer from now
 * on, or REGION_MAX_THREADS if it had a timer already, which counts its time.
 */
AGENT_HIDDEN __u32 agent_slot_of_stranger(struct agent_region *region);
/* Deletes the timer of a slot that is SLOT_ARMED or SLOT_FAILED, and frees it. */
AGENT_HIDDEN void agent_free_slot(struct agent_region *region, __u32 slot);
/* The same for all slots. */
AGENT_HIDDEN void agent_free_slots(struct agent_region *region);

/*
 * Where in the stack frame number nr is kept: frames beyond the leaf's side overwrite each other as
 * in a ring.
 */
static inline __u32 agent_frame_slot(__u32 nr)
{
	if (nr < MAX_LEAF_FRAMES)
		return nr;
	return MAX_LEAF_FRAMES + (nr - MAX_LEAF_FRAMES) % MAX_ROOT_FRAMES;
}

/*
 * python.c: the Python frames of this thread. A run is what one call of the interpreter's loop
 * executes.
 */

/* Reads the innermost run, if there is one. */
AGENT_HIDDEN void agent_python_begin(struct agent_python *python);
/*
 * Stores the run that was read as frames `nr` and on, and reads the next. Returns the next frame's
 * number.
 */
AGENT_HIDDEN __u32 agent_python_run(struct agent_python *python, __u64 *frames, __u32 nr);
/* The same for all runs that are left, for which no native frame was found. */
AGENT_HIDDEN __u32 agent_python_finish(struct agent_python *python, __u64 *frames, __u32 nr);
/* Begins again, and stores all runs in python->words, as they go beside a snapshot. */
AGENT_HIDDEN void agent_python_flatten(struct agent_python *python);
/* Is there a frame that could not be read, or not be named? */
AGENT_HIDDEN __u32 agent_python_broken(const struct agent_python *python);

/* doing.c: fills in what the thread did when its timer expired; taken->late_ns is set. */
AGENT_HIDDEN void agent_find_doing(struct agent_region *region, struct agent_taken *taken,
				   const struct agent_ucontext *uc);

/* stack.c */

/* The registers of the interrupted function. */
AGENT_HIDDEN void agent_read_regs(struct walk_regs *ret, const struct agent_ucontext *uc);
/*
 * Walks from walk->regs, the registers of the leaf, and adds to walk->frames and walk->nr.
 * walk->end says how the walk ended; pc, sp and fp of walk->regs are those of the last frame then.
 * The caller has made sure that there is an arena and that the space is not stale.
 */
AGENT_HIDDEN void agent_walk_stack(struct agent_walk *walk);
/* memory.c */

/*
 * Readable bytes from `address` on, at most `max`. walk->low and high become the range that holds
 * the address, if they were another.
 */
AGENT_HIDDEN __u64 agent_readable(struct agent_walk *walk, __u64 address, __u64 max);
/*
 * Extends the range [low, high) of the walk by pages from the address on, or begins a new range
 * there. -1: the address cannot be read.
 */
AGENT_HIDDEN int agent_extend_readable(struct agent_walk *walk, __u64 address);
/* How many of some pages from `page` on can be read now; few are looked at. */
AGENT_HIDDEN __u32 agent_readable_pages(__u64 page, __u32 nr_wanted);
/* Can the page at the address be read now? Cheaper, but an error to valgrind. */
AGENT_HIDDEN int agent_is_readable(__u64 address);
/*
 * The kernel copies memory of this process. Returns -1 if not all of it can be read, or, with
 * *ret_is_refused, if the program may not have the kernel copy.
 */
AGENT_HIDDEN int agent_copy(void *to, __u32 size, __u64 address, int *ret_is_refused);

/* record.c: records into the rings. This is what all records of one sample have in common. */
struct agent_taken {
	__u32 slot;
	__s32 tid;
	__u64 time_ns, weight_ns;
	/* With AGENT_CLOCK_WALL: since its timer expired, and since its last sample. */
	__u64 late_ns, since_ns;
	__u32 maps_epoch;
	__u16 cpu;
	__u8 in_kernel;
	__u8 doing;    /* enum agent_doing; the rest as in struct agent_sample */
	__u8 is_again; /* the thread is where the last sample met it */
	__u8 was_aborted;
	__s32 call;
	__u64 args[2];
	__u64 remaining_ns;
};
/* Prefetches the memory that a sample of that slot will be written to. */
AGENT_HIDDEN void agent_expect_sample(const struct agent_region *region, __u32 slot);
AGENT_HIDDEN void agent_put_sample(struct agent_region *region, const struct agent_taken *taken,
				   const struct agent_walk *walk);
/* The CPU time since the last sample of a thread that ends. */
AGENT_HIDDEN void agent_put_rest(struct agent_region *region, __u32 slot, __s32 tid, __u64 time_ns,
				 __u64 weight_ns);

/* A record that is being written: begun, put word by word, committed. */
struct agent_place {
	__u64 *words;
	__u64 at, start;
	__u32 nr;
};

/*
 * How python.c sends a code object: a record of nr_words is begun, put and committed. Each payload
 * has its own: record.c, and alloc/code_record.c. 0, or -1 where there is no room.
 */
AGENT_HIDDEN int agent_begin_code(const struct agent_python *python, __u32 nr_words,
				  struct agent_place *ret_place);
AGENT_HIDDEN void agent_put_words(struct agent_place *place, const __u64 *words, __u32 nr);
AGENT_HIDDEN void agent_commit(const struct agent_place *place);

/*
 * Takes one of the snapshots that the recorder allows. 0: it allows none, or there is no room for
 * one.
 */
AGENT_HIDDEN int agent_may_snapshot(struct agent_region *region, __u32 slot);
/*
 * Follows agent_may_snapshot(). The Python frames are those in walk->python->words. 0, or -1: no
 * room.
 */
AGENT_HIDDEN int agent_put_snapshot(struct agent_region *region, const struct agent_taken *taken,
				    struct agent_walk *walk, const struct walk_regs *leaf);

#endif
