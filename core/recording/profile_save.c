/* If the caller has no rows of processes, those of the profile go straight into the recording. */
#include "core/recording/profile_save.h"

#include "core/base/log.h"
#include "core/profile/copy.h"
#include "core/profile/process_rows.h"
#include "core/profile/profile.h"
#include "core/recording/recfile.h"

static void write_own_processes(struct recfile *w, const struct profile *p)
{
	struct process_rows *processes = process_rows_new();

	process_rows_add(processes, p, recfile_vocabulary(w), NULL);
	process_rows_write(processes, recfile_vocabulary(w), recfile_sink(w));
	process_rows_free(processes);
}

static int write_all(struct recfile *w, const struct profile *p,
		     const struct process_rows *processes)
{
	int err;

	profile_copy(p, &(struct profile_copy_opts){ .sink = recfile_sink(w),
						     .vocabulary = recfile_vocabulary(w) });
	if (processes)
		process_rows_write(processes, p, recfile_sink(w));
	else
		write_own_processes(w, p);
	recfile_set_stats(w, &p->stats);
	err = recfile_write_symbols(w);
	return err ? err : recfile_finish(w, &p->stats, p->meta.end_ns);
}

int profile_save(const char *path, const struct profile *p, const struct process_rows *processes)
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
	err = write_all(w, p, processes);
	if (err)
		log_error(-err, "write '%s'", path);
	recfile_free(w);
	return err;
}
