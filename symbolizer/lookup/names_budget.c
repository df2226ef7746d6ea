/*
 * The owner is as the kernel of this machine sees it, so files of a container with a user namespace
 * of its own are another user's.
 */
#include "symbolizer/lookup/names_budget.h"

#include <sys/stat.h>
#include <unistd.h>

#include "symbolizer/lookup/symbolizer_opts.h"

#define OTHERS_MS 60000u

void names_budget_init(struct names_budget *b, const struct symbolizer_opts *opts)
{
	*b = (struct names_budget){
		.others_left_ns = (opts->others_ms ? opts->others_ms : OTHERS_MS) * 1000000ull,
	};
}

bool names_budget_is_others(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && st.st_uid && st.st_uid != getuid();
}

void names_budget_take(struct names_budget *b, uint64_t ns)
{
	b->others_left_ns -= ns < b->others_left_ns ? ns : b->others_left_ns;
}
