/* One line: how many samples there are, and how far they can be trusted. Then what was full. */
#include "cli/record/last_words.h"

#include <stdio.h>

#include "core/base/log.h"
#include "core/profile/profile.h"
#include "core/recording/recfile.h"

/* Says once what was full, in the words that the recording has for it. */
static void say_limits(const struct profile *vocabulary)
{
	size_t nr;
	const struct fact_limit *limits = facts_rows(vocabulary, FACT_LIMIT, &nr);

	for (size_t i = 0; i < nr; i++)
		log_warning("%s (%llu time%s)", profile_str(vocabulary, (uint32_t)limits[i].text),
			    (unsigned long long)limits[i].count, limits[i].count == 1 ? "" : "s");
}

void record_last_words(struct recfile *file, const char *output, const struct profile_stats *stats,
		       uint64_t elapsed_ns)
{
	uint64_t incomplete = 0, unwritten = recfile_nr_lost(file);
	uint64_t kept = stats->nr_samples > unwritten ? stats->nr_samples - unwritten : 0;
	char complete[64] = "";

	for (int i = 0; i < NR_MARKERS; i++)
		incomplete += stats->nr_incomplete[i];
	if (kept)
		snprintf(complete, sizeof(complete), ", %.2f%% of stacks complete",
			 100.0 * (double)(stats->nr_samples - incomplete) /
				 (double)stats->nr_samples);
	log_info("%llu sample%s in %.1f s, %llu lost%s; %s: %.1f KiB", (unsigned long long)kept,
		 kept == 1 ? "" : "s", (double)elapsed_ns / 1e9,
		 (unsigned long long)(stats->nr_lost + unwritten), complete, output,
		 (double)recfile_size_bytes(file) / 1024);
	if (!stats->nr_samples)
		log_info("no samples: the target did not use the CPU");
	say_limits(recfile_vocabulary(file));
}
