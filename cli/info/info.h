/*
 * What `sprof info` prints beyond the numbers of the recording: how its samples spread over threads
 * and modules, and the sum of each column. Ids are those of the profile, which must outlive the
 * result.
 */
#ifndef SPROF_INFO_H
#define SPROF_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/profile/profile.h"
#include "output/select/gil.h"

struct info_thread {
	uint32_t thread; /* id in the profile */
	uint64_t nr_samples;
};

struct info_module {
	uint32_t module;     /* id in the profile */
	uint64_t nr_self;    /* samples whose innermost frame is in the module */
	uint64_t nr_total;   /* samples with any frame in the module */
	uint64_t nr_unnamed; /* of nr_self, those whose innermost frame is unnamed */
};

/* The sum of a column of the profile; see core/profile/column.h. */
struct info_column {
	bool present;
	uint64_t events; /* in the unit that column_info.events names */
	uint64_t sum;	 /* in the column's unit; UINT64_MAX where it overflows */
};

struct info {
	const char *recorder, *recorder_version; /* "sprof" or "perf"; the profile's string */
	struct info_column columns[NR_COLUMNS];
	/* Threads and modules are counted by the samples of this column, column_default(). */
	enum profile_column column;
	uint64_t nr_samples;		/* of that column */
	enum profile_column gil_column; /* wall-clock time if waits were sampled */
	struct gil_sums gil;		/* of that column */
	uint64_t nr_incomplete;
	uint64_t nr_named_frames;
	uint32_t nr_processes;
	struct info_thread *threads; /* most samples first */
	struct info_module *modules; /* highest self first; only modules that hold code */
	size_t nr_threads, nr_modules;
};

void info_init(struct info *info, const struct profile *p);
void info_fini(struct info *info);

double info_duration_s(const struct profile *p);
/*
 * Samples per second of sampled time. Timers run on the kernel's tick, so this can be less than the
 * rate that was asked for.
 */
double info_reached_hz(const struct info *info);

#endif
