/* A number without a unit means seconds. */
#include "cli/options/duration.h"

#include <argp.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NS 9e18 /* what fits into an int64_t, 285 years */

bool duration_read(const char *text, uint64_t *ret_ns)
{
	static const struct {
		const char *suffix;
		double seconds;
	} units[] = { { "", 1 },   { "s", 1 },	  { "ms", 1e-3 }, { "us", 1e-6 },
		      { "m", 60 }, { "h", 3600 }, { "d", 86400 } };
	char *end;
	double value, ns;

	errno = 0;
	value = strtod(text, &end);
	if (errno || end == text || !(value >= 0) || value >= 1e7)
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		ns = value * units[i].seconds * 1e9;
		if (!strcmp(end, units[i].suffix) && ns < MAX_NS) {
			*ret_ns = (uint64_t)ns;
			return true;
		}
	}
	return false;
}

uint64_t duration_parse(const char *text)
{
	uint64_t ns;

	return duration_read(text, &ns) ? ns : 0;
}

uint64_t duration_argument(const char *text, struct argp_state *state)
{
	uint64_t ns = duration_parse(text);

	if (!ns)
		argp_error(state, "'%s' is not a duration such as 500ms, 30s, 5m", text);
	return ns;
}
