/* What `sprof info` counts: how the samples spread over threads and modules. */
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
	uint64_t nr_self;    /* samples whose leaf is in it */
	uint64_t nr_total;   /* samples with any frame in it */
	uint64_t nr_unnamed; /* of nr_self, those whose leaf is a bare address */
};

/* What a column of the profile adds up to; see core/profile/column.h. */
struct info_column {
	bool present;
	uint64_t events; /* as column_info.events calls them */
	uint64_t sum;	 /* in the column's unit; UINT64_MAX where it would not fit */
};

struct info {
	const char *recorder, *recorder_version; /* "sprof" or "perf"; the profile's string */
	struct info_column columns[NR_COLUMNS];
	/* The counts of threads and modules are of samples of this column: column_default(). */
	enum profile_column column;
	uint64_t nr_samples; /* in it */
	struct gil_sums gil; /* in it */
	uint64_t nr_incomplete;
	uint64_t nr_named_frames;
	uint32_t nr_processes;
	struct info_thread *threads; /* most samples first */
	struct info_module *modules; /* highest self first; only those that are code */
	size_t nr_threads, nr_modules;
};

void info_init(struct info *info, const struct profile *p);
void info_fini(struct info *info);

double info_duration_s(const struct profile *p);
/* Samples per second of the time they stand for. Timers of processes ride on the kernel's tick. */
double info_reached_hz(const struct info *info);

#endif
