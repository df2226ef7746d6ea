/*
 * The program that sprof record has started: its end, its status, and signals that are meant for
 * it.
 */
#ifndef SPROF_STARTED_PROGRAM_H
#define SPROF_STARTED_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/target/launch.h"

/* Zeroed: none was started. */
struct started_program {
	struct launch launch;
	int status; /* of waitpid */
	bool ended, signal_forwarded;
	uint64_t cpu_ns; /* what it took, once it has ended */
};

/*
 * Whether `name` can be run, before anything is changed for it. 0, or the status to exit with,
 * reported.
 */
int started_program_find(const char *name);
/* Reports that `name` cannot be run. Returns the status to exit with, as env(1) and timeout(1). */
int started_program_cannot_run(const char *name, int err);

bool started_program_has_ended(struct started_program *p);
/*
 * Passes a signal on that would have ended the program if sprof were not there. The terminal has
 * sent ^C to the program already.
 */
void started_program_forward_signal(struct started_program *p);
/* The program's status as a shell would report it. Waits for it, however long it runs. */
int started_program_wait(struct started_program *p);

#endif
