/* Only these lines may move the cursor, so names that a target chose are made clean text. */
#include "cli/record/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buffer.h"
#include "core/base/clean_text.h"

void progress_clear(void)
{
	fputs("\r\033[K", stderr);
}

bool progress_is_possible(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term && strcmp(term, "dumb");
}

void progress_samples(uint64_t elapsed_ns, uint64_t nr_samples, uint64_t nr_lost,
		      uint64_t size_bytes)
{
	fprintf(stderr, "\rsprof: %.0f s, %" PRIu64 " samples, %" PRIu64 " lost, %.1f KiB  ",
		(double)elapsed_ns / 1e9, nr_samples, nr_lost, (double)size_bytes / 1024);
}

void progress_fetch(const char *name, uint64_t done_bytes, uint64_t total_bytes)
{
	struct buffer clean = { 0 };

	progress_clear();
	if (!name)
		return;
	text_add_clean(&clean, name, strlen(name));
	fprintf(stderr, "sprof: fetching the debug file of '%s': %.1f", buffer_cstring(&clean),
		(double)done_bytes / 1e6);
	if (total_bytes)
		fprintf(stderr, " of %.1f", (double)total_bytes / 1e6);
	fputs(" MB", stderr);
	buffer_fini(&clean);
}
