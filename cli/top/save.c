/* A profile that was copied out of the live one is written as sprof merge writes its own. */
#include "cli/top/save.h"

#include "core/base/log.h"
#include "core/profile/copy.h"
#include "core/profile/process_rows.h"
#include "core/profile/profile.h"
#include "core/recording/recfile.h"

static void write_samples(struct recfile *w, const struct profile *p)
{
	struct process_rows *processes = process_rows_new();

	profile_copy(p, &(struct profile_copy_opts){ .sink = recfile_sink(w),
						     .vocabulary = recfile_vocabulary(w) });
	/* Their strings are those of the recording, which has no other. */
	process_rows_add(processes, p, recfile_vocabulary(w), NULL);
	process_rows_write(processes, recfile_vocabulary(w), recfile_sink(w));
	process_rows_free(processes);
}

int save_recording(const char *path, const struct profile *p)
{
	const struct profile_meta *m = &p->meta;
	const struct recfile_meta meta = {
		.hostname = profile_str(p, m->hostname),
		.kernel = profile_str(p, m->kernel),
		.command = profile_str(p, m->command),
		.source = profile_str(p, m->source),
		.event = profile_str(p, m->event),
		.version = SPROF_VERSION,
		.freq_hz = m->freq_hz,
		.nr_cpus = m->nr_cpus,
		.start_realtime_ns = m->start_realtime_ns,
		.start_ns = m->start_ns,
	};
	struct recfile *w;
	int err = recfile_create(path, &meta, &w);

	if (err) {
		log_error(0, "write '%s': %s", path, recfile_create_reason(err));
		return err;
	}
	write_samples(w, p);
	recfile_set_stats(w, &p->stats);
	err = recfile_write_symbols(w);
	if (!err)
		err = recfile_finish(w, &p->stats, m->end_ns);
	if (err)
		log_error(-err, "write '%s'", path);
	recfile_free(w);
	return err;
}
