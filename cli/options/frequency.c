/* A frequency beyond the limit is refused, not cut. */
#include "cli/options/frequency.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>

#define MAX_HZ 20000

uint32_t frequency_argument(const char *text, struct argp_state *state)
{
	char *end;
	unsigned long hz;

	errno = 0;
	hz = strtoul(text, &end, 10);
	if (errno || end == text || *end || text[0] == '-' || !hz || hz > MAX_HZ)
		argp_error(state, "'%s' is not a frequency between 1 and %d", text, MAX_HZ);
	return (uint32_t)hz;
}
