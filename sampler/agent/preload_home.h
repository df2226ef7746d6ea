/*
 * What libsprof.so knows of its process: the recorder, our signal, and the region while there is
 * one. The region goes when its recording ends, while threads may still be at work in it;
 * agent_hold() and agent_let_go() keep it mapped.
 */
#ifndef SPROF_AGENT_PRELOAD_HOME_H
#define SPROF_AGENT_PRELOAD_HOME_H

#include <linux/types.h>

#define NR_STARTS 256 /* threads that are being created at once */

struct agent_region;

/* A thread between pthread_create() and its own function. */
struct agent_thread {
	void *(*start)(void *);
	void *argument;
};

struct agent_start {
	struct agent_thread thread;
	__u32 taken, pad;
};

enum { NOT_JOINED = 0, IS_JOINING = 1, HAS_JOINED = 2 /* or has tried to */ };

/*
 * Memory that is empty in a child after fork(2), because its parent's region is not mapped there.
 */
struct agent_own_home {
	struct agent_region *region;
	struct agent_region *retired; /* the last thread that lets go of it unmaps it */
	__u32 inside;		      /* threads between agent_hold() and agent_let_go() */
	__u32 joining;
	__s32 timer; /* of the first sample, before there is a region */
	__u32 pad;
	struct agent_start starts[NR_STARTS];
};

/*
 * Written before there is a second thread, in a child, which has one thread, or by the thread that
 * joins.
 */
struct agent_own {
	struct agent_own_home *home; /* NULL: there was no memory for it */
	__u64 name;		     /* of the recorder; 0: none */
	__u64 period_ns, tick_ns;
	__s32 recorder; /* process id */
	__s32 signal;	/* 0: no real-time signal was free, or none was needed yet */
};

#pragma GCC visibility push(hidden)

extern struct agent_own agent_own;

/* 0: no memory. */
int agent_make_home(void);

/*
 * The region, which stays mapped until agent_let_go(), or NULL. Each call is followed by one of
 * that, even when it returned NULL.
 */
struct agent_region *agent_hold(void);
void agent_let_go(void);
/*
 * The recording has ended, or its recorder has: the process sleeps again. Called by a thread that
 * holds the region.
 */
void agent_retire(struct agent_region *region);

#pragma GCC visibility pop

#endif
