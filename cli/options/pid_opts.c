/* Parses -p. A second -p is an error: the commands that use it look at one process. */
#include "cli/options/pid_opts.h"

#include <argp.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

void pid_opts_parse(const char *text, struct argp_state *state, pid_t *pid)
{
	long number;
	char *end;

	errno = 0;
	number = strtol(text, &end, 10);
	if (errno || end == text || *end || number <= 0 || number > INT32_MAX)
		argp_error(state, "'%s' is not a process number", text);
	if (*pid)
		argp_error(state, "one process at a time");
	*pid = (pid_t)number;
}
