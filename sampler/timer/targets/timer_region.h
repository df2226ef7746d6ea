/*
 * The recorder's side of the memory that it shares with the code inside a target
 * (sampler/agent/region.h): makes it, keeps a copy of what it wrote, and reads the rings. What the
 * target writes is never trusted.
 */
#ifndef SPROF_TIMER_REGION_H
#define SPROF_TIMER_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sampler/agent/region.h"

struct timer_region {
	int fd; /* REGION_FILE_SIZE bytes; the target maps it too */
	struct agent_region *shared;
	struct walk_space *space;
	uint32_t cookie;
	uint64_t tails[REGION_NR_RINGS];
	uint64_t filled[REGION_NR_RINGS];   /* words whose pages have memory */
	uint64_t stuck_ns[REGION_NR_RINGS]; /* since when the record at the tail is unfinished */
	/* how often a ring was found damaged or a record was skipped */
	uint64_t nr_broken;
	uint32_t generation; /* of the space, as last published */
};

struct timer_region_config {
	uint64_t period_ns;
	uint64_t tick_ns; /* as agent_region.tick_ns */
	enum agent_clock clock;
	int signal; /* 0: the target finds a free one */
};

/* A memfd, mapped here, ready for a target to map and enter. 0 or -errno. */
int timer_region_new(const struct timer_region_config *config, struct timer_region *ret_region);
void timer_region_free(struct timer_region *region);

/* Has the target taken a part of the memory away? What it wrote last is lost then. */
bool timer_region_is_lost(const struct timer_region *region);

/* Raises the heartbeat, several times a second. */
void timer_region_beat(struct timer_region *region);
/*
 * Asks for a timer for a thread, by its number in the target's own PID namespace; a thread that has
 * a slot keeps it. false: there is no room.
 */
bool timer_region_want(struct timer_region *region, pid_t tid);
/* Asks that the timers of threads for which `lives` says no be deleted. */
void timer_region_sweep(struct timer_region *region, bool (*lives)(void *context, pid_t tid),
			void *context);

/* No more samples are taken: each timer is deleted when it next expires. */
void timer_region_stop(struct timer_region *region);

/*
 * Hands over each whole record, type checked, sizes checked: the sample, and what follows it, which
 * is nr_frames frames, or a struct agent_snapshot, nr_frames words of Python frames and the bytes
 * of the stack, or a struct code_record and its line table. Returns how many there were.
 */
size_t timer_region_read(struct timer_region *region,
			 void (*fn)(void *context, const struct agent_sample *sample,
				    const uint64_t *words, size_t nr_words),
			 void *context);
/*
 * How many records were dropped so far because there was no room, as the target says: it can claim
 * any number.
 */
uint64_t timer_region_nr_dropped(const struct timer_region *region);

#endif
