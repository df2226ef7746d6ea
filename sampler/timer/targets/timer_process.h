/*
 * One program in one process that is sampled; an exec begins another. Each part is written by the
 * file that its header names; what is not in a part belongs to processes.c.
 */
#ifndef SPROF_TIMER_PROCESS_H
#define SPROF_TIMER_PROCESS_H

#include <stdint.h>

#include "sampler/target/process.h"
#include "sampler/timer/targets/attached.h"
#include "sampler/timer/targets/losses.h"
#include "sampler/timer/targets/missed_time.h"
#include "sampler/timer/targets/threads.h"
#include "sampler/timer/targets/timer_python.h"
#include "sampler/timer/targets/timer_region.h"

struct timer_process {
	struct timer_process *next;
	struct process maps; /* pid, mappings, epoch */
	struct timer_region region;
	uint32_t maps_epoch; /* the region's when the mappings were last read */
	uint64_t program;    /* proc_life_program() of what is sampled; 0: not known */
	uint64_t ended_ns;   /* 0: it lives */
	struct timer_attached attached;
	struct timer_threads threads;
	struct timer_python python;
	struct timer_missed missed;
	struct timer_losses losses;
};

#endif
