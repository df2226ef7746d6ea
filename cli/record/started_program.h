/* The program that sprof record has started: how it ends, and signals that are passed on to it. */
#ifndef SPROF_STARTED_PROGRAM_H
#define SPROF_STARTED_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "sampler/target/launch.h"

/* Zeroed if no program was started. */
struct started_program {
	struct launch launch;
	int status; /* of waitpid */
	bool ended, signal_forwarded;
	uint64_t cpu_ns; /* CPU time of the program, once it has ended */
};

/*
 * Checks that `name` can be run, before anything is changed. 0, or the status to exit with,
 * reported.
 */
int started_program_find(const char *name);
/* Reports that `name` cannot be run. Returns the status to exit with, as env(1) and timeout(1). */
int started_program_cannot_run(const char *name, int err);

bool started_program_has_ended(struct started_program *p);
/*
 * Passes on a signal that was sent to sprof but would have ended the program without sprof. Not ^C:
 * the terminal has sent that to both.
 */
void started_program_forward_signal(struct started_program *p);
/* Waits for the program, however long it runs. Returns its status as a shell would report it. */
int started_program_wait(struct started_program *p);

#endif
