/* A number without a unit means bytes. */
#include "cli/options/byte_size.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_BYTES (1u << 20)

uint64_t byte_size_parse(const char *text)
{
	static const char units[] = "KMGT";
	const char *unit;
	double value;
	char *end;

	errno = 0;
	value = strtod(text, &end);
	unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (errno || end == text || (*end && (!unit || end[1])))
		return 0;
	if (unit)
		value *= (double)(1ull << 10 * (unit - units + 1));
	return value >= 1 && value < 1e18 ? (uint64_t)value : 0;
}

uint64_t byte_size_argument(const char *text, struct argp_state *state)
{
	uint64_t bytes = byte_size_parse(text);

	if (bytes < LEAST_BYTES)
		argp_error(state, "'%s' is not a size such as 500M or 2G, 1M or more", text);
	return bytes;
}
