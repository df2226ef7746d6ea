/* A number without a unit is one of seconds. */
#include "cli/options/duration.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

uint64_t parse_duration(const char *text, struct argp_state *state)
{
	static const struct {
		const char *suffix;
		double seconds;
	} units[] = { { "", 1 }, { "s", 1 }, { "ms", 1e-3 }, { "m", 60 }, { "h", 3600 } };
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (!errno && end != text && value > 0 && value < 1e7)
		for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
			if (!strcmp(end, units[i].suffix))
				return (uint64_t)(value * units[i].seconds * 1e9);
	argp_error(state, "'%s' is not a duration such as 30s, 500ms, 5m", text);
	return 0;
}

uint64_t parse_short_duration(const char *text, struct argp_state *state)
{
	size_t length = strlen(text);
	char *end;
	double us = strtod(text, &end);

	if (length > 2 && !strcmp(end, "us") && us >= 1 && us < 1e9)
		return (uint64_t)(us * 1000);
	return parse_duration(text, state);
}
