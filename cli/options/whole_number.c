/* A number beyond the limit is refused, not cut. */
#include "cli/options/whole_number.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>

#define MAX_HZ 20000

bool whole_number_parse(const char *text, uint64_t max, uint64_t *ret_number)
{
	unsigned long long number;
	char *end;

	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno || *text < '0' || *text > '9' || *end || number > max)
		return false;
	*ret_number = number;
	return true;
}

uint32_t frequency_argument(const char *text, struct argp_state *state)
{
	uint64_t hz = 0;

	if (!whole_number_parse(text, MAX_HZ, &hz) || !hz)
		argp_error(state, "'%s' is not a frequency between 1 and %d", text, MAX_HZ);
	return (uint32_t)hz;
}

void pid_argument(const char *text, struct argp_state *state, pid_t *pid)
{
	uint64_t number = 0;

	if (!whole_number_parse(text, INT32_MAX, &number) || !number)
		argp_error(state, "'%s' is not a process number", text);
	if (*pid)
		argp_error(state, "one process at a time");
	*pid = (pid_t)number;
}
