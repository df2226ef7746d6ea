/*
 * Parses a file of perf record, perf.data: its events, what its header says of the host, and its
 * records, decompressed and in order of time. The bytes are not trusted; records and paths that are
 * handed out point into them.
 *
 * Sources: tools/perf/Documentation/perf.data-file-format.txt; include/uapi/linux/perf_event.h.
 */
#ifndef SPROF_DATA_FILE_H
#define SPROF_DATA_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/perf_event.h>

#include "core/base/buffer.h"
#include "core/profile/profile.h"
#include "core/base/cursor.h"

struct perf_data_event {
	struct perf_event_attr attr; /* zeros beyond what the file's version had */
	uint64_t *ids;
	size_t nr_ids;
	char *name; /* "cpu-clock"; "" = the file does not say */
};

/* The build-id of a mapped file, as the header has it. */
struct perf_data_build_id {
	const char *path; /* NUL-terminated */
	uint8_t size, id[BUILD_ID_MAX];
};

struct perf_data_record {
	struct perf_event_header header;
	const uint8_t *body; /* after the header */
	size_t size;
	uint64_t time_ns; /* 0: the record has none */
};

/* Where a record lies. */
struct perf_data_place {
	uint64_t time_ns;
	size_t offset; /* in the file, or in the expanded bytes */
	bool expanded;
};

struct perf_data_file {
	const uint8_t *data;
	size_t size;
	struct perf_data_event *events;
	size_t nr_events;
	struct perf_data_build_id *build_ids;
	size_t nr_build_ids;
	char *hostname, *release, *version, *arch, *command; /* "" = the file does not say */
	uint32_t nr_cpus;
	struct buffer expanded;
	uint64_t expanded_max;		/* bytes; limit for it */
	struct perf_data_place *places; /* by time, then in the order of the file */
	size_t nr_places;
	bool cut_off;	     /* perf was killed, or the file is incomplete */
	uint64_t nr_damaged; /* bytes or records that could not be read */
	uint64_t nr_trace_bytes; /* of AUX areas: hardware traces, which are skipped */
	/* capacities of the arrays above, while they grow */
	size_t events_capacity, build_ids_capacity, places_capacity;
};

bool perf_data_file_is(const void *data, size_t size);

/*
 * `data` must outlive the result. 0; -EINVAL where it is no perf.data file or nothing in it can be
 * read; -EFBIG where it expands to more than 4 GiB.
 */
int perf_data_file_open(struct perf_data_file *f, const void *data, size_t size);
void perf_data_file_close(struct perf_data_file *f);

/* The record at places[at]. */
void perf_data_file_record(const struct perf_data_file *f, size_t at,
			   struct perf_data_record *ret_record);

/* The event with that id, or NULL; the first event where none has ids. */
const struct perf_data_event *perf_data_file_event(const struct perf_data_file *f, uint64_t id);

#endif
