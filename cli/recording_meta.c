/*
 * Describes a recording in its header. Both clocks are read one right after the other, so that
 * times of samples become times of day with an error of microseconds.
 */
#include "cli/recording_meta.h"

#include <unistd.h>

#include "cli/record/record_opts.h"
#include "core/base/clock.h"

void recording_meta(const struct record_opts *opts, const char *source, const char *event,
		    struct utsname *host, struct recfile_meta *ret)
{
	*ret = (struct recfile_meta){
		.command = opts->description,
		.source = source,
		.event = event,
		.version = SPROF_VERSION,
		.freq_hz = opts->freq_hz,
		.nr_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
		.start_realtime_ns = realtime_ns(),
		.start_ns = monotonic_ns(),
	};
	if (!uname(host)) {
		ret->hostname = host->nodename;
		ret->kernel = host->release;
	}
}
