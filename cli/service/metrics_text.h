/* The counters of a recorder, as Prometheus reads them (text exposition format 0.0.4). */
#ifndef SPROF_METRICS_TEXT_H
#define SPROF_METRICS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/service/own_cost.h"
#include "core/profile/profile.h"

struct buffer;

struct recorder_counters {
	const char *source;
	struct profile_stats stats;
	uint64_t nr_lost; /* includes samples that could not be written */
	uint64_t written_bytes;
	uint32_t freq_hz;
	struct own_cost cost;
	bool is_continuous;
	uint64_t nr_segments, nr_triggers; /* of a flight recorder */
	bool has_spool;
	uint64_t spool_bytes, nr_spooled; /* what waits to be pushed */
};

void metrics_text_add(struct buffer *b, const struct recorder_counters *c);

#endif
