/* -p PID, for the commands that take one process. */
#ifndef SPROF_PID_OPTS_H
#define SPROF_PID_OPTS_H

#include <sys/types.h>

struct argp_state;

/* Parses the argument of the one -p; ends the program if it is not a process number. */
void pid_opts_parse(const char *text, struct argp_state *state, pid_t *pid);

#endif
