/* -p PID, for the commands that take one process. */
#ifndef SPROF_PID_OPTS_H
#define SPROF_PID_OPTS_H

#include <sys/types.h>

struct argp_state;

/* Takes the argument, once; ends the program where it is no number of a process. */
void pid_opts_parse(const char *text, struct argp_state *state, pid_t *pid);

#endif
