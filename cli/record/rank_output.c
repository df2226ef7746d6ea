/* The rank replaces %r in the name, or else goes before the extension. */
#include "cli/record/rank_output.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/alloc.h"
#include "core/base/buffer.h"
#include "core/base/path.h"
#include "core/untrusted/job_rank.h"

static char *replace(const char *name, uint32_t rank)
{
	struct buffer b = { 0 };
	char *result;

	while (*name) {
		if (name[0] == '%' && name[1] == 'r') {
			buffer_printf(&b, "%" PRIu32, rank);
			name += 2;
		} else {
			buffer_add_char(&b, *name++);
		}
	}
	result = xstrdup(buffer_cstring(&b));
	buffer_fini(&b);
	return result;
}

char *rank_output(const char *name, const struct job_rank *rank)
{
	const char *base = path_base_name(name), *dot = strrchr(base, '.');

	if (strstr(name, "%r"))
		return replace(name, rank ? rank->rank : 0);
	if (!rank || rank->nr_ranks < 2 || !strncmp(name, "/dev/", 5))
		return xstrdup(name);
	if (!dot || dot == base)
		return xasprintf("%s.rank%" PRIu32, name, rank->rank);
	return xasprintf("%.*s.rank%" PRIu32 "%s", (int)(dot - name), name, rank->rank, dot);
}
