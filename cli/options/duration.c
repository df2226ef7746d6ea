/* A span that fits into an int64_t of nanoseconds, 285 years. */
#include "cli/options/duration.h"

#include <argp.h>

#include "core/profile/moment.h"

#define MAX_NS UINT64_C(9000000000000000000)

bool duration_read(const char *text, uint64_t *ret_ns)
{
	uint64_t ns;

	if (!moment_read_span(text, &ns) || ns > MAX_NS)
		return false;
	*ret_ns = ns;
	return true;
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
