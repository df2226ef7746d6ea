/* A wait that a user would notice is announced, and what is missing after it is counted. */
#include "cli/record/await_tables.h"

#include <stddef.h>
#include <stdint.h>

#include "cli/record/record_opts.h"
#include "cli/options/stop_signals.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/profile/source.h"
#include "core/rights/privileges.h"
#include "sampler/unwind/table_cache.h"

#define SILENT_MS 200
#define WAIT_MS 1000
#define STEP_MS 50

/* Waits until `ms` after start_ns at most. Returns how many files have no table yet. */
static size_t wait_until(const struct source_ops *ops, struct source *source, uint64_t start_ns,
			 uint64_t ms)
{
	size_t nr_missing;

	do
		nr_missing = ops->await_tables(source, STEP_MS);
	while (nr_missing && !stop_signals_caught() && monotonic_ns() < start_ns + ms * 1000000);
	return stop_signals_caught() ? 0 : nr_missing;
}

struct table_cache *record_open_table_cache(const struct record_opts *opts)
{
	if (opts->no_cache || (opts->all_users && privileges_are_borrowed()))
		return NULL;
	return table_cache_open();
}

void record_await_tables(const struct source_ops *ops, struct source *source)
{
	uint64_t start_ns = monotonic_ns();
	size_t nr_missing = wait_until(ops, source, start_ns, SILENT_MS);

	if (!nr_missing)
		return;
	log_info("building unwind tables before sampling, for %d s at most: %zu to go",
		 WAIT_MS / 1000, nr_missing);
	nr_missing = wait_until(ops, source, start_ns, WAIT_MS);
	if (nr_missing)
		log_info("%zu tables are not ready: the first stacks that need them may be "
			 "incomplete",
			 nr_missing);
}
