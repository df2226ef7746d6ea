/* The command line of sprof record, parsed and checked. */
#ifndef SPROF_RECORD_OPTS_H
#define SPROF_RECORD_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/rights/memory_shares.h"
#include "core/profile/source.h"
#include "cli/continuous/continuous_opts.h"
#include "cli/gpu/record_gpu.h"
#include "cli/push/push_record_opts.h"
#include "cli/alloc/record_alloc.h"

struct record_opts {
	pid_t *pids;
	size_t nr_pids, pids_capacity;
	pid_t *started; /* what `pids` had started when they were looked up */
	size_t nr_started;
	char **names; /* names of processes, to be looked up */
	size_t nr_names, names_capacity;
	bool system_wide, all_users, no_children;
	char **cgroups; /* names as typed; after the look-up, folders */
	size_t nr_cgroups, cgroups_capacity;
	bool by_user;
	uid_t user;
	char **program; /* argv of the program to start, or NULL; borrowed */
	uint32_t freq_hz;
	uint64_t duration_ns; /* 0 = until something else ends the recording */
	uint64_t delay_ns;
	const char *output, *source, *event;
	char *rank_output;	     /* `output` with the rank in it, owned */
	struct source_events events; /* events beside the clock */
	uint64_t event_period;	     /* the period of events without one; 0: not given */
	bool no_python, no_cache;
	enum source_clock clock;
	bool latency, wakers, syscalls; /* as in source_config */
	uint64_t wait_period_ns;	/* the same */
	uint64_t syscalls_ns;
	bool quiet, verbose;
	const char *metrics;	     /* address at which counters are served, or NULL */
	struct memory_shares memory; /* limit 0: no limit */
	struct continuous_opts continuous;
	struct record_gpu_opts gpu;
	struct push_record_opts push;
	struct record_alloc_opts alloc;
	const char **calls; /* the arguments of --calls; strings are argv's */
	size_t nr_calls, calls_capacity;
	bool debuginfod;   /* fetch debug files that this machine does not have */
	char *description; /* the target in words, for the recording: record_targets_describe() */
};

extern const struct argp record_argp;

/* Fills opts, or ends the program with status 2 and a usage message. */
void record_opts_parse(int argc, char **argv, struct record_opts *opts);
void record_opts_fini(struct record_opts *opts);

#endif
