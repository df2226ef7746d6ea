/*
 * Puts the payload (sampler/agent/, sampler/attach/payload.h) into a process that did not load
 * libsprof.so, and takes it out again.
 *
 * In the target lie, one after the other: a page of code of ours (the stub), the file of
 * sampler/agent/region.h, the arena. None of them is inherited by fork(2). Two descriptors and a
 * socket pair exist there for the moment in which the files are handed over.
 *
 * The region is also the journal: a later recorder finds it by its address, sees from its contents
 * how far the recorder before had come, and removes everything before it begins.
 */
#ifndef SPROF_ATTACH_H
#define SPROF_ATTACH_H

#include <stdint.h>
#include <sys/types.h>

#include "sampler/agent/region.h"
#include "sampler/inject/reason.h"

struct attach;

/* The files that are shared, made by the recorder, owned by the caller. */
struct attach_files {
	int region_fd; /* REGION_FILE_SIZE bytes; the payload is written into its start */
	int arena_fd;  /* -1: none, stacks are not walked in the target */
	uint64_t arena_size;
	/* The region as mapped here, filled in; must outlive the attach. Slots that are SLOT_WANTED
	 * have their timers when attach_begin() returns. */
	struct agent_region *region;
};

/* How long a thread of the target was stopped, each time. */
struct attach_stops {
	uint64_t begin_ns;
	uint64_t quiet_ns, end_ns; /* of attach_end() */
};

/*
 * Attaches: when it returns the handler is installed and the timers run. 0, or -errno and the
 * reason: those of inject_open() and inject_stop(); -EBUSY (another recorder samples it, or every
 * real-time signal has a handler); -ENOMEM, -EMFILE and the like by the target's own limits. After
 * an error nothing stays in the target.
 */
int attach_begin(pid_t pid, const struct attach_files *files, struct attach **ret_attach,
		 struct inject_reason *reason);
/*
 * Detaches and frees. 0, also where the process has ended or runs another program by now. -errno
 * and the reason where something had to stay: -ETIMEDOUT, -EBUSY (a thread could not be seen
 * outside our code). ret_stops may be NULL.
 */
int attach_end(struct attach *attach, struct attach_stops *ret_stops, struct inject_reason *reason);

#endif
