/*
 * Recordings on disk: written while sampling, read later. The format is specified in record.h.
 *
 *	recfile_create(path, &meta, &w)
 *	drain into recfile_sink(w); each second recfile_set_stats(w, ...) and recfile_flush(w)
 *	symbolizer_run(recfile_vocabulary(w), ...); recfile_write_symbols(w)
 *	recfile_finish(w, &stats, end_ns); recfile_free(w)
 *
 * A recording is written at its final name from the beginning, not to a temporary file that is
 * renamed at the end: what kill -9 leaves must be found where the user looks for it.
 */
#ifndef SPROF_RECFILE_H
#define SPROF_RECFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/profile/profile.h"
#include "core/profile/source.h"

struct recfile; /* a recording being written */

/* What is known when sampling starts. NULL strings are left out. */
struct recfile_meta {
	const char *hostname, *kernel, *command, *source, *event, *version;
	uint32_t freq_hz, nr_cpus;
	uint64_t start_realtime_ns; /* Unix time */
	uint64_t start_ns;	    /* CLOCK_MONOTONIC at the same moment */
};

/*
 * Creates the file, mode 0600. A regular file of that name is renamed to PATH.old first. 0, or
 * -errno, not reported: -ELOOP where `path` is a symbolic link, -EISDIR a directory, -EOPNOTSUPP
 * any other thing that is not a regular file, or what the kernel said.
 */
int recfile_create(const char *path, const struct recfile_meta *meta, struct recfile **ret_file);

/* Where samples go. Belongs to the recording. */
struct sink *recfile_sink(struct recfile *w);

/* The counters so far; every chunk carries them, so that a killed recording knows its losses. */
void recfile_set_stats(struct recfile *w, const struct profile_stats *stats);

/*
 * Writes out what is pending: what has been flushed survives the death of the recorder. Also
 * happens by itself at 1 MiB; where nothing is pending nothing is written. 0, or the -errno of the first write that failed: from then on nothing
 * more is written, the file ends with its last whole chunk, and samples count as lost.
 */
int recfile_flush(struct recfile *w);

int recfile_error(const struct recfile *w); /* what recfile_flush() returned first, or 0 */
uint64_t recfile_size_bytes(const struct recfile *w); /* in the file */
uint64_t recfile_nr_lost(const struct recfile *w);    /* samples that could not be written */

/*
 * The strings, modules, threads and frames that were recorded, under the sink's ids; no stacks and
 * no samples. It is there to be symbolized.
 */
struct profile *recfile_vocabulary(struct recfile *w);

/* Writes the functions and locations of the vocabulary. 0 or -errno, as recfile_flush(). */
int recfile_write_symbols(struct recfile *w);

/*
 * Writes the rest and marks the recording as complete. `stats` NULL: those set last. 0 or -errno,
 * as recfile_flush(); the file then stays incomplete. Nothing may be recorded afterwards.
 */
int recfile_finish(struct recfile *w, const struct profile_stats *stats, uint64_t end_ns);

/* Closes the file. Without recfile_finish() the recording stays incomplete. NULL is fine. */
void recfile_free(struct recfile *w);

/* Do these first bytes of a file (8 are enough, 1 is the least) start a recording? */
bool recfile_is_recording(const void *data, size_t size);

/*
 * Reads a recording, from a file or a pipe, into a new profile that the caller frees. What is
 * damaged or missing is left out and counted in stats.nr_lost as far as the rest tells; then, and
 * for recordings that were not finished, meta.unfinished is set and *ret_note says what happened
 * ("the recorder was killed", "damaged after chunk 12"). Otherwise *ret_note is "". It belongs to
 * the caller.
 *
 * Returns 0, -EINVAL where this is no recording, -EPROTONOSUPPORT where its version is unknown, or
 * the -errno of a failed read.
 */
int recfile_read(FILE *f, struct profile **ret_profile, char **ret_note);

#endif
