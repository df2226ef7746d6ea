/*
 * The summary counts what is in the file; samples that could not be written count as lost. If there
 * are none, it says what the targets did instead.
 */
#include "cli/record/recording_summary.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/base/log.h"
#include "core/base/proc_status.h"
#include "core/profile/facts.h"
#include "core/profile/profile.h"
#include "core/profile/source.h"
#include "core/recording/recfile.h"
#include "core/untrusted/remote_read.h"
#include "core/untrusted/target_mounts.h"

/* Warns of limits that were hit, in the words of the recording. */
static void say_limits(const struct profile *vocabulary)
{
	size_t nr;
	const struct fact_limit *limits = facts_rows(vocabulary, FACT_LIMIT, &nr);

	for (size_t i = 0; i < nr; i++)
		log_warning("%s (%" PRIu64 " time%s)",
			    profile_str(vocabulary, (uint32_t)limits[i].text), limits[i].count,
			    limits[i].count == 1 ? "" : "s");
}

/* Stopped by SIGSTOP or by a debugger? */
static bool is_stopped(pid_t pid)
{
	const char *state;
	char text[8192];

	if (proc_status_text(pid, text, sizeof(text)))
		return false;
	state = proc_status_value(text, "State");
	return state && (*state == 'T' || *state == 't');
}

static void say_idle(const struct recording_summary *s)
{
	for (size_t i = 0; i < s->nr_pids; i++)
		if (is_stopped(s->pids[i])) {
			log_info("no samples: process %d is stopped (kill -CONT %d lets it go on)",
				 (int)s->pids[i], (int)s->pids[i]);
			return;
		}
	log_info("no samples: the target did not use the CPU");
}

void recording_summary_tell_reads(struct sink *sink)
{
	static const char text[] = "a read of a process's memory did not return in time: it was "
				   "not read for a minute";
	const struct fact_limit row = {
		.limit = LIMIT_READS,
		.text = sink->string(sink, text, sizeof(text) - 1),
		.count = remote_read_nr_given_up(),
	};

	if (row.count)
		sink->fact(sink, FACT_LIMIT, &row);
}

void recording_summary_print(const struct recording_summary *s)
{
	const struct profile_stats *stats = s->stats;
	uint64_t incomplete = 0, unwritten = recfile_nr_lost(s->file);
	uint64_t kept = stats->nr_samples > unwritten ? stats->nr_samples - unwritten : 0;
	char complete[64] = "";

	for (int i = 0; i < NR_MARKERS; i++)
		incomplete += stats->nr_incomplete[i];
	if (kept)
		snprintf(complete, sizeof(complete), ", %.2f%% of stacks complete",
			 100.0 * (double)(stats->nr_samples - incomplete) /
				 (double)stats->nr_samples);
	log_info("%" PRIu64 " sample%s in %.1f s, %" PRIu64 " lost%s; %s: %.1f KiB", kept,
		 kept == 1 ? "" : "s", (double)s->duration_ns / 1e9, stats->nr_lost + unwritten,
		 complete, s->path, (double)recfile_size_bytes(s->file) / 1024);
	if (!stats->nr_samples)
		say_idle(s);
	say_limits(recfile_vocabulary(s->file));
	target_mounts_report();
}
