/*
 * What sprof record does for a recorder that is left running: rate and triggers, its own cost, its
 * counters, and the service manager. Call the functions in the order of this file.
 */
#ifndef SPROF_RECORD_SERVICE_H
#define SPROF_RECORD_SERVICE_H

#include <stdint.h>

#include "cli/service/memory_watch.h"
#include "cli/service/own_cost.h"
#include "cli/service/rate_control.h"

struct continuous;
struct record_opts;
struct recorder;
struct recfile;
struct service;
struct sink;
struct spool;
struct triggers;

/* What is written: one file, or a flight recorder's folder. The other one is NULL. */
struct record_output {
	struct recfile *file;
	struct continuous *continuous; /* the flight recorder */
};

/* Samples that could not be written, and bytes that were. */
uint64_t record_output_nr_lost(const struct record_output *output);
uint64_t record_output_bytes(const struct record_output *output);

struct record_service {
	const struct record_opts *opts;
	const struct recorder *recorder;
	const struct record_output *output;
	struct rate_control rate;
	struct memory_watch memory;
	struct own_cost cost;	   /* the cost when recording began */
	struct triggers *triggers; /* NULL: none */
	struct service *service;
	struct spool *spool; /* requests that wait to be pushed; NULL: not counted */
};

/* To be called before anything else is opened. 0 or -errno, reported. */
int record_service_prepare(struct record_service *s, const struct record_opts *opts);
/* To be called when the source is open. `recorder` and `output` must outlive `s`. */
void record_service_open(struct record_service *s, const struct recorder *recorder,
			 const struct record_output *output);
/* Sampling has begun. */
void record_service_begin(struct record_service *s);
void record_service_round(struct record_service *s, struct sink *sink);
/* Sampling has ended. */
void record_service_end(struct record_service *s);
/* Records the cost of a recording in one file. */
void record_service_tell_cost(struct record_service *s, uint64_t start_ns, uint64_t end_ns,
			      struct sink *sink);
void record_service_fini(struct record_service *s);

#endif
